#pragma once

// Inner loops of the reference evaluator, once per instruction set. This header and the files that
// define the kernels use nothing of the standard library but integer types: an inline function
// compiled for a newer CPU must not reach the linker as the one copy that every file shares.
#include <cstddef>
#include <cstdint>

namespace tilewright {

/// Channels of one weight block: weights are [tap][channel in][kReferenceBlock].
inline constexpr int kReferenceBlock = 16;
/// Columns of one dot tile.
inline constexpr int kReferenceColumns = 4;

/// Window over an image [row][column][channel] of elements of the accumulator type.
struct ReferenceWindow {
  std::int64_t kernel_h, kernel_w, channels;         ///< channels summed; depthwise: multiple of 16
  std::ptrdiff_t row_step, column_step, pixel_step;  ///< elements to the next tap or output pixel
};

/// Kernels with products and sums in T: double, or uint32 for integers that wrap.
template <typename T>
struct ReferenceKernels {
  /// out[pixel][lane] = sum over taps and channels of image * weight[tap][channel][lane].
  void (*convolve)(const ReferenceWindow& window, std::int64_t pixels, const T* image,
                   const T* weight, T* out);
  /// out[pixel][channel] = sum over taps of image * weight[tap][channel].
  void (*depthwise)(const ReferenceWindow& window, std::int64_t pixels, const T* image,
                    const T* weight, T* out);
  /// out[row][column] = sum over k of a[row * k + i] * b[column * k + i], kReferenceColumns
  /// columns.
  void (*dot)(std::int64_t k, std::int64_t rows, const T* a, const T* b, T* out);
};

struct AllReferenceKernels {
  ReferenceKernels<double> real;
  ReferenceKernels<std::uint32_t> integer;
};

extern const AllReferenceKernels kGenericReferenceKernels;
#if defined(__x86_64__)
extern const AllReferenceKernels kAvx2ReferenceKernels;
extern const AllReferenceKernels kAvx512ReferenceKernels;
#endif

}  // namespace tilewright
