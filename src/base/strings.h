#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

std::vector<std::string> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);
/// Convert a whole text.
/// Errors: kInvalidArgument, naming the text, unless all of it is a number in range.
Result<std::int64_t> ParseInt64(std::string_view text);
Result<double> ParseDouble(std::string_view text);
/// Returns the shortest text that parses to the same double.
std::string ShortestDouble(double value);

}  // namespace tilewright
