// Groups as expressions. A user's expression is served by rules, as anchors are by templates. Any
// other group without an anchor has a fixed schedule, unless a store has a record of its
// expression.

#include <algorithm>

#include "src/compiler/plan/plan_builder.h"
#include "src/tensor/compute/to_expression.h"

namespace tilewright {
namespace {

/// Whether a store has a trial of the workload that may be served.
bool HasRecord(const Workload& workload, const CompileOptions& options) {
  if (options.catalog == nullptr || options.autotvm.has_value()) return false;
  records::LookupRequest request;
  request.templates = options.templates;
  request.workload = &workload;
  request.target = &options.target;
  request.device = &options.device;
  request.accept = LevelBit(records::AnswerLevel::kHit);
  const auto answer = options.catalog->Query(request);
  return answer.ok() && answer->level == records::AnswerLevel::kHit;
}

}  // namespace

Result<GroupTask> TaskOfGroup(const GroupKernel& kernel) {
  TW_ASSIGN_OR_RETURN(auto expression, ExpressionOf(kernel.operators));
  GroupTask task;
  task.workload = Workload::FromExpression(expression, &task.inputs);
  return task;
}

Result<bool> PlanBuilder::AddTuned(const FusedGroup& group, const PhysicalLayout& layouts,
                                   const GroupKernel& kernel) {
  const Operator& op = graph_.node(group.output).op;
  const bool own = op.kind == OpKind::kExpression;
  auto task = TaskOfGroup(kernel);
  if (!task.ok()) return own ? Result<bool>(task.status()) : false;
  if (task->inputs.empty()) return false;  // a constant, and nothing to tune
  const Workload& workload = task->workload;
  if (!own) group_uses_.emplace_back(workload, graph_.node(group.output).name);
  if (!own && !HasRecord(workload, options_)) return false;
  auto choice = ChooseKernel(workload, {}, /*plain_weight=*/true, nullptr, options_);
  if (!choice.ok() || (!own && !choice->report.tuned)) {
    return own ? Result<bool>(choice.status()) : false;
  }
  TW_ASSIGN_OR_RETURN(auto signature,
                      SignatureOf(workload, {}, choice->layouts, choice->program.parameters));
  GroupKernel ordered = kernel;
  ordered.inputs.clear();
  for (std::size_t i = 0; i < task->inputs.size(); ++i) {
    GroupInput input = kernel.inputs[static_cast<std::size_t>(task->inputs[i])];
    const std::string plain = PlainLayout(graph_.node(input.node).type.shape.size());
    const std::string& layout = signature.parameters[i].layout;
    const std::string unpacked = PlainLayout(workload.expression.inputs[i].type.shape.size());
    if (layout != unpacked) {
      input.layouts = {plain, layout};
      input.shape = signature.parameters[i].type.shape;
      const auto memory = MemoryShape(graph_.node(input.node).type, input.layouts);
      if (!memory.ok() || *memory != input.shape) {
        return own ? Result<bool>(Unsupported("a constant that is packed otherwise")) : false;
      }
    }
    ordered.inputs.push_back(std::move(input));
  }
  PlanStep step;
  step.report = choice->report;
  step.report.op = own ? "expression" : DescribeGroup(graph_, group, "group");
  step.report.macs = workload.macs();
  TW_RETURN_IF_ERROR(AddListed(group, layouts, ordered, std::move(choice->program), std::move(step),
                               "expression"));
  return true;
}

}  // namespace tilewright
