#include "src/graph/quantize/float_layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/graph/relay/operators.h"

namespace tilewright::quantize {

std::string ReasonForFloat(const Graph& graph, const Node& anchor, std::int64_t convolution,
                           const Config& config) {
  const bool accurate = config.rules >= kAccurateRules;
  switch (anchor.op.kind) {
    case OpKind::kConv2d:
      if (std::ranges::find(config.skip_conv_layers, convolution) !=
          config.skip_conv_layers.end()) {
        return fmt::format("skip_conv_layers has {}", convolution);
      }
      break;
    case OpKind::kDense:
      if (config.skip_dense_layer) return "skip_dense_layer";
      break;
    case OpKind::kConv2dTranspose:
      if (accurate) break;
      [[fallthrough]];
    default:
      return fmt::format("no rule for {}", OpName(anchor.op.kind));
  }
  if (std::ranges::find(config.float_layers, SourceName(anchor.name)) !=
      config.float_layers.end()) {
    return "float_layers has it";
  }
  const auto& enabled = config.debug_enabled_ops;
  const std::string_view relay = relay::RelayName(anchor.op.kind);
  if (!enabled.empty() && std::ranges::find(enabled, relay) == enabled.end()) {
    return fmt::format("debug_enabled_ops has no {}", relay);
  }
  if (!accurate) return "";
  for (int input : anchor.inputs) {
    const TensorType& type = graph.node(input).type;
    if (type.dtype != kFloat32) return "it works on " + type.ToString();
  }
  if (graph.node(anchor.inputs[1]).kind != NodeKind::kConstant) return "its weight is computed";
  return "";
}

}  // namespace tilewright::quantize
