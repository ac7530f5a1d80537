#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"

// Operators that convert tensors to the layouts of a VTA and back: data as NCHW<batch>n<block>c or
// MK<batch>m<block>k, weights as OIHW<block>o<block>i or NK<block>n<block>k.

namespace tilewright {

/// Operators of one input each, in order of execution.
using OperatorChain = std::vector<Operator>;

Operator ReshapeTo(std::vector<std::int64_t> shape);

/// Tile of BATCH x BLOCK scalars.
struct TileShape {
  std::int64_t batch = 1, block = 16;
};

/// Packs a plain tensor [N,C,H,W] or [N,C] of whole tiles.
OperatorChain PackOperators(const TileShape& tile, const std::vector<std::int64_t>& shape);
/// Unpacks a tensor to `shape`, whose channels may have been rounded up to whole blocks.
OperatorChain UnpackOperators(const TileShape& tile, const std::vector<std::int64_t>& shape);

/// Packs a tensor with one element per channel, of any shape, so that it broadcasts over a packed
/// tensor that has `rank` dimensions when plain (2 or 4). Pads with zeros after the last channel.
OperatorChain PackChannelOperators(const TileShape& tile, std::int64_t channels, std::size_t rank);

/// Packs a weight [O,I,H,W], [I,O,H,W] (`inputs_first`) or [O,I]. Pads with zeros after the last
/// output and input channels.
OperatorChain PackWeightOperators(const TileShape& tile, const std::vector<std::int64_t>& shape,
                                  bool inputs_first);

/// Merge of several small groups of a convolution into one packed group. Its weights are zero
/// between inputs and outputs of different groups.
struct GroupMerge {
  std::int64_t groups = 1;    ///< packed
  std::int64_t merged = 1;    ///< source groups per packed group
  std::int64_t channels = 0;  ///< of the result, in all groups
};
/// Computes the merge. Errors: kUnsupported with the group sizes that are supported.
Result<GroupMerge> MergeGroups(const TileShape& tile, std::int64_t channels_in,
                               const std::vector<std::int64_t>& weight, std::int64_t groups);

/// Returns the operators that convert weights [O,I,H,W] to those of merged groups. The result still
/// has to be multiplied by GroupMergeMask.
OperatorChain MergeGroupOperators(const GroupMerge& merge, const std::vector<std::int64_t>& weight);
/// Returns int8 [O,I,1,1]: one if input and output belong to the same group before merging, else
/// zero.
Tensor GroupMergeMask(const GroupMerge& merge, const std::vector<std::int64_t>& weight,
                      std::int64_t groups);

}  // namespace tilewright
