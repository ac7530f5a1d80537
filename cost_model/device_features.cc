#include "cost_model/device_features.h"

#include <array>

#include "cost_model/cost_model.h"
#include "cost_model/gpu_features.h"
#include "cost_model/vta_features.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright::cost_model {
namespace {

using LoopFeatures = Status (*)(const Target&, const LoopSummary&, const Config&, std::span<float>);

Status OfGpu(const Target& target, const LoopSummary& summary, const Config& config,
             std::span<float> out) {
  const Result<int> capability = ComputeCapabilityOf(target);
  TW_RETURN_IF_ERROR(capability);
  ExtractGpuFeatures(summary, LimitsOf(*capability), config, out);
  return {};
}

}  // namespace

Status FeaturesOfLoops(const Target& target, const LoopSummary& summary, const Config& config,
                       std::span<float> out) {
  static constexpr std::array kDevices = {DevicePart<LoopFeatures>{"cuda", &OfGpu}};
  if (const LoopFeatures* own = FindPart(kDevices, target)) {
    return (*own)(target, summary, config, out);
  }
  ExtractFeatures(summary, config, out);
  return {};
}

Status FeaturesOfStream(const Target& target, const vta::Stream& stream, const Config& config,
                        std::span<float> out) {
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  ExtractVtaFeatures(vta->design, vta->cycles, stream, config, out);
  return {};
}

}  // namespace tilewright::cost_model
