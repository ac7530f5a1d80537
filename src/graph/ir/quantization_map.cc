#include "src/graph/ir/quantization_map.h"

#include <cmath>
#include <limits>
#include <optional>

#include "src/base/json.h"

namespace tilewright {
namespace {

/// Parses one entry. Errors: kInvalidArgument for an invalid entry.
Result<QuantizationParams> ReadRow(const Json& row) {
  const auto bad = [] {
    return InvalidArgument(
        "expected value (a name), scales (positive numbers), axis and zero_point (integers)");
  };
  QuantizationParams quantization_params;
  if (!row.is_object()) return bad();
  for (const auto& [field, content] : row.items()) {
    if (field == "value" && content.is_string()) {
      quantization_params.value = content.get<std::string>();
    } else if (field == "scales" && content.is_array()) {
      for (const Json& scale : content) {
        if (!scale.is_number()) return bad();
        quantization_params.scales.push_back(scale.get<float>());
        if (!std::isfinite(quantization_params.scales.back()) ||
            quantization_params.scales.back() <= 0)
          return bad();
      }
    } else if (field == "axis" && content.is_number_integer()) {
      quantization_params.axis = content.get<std::int64_t>();
    } else if (field == "zero_point" && content.is_number_integer()) {
      quantization_params.zero_point = content.get<std::int64_t>();
    } else {
      return bad();
    }
  }
  return quantization_params;
}

/// Elementwise operator with a scalar integer on one side: the integer, and the value on the other
/// side.
struct WithNumber {
  int value;
  double number;
};
std::optional<WithNumber> NumberBeside(const Graph& graph, const Node& node) {
  for (const int side : {1, 0}) {
    const int id = node.inputs[static_cast<std::size_t>(side)];
    const Node& operand = graph.node(id);
    if (operand.kind != NodeKind::kConstant || operand.type.elements() != 1) continue;
    const Tensor* contents = graph.Contents(id);
    if (contents == nullptr) return std::nullopt;
    const int value = node.inputs[static_cast<std::size_t>(1 - side)];
    // A number of higher rank adds dimensions to the result, which shifts the axis of the scales.
    if (graph.node(value).type.shape.size() != node.type.shape.size()) return std::nullopt;
    return WithNumber{value, contents->At(0)};
  }
  return std::nullopt;
}

/// Integers that represent the same real numbers as the integers computed from them, and the step
/// of the result as a multiple of theirs.
struct Origin {
  int value;
  double step;
};
std::optional<Origin> OriginOf(const Graph& graph, const Node& node) {
  const OpAttributes& attributes = node.op.attributes;
  switch (node.op.kind) {
    case OpKind::kCast:
    case OpKind::kIdentity:
      return Origin{node.inputs[0], 1};
    case OpKind::kClip:  // only to the range of a type; other clips belong to the network
      if (attributes.a_min != -attributes.a_max && attributes.a_min != -attributes.a_max - 1) break;
      return Origin{node.inputs[0], 1};
    case OpKind::kFixedPointMultiply:
      if (attributes.multiplier <= 0) break;
      return Origin{node.inputs[0], std::ldexp(1.0, 31 - static_cast<int>(attributes.shift)) /
                                        static_cast<double>(attributes.multiplier)};
    case OpKind::kMul: {
      const auto factor = NumberBeside(graph, node);
      if (!factor || factor->number < 1) break;
      return Origin{factor->value, 1 / factor->number};
    }
    case OpKind::kShiftRight: {
      const auto shift = NumberBeside(graph, node);
      if (!shift || shift->value != node.inputs[0] || shift->number < 0 || shift->number > 62) {
        break;
      }
      const Node& sum = graph.node(shift->value);
      const auto half = sum.op.kind == OpKind::kAdd && sum.kind == NodeKind::kOperator
                            ? NumberBeside(graph, sum)
                            : std::nullopt;
      const double step = std::exp2(shift->number);
      const bool rounds = half && half->number == step / 2;
      return Origin{rounds ? half->value : shift->value, step};
    }
    default:
      break;
  }
  return std::nullopt;
}

/// Returns false if a product is not a positive float, which ReadRow rejects.
bool MultiplyScales(std::vector<float>& scales, double step) {
  for (float& scale : scales) {
    const double product = static_cast<double>(scale) * step;
    if (!(product <= std::numeric_limits<float>::max())) return false;
    scale = static_cast<float>(product);
    if (!(scale > 0)) return false;
  }
  return true;
}

}  // namespace

QuantizationMap InferQuantizationMap(const Graph& graph) {
  QuantizationMap quantization_map = graph.quantization;
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const bool nameless = node.kind == NodeKind::kOperator && IsLocalName(node.name);
    if (!nameless || !node.type.dtype.is_integer() || quantization_map.contains(node.name))
      continue;
    const auto origin = OriginOf(graph, node);
    if (!origin) continue;
    const auto known = quantization_map.find(graph.node(origin->value).name);
    if (known == quantization_map.end() || known->second.scales.empty()) continue;
    if (origin->step != 1 && known->second.zero_point != 0) continue;
    QuantizationParams quantization_params = known->second;
    if (quantization_params.value.empty())
      quantization_params.value = graph.FloatName(origin->value);
    if (!MultiplyScales(quantization_params.scales, origin->step)) continue;
    quantization_map.emplace(node.name, std::move(quantization_params));
  }
  return quantization_map;
}

std::string QuantizationMapToJson(const QuantizationMap& quantization_map) {
  Json table = Json::object();
  for (const auto& [name, quantization_params] : quantization_map) {
    Json row = Json::object();
    if (!quantization_params.value.empty()) row["value"] = quantization_params.value;
    if (!quantization_params.scales.empty()) row["scales"] = quantization_params.scales;
    if (quantization_params.scales.size() > 1) row["axis"] = quantization_params.axis;
    if (quantization_params.zero_point != 0) row["zero_point"] = quantization_params.zero_point;
    table[name] = std::move(row);
  }
  return DumpJson(table);
}

Result<QuantizationMap> ParseQuantizationMap(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto table, ParseJson(text));
  if (!table.is_object()) return InvalidArgument("expected an object");
  QuantizationMap quantization_map;
  for (const auto& [name, row] : table.items()) {
    auto quantization_params = ReadRow(row);
    if (!quantization_params.ok()) return quantization_params.status().WithContext(name);
    quantization_map.emplace(name, *std::move(quantization_params));
  }
  return quantization_map;
}

}  // namespace tilewright
