#pragma once

#include <llvm/IR/Function.h>

#include <string>
#include <vector>

#include "src/codegen/llvm/function_emitter.h"

namespace tilewright::emit {

/// Creates a module-internal function that returns i32 and does not unwind.
llvm::Function* MakeInternalFunction(KernelContext& kernel, const std::string& name,
                                     const std::vector<llvm::Type*>& parameters);

/// Creates the TwPrepare <name>_prepare (src/runtime/abi.h) and sets `at` to its beginning. Returns
/// null if the kernel has one already.
llvm::Function* BeginPrepare(KernelContext& kernel, llvm::IRBuilder<>& at);

/// Annotates the base address of a buffer for LLVM: alignment, size, no overlap with the function's
/// other buffers, and read-only for the inputs of the kernel.
void DescribeBufferArgument(const KernelContext& kernel, const BufferNode& buffer,
                            llvm::Argument& argument);

/// Adds the entry point and the `<name>_info` of one program to the module.
/// Errors: kInvalidArgument for an invalid program; kUnsupported for code that CPUs cannot express.
Status EmitKernel(const Program& program, const CpuFeatures& features, Machine machine,
                  llvm::Module& module);

}  // namespace tilewright::emit
