#pragma once

#include <string>
#include <vector>

#include "measure/supervisor/process_measurer.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/runtime/roofline.h"
#include "src/session/device_choice.h"
#include "src/target/target.h"

namespace tilewright::session {

/// Functions and properties that the program needs of a device in addition to its traits
/// (src/target/device.h).
struct DeviceSupport {
  /// Completes a target as written, with the design of vta_config if given, and checks that code
  /// can be generated for it. Errors: those that ParseTarget documents.
  Status (*complete)(const std::string& vta_config, Target& target);
  /// True if vta_config describes the device.
  bool takes_design = false;
  /// Sets the device that trials are measured on. Null: DeviceFor's device.
  /// Errors: the reason if this machine has no such device.
  Status (*find)(const Target&, const DeviceChoice&, measure::ProcessMeasurerSettings&) = nullptr;
  /// Returns the roofline of each task in the target's metric, on a device of these peaks. Null:
  /// unknown.
  std::vector<RooflineBound> (*bounds)(const std::vector<search::TuneTask>&, const Target&,
                                       const MachinePeaks&) = nullptr;
  /// Measures the peaks of this machine for code of the target. Null: peaks of such devices are not
  /// measured.
  MachinePeaks (*peaks)(const Target&) = nullptr;
  /// Reason why a runner on another machine cannot have the device. Empty: it can.
  const char* only_here = "";
};

/// Returns the entry of the target's device. Null: no code can be generated for it.
const DeviceSupport* DeviceSupportOf(const Target& target);

/// Returns the names of the boards (configs/targets), for messages; empty if none are installed.
std::string BoardNames();

}  // namespace tilewright::session
