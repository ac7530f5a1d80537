#include "src/codegen/nvptx/cp_async.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>

namespace tilewright::nvptx {
namespace {

// Only copies of 16 bytes can bypass the first-level cache, which does not help: no byte is reused.
constexpr std::array kInstructions = {
    CpAsync{16, llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16,
            llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s},
    CpAsync{8, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8,
            llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s},
    CpAsync{4, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4,
            llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s},
};

}  // namespace

const CpAsync* LargestCpAsync(std::int64_t bytes, std::int64_t alignment) {
  for (const CpAsync& instruction : kInstructions) {
    if (bytes % instruction.bytes == 0 && alignment % instruction.bytes == 0) return &instruction;
  }
  return nullptr;
}

const CpAsync* CpAsyncOf(llvm::Intrinsic::ID id) {
  for (const CpAsync& instruction : kInstructions) {
    if (id == instruction.whole || id == instruction.padding) return &instruction;
  }
  return nullptr;
}

}  // namespace tilewright::nvptx
