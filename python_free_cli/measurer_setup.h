#pragma once

#include "measure/process_measurer.h"
#include "python_free_cli/device_argument.h"
#include "src/target/target.h"

namespace tilewright::cli {

/// A measurer for a target whose workers are this program again.
/// Errors: those of DeviceFor and DeviceArgument::Find.
Result<measure::ProcessMeasurerSettings> MeasurerSettings(const Target& target,
                                                          const DeviceArgument& device);

}  // namespace tilewright::cli
