#pragma once

#include "src/graph/ir/graph.h"
#include "src/graph/relay/export.h"

namespace tilewright::quantize {

/// Whether everything between the first and the last integers of a graph works on integers.
/// Errors: kUnsupported listing the operators on floats in between.
Status CheckIntegral(const Graph& graph);

/// The functions of partition_conversions=enabled: quantize_inputs makes the first integers,
/// quantized_main works on integers (and on what stands between them), dequantize_outputs does the
/// rest. Errors: kInvalidArgument where no operator works on integers.
Result<FunctionSplit> SplitConversions(const Graph& graph);

}  // namespace tilewright::quantize
