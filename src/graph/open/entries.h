#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/size_range.h"
#include "src/graph/passes/passes.h"

namespace tilewright {

/// Sizes that are read to learn what depends on the dimension.
inline constexpr std::int64_t kProbedSizes[] = {2, 3, 5};

/// Reads a model file with one size of the dimension that is to stay open.
using ReadAtSize = std::function<Result<Graph>(std::int64_t size)>;

/// Proves that a network computes each entry of an open dimension by itself and in the same way:
/// for every size, its results are those of the network of one entry, applied to each entry. Then
/// every tensor that depends on the dimension has it outermost, and a step for many entries is a
/// loop around the step for one.
///
/// entry: read with size 1. read: reads the same file with other sizes, of which a few are probed.
/// The graphs may differ in extents only. The loops of each operator are evaluated for all indices
/// of the dimension.
///
/// Returns for each value that has the dimension the number of this dimension, by name. Errors:
/// those of `read`; kUnsupported naming the first value that mixes entries, depends on their
/// number, has the dimension elsewhere than outermost or has no loops; kInvalidArgument if no input
/// has the dimension, or if a tensor of the largest size exceeds a limit of graphs.
Result<std::map<std::string, std::size_t>> FindEntries(const Graph& entry, const ReadAtSize& read,
                                                       const SizeRange& range);

/// Group of operators that may join entries.
struct EntryJoin {
  const FusedGroup* group = nullptr;
  bool to_one = false;  ///< its result may be one value of all entries, without the dimension
};

/// As FindEntries, of the probed sizes alone. Each of `joined` is taken as one operator; only its
/// operands and its result must have the dimension outermost. read: makes the graphs, whose
/// constants need no contents. mixes: if not null, gets the number of the operator that mixes
/// entries or makes one value of them, if that is the error; else -1.
Result<std::map<std::string, std::size_t>> EntriesOf(const Graph& entry, const ReadAtSize& read,
                                                     const SizeRange& range,
                                                     std::span<const EntryJoin> joined,
                                                     int* mixes = nullptr);

}  // namespace tilewright
