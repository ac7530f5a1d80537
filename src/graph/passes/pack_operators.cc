#include "src/graph/passes/pack_operators.h"

#include <fmt/format.h>

#include <utility>

#include "src/base/math.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

Operator TransposeBy(Shape axes) {
  Operator op{OpKind::kTranspose, {}};
  op.attributes.axes = std::move(axes);
  return op;
}

/// Returns a padding with zeros after each dimension; `behind` holds the number of zeros.
Operator PadBehind(const Shape& behind) {
  Operator pad{OpKind::kPad, {}};
  for (const std::int64_t count : behind) {
    pad.attributes.pad_width.insert(pad.attributes.pad_width.end(), {0, count});
  }
  return pad;
}

}  // namespace

Operator ReshapeTo(Shape shape) {
  Operator op{OpKind::kReshape, {}};
  op.attributes.new_shape = std::move(shape);
  return op;
}

OperatorChain PackOperators(const TileShape& tile, const Shape& s) {
  Shape blocked = {s[0] / tile.batch, tile.batch, s[1] / tile.block, tile.block};
  if (s.size() == 2) return {ReshapeTo(blocked), TransposeBy({0, 2, 1, 3})};
  blocked.insert(blocked.end(), {s[2], s[3]});
  return {ReshapeTo(blocked), TransposeBy({0, 2, 4, 5, 1, 3})};
}

OperatorChain UnpackOperators(const TileShape& tile, const Shape& shape) {
  Shape rounded = shape;
  rounded[1] = RoundUp(shape[1], tile.block);
  const Shape axes = shape.size() == 2 ? Shape{0, 2, 1, 3} : Shape{0, 4, 1, 5, 2, 3};
  OperatorChain moves = {TransposeBy(axes), ReshapeTo(rounded)};
  if (rounded != shape) {
    Operator slice{OpKind::kSlice, {}};
    slice.attributes.begin = Shape(shape.size(), 0);
    slice.attributes.end = shape;
    slice.attributes.steps = Shape(shape.size(), 1);
    moves.push_back(std::move(slice));
  }
  return moves;
}

OperatorChain PackChannelOperators(const TileShape& tile, std::int64_t channels, std::size_t rank) {
  const std::int64_t blocks = CeilDiv(channels, tile.block);
  OperatorChain moves;
  if (blocks * tile.block != channels) {
    moves = {ReshapeTo({channels}), PadBehind({blocks * tile.block - channels})};
  }
  if (rank == 2) {
    moves.push_back(ReshapeTo({blocks, 1, tile.block}));
  } else {
    moves.push_back(ReshapeTo({blocks, tile.block, 1, 1, 1}));
    moves.push_back(TransposeBy({0, 2, 3, 4, 1}));
    // The batch dimension has size 1 and broadcasts. Epilogues accept such an operand as one
    // element per channel.
    Operator broadcast{OpKind::kBroadcastTo, {}};
    broadcast.attributes.new_shape = {blocks, 1, 1, 1, tile.block};
    moves.push_back(std::move(broadcast));
  }
  return moves;
}

OperatorChain PackWeightOperators(const TileShape& tile, const Shape& s, bool inputs_first) {
  const std::int64_t first = CeilDiv(s[0], tile.block), second = CeilDiv(s[1], tile.block);
  OperatorChain moves;
  if (first * tile.block != s[0] || second * tile.block != s[1]) {
    Shape behind(s.size(), 0);
    behind[0] = first * tile.block - s[0];
    behind[1] = second * tile.block - s[1];
    moves.push_back(PadBehind(behind));
  }
  Shape blocked = {first, tile.block, second, tile.block};
  blocked.insert(blocked.end(), s.begin() + 2, s.end());
  moves.push_back(ReshapeTo(blocked));
  if (s.size() == 2) {
    moves.push_back(TransposeBy({0, 2, 1, 3}));
  } else {
    moves.push_back(TransposeBy(inputs_first ? Shape{2, 0, 4, 5, 3, 1} : Shape{0, 2, 4, 5, 1, 3}));
  }
  return moves;
}

Result<GroupMerge> MergeGroups(const TileShape& tile, std::int64_t channels_in, const Shape& weight,
                               std::int64_t groups) {
  const std::int64_t inputs = weight[1], outputs = weight[0] / groups;
  if (groups == 1 || (inputs % tile.block == 0 && outputs % tile.block == 0)) {
    return GroupMerge{groups, 1, weight[0]};
  }
  // Each merged group has one block of inputs and whole blocks of outputs. If the last block of
  // inputs is incomplete, the number of outputs must equal the number of inputs.
  const bool parts = tile.block % inputs == 0 && outputs % inputs == 0;
  if (parts && (channels_in % tile.block == 0 || inputs == outputs)) {
    const std::int64_t blocks = CeilDiv(channels_in, tile.block);
    const std::int64_t merged = tile.block / inputs;
    return GroupMerge{blocks, merged, blocks * merged * outputs};
  }
  return Unsupported(
      fmt::format("{} groups of {} to {} channels, expected whole blocks of {} or "
                  "equal parts of one",
                  groups, inputs, outputs, tile.block));
}

OperatorChain MergeGroupOperators(const GroupMerge& merge, const Shape& s) {
  OperatorChain moves;
  if (merge.channels != s[0]) moves.push_back(PadBehind({merge.channels - s[0], 0, 0, 0}));
  // Repeats the weights of each output once for each group that it is merged with.
  Operator repeat{OpKind::kBroadcastTo, {}};
  repeat.attributes.new_shape = {merge.channels, merge.merged, s[1], s[2], s[3]};
  moves.push_back(ReshapeTo({merge.channels, 1, s[1], s[2], s[3]}));
  moves.push_back(std::move(repeat));
  moves.push_back(ReshapeTo({merge.channels, merge.merged * s[1], s[2], s[3]}));
  return moves;
}

Tensor GroupMergeMask(const GroupMerge& merge, const Shape& weight, std::int64_t groups) {
  const std::int64_t inputs = weight[1], outputs = weight[0] / groups;
  const std::int64_t columns = merge.merged * inputs;
  Tensor mask(TensorType{{merge.channels, columns, 1, 1}, kInt8});
  for (std::int64_t o = 0; o < merge.channels; ++o) {
    for (std::int64_t i = 0; i < columns; ++i) {
      mask.Set(o * columns + i, i / inputs == o / outputs % merge.merged ? 1 : 0);
    }
  }
  return mask;
}

}  // namespace tilewright
