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

/// What the program asks of a device beside its traits (src/target/device.h).
struct DeviceSupport {
  /// Completes a target as written, by --vta-config if there is one, and looks whether code can be
  /// made for it. Errors: as ParseTarget tells them.
  Status (*complete)(const std::string& vta_config, Target& target);
  /// --vta-config describes it.
  bool takes_design = false;
  /// Fills in what is measured on. Null: what DeviceFor says.
  /// Errors: why there is no such device here.
  Status (*find)(const Target&, const DeviceChoice&, measure::ProcessMeasurerSettings&) = nullptr;
  /// Roofline of each task in the target's metric, on a device of these peaks. Null: not known.
  std::vector<RooflineBound> (*bounds)(const std::vector<search::TuneTask>&, const Target&,
                                       const MachinePeaks&) = nullptr;
  /// What this machine reaches, for code of the target. Null: nobody has measured such a device.
  MachinePeaks (*peaks)(const Target&) = nullptr;
  /// Why a runner elsewhere does not have it. Empty: it may.
  const char* only_here = "";
};

/// Of the target's device. Null: no code can be generated for it.
const DeviceSupport* DeviceSupportOf(const Target& target);

/// The names of the boards (configs/targets), for messages; empty where none are installed.
std::string BoardNames();

}  // namespace tilewright::session
