#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/templates/registry.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Operands of an anchor in the workload's own layouts.
struct AnchorData {
  Tensor data, weight;
  std::vector<Tensor> operands;  ///< of the epilogue steps that have one
};
/// Returns seeded operands: small integers, floats in [-1, 1).
AnchorData MakeAnchorData(const Workload& workload, const Epilogue& epilogue, std::uint64_t seed);

/// Runs a kernel for CUDA on its parameters, the result last.
using GpuExecutor =
    std::function<Status(const Program&, const Target&, std::vector<Tensor>& arguments)>;
/// Sets the function that executes later CUDA kernels instead of the SIMT emulator; empty: the
/// emulator again. Not thread-safe.
void ExecuteGpuKernelsBy(GpuExecutor executor);
/// Sets the function that executes later kernels for CPUs of another architecture, which otherwise
/// do not load. Not thread-safe.
void ExecuteForeignKernelsBy(GpuExecutor executor);

/// Makes the object of a kernel for a CPU.
using ObjectMaker = std::function<Result<std::string>(const Program&, const Target&)>;
/// Sets the function that makes the objects of later kernels; empty: Generate. Not thread-safe.
void MakeObjectsBy(ObjectMaker maker);

/// Compiles the schedule and runs it on this machine with the number of threads of the target;
/// `arguments` are the parameters, the result last. Errors: those of each step.
Result<Tensor> RunSchedule(const Schedule& schedule, const Target& target,
                           std::vector<Tensor>& arguments);

/// Lowers, compiles, links, loads and runs the kernel on this machine (a CUDA kernel in the SIMT
/// emulator, src/codegen/simt). Returns the result in the layout of the workload's output. Errors:
/// those of each step.
Result<Tensor> RunKernel(const Workload& workload, const Epilogue& epilogue, const Target& target,
                         const Kernel& kernel, const AnchorData& operands);
/// The same for a lowered (and possibly changed) kernel.
Result<Tensor> RunProgram(const Workload& workload, const Epilogue& epilogue, const Target& target,
                          const Program& program, const KernelLayouts& layouts,
                          const AnchorData& operands);

}  // namespace tilewright
