#include "src/codegen/nvptx/mma.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>
#include <utility>

namespace tilewright::nvptx {
namespace {

constexpr std::array kIntrinsics = {
    std::pair{"mma.m16n8k16.f16", llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32},
    std::pair{"mma.m16n8k32.s8", llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8},
    std::pair{"mma.m16n8k8.f16", llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_f32_f32},
    std::pair{"mma.m16n8k8.tf32", llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32},
    std::pair{"mma.m8n8k16.s8", llvm::Intrinsic::nvvm_mma_m8n8k16_row_col_s8},
};

}  // namespace

llvm::Intrinsic::ID IntrinsicOf(const MmaIntrinsic& mma) {
  for (const auto& [name, id] : kIntrinsics) {
    if (mma.name == name) return id;
  }
  return llvm::Intrinsic::not_intrinsic;
}

const MmaIntrinsic* MmaOf(llvm::Intrinsic::ID wanted) {
  for (const auto& [name, id] : kIntrinsics) {
    if (id == wanted) return FindMmaIntrinsic(name);
  }
  return nullptr;
}

}  // namespace tilewright::nvptx
