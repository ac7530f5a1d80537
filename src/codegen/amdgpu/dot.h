#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <cstdint>

namespace tilewright::amdgpu {

/// Instruction of a processor that adds four products of bytes to an integer.
enum class ByteDot : std::uint8_t {
  kNone,
  kSigned,   ///< v_dot4_i32_i8: both operands are signed
  kAnySign,  ///< v_dot4_i32_iu8: each operand is signed or not
};
ByteDot ByteDotOf(const llvm::MCSubtargetInfo& processor);

/// Emits acc + the products of the bytes of `a` (signed or not) and of `b` (signed), which are
/// integers of four bytes. dot: not kNone.
llvm::Value* EmitDot(llvm::IRBuilder<>& builder, ByteDot dot, llvm::Value* acc, llvm::Value* a,
                     llvm::Value* b, bool a_signed);

/// Operands of an intrinsic that EmitDot emits, for code that computes the same on a CPU.
struct DotOperands {
  llvm::Value *a, *b, *acc;
  bool a_signed, b_signed;
};
/// Returns the operands of such a call; null operands for another intrinsic.
DotOperands DotOperandsOf(const llvm::CallInst& call);

}  // namespace tilewright::amdgpu
