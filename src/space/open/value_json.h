#pragma once

#include "src/base/json.h"
#include "src/space/open/parameter.h"

// Values of parameters as JSON. Included by .cc files only.

namespace tilewright {

Json ToJson(const ParameterValue& value);
/// Errors: kInvalidArgument unless the value is a number, a boolean or a text.
Result<ParameterValue> ParameterValueFromJson(const Json& json);

}  // namespace tilewright
