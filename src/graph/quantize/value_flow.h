#pragma once

#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/quantize/config.h"
#include "src/graph/quantize/float_layer.h"

namespace tilewright::quantize {

/// Properties of the values of a float graph for the rules `accurate`. Indices are ids.
struct ValueFlow {
  /// True if the operator becomes an integer operator.
  std::vector<bool> quantized;
  /// True if the value is the data of such an operator.
  std::vector<bool> feeds_quantized;
  /// True if feeds_quantized is, or if the value reaches such an operator through data movement,
  /// joins, pools and elementwise operators.
  std::vector<bool> reaches_quantized;
  /// True if the value has several uses, all inside one expression of elementwise operators with
  /// one result (such as x * sigmoid(x)). It need not be stored.
  std::vector<bool> inside;
  /// First value of the expression; the value's own id if there is no expression.
  std::vector<int> root;
  /// True if no element can be negative.
  std::vector<bool> non_negative;
  /// Anchors that stay float.
  std::vector<FloatLayer> left;
};

ValueFlow FlowOf(const Graph& graph, const Config& config);

/// Returns true if an operator only moves elements of its first input, apart from added zeros.
bool IsFirstInputDataMovement(const Operator& op);

}  // namespace tilewright::quantize
