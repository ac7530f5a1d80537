#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Parts of attention that operators of ONNX and of ONNX Runtime share. Queries, keys and values
/// are [batch, heads, rows, size]; scores are [batch, heads, queries, keys].

/// Splits [batch, rows, heads * size] into [batch, heads, rows, size]. Errors: the size is not
/// divisible by the number of heads; the message begins with `what`.
int EmitSplitHeads(OnnxNode& node, int id, std::int64_t heads, const std::string& what);
/// Reverses EmitSplitHeads.
int EmitJoinedHeads(OnnxNode& node, int id);
/// Emits the products of queries and keys, times `scale`, which is not negative.
int EmitScores(OnnxNode& node, int query, int key, double scale);
/// Emits the softmax along the last dimension.
int EmitScoreSoftmax(OnnxNode& node, int scores);

}  // namespace tilewright
