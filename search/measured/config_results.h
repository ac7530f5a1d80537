#pragma once

#include "records/devices/shares.h"
#include "search/measured/measured_space.h"

namespace tilewright::search {

/// Returns the results of a measured space, to compare it with others of the same program.
records::ConfigResults ResultsOf(const MeasuredSpace& space);

}  // namespace tilewright::search
