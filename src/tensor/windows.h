#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/operator.h"

namespace tilewright {

/// Largest stride, dilation and padding of a window, in elements.
inline constexpr std::int64_t kMaxStep = std::int64_t{1} << 24;

/// Geometry of a pooling window over a tensor in any activation layout.
struct PoolWindow {
  std::size_t height_dimension = 0, width_dimension = 0;  ///< positions in the tensor's shape
  std::int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  std::int64_t pool_h = 1, pool_w = 1, stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
};

/// Returns the window of a pooling operator; a global one spans the whole image.
/// Errors: kInvalidArgument for unknown layouts, other ranks, or windows that do not fit.
Result<PoolWindow> PoolWindowOf(const Operator& op, const TensorType& input);

/// Returns true if every window contains an element that is not padding.
bool EveryWindowHasAnElement(const PoolWindow& window);

}  // namespace tilewright
