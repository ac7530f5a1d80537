#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/positions.h"

namespace tilewright {

/// Operator of a network with positions.
struct PositionedNode {
  const Graph* graph = nullptr;
  const Node* node = nullptr;
  std::vector<std::optional<PositionAxis>> axes;  ///< of the operands; at least one has it
};

/// How an operator makes the positions of its result.
struct PositionRule {
  PositionCount count;  ///< of the result
  Operator op;          ///< the operator without padding of positions
  /// Of the first operand, if the operator reads windows (`extent` > 0); else of the model's pad.
  PositionPadding padding;
  double pad_value = 0;
};

/// Returns the rule of an operator whose result has positions in dimension `axis`.
/// Errors: kUnsupported as the end of a sentence about the value.
Result<PositionRule> PositionRuleOf(const PositionedNode& read, std::size_t axis);

/// Returns for a mean over all positions the product of the other dimensions that it reduces. They
/// are the ones just outside of the positions.
/// Errors: kUnsupported as the end of a sentence, for other operators too.
Result<std::int64_t> JoinedByMean(const PositionedNode& read);

}  // namespace tilewright
