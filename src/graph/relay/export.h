#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace tilewright {

/// Partition of a graph's operators into functions that main calls one after the other.
struct FunctionSplit {
  std::vector<std::string> names;  ///< in the order of main's calls
  /// Index into names for each node. The index of an operand's function must not exceed that of its
  /// reader. Entries of inputs and constants are ignored.
  std::vector<int> function_of;
};

/// Writes a graph as Relay text, followed by the contents of its constants in a metadata section.
/// ImportRelay reads the text. Values are numbered in the order of the graph; scalars are literals.
/// With a split, the text contains main and a function for each name. Operators that Relay lacks
/// get the prefix "tilewright.".
/// Returns kUnsupported listing the operators that cannot be written; kInvalidArgument if a
/// constant has no contents.
Result<std::string> ExportRelay(const Graph& graph, const FunctionSplit& split = {});

/// Writes the text alone as TVM prints it, for reading and comparing: without contents of
/// constants, with values and constants numbered by the printer's rules. The style is that of the
/// text from which the graph was imported, else that of 2022 and later.
/// Returns kUnsupported listing the operators that cannot be written.
Result<std::string> PrintRelay(const Graph& graph);

}  // namespace tilewright
