#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/vta/design.h"

namespace tilewright {

struct PackOptions {
  /// Range of packed operators: the first operator whose result is packed, and the first one after
  /// it that is not packed. Names of values or of operators ("max_pool2d", "nn.max_pool2d"). Empty:
  /// from the first convolution that can be packed, as long as operators support packed values.
  std::string start, stop;
};

struct PackReport {
  int convolutions = 0;  ///< packed
  int products = 0;      ///< matrix products, packed
  int entering = 0;      ///< values that are packed at the entry of a packed part
  int leaving = 0;       ///< values that are unpacked at the exit of one
  /// Convolutions and matrix products that are not packed: name of the value, and the reason.
  std::vector<std::pair<std::string, std::string>> left;
};

/// Changes the layout of a quantized graph for a VTA. int8 convolutions (also transposed ones)
/// become NCHW<batch>n<block>c and OIHW<block>o<block>i, int8 matrix products MK<batch>m<block>k
/// and NK<block>n<block>k. The elementwise operators, poolings and concatenations between them
/// change with them. Channels of results are rounded up to whole blocks with zeros in the weights
/// and constants; the padding is cut off where a value leaves a packed part. Groups with fewer
/// channels than a block, as of depthwise convolutions, are merged into blocks, with zeros in the
/// weights between them. Operators that cannot be packed (incomplete blocks of input channels,
/// floats) stay unchanged. A reshape and a transpose convert values at the borders. Results are
/// bit-exact.
///
/// Errors: kNotFound if start or stop matches no name.
Result<Graph> PackForVta(Graph graph, const vta::Design& design, const PackOptions& options,
                         PackReport* report);

}  // namespace tilewright
