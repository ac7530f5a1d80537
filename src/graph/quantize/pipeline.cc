#include "src/graph/quantize/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "src/graph/passes/passes.h"
#include "src/graph/quantize/float_layer.h"

namespace tilewright::quantize {
namespace {

constexpr std::string_view kPassNames[] = {"fold",      "partition", "annotate",
                                           "calibrate", "realize",   "simulate"};

/// Returns the reasons why no convolution or matrix product became integer: "3 matrix products and
/// convolutions stay float: skip_dense_layer (2), no rule for batch_matmul (1)", with advice. Empty
/// if the graph has none, or if one of them could be quantized.
std::string WhyAllStayFloat(const Graph& graph, const Config& config) {
  std::map<std::string, int> reasons;
  int anchors = 0;
  std::int64_t convolutions = 0;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    const std::string reason = ReasonForFloat(graph, node, convolutions, config);
    if (reason.empty()) return {};
    convolutions += node.op.kind == OpKind::kConv2d ? 1 : 0;
    ++anchors;
    ++reasons[reason];
  }
  if (anchors == 0) return {};
  std::vector<std::string> texts;
  for (const auto& [reason, count] : reasons)
    texts.push_back(fmt::format("{} ({})", reason, count));
  std::string text = fmt::format("{} matrix products and convolutions stay float: {}", anchors,
                                 fmt::join(texts, ", "));
  if (reasons.contains("skip_dense_layer")) {
    text += "; --set skip_dense_layer=false quantizes matrix products";
  }
  return text;
}

/// Errors: kInvalidArgument if no value is annotated for rounding. The later passes would then
/// change nothing, and the float network would look like a quantized one.
Status CheckAnnotations(const Graph& graph, const PipelineOptions& options) {
  const bool any = std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.annotation.kind == AnnotationKind::kQuantize;
  });
  if (any) return Status();
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    const TensorType& type = graph.node(node.inputs[0]).type;
    if (!type.dtype.is_integer()) continue;
    return InvalidArgument(
        fmt::format("{} {} works on {}: the model is quantized already, expected a float one",
                    OpName(node.op.kind), node.name, type.ToString()));
  }
  const bool annotated = std::ranges::find(options.passes, "annotate") != options.passes.end();
  const std::string why = annotated ? WhyAllStayFloat(graph, options.config) : std::string();
  if (!why.empty()) return InvalidArgument("nothing would become integers: " + why);
  return InvalidArgument(
      "no value is annotated for rounding, so nothing would become integers: run annotate first, "
      "and "
      "check skip_conv_layers, skip_dense_layer and debug_enabled_ops");
}

Result<Graph> RunPass(std::string_view pass, Graph graph, const PipelineOptions& options,
                      std::vector<IntegerValue>* values) {
  const Config& config = options.config;
  if (pass == "fold") return Optimize(std::move(graph));
  if (pass == "partition") return Partition(std::move(graph), config);
  if (pass == "annotate") return Annotate(std::move(graph), config, options.left);
  TW_RETURN_IF_ERROR(CheckAnnotations(graph, options));
  if (pass == "calibrate") {
    return Calibrate(std::move(graph), config, options.samples, options.threads, options.ranges);
  }
  if (pass == "realize") return Realize(std::move(graph), config, values);
  return Simulate(std::move(graph), config);
}

}  // namespace

std::vector<std::string> DefaultPasses(const Config& config) {
  std::vector<std::string> passes(std::begin(kPassNames), std::begin(kPassNames) + 4);
  passes.emplace_back(config.do_simulation ? "simulate" : "realize");
  return passes;
}

Result<Graph> RunPasses(Graph graph, const PipelineOptions& options,
                        std::vector<IntegerValue>* values) {
  TW_RETURN_IF_ERROR(options.config.Check());
  for (const std::string& pass : options.passes) {
    if (std::ranges::find(kPassNames, pass) == std::end(kPassNames)) {
      return NotFound(
          fmt::format("no pass {}, expected one of {}", pass, fmt::join(kPassNames, ", ")));
    }
  }
  for (const std::string& pass : options.passes) {
    auto result = RunPass(pass, std::move(graph), options, values);
    if (!result.ok()) return result.status().WithContext(pass);
    graph = *std::move(result);
    if (options.after) TW_RETURN_IF_ERROR(options.after(pass, graph));
  }
  return graph;
}

}  // namespace tilewright::quantize
