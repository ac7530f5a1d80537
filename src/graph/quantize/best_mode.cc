#include "src/graph/quantize/best_mode.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tilewright::quantize {

Result<FloatResults> FloatResults::Of(const Graph& graph, std::span<const Sample> inputs,
                                      int threads) {
  FloatResults results;
  results.inputs_ = inputs;
  results.threads_ = threads;
  TW_ASSIGN_OR_RETURN(results.expected_, OutputsFor(graph, inputs, threads));
  for (const int id : graph.outputs()) results.output_names_.push_back(graph.node(id).name);
  return results;
}

Result<Quality> FloatResults::Compare(const Graph& quantized) const {
  if (inputs_.empty()) return Quality();
  TW_ASSIGN_OR_RETURN(const auto actual, OutputsFor(quantized, inputs_, threads_));
  return QualityOf(expected_, actual);
}

bool EndsQuantized(const PipelineOptions& options) {
  return !options.passes.empty() &&
         (options.passes.back() == "realize" || options.passes.back() == "simulate");
}

std::size_t InputsToCompare(const Graph& graph, std::size_t samples) {
  constexpr double kMaxMacs = 2e10;  // summed over the inputs, for each mode
  const double fit = kMaxMacs / std::max(MacsOf(graph), 1.0);
  return std::max<std::size_t>(
      2, static_cast<std::size_t>(std::min(fit, static_cast<double>(samples))));
}

void ImproveForCpu(Config& config, const std::set<std::string>& given) {
  if (!given.contains("weight_scale")) config.weight_scale = WeightScale::kMax;
  if (!given.contains("per_channel")) config.per_channel = true;
  const bool narrow = config.nbit_input == 8 && config.dtype_input == kInt8;
  if (!given.contains("unsigned") && config.rules >= kAccurateRules && narrow) {
    config.unsigned_inputs = true;
  }
}

Result<ModeResult> QuantizeInBestMode(const Graph& graph, PipelineOptions& options,
                                      const FloatResults& expected,
                                      const std::function<void(const ModeResult&, bool)>& tried) {
  using Mode = CalibrateMode;
  std::optional<ModeResult> best;
  for (const Mode mode : {Mode::kPercentile, Mode::kMse, Mode::kKlDivergence, Mode::kGlobalScale}) {
    if (mode == Mode::kPercentile && options.config.rules < kSkipCountsConvolutions) continue;
    options.config.calibrate_mode = mode;
    if (options.left != nullptr) options.left->clear();
    ModeResult result{mode, {}, {}, {}};
    TW_ASSIGN_OR_RETURN(result.graph, RunPasses(graph.Clone(), options, &result.values));
    TW_ASSIGN_OR_RETURN(result.quality, expected.Compare(result.graph));
    // Of a network that yields inf or NaN the quality is not a number.
    const bool better =
        !best || std::isnan(best->quality.total) || result.quality.total > best->quality.total;
    tried(result, better);
    if (better) best = std::move(result);
  }
  options.config.calibrate_mode = best->mode;
  return *std::move(best);
}

}  // namespace tilewright::quantize
