#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/run/plan_run.h"
#include "src/vta/design.h"
#include "src/vta/simulator/cycle_model.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/statistics.h"
#include "src/vta/simulator/timing.h"

namespace tilewright {

/// Cost of one launch of a kernel; independent of the data.
struct VtaLaunchCost {
  vta::StreamSummary summary;
  std::vector<vta::Timing> timings;  ///< one for each requested cycle model, without timelines
};

/// Costs of a run.
struct VtaCosts {
  std::vector<VtaLaunchCost> cost;  ///< of one launch of each of Plan::streams
  std::vector<int> launches;        ///< of each of them
  double simulator_seconds = 0, host_seconds = 0;
};

/// Executor of a VTA's steps on the functional simulator, with every hazard checked, and of the
/// host's steps by the reference evaluator. Each launch starts on an empty VTA. Runs can fail with
/// kInvalidArgument for a fault of a stream.
class VtaExecutor final : public StepExecutor {
 public:
  /// plan: outlives this. models: cycle models for timing, e.g. pynq and rtl; may be empty.
  /// Errors: kInvalidArgument for a plan of another target.
  static Result<VtaExecutor> Create(const Plan& plan, std::vector<vta::CycleModel> models,
                                    int host_threads);

  Status Run(const PlanStep& step, std::span<void* const> arguments) override;
  const VtaCosts& costs() const { return costs_; }

 private:
  VtaExecutor(const Plan& plan, const vta::Design& design, std::vector<vta::CycleModel> models,
              int host_threads);
  Result<Tensor> Evaluate(const HostStep& step, std::span<const Tensor* const> reads) const;
  Result<Tensor> Launch(const StreamStep& step, const TensorType& result,
                        std::span<const Tensor* const> reads);

  const Plan& plan_;
  vta::Design design_;
  std::vector<vta::CycleModel> models_;
  int host_threads_;
  VtaCosts costs_;
};

/// Returns the timelines of all launches of a run, one after the other, as vta::TraceWriter writes
/// them.
Result<std::string> TraceVta(const Plan& plan, const vta::CycleModel& model);

}  // namespace tilewright
