#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"

// The operators that bring tensors into the layouts of a VTA and back: data as
// NCHW<batch>n<block>c or MK<batch>m<block>k, weights as OIHW<block>o<block>i or
// NK<block>n<block>k.

namespace tilewright {

/// Operators of one input each, in order of execution.
using OperatorChain = std::vector<Operator>;

Operator ReshapeTo(std::vector<std::int64_t> shape);

/// Tiles of BATCH x BLOCK scalars.
struct TileShape {
  std::int64_t batch = 1, block = 16;
};

/// A plain tensor [N,C,H,W] or [N,C] of whole tiles into the packed form.
OperatorChain PackOperators(const TileShape& tile, const std::vector<std::int64_t>& shape);
/// And back to `shape`, whose channels may have been rounded up to whole blocks.
OperatorChain UnpackOperators(const TileShape& tile, const std::vector<std::int64_t>& shape);

/// One element per channel, any shape, as it broadcasts over a packed tensor of `rank` dimensions
/// when plain (2 or 4); zeros behind the last channel.
OperatorChain PackChannelOperators(const TileShape& tile, std::int64_t channels, std::size_t rank);

/// A weight [O,I,H,W], [I,O,H,W] (`inputs_first`) or [O,I] into the packed form, with zeros behind
/// the channels of both kinds.
OperatorChain PackWeightOperators(const TileShape& tile, const std::vector<std::int64_t>& shape,
                                  bool inputs_first);

/// How the groups of a convolution are packed: several small ones become one, whose weights are
/// zeros where they join inputs and outputs of different groups.
struct GroupMerge {
  std::int64_t groups = 1;    ///< packed
  std::int64_t merged = 1;    ///< groups that one of them is made of
  std::int64_t channels = 0;  ///< of results, all groups together
};
/// Errors: kUnsupported with what the groups should be.
Result<GroupMerge> MergeGroups(const TileShape& tile, std::int64_t channels_in,
                               const std::vector<std::int64_t>& weight, std::int64_t groups);

/// Makes weights [O,I,H,W] of merged groups of them, to be multiplied with GroupMergeMask.
OperatorChain MergeGroupOperators(const GroupMerge& merge, const std::vector<std::int64_t>& weight);
/// int8 [O,I,1,1]: one where input and output are of the same group before merging.
Tensor GroupMergeMask(const GroupMerge& merge, const std::vector<std::int64_t>& weight,
                      std::int64_t groups);

}  // namespace tilewright
