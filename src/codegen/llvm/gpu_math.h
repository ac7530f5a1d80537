#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

namespace tilewright::emit {

/// exp, tanh, log, erf or pow of float32 or float64 values (or vectors of them) by arithmetic
/// alone, for machines without a library and for vectors: the value at the builder's position, or
/// null for another name. Relative errors: float32 3e-7; float64 1e-15, of pow 2e-13 where the result is near the
/// ends of the range. Infinities, zeros and NaNs give what the C library gives.
llvm::Value* EmitByArithmetic(llvm::IRBuilder<>& builder, const std::string& name,
                              const std::vector<llvm::Value*>& args);

}  // namespace tilewright::emit
