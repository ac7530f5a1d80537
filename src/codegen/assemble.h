#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright {

/// An ELF object of a module given as LLVM IR text (tables and small functions; nothing is
/// optimized), for LinkShared.
/// Errors: kUnsupported for what the target lacks; kInternal with LLVM's own words if the text is
/// wrong.
Result<std::string> AssembleIr(std::string_view ir, const Target& target);

}  // namespace tilewright
