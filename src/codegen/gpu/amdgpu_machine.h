#pragma once

#include <llvm/IR/Function.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright::amdgpu {

inline constexpr unsigned kGlobalSpace = 1;  ///< address space of tensors

/// Creates LLVM's code generator for a `rocm` target.
/// Errors: those of AmdProcessorOf; kUnsupported if LLVM lacks AMDGPU or the processor.
Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target);

/// Makes a function the kernel of a launch with blocks of exactly this size (x, y, z).
void DescribeKernel(const std::array<std::int64_t, 3>& block, llvm::Function& kernel);

/// Sets the version of the code objects (5) that become of the module.
void SetCodeObjectVersion(llvm::Module& module);

}  // namespace tilewright::amdgpu
