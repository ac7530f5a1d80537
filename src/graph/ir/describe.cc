#include "src/graph/ir/describe.h"

#include <fmt/format.h>

#include <map>

#include "src/base/json.h"
#include "src/base/text/plural.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

struct Summary {
  std::vector<std::pair<std::string, TensorType>> inputs, outputs;
  std::map<std::string, int> operators;
  int operator_count = 0;
  std::int64_t parameters = 0, parameter_bytes = 0, macs = 0;
  int missing = 0;  // constants without contents
};

Summary Summarize(const Graph& graph) {
  Summary summary;
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::kInput) summary.inputs.emplace_back(node.name, node.type);
    if (node.kind == NodeKind::kConstant) {
      summary.parameters += node.type.elements();
      summary.parameter_bytes += node.type.bytes();
      summary.missing += graph.HasContents(id) ? 0 : 1;
    }
    if (node.kind != NodeKind::kOperator) continue;
    ++summary.operator_count;
    std::string name(OpName(node.op.kind));
    if (IsAnchor(node.op.kind)) {
      auto workload = Workload::FromOperator(node.op, graph.node(node.inputs[0]).type,
                                             graph.node(node.inputs[1]).type);
      if (workload.ok()) {
        name = workload->op_name();
        summary.macs += workload->macs();
      }
    }
    ++summary.operators[name];
  }
  for (int id : graph.outputs()) {
    summary.outputs.emplace_back(graph.node(id).name, graph.node(id).type);
  }
  return summary;
}

Json ValuesToJson(const std::vector<std::pair<std::string, TensorType>>& values) {
  Json list = Json::array();
  for (const auto& [name, type] : values) {
    list.push_back({{"name", name}, {"shape", type.shape}, {"dtype", DataTypeName(type.dtype)}});
  }
  return list;
}

/// Formats a number with an SI prefix: in `scale` (1e6 or 1e9) with these decimals, or if it is
/// less than a tenth of it, in the largest prefix that it reaches: "11.69 M", "1.20 k", "830".
std::string ScaledText(std::int64_t number, double scale, int decimals, const char* unit = "") {
  constexpr double kGiga = 1e9, kMega = 1e6, kKilo = 1e3;
  const auto value = static_cast<double>(number);
  if (value < scale / 10 && scale > kMega) scale = kMega;
  if (value < scale / 10) scale = kKilo;
  if (value < kKilo) return fmt::format("{}{}{}", number, *unit != 0 ? " " : "", unit);
  const char* prefix = scale >= kGiga ? "G" : scale >= kMega ? "M" : "k";
  return fmt::format("{:.{}f} {}{}", value / scale, decimals, prefix, unit);
}

}  // namespace

std::string DescribeGraph(const Graph& graph) {
  const Summary summary = Summarize(graph);
  std::string text = fmt::format("network     {}\n", graph.name);
  for (const auto& [name, type] : summary.inputs) {
    text += fmt::format("input       {} {}\n", name, type.ToString());
  }
  for (const std::string& option : graph.binding_options) {
    const bool range = option.find("..", option.rfind('=') + 1) != std::string::npos;
    text += fmt::format("{}       {}\n", range ? "open " : "bound", option);
  }
  for (const auto& [name, type] : summary.outputs) {
    text += fmt::format("output      {} {}\n", name, type.ToString());
  }
  text += fmt::format("parameters  {} in {}{}\n", ScaledText(summary.parameters, 1e6, 2),
                      ScaledText(summary.parameter_bytes, 1e6, 1, "B"),
                      summary.missing == 0
                          ? ""
                          : " (" + Counted(summary.missing, "constant") + " without contents)");
  text += "MACs        " + ScaledText(summary.macs, 1e9, 3) + "\n";
  text += fmt::format("operators   {}\n", summary.operator_count);
  for (const auto& [name, count] : summary.operators) {
    text += fmt::format("  {:<20} {:>5}\n", name, count);
  }
  return text;
}

std::string DescribeGraphJson(const Graph& graph) {
  const Summary summary = Summarize(graph);
  Json json;
  json["name"] = graph.name;
  json["inputs"] = ValuesToJson(summary.inputs);
  json["outputs"] = ValuesToJson(summary.outputs);
  json["nodes"] = summary.operator_count;
  json["operators"] = summary.operators;
  json["parameters"] = summary.parameters;
  json["parameter_bytes"] = summary.parameter_bytes;
  json["missing_constants"] = summary.missing;
  json["macs"] = summary.macs;
  json["notes"] = graph.notes;
  json["bound"] = graph.binding_options;
  return DumpJson(json, 2);
}

}  // namespace tilewright
