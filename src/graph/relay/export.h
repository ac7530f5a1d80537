#pragma once

#include <string>

#include "src/base/status.h"
#include "src/graph/graph.h"

namespace tilewright {

/// A graph as Relay text, with the contents of its constants in the metadata section behind it;
/// ImportRelay reads it back. Values are numbered in the order of the graph; scalars are literals.
/// Operators that Relay lacks are written with "tilewright." in front of their names.
/// Errors: kUnsupported listing the operators that cannot be written; kInvalidArgument if a
/// constant has no contents.
Result<std::string> ExportRelay(const Graph& graph);

/// The text alone, as TVM prints it: no contents of constants, values numbered and constants
/// counted by the printer's rules, in the style of the text that the graph came from (else that of
/// 2022 and later). For reading and comparing.
/// Errors: kUnsupported listing the operators that cannot be written.
Result<std::string> ListRelay(const Graph& graph);

}  // namespace tilewright
