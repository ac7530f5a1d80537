#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/size_range.h"

namespace tilewright {

/// One network read with two sizes of a dimension. Their graphs have the same operators, and what
/// differs between them is linear in the size.
struct SizedGraphs {
  const SizeRange* range = nullptr;  ///< names the dimension in messages
  const Graph* small = nullptr;      ///< its constants may have no contents
  std::int64_t small_size = 1;
  const Graph* large = nullptr;
  std::int64_t large_size = 2;
};

/// Returns the network with another size. Extents and attributes are those on the line through the
/// two given ones. Types of results are inferred and compared with that line. Constants that depend
/// on the size are the first elements of the larger one's.
///
/// max_elements: larger constants get no contents.
/// Errors: kUnsupported naming the first value that is not linear in the size, or a constant that
/// is no beginning of the larger one's.
Result<Graph> Resized(const SizedGraphs& graphs, std::int64_t size, std::int64_t max_elements);

/// Checks that the network with another size is that of Resized.
/// read: read with this size. Errors: those of Resized; kUnsupported naming the first value in
/// which they differ: operators, attributes, types, operands and contents of constants.
Status CheckResized(const SizedGraphs& graphs, std::int64_t size, const Graph& read);

/// Replaces the size with the range in the binding options of a network that was read with it.
void NameRange(const SizeRange& range, Graph& entry);

/// Returns `status` as the end of a sentence about a value: "--dim seq=1..8: node 3 …; give one
/// size". Other codes than kUnsupported are returned as they are.
Status AboutValue(const Graph& graph, int id, const SizeRange& range, const Status& status);

}  // namespace tilewright
