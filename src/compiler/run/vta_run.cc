// Runs a network for the VTA operator by operator: operands as the accelerator loads them, one
// launch of the simulator each, the rest by the reference evaluator.

#include "src/compiler/run/vta_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/clock.h"
#include "src/graph/ir/evaluate.h"
#include "src/templates/vta/launch.h"
#include "src/tensor/reference/reference.h"
#include "src/vta/simulator/trace.h"

namespace tilewright {
namespace {

class VtaRunner {
 public:
  VtaRunner(const VtaPlan& plan, std::span<const Tensor> inputs, const VtaRunOptions& options)
      : plan_(plan),
        options_(options),
        values_(static_cast<std::size_t>(plan.graph.size())),
        made_(values_.size()),
        last_use_(values_.size(), -1) {
    result_.cost.resize(plan.kernels.size());
    result_.launches.assign(plan.kernels.size(), 0);
    const std::vector<int> ids = plan.graph.inputs();
    for (std::size_t i = 0; i < ids.size(); ++i) At(ids[i]) = &inputs[i];
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      for (int id : Reads(plan.steps[s])) {
        last_use_[static_cast<std::size_t>(id)] = static_cast<std::int64_t>(s);
      }
    }
    for (int id : plan.graph.outputs()) {
      last_use_[static_cast<std::size_t>(id)] = static_cast<std::int64_t>(plan.steps.size());
    }
  }

  Result<VtaRunResult> Run() {
    SystemClock clock;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const VtaStep& step = plan_.steps[s];
      const int id = step.nodes.back();
      const double start = clock.MonotonicSeconds();
      const Status status = step.kernel < 0 ? Evaluate(step) : Launch(step);
      if (!status.ok()) return status.WithContext("value " + plan_.graph.node(id).name);
      (step.kernel < 0 ? result_.host_seconds : result_.simulator_seconds) +=
          clock.MonotonicSeconds() - start;
      if (options_.observe) TW_RETURN_IF_ERROR(options_.observe(s, *At(id)));
      Free(static_cast<std::int64_t>(s));
    }
    for (int id : plan_.graph.outputs()) result_.outputs.push_back(Value(id).Clone());
    return std::move(result_);
  }

 private:
  const Tensor*& At(int id) { return values_[static_cast<std::size_t>(id)]; }
  const Tensor& Value(int id) {
    const bool constant = plan_.graph.node(id).kind == NodeKind::kConstant;
    return constant ? *plan_.graph.Contents(id) : *At(id);
  }
  void Keep(int id, Tensor value) {
    Tensor& made = made_[static_cast<std::size_t>(id)];
    made = std::move(value);
    At(id) = &made;
  }

  std::vector<int> Reads(const VtaStep& step) const {
    if (step.kernel >= 0) return step.loads;
    std::vector<int> ids;
    for (int id : step.nodes) {
      const auto& inputs = plan_.graph.node(id).inputs;
      ids.insert(ids.end(), inputs.begin(), inputs.end());
    }
    return ids;
  }

  /// Frees what nothing after step `s` reads.
  void Free(std::int64_t s) {
    for (std::size_t id = 0; id < made_.size(); ++id) {
      if (last_use_[id] <= s) made_[id] = Tensor();
    }
  }

  Status Evaluate(const VtaStep& step) {
    for (int id : step.nodes) {
      const Node& node = plan_.graph.node(id);
      std::vector<const Tensor*> operands;
      for (int input : node.inputs) operands.push_back(&Value(input));
      auto value = tilewright::Evaluate(node.op, operands, options_.host_threads);
      TW_RETURN_IF_ERROR(value);
      Keep(id, *std::move(value));
    }
    return Status();
  }

  Status Launch(const VtaStep& step) {
    const auto number = static_cast<std::size_t>(step.kernel);
    const VtaKernel& kernel = plan_.kernels[number];
    std::vector<const Tensor*> loads;
    for (const int id : step.loads) loads.push_back(&Value(id));
    auto launch =
        LaunchStream(plan_.design, kernel.stream, loads, kernel.operand_addends, kernel.result);
    TW_RETURN_IF_ERROR(launch);
    Keep(step.nodes.back(), std::move(launch->result));
    if (result_.launches[number]++ > 0) return Status();
    VtaLaunchCost& cost = result_.cost[number];
    cost.summary = launch->run.summary;
    for (const vta::CycleModel& model : options_.models) {
      cost.timings.push_back(
          vta::Simulate(plan_.design, launch->instructions, launch->run.pipeline, model, false));
    }
    return Status();
  }

  const VtaPlan& plan_;
  const VtaRunOptions& options_;
  std::vector<const Tensor*> values_;  // of inputs and operators, null before they are there
  std::vector<Tensor> made_;           // results of operators
  std::vector<std::int64_t> last_use_;
  VtaRunResult result_;
};

}  // namespace

Result<VtaRunResult> RunVta(const VtaPlan& plan, std::span<const Tensor> inputs,
                            const VtaRunOptions& options) {
  TW_RETURN_IF_ERROR(CheckGraphInputs(plan.graph, inputs));
  return VtaRunner(plan, inputs, options).Run();
}

Result<std::string> TraceVta(const VtaPlan& plan, const vta::CycleModel& model) {
  vta::TraceWriter writer;
  for (const VtaStep& step : plan.steps) {
    if (step.kernel < 0) continue;
    const vta::Stream& stream = plan.kernels[static_cast<std::size_t>(step.kernel)].stream;
    // Where the buffers are makes no difference to the time.
    auto instructions =
        stream.Bind(plan.design, std::vector<std::int64_t>(stream.buffers.size(), 0));
    TW_RETURN_IF_ERROR(instructions);
    vta::RunOptions options;
    options.allow_tokens_left = true;
    const vta::RunResult run = vta::RunStream(plan.design, *instructions, nullptr, options);
    TW_RETURN_IF_ERROR(run.status());
    writer.Add(plan.graph.node(step.nodes.back()).name + " " + step.op, *instructions,
               vta::Simulate(plan.design, *instructions, run.pipeline, model, true));
  }
  return std::move(writer).Finish();
}

}  // namespace tilewright
