#include "src/tensor/windows.h"

#include <fmt/format.h>

#include "src/tensor/layout.h"

namespace tilewright {
namespace {

// Larger strides, windows and pads can only come from a damaged file; the limit keeps the
// arithmetic below far from overflow.

/// Returns the windows along one direction. With ceil_mode this includes the last one that is only
/// partly inside, if it starts on the image or on the padding before it.
std::int64_t WindowCount(std::int64_t in, std::int64_t before, std::int64_t after,
                         std::int64_t pool, std::int64_t dilation, std::int64_t stride,
                         bool ceil_mode) {
  const std::int64_t span = in + before + after - (dilation * (pool - 1) + 1);
  if (span < 0) return 0;
  std::int64_t count = span / stride + 1;
  if (ceil_mode) {
    count = CeilDiv(span, stride) + 1;
    if ((count - 1) * stride >= in + before) --count;
  }
  return count;
}

bool EveryWindowMeetsTheImage(std::int64_t in, std::int64_t out, std::int64_t before,
                              std::int64_t pool, std::int64_t dilation, std::int64_t stride) {
  for (std::int64_t i = 0; i < out; ++i) {
    const std::int64_t begin = i * stride - before;
    const std::int64_t first =
        begin >= 0 ? 0 : CeilDiv(-begin, dilation);  // first element at or after 0
    if (first >= pool || begin + first * dilation >= in) return false;
  }
  return true;
}

}  // namespace

Result<PoolWindow> PoolWindowOf(const Operator& op, const TensorType& input) {
  const OpAttributes& a = op.attributes;
  const std::string layout_text = a.data_layout.empty() ? "NCHW" : a.data_layout;
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layout_text));
  const auto bad = [&](std::string_view why) {
    return InvalidArgument(fmt::format("{}: {}", OpName(op.kind), why));
  };
  if (layout.parts().size() != input.shape.size()) {
    return bad(fmt::format("input is {}, expected layout {}", input.ToString(), layout_text));
  }
  if (layout.BlockOf('H') != 1 || layout.BlockOf('W') != 1) {
    return bad(fmt::format("layout {}, expected H and W without blocks", layout_text));
  }
  PoolWindow window;
  int found = 0;
  for (std::size_t i = 0; i < layout.parts().size(); ++i) {
    const char c = layout.parts()[i].dimension;
    if (c == 'H') window.height_dimension = i, ++found;
    if (c == 'W') window.width_dimension = i, ++found;
  }
  if (found != 2) return bad(fmt::format("layout {}, expected H and W", layout_text));
  window.in_h = input.shape[window.height_dimension];
  window.in_w = input.shape[window.width_dimension];
  if (op.kind == OpKind::kGlobalAvgPool2d || op.kind == OpKind::kGlobalMaxPool2d) {
    if (window.in_h == 0 || window.in_w == 0) return bad("the image is empty");
    window.pool_h = window.in_h;
    window.pool_w = window.in_w;
    window.out_h = window.out_w = 1;
    return window;
  }
  for (std::int64_t v :
       {a.pool_size[0], a.pool_size[1], a.strides[0], a.strides[1], a.dilation[0], a.dilation[1]}) {
    if (v < 1 || v > kMaxStep) {
      return bad(fmt::format("pool_size, strides or dilation {}, expected at least 1", v));
    }
  }
  for (std::int64_t v : a.padding) {
    if (v < 0 || v > kMaxStep) return bad(fmt::format("padding {}, expected 0 to {}", v, kMaxStep));
  }
  window.pool_h = a.pool_size[0], window.pool_w = a.pool_size[1];
  window.stride_h = a.strides[0], window.stride_w = a.strides[1];
  window.pad_top = a.padding[0], window.pad_left = a.padding[1];
  window.pad_bottom = a.padding[2], window.pad_right = a.padding[3];
  window.dilation_h = a.dilation[0], window.dilation_w = a.dilation[1];
  window.out_h = WindowCount(window.in_h, window.pad_top, window.pad_bottom, window.pool_h,
                             window.dilation_h, window.stride_h, a.ceil_mode);
  window.out_w = WindowCount(window.in_w, window.pad_left, window.pad_right, window.pool_w,
                             window.dilation_w, window.stride_w, a.ceil_mode);
  if (window.out_h < 1 || window.out_w < 1) {
    return bad(fmt::format("window {}x{} is larger than the padded image {}x{}", window.pool_h,
                           window.pool_w, window.in_h + window.pad_top + window.pad_bottom,
                           window.in_w + window.pad_left + window.pad_right));
  }
  return window;
}

bool EveryWindowHasAnElement(const PoolWindow& window) {
  return EveryWindowMeetsTheImage(window.in_h, window.out_h, window.pad_top, window.pool_h,
                                  window.dilation_h, window.stride_h) &&
         EveryWindowMeetsTheImage(window.in_w, window.out_w, window.pad_left, window.pool_w,
                                  window.dilation_w, window.stride_w);
}

}  // namespace tilewright
