#include <algorithm>
#include <utility>

#include "src/codegen/codegen.h"
#include "src/codegen/simt/simt.h"
#include "src/compiler/gpu_run.h"
#include "src/runtime/cuda_session.h"
#include "src/schedule/launch.h"

namespace tilewright {
namespace {

class Emulator final : public GpuExecutor {
 public:
  explicit Emulator(std::vector<SimtKernel> kernels) : kernels_(std::move(kernels)) {}
  Status Run(std::size_t kernel, std::span<void* const> arguments) override {
    return kernels_[kernel].Run(arguments);
  }

 private:
  std::vector<SimtKernel> kernels_;
};

class Device final : public GpuExecutor {
 public:
  Device(const GpuPlan& plan, std::unique_ptr<CudaSession> session)
      : plan_(plan), session_(std::move(session)) {}
  Status Load();
  Status Run(std::size_t kernel, std::span<void* const> arguments) override;

 private:
  struct Loaded {
    CudaProgram program;
    std::vector<std::int64_t> workspace_bytes;
  };
  const GpuPlan& plan_;
  std::unique_ptr<CudaSession> session_;  // outlives the programs
  std::vector<Loaded> kernels_;
};

Status Device::Load() {
  for (const Program& program : plan_.plan.kernels) {
    auto ptx = Generate({program}, plan_.target, Emit::kObject);
    TW_RETURN_IF_ERROR(ptx);
    const LaunchPlan launches = PlanLaunches(program);
    std::vector<CudaLaunch> shapes;
    for (const Launch& launch : launches.launches) {
      shapes.push_back({launch.name, launch.grid, launch.block});
      if (const LibraryCall* call = launch.library()) {
        shapes.back().library = {call->file, call->operation, FieldsOf(call->shape),
                                 launch.operands};
      }
    }
    auto loaded = session_->Load(*ptx, std::move(shapes));
    if (!loaded.ok()) return loaded.status().WithContext(program.name);
    Loaded& kernel = kernels_.emplace_back();
    kernel.program = *std::move(loaded);
    for (const Buffer& buffer : launches.workspace) {
      kernel.workspace_bytes.push_back(buffer->bytes());
    }
  }
  return {};
}

Status Device::Run(std::size_t kernel, std::span<void* const> arguments) {
  constexpr double kLimitSeconds = 60;
  const std::vector<Buffer>& parameters = plan_.plan.kernels[kernel].parameters;
  Loaded& loaded = kernels_[kernel];
  std::vector<CudaMemory> memories;
  std::vector<std::uint64_t> addresses;
  const auto allocate = [&](std::int64_t bytes) -> Status {
    auto memory = session_->Allocate(bytes);
    TW_RETURN_IF_ERROR(memory);
    addresses.push_back(memory->address());
    memories.push_back(*std::move(memory));
    return {};
  };
  const auto host = [&](std::size_t i) {
    return std::span(static_cast<std::byte*>(arguments[i]),
                     static_cast<std::size_t>(parameters[i]->bytes()));
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    TW_RETURN_IF_ERROR(allocate(parameters[i]->bytes()));
    TW_RETURN_IF_ERROR(session_->Write(addresses[i], host(i)));
  }
  for (const std::int64_t bytes : loaded.workspace_bytes) TW_RETURN_IF_ERROR(allocate(bytes));
  loaded.program.SetArguments(addresses);
  TW_RETURN_IF_ERROR(session_->Enqueue(loaded.program));
  TW_RETURN_IF_ERROR(session_->Wait(kLimitSeconds));
  const std::size_t result = parameters.size() - 1;
  return session_->Read(addresses[result], host(result));
}

}  // namespace

Result<std::unique_ptr<GpuExecutor>> EmulateGpu(const GpuPlan& plan) {
  std::vector<SimtKernel> kernels;
  for (const Program& program : plan.plan.kernels) {
    auto kernel = SimtKernel::Build(program, plan.target);
    if (!kernel.ok()) return kernel.status().WithContext(program.name);
    kernels.push_back(*std::move(kernel));
  }
  return std::unique_ptr<GpuExecutor>(std::make_unique<Emulator>(std::move(kernels)));
}

Result<std::unique_ptr<GpuExecutor>> UseGpu(const GpuPlan& plan, const std::string& library,
                                            int ordinal) {
  auto session = CudaSession::Open(library, ordinal);
  TW_RETURN_IF_ERROR(session);
  auto device = std::make_unique<Device>(plan, *std::move(session));
  TW_RETURN_IF_ERROR(device->Load());
  return std::unique_ptr<GpuExecutor>(std::move(device));
}

}  // namespace tilewright
