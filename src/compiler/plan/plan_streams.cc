// Groups for a device that leaves some operators to the host: a VTA. Its streams and the host use
// the graph's layouts.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/compiler/plan/choose_vta_kernel.h"
#include "src/compiler/plan/plan_builder.h"
#include "src/graph/passes/alu_group.h"
#include "src/templates/vta/alu_blocks.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright {
namespace {

/// Errors: kInvalidArgument unless a stream addresses this many tensors, in addition to its
/// micro-ops and its own constants.
Status CheckTensors(const StreamKernel& kernel, std::size_t expected) {
  const auto& buffers = kernel.stream.buffers;
  const auto tensors = std::ranges::count_if(
      buffers.begin() + std::min<std::ptrdiff_t>(1, std::ssize(buffers)), buffers.end(),
      [](const vta::Stream::Buffer& buffer) { return buffer.contents.empty(); });
  if (static_cast<std::size_t>(tensors) == expected) return Status();
  return InvalidArgument(fmt::format("{}: a stream of {} tensors, expected {}",
                                     kernel.report.workload_key, tensors, expected));
}

/// Returns the operators as text, "add + relu, clip, cast", without the casts that a load does.
std::string DescribeAlu(const AluGroup& group) {
  std::string text;
  const char* separator = "";
  if (group.workload.op != OpKind::kIdentity) {
    text = group.workload.op_name();
    separator = " + ";
  }
  for (const EpilogueStep& step : group.epilogue.steps) {
    text += separator + std::string(OpName(step.op.kind));
    separator = text.find(" + ") == std::string::npos ? " + " : ", ";
  }
  return text;
}

/// Returns the values that the operators of a group read from outside, each once.
std::vector<int> ReadsOf(const Graph& graph, const FusedGroup& group) {
  std::vector<int> reads;
  for (const int id : group.nodes) {
    for (const int input : graph.node(id).inputs) {
      if (std::ranges::count(group.nodes, input) > 0 || std::ranges::count(reads, input) > 0) {
        continue;
      }
      reads.push_back(input);
    }
  }
  return reads;
}

Result<std::vector<std::int32_t>> OperandAddends(const Workload& workload, const Epilogue& epilogue,
                                                 const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
  TW_ASSIGN_OR_RETURN(auto steps, VtaStepsOf(vta.design, workload, epilogue));
  return std::move(steps.operand_addends);
}

}  // namespace

Status PlanBuilder::CheckContents() const {
  for (int id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::kConstant && !graph_.HasContents(id)) {
      return InvalidArgument("constant " + node.name + " has no contents");
    }
  }
  return Status();
}

Status PlanBuilder::AddOffloaded(const FusedGroup& group) {
  PlanStep step;
  StreamStep launch;
  std::string op;
  std::vector<int> reads;
  const Status placed = PlaceStream(group, launch, op);
  if (placed.ok()) {
    const StreamKernel& kernel = plan_.StreamOf(launch);
    TW_RETURN_IF_ERROR(CheckTensors(kernel, launch.reads.size() + 1));
    step.report = kernel.report;
    launch.nodes = group.nodes;
    reads = launch.reads;
    step.action = std::move(launch);
  } else if (placed.code() == StatusCode::kUnsupported ||
             placed.code() == StatusCode::kInvalidArgument) {
    reads = ReadsOf(graph_, group);
    step.report.explanation = placed.message();
    step.action = HostStep{group.nodes, reads};
  } else {
    return placed;
  }
  step.report.op = std::move(op);
  std::vector<int> buffers;
  for (const int id : reads) {
    if (graph_.node(id).kind == NodeKind::kConstant) continue;
    TW_ASSIGN_OR_RETURN(auto buffer, BufferOf(id, PhysicalLayout()));
    buffers.push_back(buffer);
  }
  step.result_bytes = graph_.node(group.output).type.bytes();
  buffers.push_back(AddBuffer(BufferSpace::kArena, step.result_bytes));
  Store(group.output, PhysicalLayout(), buffers.back());
  AddStep(std::move(step), group.output, buffers);
  return Status();
}

Status PlanBuilder::PlaceStream(const FusedGroup& group, StreamStep& step, std::string& op) {
  Result<int> stream = -1;
  if (group.anchor) {
    auto workload = AnchorOf(group);
    if (!workload.ok()) {
      return workload.status().WithContext(graph_.DescribeOrigin(*group.anchor));
    }
    op = DescribeGroup(graph_, group, workload->op_name());
    step.reads = group.inputs;
    stream = StreamOf(*workload, group.epilogue);
  } else {
    const std::string first(OpName(graph_.node(group.nodes.front()).op.kind));
    op = DescribeGroup(graph_, group, first);
    TW_ASSIGN_OR_RETURN(auto alu, AluGroupOf(graph_, group));
    op = DescribeAlu(alu);
    step.reads = std::move(alu.inputs);
    stream = StreamOf(alu.workload, alu.epilogue);
  }
  TW_RETURN_IF_ERROR(stream);
  step.stream = *stream;
  return Status();
}

Result<int> PlanBuilder::StreamOf(const Workload& workload, const Epilogue& epilogue) {
  const std::string key = workload.Key() + " " + epilogue.ToString();
  if (const auto known = stream_numbers_.find(key); known != stream_numbers_.end()) {
    return known->second;
  }
  StreamKernel kernel{{}, epilogue, {}, {}};
  if (streams_ == nullptr) {
    TW_RETURN_IF_ERROR(CheckServedByVta(workload, options_));
  } else {
    const auto given = std::ranges::find_if(*streams_, [&](const StreamKernel& one) {
      return one.report.workload_key + " " + one.epilogue.ToString() == key;
    });
    if (given == streams_->end()) return Unsupported("the bundle has no stream for it");
    kernel = *given;
  }
  // Templates that cannot add residuals by products reject them.
  TW_ASSIGN_OR_RETURN(kernel.operand_addends, OperandAddends(workload, epilogue, options_.target));
  if (streams_ == nullptr) {
    TW_ASSIGN_OR_RETURN(
        auto choice, ChooseKernel(workload, epilogue, /*plain_weight=*/false, nullptr, options_));
    kernel.report = std::move(choice.report);
    kernel.stream = std::move(choice.stream);
  }
  const int number = static_cast<int>(plan_.streams.size());
  plan_.streams.push_back(std::move(kernel));
  stream_numbers_.emplace(key, number);
  return number;
}

}  // namespace tilewright
