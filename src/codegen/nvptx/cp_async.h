#pragma once

#include <llvm/IR/Intrinsics.h>

#include <cstdint>

namespace tilewright::nvptx {

/// Instruction that copies from global to shared memory asynchronously.
struct CpAsync {
  std::int64_t bytes;           ///< size of the copy; both addresses are multiples of it
  llvm::Intrinsic::ID whole;    ///< (to, from)
  llvm::Intrinsic::ID padding;  ///< (to, from, bytes to read); the other bytes become zeros
};

/// Returns the largest instruction whose size divides `bytes` and `alignment`; null if there is
/// none.
const CpAsync* LargestCpAsync(std::int64_t bytes, std::int64_t alignment);

/// Returns the instruction of the intrinsic (with or without padding); null for other intrinsics.
const CpAsync* CpAsyncOf(llvm::Intrinsic::ID id);

}  // namespace tilewright::nvptx
