#pragma once

#include "src/space/config.h"
#include "src/space/open/open_space.h"

namespace tilewright {

/// Returns the parameters of a space as knobs, in the same order and with equal indices.
ConfigSpace KnobsOf(const OpenSpace& space);
KnobValue ToKnobValue(const ParameterValue& value);

}  // namespace tilewright
