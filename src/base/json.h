#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// Ordered, so that what is written keeps the order in which it was made. Include this header in
/// .cc files only (it is slow to compile); headers include <nlohmann/json_fwd.hpp>.
using Json = nlohmann::ordered_json;

/// Errors: kInvalidArgument with line and column; for lists and objects more than 100 deep.
Result<Json> ParseJson(std::string_view text);

/// One line, or with an indent one for each value. Bytes that are no UTF-8, which JSON cannot hold,
/// are replaced.
std::string DumpJson(const Json& json, int indent = -1);

}  // namespace tilewright
