#pragma once

#include <cstdint>

#include "src/tensor/compute/compute.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Convolution of one group as one matrix product: a row for each pixel of the result, a column for
/// each of its channels, and for each tap of the kernel a run of channels to sum over. Tensors are
/// in memory with the channels innermost, so that a row's factors are consecutive.
struct ImplicitGemm {
  ConvShape shape;
  std::int64_t rows = 0;      ///< n * oh * ow
  std::int64_t columns = 0;   ///< channels of the result
  std::int64_t channels = 0;  ///< of the data, padded to whole blocks
  /// data "NHWC", or "NHWC16c" if the channels are padded; weight "OHWI", "OHWI16i"; output "NHWC".
  KernelLayouts layouts;
};
/// channel_block: the data's channels are padded to a multiple of it (with zeros in memory).
/// Errors: kUnsupported unless it is a conv2d of one group.
Result<ImplicitGemm> ImplicitGemmOf(const Workload& workload, std::int64_t channel_block);

/// Returns the definition over the memory that `gemm.layouts` gives the tensors.
///   "pad" [m, kh, kw, c]: row m's factors of each tap, zero on padding; absent if that is the data
/// itself (a 1x1 kernel).
///   "reduce" [m, k]: the sums.
///   "output" [m, k]: the epilogue; absent without one.
/// row_tile: the rows of "pad" and "reduce" are padded to a multiple of it. Rows after the last
/// pixel are zero and no part of the output.
/// Errors: kInvalidArgument if the epilogue does not fit.
Result<Compute> DefineImplicitGemm(const Workload& workload, const Epilogue& epilogue,
                                   const ImplicitGemm& gemm, std::int64_t row_tile);

}  // namespace tilewright
