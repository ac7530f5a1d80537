#pragma once

#include <string>
#include <string_view>

#include "src/target/cpu.h"
#include "src/target/target.h"
#include "src/vta/design.h"
#include "src/vta/simulator/cycle_model.h"

namespace tilewright {

/// Names of the metrics of trials, which the simulator measures.
inline constexpr std::string_view kVtaCycles = "cycles";
inline constexpr std::string_view kVtaDramBytes = "dram_bytes";

/// Design, cycle model and metric of a VTA target such as `vta -model=sim_1x16_i8w8a32_15_15_18_17
/// -cycles=rtl`.
struct VtaTarget {
  vta::Design design;
  vta::CycleModel cycles;  ///< option -cycles: pynq (when absent), rtl or pynq_shared_bus
  std::string metric;      ///< option -metric: "cycles" (when absent), or "dram_bytes"
};
/// Parses a target.
/// Errors: kInvalidArgument if the target is not a VTA, or an option has an unknown value.
Result<VtaTarget> VtaTargetOf(const Target& target);

/// Returns the device fingerprint of the simulator: kind "vta", and in `isa` the design, the metric
/// and the cycle model with a hash of its numbers. Records are served only if all of these are
/// equal.
DeviceFingerprint VtaDevice(const VtaTarget& vta);

}  // namespace tilewright
