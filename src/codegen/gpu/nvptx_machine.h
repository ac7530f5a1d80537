#pragma once

#include <llvm/IR/Function.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright::nvptx {

/// Creates LLVM's code generator for a `cuda` target.
/// Errors: those of ComputeCapabilityOf; kUnsupported if LLVM lacks NVPTX or the device.
Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target);

/// Makes a function the kernel of a launch with blocks of exactly this size (x, y, z), from which
/// ptxas derives the number of registers.
void DescribeKernel(const std::array<std::int64_t, 3>& block, llvm::Function& kernel);

}  // namespace tilewright::nvptx
