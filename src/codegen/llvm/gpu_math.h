#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

namespace tilewright::emit {

/// A function of float32 or float64 values (or vectors of them) by arithmetic alone, for machines
/// without a library and for vectors: exp, tanh, log, erf (of float64), pow and what MathBuilder
/// has. The value at the builder's position, which may be in another block then, or null for
/// another name. fused: whether the target multiplies and adds in one instruction.
llvm::Value* EmitByArithmetic(llvm::IRBuilder<>& builder, const std::string& name,
                              const std::vector<llvm::Value*>& args, bool fused);

}  // namespace tilewright::emit
