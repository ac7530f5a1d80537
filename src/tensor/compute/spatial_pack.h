#pragma once

#include <vector>

#include "src/tensor/compute/compute.h"

namespace tilewright {

/// Checks KernelLayouts::spatial_pack.
/// Errors: kUnsupported if the workload or the other layouts have no packed form.
Status CheckSpatialPack(const Workload& workload, const KernelLayouts& layouts);

/// Returns the stages of a convolution in blocks of its result. `data` is as the reduction reads it
/// (padded; of a transposed convolution with zeros between its elements), `weight` has the layout
/// "OIHW<channels>o" (transposed: "IOHW<channels>o"). In order:
///   "pack": the data, block after block
///   "sums": the sums of products in `sum_type`, block after block
///   "reduce" [n, k, oh, ow]: the sums in their places
/// With blocks of rows and columns, "pack" is [n, oh / rows, ow / columns, ci, y, x], the window of
/// the data that a block reads; with dilation [n, oh / rows, ow / columns, ci, kh, kw, vh, vw],
/// which repeats elements. "sums" is [n, k / channels, oh / rows, ow / columns, vh, vw, vc].
/// Without them (depthwise convolutions), "pack" is [n, c / channels, y, x, vc], "sums" is
/// [n, k / channels, oh, ow, vc].
/// Requires CheckSpatialPack, and blocks of rows or of channels.
std::vector<ComputeOp> SpatialPackStages(const Buffer& data, const Buffer& weight,
                                         const Workload& workload, const SpatialPack& pack,
                                         DataType sum_type);

}  // namespace tilewright
