#pragma once

#include <llvm/IR/Intrinsics.h>

#include <cstdint>

namespace tilewright::nvptx {

/// An instruction that copies from global to shared memory asynchronously.
struct CpAsync {
  std::int64_t bytes;           ///< that it writes; both addresses are multiples of it
  llvm::Intrinsic::ID whole;    ///< (to, from)
  llvm::Intrinsic::ID padding;  ///< (to, from, bytes to read); the others are zeros
};

/// The largest one that divides `bytes` and `alignment`; null if there is none.
const CpAsync* LargestCpAsync(std::int64_t bytes, std::int64_t alignment);

/// The instruction that the intrinsic (with or without padding) is; null if it is none.
const CpAsync* CpAsyncOf(llvm::Intrinsic::ID id);

}  // namespace tilewright::nvptx
