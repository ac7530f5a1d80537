#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright {

/// Returns an ELF object of a module in LLVM IR text (tables and small functions; not optimized),
/// for LinkShared.
/// Errors: kUnsupported for features that the target lacks; kInternal with LLVM's message for
/// invalid text.
Result<std::string> AssembleIr(std::string_view ir, const Target& target);

}  // namespace tilewright
