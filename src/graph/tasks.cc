#include <algorithm>
#include <map>

#include "src/base/json.h"
#include "src/graph/passes.h"

namespace tilewright {
namespace {

// The epilogue of each anchor, by the source value that the anchor belongs to.
Result<std::map<std::string, Epilogue, std::less<>>> EpiloguesBySite(const Graph& graph,
                                                                     FuseRule rule) {
  auto optimized = Optimize(graph.CloneWithout(kSmallConstant), FoldExtent::kSmall);
  TW_RETURN_IF_ERROR(optimized);
  auto groups = FuseGroups(*optimized, rule);
  TW_RETURN_IF_ERROR(groups);
  std::map<std::string, Epilogue, std::less<>> epilogues;
  for (FusedGroup& group : *groups) {
    if (!group.anchor) continue;
    const std::string site(SourceName(optimized->node(*group.anchor).name));
    epilogues.emplace(site, std::move(group.epilogue));
  }
  return epilogues;
}

Epilogue MostFrequent(const std::vector<Epilogue>& epilogues) {
  std::vector<std::pair<int, const Epilogue*>> counts;  // in order of first appearance
  for (const Epilogue& epilogue : epilogues) {
    auto found = std::ranges::find_if(counts, [&](const auto& e) { return *e.second == epilogue; });
    if (found == counts.end()) found = counts.insert(counts.end(), {0, &epilogue});
    ++found->first;
  }
  return *std::ranges::max_element(counts, {}, [](const auto& e) { return e.first; })->second;
}

Json TaskToJson(std::int64_t id, const ExtractedTask& task, const Target& target) {
  const Workload& w = task.workload;
  Json json;
  json["id"] = id;
  json["key"] = w.Key();
  auto tuple = w.AutotvmTuple(w.AutotvmName(target));
  json["autotvm"] = tuple.ok() ? Json(*tuple) : Json(nullptr);
  json["op"] = w.op_name();
  json["occurrences"] = task.occurrences();
  json["data"] = w.data.shape;
  json["data_dtype"] = DataTypeName(w.data.dtype);
  json["weight"] = w.weight.shape;
  json["weight_dtype"] = DataTypeName(w.weight.dtype);
  const auto shape = ConvShapeOf(w);
  if (shape.ok()) {
    json["strides"] = w.strides;
    json["padding"] = w.padding;
    json["dilation"] = w.dilation;
    json["groups"] = w.groups;
  }
  json["data_layout"] = w.data_layout;
  json["kernel_layout"] = w.kernel_layout;
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

}  // namespace

Result<std::vector<ExtractedTask>> ExtractTasks(const Graph& graph, FuseRule rule) {
  auto epilogues = EpiloguesBySite(graph, rule);
  TW_RETURN_IF_ERROR(epilogues);
  std::vector<ExtractedTask> tasks;
  std::vector<std::vector<Epilogue>> uses;
  std::map<std::string, std::size_t> position;  // by key
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    auto workload = Workload::FromOperator(node.op, graph.node(node.inputs[0]).type,
                                           graph.node(node.inputs[1]).type);
    if (!workload.ok()) return workload.status().WithContext("value " + node.name);
    const auto [found, added] = position.emplace(workload->Key(), tasks.size());
    if (added) {
      tasks.push_back(ExtractedTask{*std::move(workload), {}, {}, {}});
      uses.emplace_back();
    }
    const std::string site(SourceName(node.name));
    tasks[found->second].sites.push_back(site);
    tasks[found->second].nodes.push_back(id);
    const auto epilogue = epilogues->find(site);
    uses[found->second].push_back(epilogue == epilogues->end() ? Epilogue() : epilogue->second);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].epilogue = MostFrequent(uses[i]);
  return tasks;
}

std::string TasksToJson(const std::string& network, const std::vector<ExtractedTask>& tasks,
                        const Target& target) {
  std::int64_t occurrences = 0, macs = 0;
  Json list = Json::array();
  for (const ExtractedTask& task : tasks) {
    occurrences += task.occurrences();
    macs += task.workload.macs() * task.occurrences();
    list.push_back(TaskToJson(std::ssize(list), task, target));
  }
  Json json;
  json["network"] = network;
  json["distinct_tasks"] = tasks.size();
  json["occurrences"] = occurrences;
  json["total_macs"] = macs;
  json["tasks"] = std::move(list);
  return json.dump(2);
}

}  // namespace tilewright
