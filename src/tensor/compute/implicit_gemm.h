#pragma once

#include <cstdint>

#include "src/tensor/compute/compute.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// A convolution of one group as one matrix product: a row for each pixel of the result, a column
/// for each of its channels, and for each tap of the kernel a run of channels to sum over. All of
/// it lies in memory as such a product wants it, the channels innermost, so that a row's factors
/// are consecutive.
struct ImplicitGemm {
  ConvShape shape;
  std::int64_t rows = 0;      ///< n * oh * ow
  std::int64_t columns = 0;   ///< channels of the result
  std::int64_t channels = 0;  ///< of the data, rounded up to whole blocks
  /// data "NHWC" or, where the channels are rounded up, "NHWC16c"; weight "OHWI", "OHWI16i"; output
  /// "NHWC".
  KernelLayouts layouts;
};
/// channel_block: what the data's channels are rounded up to (with zeros in memory).
/// Errors: kUnsupported unless it is a conv2d of one group.
Result<ImplicitGemm> ImplicitGemmOf(const Workload& workload, std::int64_t channel_block);

/// The compute definition, over the memory that `gemm.form` gives the tensors:
///   "pad" [m, kh, kw, c]: row m's factors of each tap, zero on padding; absent where that is the
///   data itself (a 1x1 kernel); "reduce" [m, k] the sums; "output" [m, k] the epilogue (absent if
///   there is none).
/// row_tile: "pad" and "reduce" have a multiple of it as rows; those beyond the last pixel are zero
/// and no part of the output.
/// Errors: kInvalidArgument if the epilogue does not fit.
Result<Compute> DefineImplicitGemm(const Workload& workload, const Epilogue& epilogue,
                                   const ImplicitGemm& gemm, std::int64_t row_tile);

}  // namespace tilewright
