#pragma once

#include <string>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright {

/// What code for an `llvm` target is like, as LLVM resolves its options.
struct CodeTraits {
  int pointer_bits = 64;
  /// Names of all that -mcpu and -mattr turn on, separated by commas. Those of instruction sets are
  /// among them; the others only tune.
  std::string features;
};

/// Errors: those of code generation for the target.
Result<CodeTraits> TraitsOf(const Target& target);

}  // namespace tilewright
