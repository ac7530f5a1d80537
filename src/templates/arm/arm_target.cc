#include "src/templates/arm/arm_target.h"

#include <algorithm>

#include "src/target/cpu.h"
#include "src/templates/workload_kind.h"

namespace tilewright {

std::string RefusesForArm(const Workload& w, const Target& target) {
  const std::string architecture = ArchitectureOf(target);
  const bool arm = architecture == "aarch64" || architecture == "arm" ||
                   std::ranges::count(target.keys(), "arm_cpu") > 0;
  if (!arm) return "only Arm CPUs and targets with -device=arm_cpu";
  return IsFloat32(w) || IsInt8(w) ? "" : "only float32, and 8-bit integers summed in int32";
}

}  // namespace tilewright
