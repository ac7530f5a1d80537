#include "tests/compiler/fake_gpu.h"

#include <algorithm>

namespace tilewright {
namespace {

SharedLibrary OpenDriver(const std::string& path) {
  auto library = SharedLibrary::Open(path);
  TW_CHECK(library.ok(), library.status().message());
  return *std::move(library);
}

bool SameSizes(const std::array<std::int64_t, 3>& expected, const unsigned* given) {
  return std::equal(expected.begin(), expected.end(), given);
}

}  // namespace

FakeGpu::FakeGpu(const std::string& library, const Plan& plan)
    : plan_(plan), library_(OpenDriver(library)) {
  for (const Program& program : plan.kernels) {
    const LaunchPlan launches = PlanLaunches(program);
    for (std::size_t i = 0; i < launches.launches.size(); ++i) {
      launches_.push_back({kernels_.size(), i, launches.launches[i]});
    }
    auto kernel = SimtKernel::Build(program, plan.target);
    TW_CHECK(kernel.ok(), kernel.status().message());
    kernels_.push_back(*std::move(kernel));
  }
  Find<FakeExecuteBy>("fake_cuda_execute_by")(&Execute, this);
}

FakeGpu::~FakeGpu() { Find<FakeExecuteBy>("fake_cuda_execute_by")(nullptr, nullptr); }

FakeCounts FakeGpu::counts() const {
  FakeCounts counts;
  Find<FakeCountsOf>("fake_cuda_counts")(&counts);
  return counts;
}

int FakeGpu::Execute(void* context, const char* kernel, const unsigned* grid, const unsigned* block,
                     unsigned shared_bytes, const std::uint64_t* arguments, int argument_count) {
  auto* self = static_cast<FakeGpu*>(context);
  const Status status = self->Launched(kernel, grid, block, shared_bytes,
                                       {arguments, static_cast<std::size_t>(argument_count)});
  if (!status.ok() && self->problem_.empty()) self->problem_ = status.message();
  return status.ok() ? 0 : 1;
}

Status FakeGpu::Launched(const std::string& entry, const unsigned* grid, const unsigned* block,
                         unsigned shared_bytes, std::span<const std::uint64_t> arguments) {
  if (fails_) return Internal("asked to fail");
  const auto known = std::ranges::find_if(
      launches_, [&](const Known& launch) { return launch.shape.name == entry; });
  if (known == launches_.end()) return NotFound("no launch " + entry);
  if (!SameSizes(known->shape.grid, grid) || !SameSizes(known->shape.block, block)) {
    return InvalidArgument(entry + ": another grid or block");
  }
  if (known->shape.dynamic_shared_bytes() != shared_bytes) {
    return InvalidArgument(entry + ": " + std::to_string(shared_bytes) +
                           " bytes of shared memory, expected " +
                           std::to_string(known->shape.dynamic_shared_bytes()));
  }
  const Program& program = plan_.kernels[known->kernel];
  std::vector<Buffer> buffers = program.parameters;
  const LaunchPlan launches = PlanLaunches(program);
  buffers.insert(buffers.end(), launches.workspace.begin(), launches.workspace.end());
  std::vector<void*> pointers;
  for (std::size_t i = 0; i < arguments.size() && i < buffers.size(); ++i) {
    const auto bytes = static_cast<std::uint64_t>(buffers[i]->bytes());
    if (Find<FakeHolds>("fake_cuda_holds")(arguments[i], bytes) == 0) {
      return InvalidArgument(entry + ": argument " + std::to_string(i) + " outside of all memory");
    }
    pointers.push_back(reinterpret_cast<void*>(arguments[i]));
  }
  if (pointers.size() != arguments.size()) return InvalidArgument(entry + ": too many arguments");
  return kernels_[known->kernel].RunLaunch(known->launch, pointers);
}

}  // namespace tilewright
