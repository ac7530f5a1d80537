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
/// itself, except the attention.
struct SequenceNetwork {
  SizeRange range;
  /// The network optimized for two lengths. Any other length is Resized from them. Only `large` has
  /// the contents of large constants.
  PartitionedGraph small, large;
  std::int64_t small_size = 1, large_size = 2;
  std::vector<JoinedGroups> attention;      ///< of both
  std::map<std::string, std::size_t> axes;  ///< of values with the dimension: its number, by name
  /// Constants with an element, or several, for each position, by name.
  std::set<std::string> tables;

  /// Returns the network with a length, with the groups of both.
  /// max_elements: larger constants get no contents. Errors: those of Resized.
  Result<PartitionedGraph> At(
      std::int64_t size,
      std::int64_t max_elements = std::numeric_limits<std::int64_t>::max()) const;
};

/// Least of the largest lengths that FindSequence takes: a line needs two lengths and a check.
inline constexpr std::int64_t kFewestLengths = 3;

/// Finds the attention of a network, and proves that its other operators compute each position of
/// the dimension by itself (EntriesOf), for all sizes of the range: what the file contains is
/// linear in the size.
///
/// read: reads the model file. Without attention nothing is proved, and `axes` and `tables` are
/// empty. Errors: kInvalidArgument unless the largest size is at least kFewestLengths; those of
/// `read`, Partition, Resized and EntriesOf; kUnsupported if the network is optimized to other
/// operators for other sizes.
Result<SequenceNetwork> FindSequence(const ReadAtSize& read, const SizeRange& range,
                                     const Target& target, bool fuse_residuals);

}  // namespace tilewright
