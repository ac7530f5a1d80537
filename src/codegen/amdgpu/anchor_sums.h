#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

namespace tilewright::amdgpu {

/// Keeps sums in the block that computes them, before its next barrier. LLVM's optimizations sink
/// arithmetic to the block of its only use. Of a reduction whose steps are unrolled, every sum
/// would go to the last block, and all values that it needs would stay in registers until then.
void AnchorSums(llvm::Function& function);

/// Returns true for an anchor: it returns its operand and has no instructions.
bool IsAnchor(const llvm::CallBase& call);

}  // namespace tilewright::amdgpu
