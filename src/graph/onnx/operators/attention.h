#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Parts of attention that the operators of ONNX and of ONNX Runtime have in common. Queries are
/// [batch, heads, rows, size], keys and values likewise; scores [batch, heads, queries, keys].

/// [batch, rows, heads * size] as [batch, heads, rows, size]. Errors: `what` says what fits no
/// number of heads.
int EmitSplitHeads(OnnxNode& node, int id, std::int64_t heads, const std::string& what);
/// The way back.
int EmitJoinedHeads(OnnxNode& node, int id);
/// Products of queries and keys, times `scale`, which is not negative.
int EmitScores(OnnxNode& node, int query, int key, double scale);
/// The softmax along the last dimension.
int EmitScoreSoftmax(OnnxNode& node, int scores);

}  // namespace tilewright
