#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace tilewright {

/// The operators of a graph as functions that are called one after the other.
struct FunctionSplit {
  std::vector<std::string> names;  ///< in the order of the calls, which main makes
  /// Of each node, an index of names: that of an operator's operand is not above its own. Inputs
  /// and constants are not looked at.
  std::vector<int> function_of;
};

/// A graph as Relay text, with the contents of its constants in the metadata section behind it;
/// ImportRelay reads it back. Values are numbered in the order of the graph; scalars are literals.
/// With a split there is a function for each of its names beside main.
/// Operators that Relay lacks are written with "tilewright." in front of their names.
/// Errors: kUnsupported listing the operators that cannot be written; kInvalidArgument if a
/// constant has no contents.
Result<std::string> ExportRelay(const Graph& graph, const FunctionSplit& split = {});

/// The text alone, as TVM prints it: no contents of constants, values numbered and constants
/// counted by the printer's rules, in the style of the text that the graph came from (else that of
/// 2022 and later). For reading and comparing.
/// Errors: kUnsupported listing the operators that cannot be written.
Result<std::string> PrintRelay(const Graph& graph);

}  // namespace tilewright
