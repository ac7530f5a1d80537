#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/open/entries.h"
#include "src/graph/open/size_range.h"
#include "src/graph/partition/partition.h"
#include "src/graph/passes/passes.h"

namespace tilewright {

/// Network over a sequence of any length of a range. All of its operators compute each position by
/// itself, except the attention and the joins.
struct SequenceNetwork {
  SizeRange range;
  /// The network optimized for two lengths. Any other length is Resized from them. Only `large` has
  /// the contents of large constants.
  PartitionedGraph small, large;
  std::int64_t small_size = 1, large_size = 2;
  std::vector<JoinedGroups> attention;  ///< of both
  /// Other groups that join positions: recurrences over them, and groups that make one value of all
  /// of them (FindJoins). Each has one kernel for any number of positions.
  std::vector<FusedGroup> joins;
  std::map<std::string, std::size_t> axes;  ///< of values with the dimension: its number, by name
  /// Constants with an element, or several, for each position, by name.
  std::set<std::string> tables;

  /// Returns the network with a length, with the groups of both.
  /// max_elements: larger constants get no contents. Errors: those of Resized.
  Result<PartitionedGraph> At(
      std::int64_t size,
      std::int64_t max_elements = std::numeric_limits<std::int64_t>::max()) const;

  /// Returns true if a group of the networks is one of `joins`.
  bool Joins(const FusedGroup& group) const;
};

/// Least of the largest lengths that FindSequence takes: a line needs two lengths and a check.
inline constexpr std::int64_t kFewestLengths = 3;

/// Finds groups of a network that join positions, and are no attention: recurrences, and groups
/// without an anchor whose inputs depend on the size, unlike the result: means and other reductions
/// over positions, slices of one position. FindSequence adds those whose loops mix positions.
///
/// small, large: the same network with two sizes. attention: its groups.
std::vector<FusedGroup> FindJoins(const PartitionedGraph& small, const PartitionedGraph& large,
                                  const std::vector<JoinedGroups>& attention);

/// Finds the attention of a network and its joins, and proves that its other operators compute each
/// position of the dimension by itself (EntriesOf), for all sizes of the range: what the file
/// contains is linear in the size.
///
/// read: reads the model file. If nothing is found, or what is found serves nothing, `attention`,
/// `joins`, `axes` and `tables` are empty. Errors: kInvalidArgument unless the largest size is at
/// least kFewestLengths; those of `read`, Partition, Resized and EntriesOf; kUnsupported if the
/// network is optimized to other operators for other sizes.
Result<SequenceNetwork> FindSequence(const ReadAtSize& read, const SizeRange& range,
                                     const Target& target, bool fuse_residuals);

}  // namespace tilewright
