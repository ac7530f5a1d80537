#pragma once

#include <llvm/IR/Function.h>

namespace tilewright::emit {

/// What the scheduler needs to know of an x86 target.
struct TileRegisters {
  int registers = 16;            ///< vector registers
  bool folds_broadcast = false;  ///< a multiply-add can broadcast a scalar from memory (AVX-512)
  bool fused = true;             ///< multiply-add is one instruction
};

/// Orders the multiply-adds of register tiles, so that the accumulators and the operands in flight
/// fit the vector registers; an operand that does not fit is read again as a memory operand.
/// To be run last: what it duplicates, common-subexpression elimination would merge again.
void ScheduleTiles(llvm::Function& function, const TileRegisters& target);

}  // namespace tilewright::emit
