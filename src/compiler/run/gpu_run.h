#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// A network as kernels for a GPU, to be looked at kernel by kernel. What runs on a device is a
/// library (compile.h) of the same plan.
struct GpuPlan {
  Graph graph;  ///< optimized
  Target target;
  Plan plan;
};

/// Chooses the kernels. options.target: of kind cuda.
/// Errors: those of Compile.
Result<GpuPlan> PlanGpu(Graph graph, const CompileOptions& options);

/// Executes a plan's kernels one at a time.
class GpuExecutor {
 public:
  virtual ~GpuExecutor() = default;
  /// kernel: position in Plan::kernels. arguments: the data of each parameter on this machine, the
  /// result last.
  virtual Status Run(std::size_t kernel, std::span<void* const> arguments) = 0;
};

/// In the emulator of threads. plan: outlives the executor. Errors: those of SimtKernel::Build.
Result<std::unique_ptr<GpuExecutor>> EmulateGpu(const GpuPlan& plan);

/// Called with each step's position in Plan::steps and its result as the graph has it (layout
/// undone); an error ends the run.
using GpuObserver = std::function<Status(std::size_t, const Tensor&)>;

/// Runs the network. inputs: in the order of graph.inputs(), of exactly their types. observe,
/// progress: may be null; progress is told which kernel runs.
/// Errors: kInvalidArgument for other inputs; those of the executor, with the operator's name.
Result<std::vector<Tensor>> RunGpu(const GpuPlan& plan, GpuExecutor& executor,
                                   std::span<const Tensor> inputs, const GpuObserver& observe,
                                   CheckProgress* progress = nullptr);

/// Compares every operator with the reference evaluator.
Result<VerifyReport> VerifyGpu(const GpuPlan& plan, GpuExecutor& executor,
                               std::span<const Tensor> inputs, const VerifyOptions& options);

}  // namespace tilewright
