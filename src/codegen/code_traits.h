#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

/// Properties of code for an `llvm` target, as LLVM resolves its options.
struct CodeTraits {
  int pointer_bits = 64;
  /// Names of all features that -mcpu and -mattr enable, separated by commas: instruction sets, and
  /// tuning features.
  std::string features;
};

/// Returns the traits of a target. Errors: those of code generation for it.
Result<CodeTraits> TraitsOf(const Target& target);

/// Memory that a CPU kernel needs in addition to its parameters, as Generate writes it into the
/// kernel's TwKernelInfo.
struct Workspace {
  std::int64_t bytes = 0, bytes_per_thread = 0;
};
/// Returns the workspace of a program. Errors: kInvalidArgument for an invalid program.
Result<Workspace> WorkspaceOf(const Program& program);

}  // namespace tilewright
