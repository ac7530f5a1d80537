#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright::emit {

/// Makes LLVM's back ends known; does nothing the second time. Thread-safe.
void InitializeBackEnds();

/// LLVM's code generator for an `llvm` target: -mtriple (this machine's without it), -mcpu, -mattr.
/// Position-independent code.
/// Errors: those of CheckCpuTarget.
Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target);

}  // namespace tilewright::emit
