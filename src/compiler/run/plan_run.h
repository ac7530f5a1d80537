#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/run.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Executor of a plan's steps, one at a time, on memory of this machine.
class StepExecutor {
 public:
  virtual ~StepExecutor() = default;
  /// arguments: the data of step.buffers, the result last.
  virtual Status Run(const PlanStep& step, std::span<void* const> arguments) = 0;
};

/// Returns an executor that emulates the threads of a GPU. plan: outlives the executor.
/// Errors: kInvalidArgument for a plan of another target; those of SimtKernel::Build.
Result<std::unique_ptr<StepExecutor>> EmulateGpu(const Plan& plan);

/// A plan that runs step by step without a library: kernels of a GPU in the emulator, or a VTA with
/// its host (vta_run.h). A run can also fail with kCorrupt if a step writes outside of the working
/// memory.
class PlannedNetwork final : public RunnableNetwork {
 public:
  /// Both outlive this.
  PlannedNetwork(const Plan& plan, StepExecutor& executor);
  bool machine_code() const override { return false; }

 private:
  Result<std::vector<Tensor>> RunWithHooks(std::span<const Tensor> inputs, const OnBegin& begin,
                                           const OnResult& observe) const override;

  const Plan& plan_;
  StepExecutor& executor_;
};

}  // namespace tilewright
