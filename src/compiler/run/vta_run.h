#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/plan/vta_plan.h"
#include "src/tensor/tensor.h"
#include "src/vta/simulator/cycle_model.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/statistics.h"
#include "src/vta/simulator/timing.h"

namespace tilewright {

/// What one launch of a kernel costs; the same whatever the data.
struct VtaLaunchCost {
  vta::StreamSummary summary;
  std::vector<vta::Timing> timings;  ///< one for each cycle model asked for, without timelines
};

struct VtaRunOptions {
  std::vector<vta::CycleModel> models;  ///< e.g. pynq and rtl; may be empty
  int host_threads = 1;
  /// Called with each step's position in VtaPlan::steps and its result; an error ends the run. May
  /// be null.
  std::function<Status(std::size_t, const Tensor&)> observe;
};

struct VtaRunResult {
  std::vector<Tensor> outputs;      ///< in the graph's order
  std::vector<VtaLaunchCost> cost;  ///< of one launch of each of VtaPlan::kernels
  std::vector<int> launches;        ///< of each of them
  double simulator_seconds = 0, host_seconds = 0;
};

/// Runs a network: accelerator operators on the functional simulator, each a launch of its own on
/// an empty VTA, with every hazard checked; the others by the reference evaluator.
///
/// inputs: in the order of graph.inputs(), of exactly their types.
/// Errors: kInvalidArgument for other inputs, or a fault of a stream, with the operator's name;
///         those of the evaluator.
Result<VtaRunResult> RunVta(const VtaPlan& plan, std::span<const Tensor> inputs,
                            const VtaRunOptions& options);

/// The timelines of all launches of a run, one behind the other, as vta::TraceWriter writes them.
Result<std::string> TraceVta(const VtaPlan& plan, const vta::CycleModel& model);

}  // namespace tilewright
