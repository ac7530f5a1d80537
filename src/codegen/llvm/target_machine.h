#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright::emit {

/// Initializes LLVM's back ends; later calls do nothing. Thread-safe.
void InitializeBackEnds();

/// Creates LLVM's code generator for an `llvm` target: -mtriple (default: this machine's), -mcpu,
/// -mattr. Position-independent code.
/// Errors: those of CheckCpuTarget.
Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target);

}  // namespace tilewright::emit
