#pragma once

#include <llvm/IR/Intrinsics.h>

#include "src/schedule/intrinsics.h"

namespace tilewright::nvptx {

/// Convert between a matrix product of a warp and LLVM's intrinsic; null for any other intrinsic.
llvm::Intrinsic::ID IntrinsicOf(const MmaIntrinsic& mma);
const MmaIntrinsic* MmaOf(llvm::Intrinsic::ID id);

}  // namespace tilewright::nvptx
