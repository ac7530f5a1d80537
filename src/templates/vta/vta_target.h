#pragma once

#include <string>
#include <string_view>

#include "src/target/cpu.h"
#include "src/target/target.h"
#include "src/vta/design.h"
#include "src/vta/simulator/cycle_model.h"

namespace tilewright {

/// What the simulator measures: names of metrics of trials.
inline constexpr std::string_view kVtaCycles = "cycles";
inline constexpr std::string_view kVtaDramBytes = "dram_bytes";

/// What a VTA target string stands for, as in
/// `vta -model=sim_1x16_i8w8a32_15_15_18_17 -cycles=rtl`.
struct VtaTarget {
  vta::Design design;
  vta::CycleModel cycles;  ///< option -cycles: pynq (when absent), rtl or pynq_shared_bus
  std::string metric;      ///< option -metric: "cycles" (when absent), or "dram_bytes"
};
/// Errors: kInvalidArgument if the target is no VTA, or an option has an unknown value.
Result<VtaTarget> VtaTargetOf(const Target& target);

/// The simulator as a device to measure on: kind "vta", and in `isa` the design, the metric and the
/// cycle model with a hash of its numbers. Records are served only where all of these are equal.
DeviceFingerprint VtaDevice(const VtaTarget& vta);

}  // namespace tilewright
