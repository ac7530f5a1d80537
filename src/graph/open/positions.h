#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/open/entries.h"
#include "src/graph/open/position_count.h"
#include "src/graph/open/size_range.h"
#include "src/graph/partition/partition.h"
#include "src/target/target.h"

namespace tilewright {

/// Open spatial dimension of a tensor.
struct PositionAxis {
  std::size_t axis = 0;  ///< number of the tensor's dimension
  PositionCount count;
  friend bool operator==(const PositionAxis&, const PositionAxis&) = default;
};

/// Padding of positions, which is an operator of its own: a pad.
struct PositionPadding {
  std::int64_t before = 0, after = 0;  ///< positions
  /// Windows of the one operator that reads the result; 0: the pad is the model's.
  std::int64_t extent = 0, stride = 0;
};

/// Network over any number of positions of a range, such as the columns of an image. Each operator
/// computes each position of its result in the same way from a window of positions of its operands.
/// No operator itself pads positions: pads in front of it do.
struct PositionNetwork {
  SizeRange range;
  PartitionedGraph network;  ///< with the largest size
  /// By node: the dimension of positions, if it has one.
  std::vector<std::optional<PositionAxis>> axes;
  std::map<int, PositionPadding> pads;  ///< by node
  /// Means over all positions, and the product of their other dimensions, by node.
  std::map<int, std::int64_t> means;
  std::map<std::string, std::size_t> names;  ///< of values with positions: their dimension

  /// Returns the network with a size. The nodes have the same ids.
  /// Errors: kUnsupported naming a value that would be empty.
  Result<PartitionedGraph> At(std::int64_t size) const;

  /// Returns the network of a block of positions, without any padding of them: an operator's result
  /// has PositionsOf(node, unit) positions. A pad has all those that its windows read.
  /// unit: a multiple of UnitStep().
  Result<PartitionedGraph> Block(std::int64_t unit) const;
  std::int64_t PositionsOf(int node, std::int64_t unit) const {
    return axes[static_cast<std::size_t>(node)]->count.PerUnit(unit);
  }
  /// Returns the least unit with a whole number of positions of every tensor.
  std::int64_t UnitStep() const;
  /// Returns the units of the blocks that kernels are made for, the largest first; each is a
  /// multiple of the next one. In the first, every tensor has enough positions for a tile of
  /// registers.
  std::vector<std::int64_t> Units() const;
  std::int64_t LargeUnit() const { return Units().front(); }
  std::int64_t SmallUnit() const { return Units().back(); }

 private:
  /// Returns the least unit in which every tensor has about this many positions.
  std::int64_t UnitOf(std::int64_t positions) const;
};

/// Finds the positions of every tensor of a network, for all sizes of the range.
///
/// read: reads the model file; several sizes are probed. Errors: those of `read` and of Partition;
/// kInvalidArgument if no input has the dimension; kUnsupported naming the first value that joins
/// positions, or has another number of them than convolutions, pools and operators on elements and
/// rows give.
Result<PositionNetwork> FindPositions(const ReadAtSize& read, const SizeRange& range,
                                      const Target& target, bool fuse_residuals);

}  // namespace tilewright
