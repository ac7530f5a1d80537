#pragma once

#include "measure/process_measurer.h"

namespace tilewright::cli {

/// A measurer whose workers are this program again.
measure::ProcessMeasurerSettings MeasurerSettings();

}  // namespace tilewright::cli
