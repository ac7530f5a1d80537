#pragma once

#include <llvm/IR/Module.h>

#include <array>
#include <cstdint>

#include "src/base/status.h"
#include "src/codegen/llvm/function_emitter.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright::gpu {

/// Form of the kernels of one kind of GPU.
struct KernelForm {
  emit::Machine machine = emit::Machine::kNvptx;
  unsigned parameter_space = 0;  ///< address space of the parameters
  /// Makes a function the kernel of a launch with blocks of exactly this size (x, y, z).
  void (*describe)(const std::array<std::int64_t, 3>& block, llvm::Function& kernel) = nullptr;
  amdgpu::ByteDot byte_dot = amdgpu::ByteDot::kNone;
};

/// Adds the kernels of a program's launches (src/schedule/launch.h). Each takes the program's
/// parameters, then the buffers of its workspace, as pointers.
/// Errors: kInvalidArgument for an invalid program; kUnsupported for code that GPUs cannot express,
/// or that exceeds the target's compute capability.
Status EmitLaunches(const Program& program, const Target& target, const KernelForm& form,
                    llvm::Module& module);

}  // namespace tilewright::gpu
