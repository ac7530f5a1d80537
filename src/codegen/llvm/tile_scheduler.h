#pragma once

#include <llvm/IR/Function.h>

namespace tilewright::emit {

/// Registers and instructions of an x86 target, for the scheduler.
struct TileRegisters {
  int registers = 16;            ///< vector registers
  bool folds_broadcast = false;  ///< a multiply-add can broadcast a scalar from memory (AVX-512)
  bool fused = true;             ///< multiply-add is one instruction
};

/// Orders the multiply-adds of register tiles so that the accumulators and the operands in use fit
/// the vector registers; an operand that does not fit is read again as a memory operand. Run it
/// last: common-subexpression elimination would merge the repeated reads.
void ScheduleTiles(llvm::Function& function, const TileRegisters& target);

}  // namespace tilewright::emit
