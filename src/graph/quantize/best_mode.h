#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/quantize/pipeline.h"
#include "src/graph/quantize/quality.h"

// Choice of a calibration mode by the results of the quantized network.

namespace tilewright::quantize {

/// Outputs of a float network for some inputs, with which quantized ones are compared.
class FloatResults {
 public:
  /// No inputs: nothing is compared.
  FloatResults() = default;
  /// Computes the outputs. inputs: outlive this. Errors: those of EvaluateGraph.
  static Result<FloatResults> Of(const Graph& graph, std::span<const Sample> inputs, int threads);

  std::size_t inputs() const { return inputs_.size(); }
  const std::vector<std::string>& output_names() const { return output_names_; }
  /// Compares a quantized network; without inputs, returns an empty quality.
  /// Errors: those of EvaluateGraph.
  Result<Quality> Compare(const Graph& quantized) const;

 private:
  std::span<const Sample> inputs_;
  std::vector<Sample> expected_;
  std::vector<std::string> output_names_;
  int threads_ = 1;
};

/// Returns true if the passes end with a network whose results approximate the float network's.
bool EndsQuantized(const PipelineOptions& options);

/// Returns the number of inputs that tell modes apart: that of the samples, but fewer, at least 2,
/// for networks that the reference evaluator would run for minutes. It is deterministic.
std::size_t InputsToCompare(const Graph& graph, std::size_t samples);

/// Sets fields that improve results on a CPU (scales per channel and by the maximum of weights,
/// unsigned inputs), except for those in `given`.
void ImproveForCpu(Config& config, const std::set<std::string>& given);

/// Network quantized in one calibration mode.
struct ModeResult {
  CalibrateMode mode = CalibrateMode::kGlobalScale;
  Graph graph;
  std::vector<IntegerValue> values;
  Quality quality;
};
/// Runs the passes once in each mode and returns the result of the highest quality. options: gets
/// the mode; `left` is that of the last one tried; `after` is called in each. tried: called after
/// each mode, with true if it is the best one so far. Errors: those of RunPasses and
/// FloatResults::Compare.
Result<ModeResult> QuantizeInBestMode(const Graph& graph, PipelineOptions& options,
                                      const FloatResults& expected,
                                      const std::function<void(const ModeResult&, bool)>& tried);

}  // namespace tilewright::quantize
