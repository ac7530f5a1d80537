#include "cost_model/device_features.h"

#include <array>
#include <cmath>

#include "cost_model/analytical_cost.h"
#include "cost_model/cost_model.h"
#include "cost_model/gpu_features.h"
#include "cost_model/vta_features.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/device.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright::cost_model {
namespace {

using LoopFeatures = Status (*)(const Target&, const LoopSummary&, const Config&, std::span<float>);

Status OfGpu(const Target& target, const LoopSummary& summary, const Config& config,
             std::span<float> out) {
  TW_ASSIGN_OR_RETURN(const auto limits, LimitsOf(target));
  ExtractGpuFeatures(summary, limits, config, out);
  return {};
}

double EstimateOfStream(const Target& target, std::span<const float> row) {
  const bool bytes = target.Option("metric", kVtaCycles) == kVtaDramBytes;
  return std::exp2(row[bytes ? kVtaBytesColumn : kVtaBusyColumn]);
}

using Estimate = double (*)(const Target&, std::span<const float>);

}  // namespace

Status ExtractLoopFeatures(const Target& target, const LoopSummary& summary, const Config& config,
                           std::span<float> out) {
  static constexpr std::array kDevices = {DeviceTableRow<LoopFeatures>{"cuda", &OfGpu},
                                          DeviceTableRow<LoopFeatures>{"opencl", &OfGpu},
                                          DeviceTableRow<LoopFeatures>{"rocm", &OfGpu}};
  if (const LoopFeatures* own = FindDeviceRow(kDevices, target)) {
    return (*own)(target, summary, config, out);
  }
  ExtractFeatures(summary, config, out);
  return {};
}

Status ExtractStreamFeatures(const Target& target, const vta::Stream& stream, const Config& config,
                             std::span<float> out) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
  ExtractVtaFeatures(vta.design, vta.cycles, stream, config, out);
  return {};
}

double AnalyticalCost(const Target& target, std::span<const float> row) {
  static constexpr std::array kDevices = {DeviceTableRow<Estimate>{"llvm", &AnalyticalLoopCost},
                                          DeviceTableRow<Estimate>{"vta", &EstimateOfStream}};
  TW_CHECK(row.size() == static_cast<std::size_t>(FeatureCount()), "wrong width of a feature row");
  const Estimate* estimate = FindDeviceRow(kDevices, target);
  return estimate == nullptr ? 0 : (*estimate)(target, row);
}

double AnalyticalCost(const Target& target, std::string_view metric, std::span<const float> row) {
  if (metric == MetricOf(target)) return AnalyticalCost(target, row);
  if (!IsSimulated(target)) return 0;
  Target other = target;
  other.SetOption("metric", std::string(metric));
  return AnalyticalCost(other, row);
}

}  // namespace tilewright::cost_model
