#pragma once

#include <string_view>

#include "src/ir/stmt.h"

namespace tilewright {

/// Returns the suffix of a printed loop: "" for a serial one, else a blank and a word.
std::string_view LoopSuffix(LoopKind kind);

}  // namespace tilewright
