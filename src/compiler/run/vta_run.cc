// Execution of a plan for a VTA and its host: one simulator launch per stream step; the reference
// evaluator computes host steps.

#include "src/compiler/run/vta_run.h"

#include <cstring>
#include <map>
#include <utility>

#include "src/base/clock.h"
#include "src/templates/vta/launch.h"
#include "src/tensor/reference/reference.h"
#include "src/vta/simulator/trace.h"

namespace tilewright {

Result<VtaExecutor> VtaExecutor::Create(const Plan& plan, std::vector<vta::CycleModel> models,
                                        int host_threads) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(plan.target));
  return VtaExecutor(plan, vta.design, std::move(models), host_threads);
}

VtaExecutor::VtaExecutor(const Plan& plan, const vta::Design& design,
                         std::vector<vta::CycleModel> models, int host_threads)
    : plan_(plan), design_(design), models_(std::move(models)), host_threads_(host_threads) {
  costs_.cost.resize(plan.streams.size());
  costs_.launches.assign(plan.streams.size(), 0);
}

Status VtaExecutor::Run(const PlanStep& step, std::span<void* const> arguments) {
  const StreamStep* stream = step.stream();
  const std::vector<int>& nodes = stream != nullptr ? stream->reads : step.host()->reads;
  std::vector<Tensor> held(nodes.size());
  std::vector<const Tensor*> reads;
  for (std::size_t i = 0, next = 0; i < nodes.size(); ++i) {
    const Node& node = plan_.graph.node(nodes[i]);
    if (node.kind == NodeKind::kConstant) {
      reads.push_back(plan_.graph.Contents(nodes[i]));
      continue;
    }
    held[i] = Tensor(node.type);
    std::memcpy(held[i].data(), arguments[next++], static_cast<std::size_t>(held[i].bytes()));
    reads.push_back(&held[i]);
  }
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  TW_ASSIGN_OR_RETURN(const auto result,
                      stream == nullptr ? Evaluate(*step.host(), reads)
                                        : Launch(*stream, plan_.graph.node(step.node).type, reads));
  (stream == nullptr ? costs_.host_seconds : costs_.simulator_seconds) +=
      clock.MonotonicSeconds() - start;
  std::memcpy(arguments.back(), result.data(), static_cast<std::size_t>(result.bytes()));
  return Status();
}

Result<Tensor> VtaExecutor::Evaluate(const HostStep& step,
                                     std::span<const Tensor* const> reads) const {
  std::map<int, const Tensor*> values;
  for (std::size_t i = 0; i < reads.size(); ++i) values.emplace(step.reads[i], reads[i]);
  std::vector<Tensor> made;
  made.reserve(step.nodes.size());
  for (const int id : step.nodes) {
    const Node& node = plan_.graph.node(id);
    std::vector<const Tensor*> operands;
    for (const int input : node.inputs) operands.push_back(values.at(input));
    TW_ASSIGN_OR_RETURN(auto value, tilewright::Evaluate(node.op, operands, host_threads_));
    made.push_back(std::move(value));
    values.emplace(id, &made.back());
  }
  return std::move(made.back());
}

Result<Tensor> VtaExecutor::Launch(const StreamStep& step, const TensorType& result,
                                   std::span<const Tensor* const> reads) {
  const auto number = static_cast<std::size_t>(step.stream);
  const StreamKernel& kernel = plan_.streams[number];
  TW_ASSIGN_OR_RETURN(auto launch,
                      LaunchStream(design_, kernel.stream, reads, kernel.operand_addends, result));
  if (costs_.launches[number]++ == 0) {
    VtaLaunchCost& cost = costs_.cost[number];
    cost.summary = launch.run.summary;
    for (const vta::CycleModel& model : models_) {
      cost.timings.push_back(
          vta::Simulate(design_, launch.instructions, launch.run.pipeline, model, false));
    }
  }
  return std::move(launch.result);
}

Result<std::string> TraceVta(const Plan& plan, const vta::CycleModel& model) {
  const auto vta = VtaTargetOf(plan.target);
  TW_RETURN_IF_ERROR(vta);
  vta::TraceWriter writer;
  for (const PlanStep& step : plan.steps) {
    const StreamStep* launch = step.stream();
    if (launch == nullptr) continue;
    const vta::Stream& stream = plan.StreamOf(*launch).stream;
    // Addresses of buffers do not affect the time.
    TW_ASSIGN_OR_RETURN(auto instructions, stream.Bind(vta->design, std::vector<std::int64_t>(
                                                                        stream.buffers.size(), 0)));
    vta::RunOptions options;
    options.allow_tokens_left = true;
    const vta::RunResult run = vta::RunStream(vta->design, instructions, nullptr, options);
    TW_RETURN_IF_ERROR(run.status());
    writer.Add(step.report.value + " " + step.report.op, instructions,
               vta::Simulate(vta->design, instructions, run.pipeline, model, true));
  }
  return std::move(writer).Finish();
}

}  // namespace tilewright
