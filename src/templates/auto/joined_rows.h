#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/expression/expression.h"

namespace tilewright {

/// Reduction over windows that move over an image by one element, with a separate image for every
/// other axis of the result: depthwise convolutions, stencils, pooling without strides.
/// If the rows are joined, the rows of the image, as wide as the part that is read, are one row:
/// position (y, x) of the result is y * width + x of a stage "<main>.rows" before it, which also
/// computes elements between the rows. Otherwise "<main>.rows" has the axes of the result.
struct Windows {
  Compute compute;
  bool joined = true;
  std::size_t main =
      0;  ///< position of "<main>.rows"; the stage that writes its result is after it
  std::int64_t height = 0;    ///< of the result
  std::int64_t width = 0;     ///< ...
  std::int64_t row = 0;       ///< elements from one row of the image to the next
  std::int64_t elements = 0;  ///< of "<main>.rows" for each of the other axes, if joined
  std::vector<int> pictures;  ///< positions of the stages that compute the images
  std::vector<int> windows;   ///< reduction axes of the windows, outermost first

  const ComputeOp& op() const { return compute.stages[main]; }
};

/// Finds the windows of an expression. joined: whether rows become one, as above.
/// Errors: kUnsupported if the expression computes most in another stage.
Result<Windows> FindWindows(const Expression& expression, bool joined = true);

}  // namespace tilewright
