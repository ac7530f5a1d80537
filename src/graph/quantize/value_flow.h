#pragma once

#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/quantize/config.h"
#include "src/graph/quantize/float_layer.h"

namespace tilewright::quantize {

/// What the rules `accurate` ask about the values of a float graph. Indices are ids.
struct ValueFlow {
  /// The operator becomes one of integers.
  std::vector<bool> quantized;
  /// The value is the data of such an operator.
  std::vector<bool> feeds_quantized;
  /// The value is that, or is read by what only moves, joins, pools or computes
  /// element by element and leads to one.
  std::vector<bool> reaches_quantized;
  /// The value is used more than once, but only inside of one expression of elementwise operators
  /// (x * sigmoid(x), say) of which one result leaves: it need not be stored.
  std::vector<bool> inside;
  /// The value that the expression begins with; the value's own id if there is none.
  std::vector<int> root;
  /// No element can be below 0.
  std::vector<bool> non_negative;
  /// Anchors that stay float.
  std::vector<FloatLayer> left;
};

ValueFlow FlowOf(const Graph& graph, const Config& config);

/// Whether an operator only moves elements of its first input, beside zeros.
bool IsFirstInputDataMovement(const Operator& op);

}  // namespace tilewright::quantize
