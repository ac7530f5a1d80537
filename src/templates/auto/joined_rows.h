#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/expression/expression.h"

namespace tilewright {

/// A reduction over windows that move over a picture by one element, of which every other axis of
/// the result has one of its own: depthwise convolutions, stencils, pooling without strides. The
/// rows of the picture, as wide as what is read of it, are one row: position (y, x) of the result
/// is y * width + x of a stage "<main>.rows" before it, which also computes what lies between the
/// rows. Where they are not joined, "<main>.rows" has the axes of the result.
struct Windows {
  Compute compute;
  bool joined = true;
  std::size_t main = 0;       ///< position of "<main>.rows"; what writes its result is behind it
  std::int64_t height = 0;    ///< of the result
  std::int64_t width = 0;     ///< ...
  std::int64_t row = 0;       ///< elements from one row of the picture to the next
  std::int64_t elements = 0;  ///< of "<main>.rows" for each of the other axes, if joined
  std::vector<int> pictures;  ///< positions of the stages that make what is read
  std::vector<int> windows;   ///< reduced axes that move what is read, outermost first

  const ComputeOp& op() const { return compute.stages[main]; }
};

/// joined: whether rows become one, as above.
/// Errors: kUnsupported if the expression computes most in something else.
Result<Windows> FindWindows(const Expression& expression, bool joined = true);

}  // namespace tilewright
