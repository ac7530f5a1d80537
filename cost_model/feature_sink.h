#pragma once

// Internal to cost_model: what the rows of features for CPUs and GPUs are written with.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/schedule/summary.h"
#include "src/space/config.h"

namespace tilewright::cost_model {

/// log2(1 + x), 0 for negative x: trees cut counts and bytes at ratios.
double Log2(double x);

/// Takes features in order. With `names` it keeps what they are called instead of their values.
class FeatureSink {
 public:
  explicit FeatureSink(std::span<float> out) : out_(out) {}
  explicit FeatureSink(std::vector<std::string>* names) : names_(names) {}

  void Put(const char* name, double value);
  /// The name is "<group><index>.<name>"; index -1: "<group>.<name>".
  void Put(const char* group, int index, const char* name, double value);

 private:
  std::span<float> out_;
  std::size_t next_ = 0;
  std::vector<std::string>* names_ = nullptr;
};

/// loop<i>.*: the innermost eight loops, innermost first: extent, kind, reduction or not.
void PutLoops(const SummaryStage& stage, FeatureSink& sink);
/// knob<i>.*: up to three values of each of ten knobs, and a hash of the knobs' names.
void PutKnobs(const Config& config, FeatureSink& sink);

/// How often what is inside level i of a stage's loops is executed; one more than it has loops.
std::vector<double> ExecutionsOf(const SummaryStage& stage);

}  // namespace tilewright::cost_model
