#pragma once

// Internal to cost_model: writes the feature rows for CPUs and GPUs.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/schedule/summary.h"
#include "src/space/config.h"

namespace tilewright::cost_model {

/// Returns log2(1 + x), 0 for negative x: trees then split counts and bytes at ratios.
double Log2Plus1(double x);

/// Sink that receives features in order. With `names`, it stores their names instead of their
/// values.
class FeatureSink {
 public:
  explicit FeatureSink(std::span<float> out) : out_(out) {}
  explicit FeatureSink(std::vector<std::string>* names) : names_(names) {}

  void Put(const char* name, double value);
  /// Adds a feature named "<group><index>.<name>"; index -1: "<group>.<name>".
  void Put(const char* group, int index, const char* name, double value);

 private:
  std::span<float> out_;
  std::size_t next_ = 0;
  std::vector<std::string>* names_ = nullptr;
};

/// Adds loop<i>.*: the innermost eight loops, innermost first: extent, kind, reduction or not.
void PutLoops(const SummaryStage& stage, FeatureSink& sink);
/// Adds knob<i>.*: up to three values of each of ten knobs, and a hash of the knobs' names.
void PutKnobs(const Config& config, FeatureSink& sink);

/// Returns how often the body of each loop level executes; one value more than there are loops.
std::vector<double> ExecutionsOf(const SummaryStage& stage);

}  // namespace tilewright::cost_model
