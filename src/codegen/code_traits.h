#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/ir/stmt.h"
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

/// Memory that a kernel on a CPU needs beside its parameters, as Generate writes it into the
/// kernel's TwKernelInfo.
struct Workspace {
  std::int64_t bytes = 0, bytes_per_thread = 0;
};
/// Errors: kInvalidArgument for a program that cannot be generated.
Result<Workspace> WorkspaceOf(const Program& program);

}  // namespace tilewright
