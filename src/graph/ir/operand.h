#pragma once

#include <optional>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/tensor/epilogue.h"

namespace tilewright {

/// Which dimensions of an anchor's result make up its output channel, one flag per dimension:
/// dimension 1 for NCHW, 1 and 4 for NCHW16c, the last one for matrix products, 1 and 3 for
/// MK1m16k. All false if the layout is unknown.
std::vector<bool> ChannelDimensions(const Node& anchor);

/// How an operand lines up with a value of type `value` whose channel dimensions are flagged:
/// one element, one element per channel (row-major order = channel order), or the same shape.
/// Nothing for any other broadcast.
std::optional<OperandKind> OperandKindOf(const TensorType& operand, const TensorType& value,
                                         const std::vector<bool>& channel);

/// Whether an operator reduces the last of `rank` dimensions, which stays as one element, or does
/// something to each row along it as a whole (softmax).
bool IsRowWise(const Operator& op, std::size_t rank);
/// The same of rows that are several last dimensions: how many; 0 if it does neither.
std::size_t RowWiseDimensions(const Operator& op, std::size_t rank);

/// Elementwise of two inputs.
bool IsBinaryElementwise(const Node& node);

/// The one operator that reads a value, or -1 if there are several uses or it is an output of the
/// graph. `users` is Graph::Users().
int SingleUser(const Graph& graph, const std::vector<std::vector<int>>& users, int id);

}  // namespace tilewright
