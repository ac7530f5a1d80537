#pragma once

#include <optional>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/tensor/epilogue.h"

namespace tilewright {

/// Returns a flag per dimension of an anchor's result: true if the dimension is part of the output
/// channel. Dimension 1 for NCHW, 1 and 4 for NCHW16c, the last one for matrix products, 1 and 3
/// for MK1m16k. All false if the layout is unknown.
std::vector<bool> ChannelDimensions(const Node& anchor);

/// Classifies an operand that is combined with a value of type `value`, whose channel dimensions
/// are flagged: one element, one element per channel (row-major order = channel order), or the same
/// shape. Returns nullopt for any other broadcast.
std::optional<OperandKind> OperandKindOf(const TensorType& operand, const TensorType& value,
                                         const std::vector<bool>& channel);

/// Returns true if an operator reduces the last of `rank` dimensions to one element, or processes
/// each row along it as a whole (softmax).
bool IsRowWise(const Operator& op, std::size_t rank);
/// Returns the number of trailing dimensions that form the rows of a row-wise operator; 0 if the
/// operator is not row-wise.
std::size_t RowWiseDimensions(const Operator& op, std::size_t rank);

/// Returns the node that makes a value if it is an operator of this kind, else null.
const Node* OperatorOf(const Graph& graph, int id, OpKind kind);

/// Returns true for an elementwise operator with two inputs.
bool IsBinaryElementwise(const Node& node);
/// Returns true if an operator's two inputs can be exchanged.
bool Commutes(OpKind kind);

/// Returns the only operator that reads a value; -1 if it has several uses or is an output of the
/// graph. `users` is Graph::Users().
int SingleUser(const Graph& graph, const std::vector<std::vector<int>>& users, int id);

}  // namespace tilewright
