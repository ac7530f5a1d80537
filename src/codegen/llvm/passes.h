#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "src/target/cpu.h"

namespace tilewright::emit {

/// Runs the few optimizations that explicitly vectorized code still needs: promotion of buffers to
/// registers, common subexpressions, loop invariants, simple control flow; then the order of
/// register tiles (tile_scheduler.h).
void Optimize(llvm::Module& module, llvm::TargetMachine& machine, const CpuFeatures& features);

}  // namespace tilewright::emit
