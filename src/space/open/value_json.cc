#include "src/space/open/value_json.h"

#include <limits>

namespace tilewright {

Json ToJson(const ParameterValue& value) {
  return std::visit([](const auto& one) { return Json(one); }, value);
}

Result<ParameterValue> ParameterValueFromJson(const Json& json) {
  if (json.is_boolean()) return ParameterValue(json.get<bool>());
  if (json.is_string()) return ParameterValue(json.get<std::string>());
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return InvalidArgument("a number of at most 64 bits expected");
  }
  if (json.is_number_integer()) return ParameterValue(json.get<std::int64_t>());
  if (json.is_number_float()) return ParameterValue(json.get<double>());
  return InvalidArgument("a number, a boolean or a text expected");
}

}  // namespace tilewright
