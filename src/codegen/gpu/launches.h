#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright::nvptx {

/// Creates LLVM's code generator for a `cuda` target.
/// Errors: those of ComputeCapabilityOf; kUnsupported if LLVM lacks NVPTX or the device.
Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target);

/// Adds the kernels of a program's launches (src/schedule/launch.h). Each takes the program's
/// parameters, then the buffers of its workspace, as pointers.
/// Errors: kInvalidArgument for an invalid program; kUnsupported for code that GPUs cannot express,
/// or that exceeds the target's compute capability.
Status EmitLaunches(const Program& program, const Target& target, llvm::Module& module);

}  // namespace tilewright::nvptx
