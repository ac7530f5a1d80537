#pragma once

#include <cstdint>
#include <string>

#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// float32 lanes of a vector of NEON.
constexpr std::int64_t kNeonLanes = 4;

/// Returns the reason why AutoTVM's templates for Arm CPUs do not serve a target or the types of a
/// workload; empty if they do.
std::string RefusesForArm(const Workload& workload, const Target& target);

}  // namespace tilewright
