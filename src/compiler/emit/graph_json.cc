#include "src/compiler/emit/graph_json.h"

#include "src/base/hash.h"
#include "src/base/json.h"

namespace tilewright {
namespace {

const char* SpaceName(BufferSpace space) {
  switch (space) {
    case BufferSpace::kArena:
      return "arena";
    case BufferSpace::kConstant:
      return "parameters";
    case BufferSpace::kInput:
      return "input";
    case BufferSpace::kOutput:
      return "output";
  }
  return "arena";
}

Json ValueJson(const Node& node) {
  return {
      {"name", node.name}, {"dtype", DataTypeName(node.type.dtype)}, {"shape", node.type.shape}};
}

Json ValuesJson(const Graph& graph, const std::vector<int>& nodes) {
  Json values = Json::array();
  for (int id : nodes) values.push_back(ValueJson(graph.node(id)));
  return values;
}

Json PlaceJson(const PlanBuffer& buffer) {
  Json place{{"space", SpaceName(buffer.space)}, {"bytes", buffer.bytes}};
  const bool outside = buffer.space == BufferSpace::kInput || buffer.space == BufferSpace::kOutput;
  if (outside) place["index"] = buffer.index;
  place["offset"] = buffer.offset;
  return place;
}

Json StepJson(const Plan& plan, const PlanStep& step) {
  Json places = Json::array();
  for (int id : step.buffers) {
    places.push_back(PlaceJson(plan.buffers[static_cast<std::size_t>(id)]));
  }
  Json json = {{"result", ValueJson(plan.graph.node(step.node))},
               {"op", step.report.op},
               {"kernel", step.report.kernel},
               {"task", step.report.workload_key},
               {"template", step.report.template_key},
               {"config", step.report.config},
               {"tuned", step.report.tuned},
               {"source_layout", step.layouts.logical_layout},
               {"memory_layout", step.layouts.layout},
               {"macs", step.report.macs},
               {"places", std::move(places)}};
  if (step.report.max_abs_error) json["max_abs_error"] = *step.report.max_abs_error;
  return json;
}

}  // namespace

std::string GraphJson(const Plan& plan, const CompileOptions& options) {
  Json steps = Json::array();
  for (const PlanStep& step : plan.steps) steps.push_back(StepJson(plan, step));
  const Json json = {{"format", "tilewright-bundle-1"},
                     {"name", options.name},
                     {"target", options.target.ToString()},
                     {"library", options.name + ".so"},
                     {"parameters", options.name + ".params"},
                     {"bound", plan.graph.binding_options},
                     {"parameter_bytes", plan.constant_bytes},
                     {"parameter_hash", HexOf(plan.constant_hash)},
                     {"arena_bytes", plan.arena_bytes},
                     {"inputs", ValuesJson(plan.graph, plan.graph.inputs())},
                     {"outputs", ValuesJson(plan.graph, plan.graph.outputs())},
                     {"steps", std::move(steps)}};
  return DumpJson(json, 1) + "\n";
}

}  // namespace tilewright
