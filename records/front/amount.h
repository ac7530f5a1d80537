#pragma once

#include <string_view>

#include "src/base/status.h"

namespace tilewright::records {

/// Parses a positive amount of a metric: "15.3MB" of dram_bytes, "2.5ms" of seconds.
/// Errors: kInvalidArgument with an example.
Result<double> ParseAmount(std::string_view text, std::string_view metric);

}  // namespace tilewright::records
