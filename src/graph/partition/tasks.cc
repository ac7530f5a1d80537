#include "src/graph/partition/tasks.h"

#include <algorithm>
#include <map>

#include "src/base/json.h"
#include "src/graph/passes/alu_group.h"

namespace tilewright {
namespace {

std::int64_t TensorOperands(const Epilogue& epilogue) {
  return std::ranges::count(epilogue.steps, OperandKind::kTensor, &EpilogueStep::operand);
}

// The epilogue to tune with. demanding: of those with the most tensor operands.
Epilogue MostFrequent(const std::vector<Epilogue>& epilogues, bool demanding) {
  std::int64_t operands = 0;
  for (const Epilogue& epilogue : epilogues) {
    if (demanding) operands = std::max(operands, TensorOperands(epilogue));
  }
  std::vector<std::pair<int, const Epilogue*>> counts;  // in order of first appearance
  for (const Epilogue& epilogue : epilogues) {
    if (TensorOperands(epilogue) < operands) continue;
    auto found = std::ranges::find_if(counts, [&](const auto& e) { return *e.second == epilogue; });
    if (found == counts.end()) found = counts.insert(counts.end(), {0, &epilogue});
    ++found->first;
  }
  return *std::ranges::max_element(counts, {}, [](const auto& e) { return e.first; })->second;
}

/// Collects the uses of each workload, in order of first use.
class TaskList {
 public:
  void Add(Workload workload, std::string site, Epilogue epilogue) {
    const auto [found, added] = position_.emplace(workload.Key(), tasks_.size());
    if (added) {
      tasks_.push_back(ExtractedTask{std::move(workload), {}, {}});
      uses_.emplace_back();
    }
    uses_[found->second].push_back(std::move(epilogue));
    tasks_[found->second].sites.push_back(std::move(site));
  }

  std::vector<ExtractedTask> Finish(FuseRule rule) && {
    // Operands have to fit on the chip of an accelerator: a config that has room for them serves
    // the uses without them too.
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      tasks_[i].epilogue = MostFrequent(uses_[i], rule != FuseRule::kUnrestricted);
    }
    return std::move(tasks_);
  }

 private:
  std::vector<ExtractedTask> tasks_;
  std::vector<std::vector<Epilogue>> uses_;      // of each task
  std::map<std::string, std::size_t> position_;  // by key
};

Json TaskToJson(std::int64_t id, const ExtractedTask& task, const TupleOf& autotvm) {
  const Workload& w = task.workload;
  Json json;
  json["id"] = id;
  json["key"] = w.Key();
  const std::string tuple = autotvm(w);
  json["autotvm"] = tuple.empty() ? Json(nullptr) : Json(tuple);
  json["op"] = w.op_name();
  json["occurrences"] = task.occurrences();
  json["data"] = w.data.shape;
  json["data_dtype"] = DataTypeName(w.data.dtype);
  if (w.has_weight()) {
    json["weight"] = w.weight.shape;
    json["weight_dtype"] = DataTypeName(w.weight.dtype);
  }
  const auto shape = ConvShapeOf(w);
  if (shape.ok()) {
    json["strides"] = w.strides;
    json["padding"] = w.padding;
    json["dilation"] = w.dilation;
    json["groups"] = w.groups;
  }
  json["data_layout"] = w.data_layout;
  if (w.has_weight()) json["kernel_layout"] = w.kernel_layout;
  if (auto output = w.OutputType(); output.ok()) json["output"] = output->shape;
  json["out_dtype"] = DataTypeName(w.out_dtype);
  if (shape.ok()) {
    json["channels_in"] = shape->c;
    json["channels_out"] = shape->k;
    json["kernel"] = {shape->r, shape->s};
  }
  json["macs"] = w.macs();
  json["macs_total"] = w.macs() * task.occurrences();
  json["epilogue"] = task.epilogue.ToString();
  json["sites"] = task.sites;
  return json;
}

/// Adds the products that the graph has as expressions (BlockQuantizedMatmul, for example): those
/// with a reduction.
void AddExpressions(const Graph& graph, TaskList& tasks) {
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kExpression) continue;
    const Expression& expression = node.op.attributes.expression;
    const bool reduces = std::ranges::any_of(expression.stages, [](const ExpressionStage& stage) {
      return stage.reduction != ExpressionReduction::kNone;
    });
    if (!reduces) continue;
    tasks.Add(Workload::FromExpression(expression), std::string(SourceName(node.name)), {});
  }
}

}  // namespace

Result<std::vector<ExtractedTask>> ExtractTasks(const PartitionedGraph& network) {
  TaskList tasks;
  for (const PartitionSite& site : network.sites) {
    TW_RETURN_IF_ERROR(site.workload);
    tasks.Add(*site.workload, site.value, site.epilogue);
  }
  if (network.fuse == FuseRule::kUnrestricted) {
    AddExpressions(network.graph, tasks);
    return std::move(tasks).Finish(network.fuse);
  }
  for (const FusedGroup& group : network.groups) {
    if (group.anchor) continue;
    auto alu = AluGroupOf(network.graph, group);
    if (!alu.ok()) continue;
    tasks.Add(std::move(alu->workload),
              std::string(SourceName(network.graph.node(group.output).name)),
              std::move(alu->epilogue));
  }
  return std::move(tasks).Finish(network.fuse);
}

Result<std::vector<ExtractedTask>> ExtractTasks(const Graph& operators, const PartitionRule& rule) {
  TW_ASSIGN_OR_RETURN(const auto network, PartitionWithoutContents(operators, rule));
  return ExtractTasks(network);
}

std::string TasksToJson(const std::string& network, const std::vector<ExtractedTask>& tasks,
                        const TupleOf& autotvm) {
  std::int64_t occurrences = 0, macs = 0;
  Json list = Json::array();
  for (const ExtractedTask& task : tasks) {
    occurrences += task.occurrences();
    macs += task.workload.macs() * task.occurrences();
    list.push_back(TaskToJson(std::ssize(list), task, autotvm));
  }
  Json json;
  json["network"] = network;
  json["distinct_tasks"] = tasks.size();
  json["occurrences"] = occurrences;
  json["total_macs"] = macs;
  json["tasks"] = std::move(list);
  return DumpJson(json, 2);
}

}  // namespace tilewright
