#include "src/compiler/plan/vta_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/compiler/plan/vta_choose.h"
#include "src/graph/passes/alu_group.h"
#include "src/templates/vta/alu_blocks.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright {
namespace {

/// Errors: kInvalidArgument unless a stream addresses so many tensors, beside its micro-ops and the
/// constants that it brings along.
Status CheckBuffers(const VtaKernel& kernel, std::size_t expected) {
  const auto& buffers = kernel.stream.buffers;
  const auto tensors = std::ranges::count_if(
      buffers.begin() + std::min<std::ptrdiff_t>(1, std::ssize(buffers)), buffers.end(),
      [](const vta::Stream::Buffer& buffer) { return buffer.contents.empty(); });
  if (static_cast<std::size_t>(tensors) == expected) return Status();
  return InvalidArgument(
      fmt::format("{}: a stream of {} tensors, expected {}", kernel.workload, tensors, expected));
}

/// "add + relu, clip, cast"
std::string Describe(const AluGroup& group) {
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

class VtaPlanner {
 public:
  VtaPlanner(const VtaTarget& vta, const VtaOptions& options, Graph graph)
      : vta_(vta), options_(options) {
    plan_.graph = std::move(graph);
    plan_.target = options.target;
    plan_.design = vta.design;
    plan_.fuse = options.fuse;
  }

  Result<VtaPlan> Plan() {
    for (const Node& node : plan_.graph.nodes()) {
      const int id = static_cast<int>(&node - plan_.graph.nodes().data());
      if (node.kind == NodeKind::kConstant && !plan_.graph.HasContents(id)) {
        return InvalidArgument("constant " + node.name + " has no contents");
      }
    }
    auto groups = FuseGroups(plan_.graph, plan_.fuse);
    TW_RETURN_IF_ERROR(groups);
    for (const FusedGroup& group : *groups) TW_RETURN_IF_ERROR(Add(group));
    return std::move(plan_);
  }

 private:
  const Node& At(int id) const { return plan_.graph.node(id); }

  Status Add(const FusedGroup& group) {
    VtaStep step;
    step.nodes = group.nodes;
    auto placed = group.anchor ? AddConvolution(group, step) : AddAlu(group, step);
    if (placed.ok()) {
      const VtaKernel& kernel = plan_.kernels[static_cast<std::size_t>(*placed)];
      TW_RETURN_IF_ERROR(CheckBuffers(kernel, step.loads.size() + 1));
      step.kernel = *placed;
      step.reason = kernel.explanation;
    } else if (placed.status().code() == StatusCode::kUnsupported ||
               placed.status().code() == StatusCode::kInvalidArgument) {
      step.reason = placed.status().message();
    } else {
      return placed.status().WithContext("value " + At(group.output).name);
    }
    plan_.steps.push_back(std::move(step));
    return Status();
  }

  /// Number of the kernel, which is made if there is none like it.
  Result<int> KernelOf(const Workload& workload, const Epilogue& epilogue,
                       const TensorType& result) {
    const std::string key = workload.Key() + " " + epilogue.ToString();
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    Result<VtaKernel> kernel = options_.kernels == nullptr
                                   ? ChooseVtaKernel(workload, epilogue, vta_, options_)
                                   : Given(workload, epilogue);
    TW_RETURN_IF_ERROR(kernel);
    kernel->result = result;
    plan_.kernels.push_back(*std::move(kernel));
    const int number = static_cast<int>(plan_.kernels.size()) - 1;
    known_.emplace(key, number);
    return number;
  }

  Result<VtaKernel> Given(const Workload& workload, const Epilogue& epilogue) const {
    const std::string key = workload.Key();
    for (const VtaKernel& kernel : *options_.kernels) {
      if (kernel.workload != key || kernel.epilogue.ToString() != epilogue.ToString()) continue;
      auto steps = VtaStepsOf(vta_.design, workload, epilogue);
      TW_RETURN_IF_ERROR(steps);
      VtaKernel given = kernel;
      given.operand_addends = std::move(steps->operand_addends);
      return given;
    }
    return Unsupported("the bundle has no stream for it");
  }

  Result<int> AddConvolution(const FusedGroup& group, VtaStep& step) {
    const Node& anchor = At(*group.anchor);
    auto workload =
        Workload::FromOperator(anchor.op, At(anchor.inputs[0]).type, At(anchor.inputs[1]).type);
    if (!workload.ok()) return workload.status().WithContext("value " + anchor.name);
    step.op = DescribeGroup(plan_.graph, group, workload->op_name());
    step.loads = group.inputs;
    return KernelOf(*workload, group.epilogue, At(group.output).type);
  }

  Result<int> AddAlu(const FusedGroup& group, VtaStep& step) {
    const std::string first(OpName(At(group.nodes.front()).op.kind));
    step.op = DescribeGroup(plan_.graph, group, first);
    auto alu = AluGroupOf(plan_.graph, group);
    TW_RETURN_IF_ERROR(alu);
    step.op = Describe(*alu);
    step.loads = std::move(alu->inputs);
    return KernelOf(alu->workload, alu->epilogue, At(group.output).type);
  }

  const VtaTarget& vta_;
  const VtaOptions& options_;
  VtaPlan plan_;
  std::map<std::string, int> known_;  // kernels by workload and epilogue
};

}  // namespace

Result<VtaPlan> PlanVta(Graph graph, const VtaOptions& options) {
  auto vta = VtaTargetOf(options.target);
  TW_RETURN_IF_ERROR(vta);
  if (vta->design.inp_bits() != 8 || vta->design.wgt_bits() != 8) {
    return InvalidArgument(
        fmt::format("design {} has {} bits for activations and {} for weights, "
                    "expected 8",
                    vta->design.Name(), vta->design.inp_bits(), vta->design.wgt_bits()));
  }
  auto optimized = Optimize(std::move(graph));
  TW_RETURN_IF_ERROR(optimized);
  return VtaPlanner(*vta, options, *std::move(optimized)).Plan();
}

}  // namespace tilewright
