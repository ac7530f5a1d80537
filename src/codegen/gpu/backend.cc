// Backends for grids: PTX, the source text of OpenCL C, and AMD's code objects; see
// src/codegen/backend.h.

#include "src/codegen/backend.h"

#include "src/codegen/amdgpu/dot.h"
#include "src/codegen/codegen.h"
#include "src/codegen/gpu/amdgpu_machine.h"
#include "src/codegen/gpu/launches.h"
#include "src/codegen/gpu/nvptx_machine.h"
#include "src/codegen/nvptx/shared_memory.h"
#include "src/codegen/opencl/source.h"

namespace tilewright::nvptx {
namespace {

/// Vectors of a GPU are those of its loads and stores: 16 bytes, as without any feature.
Result<CpuFeatures> NoFeatures(const Target& /*target*/) { return CpuFeatures(); }

Status EmitForGpu(const Program& program, const Target& target, const CpuFeatures& /*features*/,
                  const llvm::TargetMachine& /*machine*/, llvm::Module& module) {
  return gpu::EmitLaunches(program, target, {.describe = &DescribeKernel}, module);
}

/// The launches set the size of shared memory.
void PlaceShared(llvm::Module& module) { PlaceDynamicShared(module); }

}  // namespace

const Backend kBackend = {.features = &NoFeatures,
                          .make_machine = &MakeTargetMachine,
                          .emit = &EmitForGpu,
                          .finish = &PlaceShared,
                          .object_is_assembly = true};

}  // namespace tilewright::nvptx

namespace tilewright::opencl {

/// The LLVM module is that of CUDA: the emulator of threads (src/codegen/simt) runs it.
const Backend kBackend = {.features = &nvptx::NoFeatures,
                          .make_machine = &nvptx::MakeTargetMachine,
                          .emit = &nvptx::EmitForGpu,
                          .finish = &nvptx::PlaceShared,
                          .print = &PrintSource,
                          .object_is_assembly = true};

}  // namespace tilewright::opencl

namespace tilewright::amdgpu {
namespace {

Status EmitForAmd(const Program& program, const Target& target, const CpuFeatures& /*features*/,
                  const llvm::TargetMachine& machine, llvm::Module& module) {
  SetCodeObjectVersion(module);
  const gpu::KernelForm form = {.machine = emit::Machine::kAmdgpu,
                                .parameter_space = kGlobalSpace,
                                .describe = &DescribeKernel,
                                .byte_dot = ByteDotOf(*machine.getMCSubtargetInfo())};
  return gpu::EmitLaunches(program, target, form, module);
}

}  // namespace

const Backend kBackend = {.features = &nvptx::NoFeatures,
                          .make_machine = &MakeTargetMachine,
                          .emit = &EmitForAmd,
                          .finish = &nvptx::PlaceShared,
                          .link = &LinkCodeObject};

}  // namespace tilewright::amdgpu
