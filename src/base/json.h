#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// JSON value that keeps the order of members. Include this header in .cc files only (it is slow to
/// compile); headers include <nlohmann/json_fwd.hpp>.
using Json = nlohmann::ordered_json;

/// Parses a JSON text.
/// Errors: kInvalidArgument with line and column; for lists and objects nested deeper than 100.
Result<Json> ParseJson(std::string_view text);

/// Returns one line, or with an indent one line for each value. Replaces bytes that are not UTF-8,
/// which JSON cannot contain.
std::string DumpJson(const Json& json, int indent = -1);

}  // namespace tilewright
