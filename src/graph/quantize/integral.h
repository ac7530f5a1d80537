#pragma once

#include "src/graph/ir/graph.h"
#include "src/graph/relay/export.h"

namespace tilewright::quantize {

/// Checks that everything between the first and the last integers of a graph works on integers.
/// Errors: kUnsupported listing the float operators in between.
Status CheckIntegral(const Graph& graph);

/// Splits a graph into the functions of partition_conversions=enabled: quantize_inputs makes the
/// first integers, quantized_main contains the integer operators and everything between them,
/// dequantize_outputs contains the rest. Errors: kInvalidArgument if no operator works on integers.
Result<FunctionSplit> SplitConversions(const Graph& graph);

}  // namespace tilewright::quantize
