#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace tilewright::cpu {

/// The short list of optimizations that explicitly vectorized code still needs: buffers to
/// registers, common subexpressions, invariants out of loops, simple control flow.
void Optimize(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tilewright::cpu
