#pragma once

#include <string_view>

#include "src/ir/stmt.h"

namespace tilewright {

/// Returns the suffix of a printed loop: "" for a serial one, else a blank and a word.
std::string_view LoopSuffix(LoopKind kind);
/// Returns the word of a scope: "global", "local" or "shared".
std::string_view ScopeName(Scope scope);

}  // namespace tilewright
