#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace tilewright {

/// Infers quantization parameters. Starts from those that the graph states. An unnamed value gets
/// the parameters of its input if a change of scale (a shift, a product with a number), a
/// saturation or a cast computes it; it represents that value, rounded. A compiled model often
/// contains only such values.
QuantizationMap InferQuantizationMap(const Graph& graph);

/// Formats the map as JSON: {"conv1": {"value": "r0", "scales": [0.5], "axis": 1, "zero_point":
/// 3}}. Omits fields with default values. Relay texts and compiled models contain it.
std::string QuantizationMapToJson(const QuantizationMap& quantization_map);

/// Parses the output of QuantizationMapToJson. Scales are finite and positive.
/// Errors: kInvalidArgument, naming the value.
Result<QuantizationMap> ParseQuantizationMap(std::string_view text);

}  // namespace tilewright
