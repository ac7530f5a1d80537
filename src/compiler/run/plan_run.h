#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/run.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Executes the steps of a plan, one at a time, on memory of this machine.
class StepExecutor {
 public:
  virtual ~StepExecutor() = default;
  /// arguments: the data of step.buffers, the result last.
  virtual Status Run(const PlanStep& step, std::span<void* const> arguments) = 0;
};

/// Kernels for a GPU in the emulator of threads. plan: outlives the executor.
/// Errors: kInvalidArgument for a plan for something else; those of SimtKernel::Build.
Result<std::unique_ptr<StepExecutor>> EmulateGpu(const Plan& plan);

/// A plan that is run step by step without becoming a library: kernels for a GPU in the emulator,
/// or a VTA with its host (vta_run.h). A run of it can also fail with kCorrupt if a step writes
/// beside the working memory.
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
