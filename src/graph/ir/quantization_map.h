#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace tilewright {

/// What values stand for: as the graph says it, and for those without a name that are made of such
/// a value by a change of its scale (a shift, a product with a number), a saturation or a cast:
/// they are that value, rounded. In a compiled model often these alone can be seen.
QuantizationMap InferQuantizationMap(const Graph& graph);

/// As JSON: {"conv1": {"value": "r0", "scales": [0.5], "axis": 1, "zero_point": 3}}, without the
/// fields that say nothing. Relay texts and compiled models carry it.
std::string QuantizationMapToJson(const QuantizationMap& quantization_map);

/// Reads what QuantizationMapToJson writes; scales are finite and positive.
/// Errors: kInvalidArgument naming the value.
Result<QuantizationMap> ParseQuantizationMap(std::string_view text);

}  // namespace tilewright
