#pragma once

#include <string>
#include <string_view>

#include "src/target/target.h"

namespace tilewright {

/// Returns a name of a target for messages and tables: its kind and the options that people choose
/// it by, such as "llvm -mcpu=znver4 -num-threads=4" or "cuda -model=v100". Options that follow
/// from these (-mattr, -mtriple, -keys) are left out, so different targets can have the same name.
std::string ShortTargetText(const Target& target);
/// As above, of a target's text; a text that is not a target is returned unchanged.
std::string ShortTargetText(std::string_view target);

/// Returns the short name of a target for a comparison with `other`: the full text if both have the
/// same short name.
std::string DistinctTargetText(const Target& target, const Target& other);

}  // namespace tilewright
