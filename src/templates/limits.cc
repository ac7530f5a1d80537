#include "src/templates/limits.h"

#include "src/target/device.h"
#include "src/target/gpu.h"

namespace tilewright {

LowerLimits LowerLimitsFor(const Target& target) {
  LowerLimits limits;
  if (!DeviceTraitsOf(target).launches_grids) return limits;
  const auto capability = ComputeCapabilityOf(target);
  if (capability.ok()) limits.launch.shared_bytes = LimitsOf(*capability).block_shared_bytes;
  return limits;
}

}  // namespace tilewright
