#pragma once

#include <string>

#include "src/base/status.h"
#include "src/space/exchange/t4.h"
#include "src/space/open/open_space.h"
#include "src/space/trial.h"

namespace tilewright {

/// Returns the space of results: the parameters with the values that occur, in ascending order, and
/// no conditions.
/// Errors: kInvalidArgument for a file without results, or with different parameters.
Result<OpenSpace> SpaceOfT4(std::string name, const T4File& file);

/// Returns the outcome that a result states; kRunFailed for reasons that are none of T4.
Outcome T4OutcomeOf(const T4Result& result);

}  // namespace tilewright
