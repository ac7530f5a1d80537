#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/size_range.h"
#include "src/graph/open/symbols.h"
#include "src/session/model.h"
#include "src/target/target.h"

namespace tilewright::session {

// Open dimensions of a model file as users see them.

/// Open dimension of a file, and the range that one library could take.
struct OpenSymbol {
  Symbol symbol;
  std::optional<SizeRange> range;  ///< checked with CheckRange; none if not checked or refused
  std::string refusal;             ///< why no range was accepted; empty if not checked
};

/// Returns the open dimensions of a file whose size the options leave open; none for other files
/// than ONNX, and if the file cannot be read.
std::vector<OpenSymbol> OpenSymbolsOf(const ModelOptions& options, const std::string& file);

/// Checks that one library for the target can have all sizes of the range (FindOpenDimension).
/// options: with one size of the range, as ModelOptions::TakeRange leaves them.
/// Errors: those of reading the file and of FindOpenDimension; kUnsupported for a target without
/// machine code.
Status CheckRange(const ModelOptions& options, const std::string& file, const SizeRange& range,
                  const Target& target);

/// Finds the ranges that libraries could take, if one dimension is open: the first of a few ranges
/// that CheckRange accepts. Several open dimensions are refused.
void FindRanges(const ModelOptions& options, const std::string& file, const Target& target,
                std::vector<OpenSymbol>& symbols);

/// Reads a model file to describe it. If sizes are missing, it reads the file with one entry of
/// each open dimension, unless `all_sizes` requires them. Errors: those of LoadGraph.
Result<Graph> LoadToInspect(const ModelOptions& options, const std::string& file,
                            const std::vector<OpenSymbol>& symbols, bool all_sizes);

/// Returns a line for each dimension: its name, what has it, and its range.
std::string OpenSymbolsText(const std::vector<OpenSymbol>& symbols);
/// Returns DescribeGraphJson with the open dimensions, "open".
std::string GraphJson(const Graph& graph, const std::vector<OpenSymbol>& symbols);

/// Adds the ranges that a library could take to the error of reading a file with open dimensions;
/// other errors are returned as they are. The ranges are checked.
Status WithRanges(const Status& status, const ModelOptions& options, const std::string& file,
                  const Target& target);

}  // namespace tilewright::session
