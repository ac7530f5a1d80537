#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/vta/design.h"

namespace tilewright {

struct PackOptions {
  /// The first operator whose result is packed, and the first one behind it that is not packed any
  /// more: names of values or of operators ("max_pool2d", "nn.max_pool2d"). Empty: from the first
  /// convolution that can be packed, as long as operators work on packed values.
  std::string start, stop;
};

struct PackReport {
  int convolutions = 0;  ///< packed
  int products = 0;      ///< matrix products, packed
  int entering = 0;      ///< values that are packed on the way
  int leaving = 0;       ///< and unpacked
  /// Convolutions and matrix products that stay as they are: name of the value, and why.
  std::vector<std::pair<std::string, std::string>> left;
};

/// Changes the layout of a quantized graph for a VTA: int8 convolutions (transposed ones too) to
/// NCHW<batch>n<block>c and OIHW<block>o<block>i, int8 matrix products to MK<batch>m<block>k and
/// NK<block>n<block>k, and with them the elementwise operators, poolings and concatenations between
/// them. Channels of results are rounded up to whole blocks with zeros in the weights and
/// constants, and cut off again where a value leaves. Groups of fewer channels than a block, as of
/// depthwise convolutions, are merged to blocks, with zeros in the weights between them. What
/// cannot be packed (other than blocks of input channels, floats) stays in place; values enter and
/// leave by a reshape and a transpose. Results are equal to the last bit.
///
/// Errors: kNotFound if start or stop names nothing.
Result<Graph> PackForVta(Graph graph, const vta::Design& design, const PackOptions& options,
                         PackReport* report);

}  // namespace tilewright
