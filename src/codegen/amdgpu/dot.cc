#include "src/codegen/amdgpu/dot.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

namespace tilewright::amdgpu {

ByteDot ByteDotOf(const llvm::MCSubtargetInfo& processor) {
  if (processor.checkFeatures("+dot8-insts")) return ByteDot::kAnySign;
  return processor.checkFeatures("+dot1-insts") ? ByteDot::kSigned : ByteDot::kNone;
}

/// Without an instruction for unsigned bytes, 128 is subtracted from each byte of `a`, and 128
/// times the bytes of `b` are added again: all operands that share `b` share that sum.
llvm::Value* EmitDot(llvm::IRBuilder<>& builder, ByteDot dot, llvm::Value* acc, llvm::Value* a,
                     llvm::Value* b, bool a_signed) {
  constexpr std::uint32_t kSignBits = 0x80808080;  // four bytes of -128
  llvm::Value* wrap = builder.getFalse();          // sums do not saturate
  if (dot == ByteDot::kAnySign) {
    return builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_sudot4, {},
                                   {builder.getInt1(a_signed), a, builder.getTrue(), b, acc, wrap});
  }
  const auto both_signed = [&](llvm::Value* x, llvm::Value* sum) {
    return builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_sdot4, {}, {x, b, sum, wrap});
  };
  if (a_signed) return both_signed(a, acc);
  llvm::Value* moved = builder.CreateXor(a, builder.getInt32(kSignBits));
  return builder.CreateSub(both_signed(moved, acc),
                           both_signed(builder.getInt32(kSignBits), builder.getInt32(0)));
}

DotOperands DotOperandsOf(const llvm::CallInst& call) {
  const auto at = [&](unsigned i) { return call.getArgOperand(i); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_sdot4:
      return {at(0), at(1), at(2), true, true};
    case llvm::Intrinsic::amdgcn_sudot4: {
      const auto is_signed = [&](unsigned i) {
        return llvm::cast<llvm::ConstantInt>(at(i))->isOne();
      };
      return {at(1), at(3), at(4), is_signed(0), is_signed(2)};
    }
    default:
      return {};
  }
}

}  // namespace tilewright::amdgpu
