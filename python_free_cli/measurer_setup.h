#pragma once

#include "measure/process_measurer.h"
#include "src/target/target.h"

namespace tilewright::cli {

/// A measurer for a target whose workers are this program again.
/// Errors: those of DeviceFor.
Result<measure::ProcessMeasurerSettings> MeasurerSettings(const Target& target);

}  // namespace tilewright::cli
