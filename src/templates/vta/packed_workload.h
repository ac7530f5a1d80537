#pragma once

#include <string>

#include "src/tensor/workload.h"
#include "src/vta/design.h"
#include "src/vta/kernels/packed_conv2d.h"

namespace tilewright {

// Workloads in the layouts of a VTA design.

/// Return "NCHW1n16c" and "OIHW16o16i" for the 1x16 design.
std::string VtaDataLayout(const vta::Design& design);
std::string VtaKernelLayout(const vta::Design& design);

/// Checks operands of a product.
/// Errors: kUnsupported unless they are int8 tensors of these layouts and the design multiplies 8
/// bits.
Status CheckPackedOperands(const vta::Design& design, const Workload& workload,
                           const std::string& data, const std::string& kernel);

/// Returns the sizes, in scalars, of a convolution or a transposed one in the design's layouts.
/// Errors: those of CheckPackedOperands and ConvShapeOf; kUnsupported if it is dilated.
Result<ConvShape> PackedConvShapeOf(const vta::Design& design, const Workload& workload);

/// Returns the sizes in blocks that a convolution (PackedConv2d) and a transposed one
/// (PackedConv2dTranspose) have in common.
template <typename Conv>
Conv InBlocks(const vta::Design& design, const ConvShape& shape) {
  Conv conv;
  conv.batch = shape.n / design.batch();
  conv.ci = shape.c / shape.groups / design.block();
  conv.co = shape.k / design.block();
  conv.height = shape.h;
  conv.width = shape.w;
  conv.kernel_h = shape.r;
  conv.kernel_w = shape.s;
  conv.stride_h = shape.stride_h;
  conv.stride_w = shape.stride_w;
  conv.pad_h = shape.pad_top;
  conv.pad_w = shape.pad_left;
  return conv;
}

/// Return a convolution of one group, or of several, in blocks.
/// Errors: kUnsupported with the property that a packed convolution cannot have.
Result<vta::PackedConv2d> PackedConv2dOf(const vta::Design& design, const Workload& workload);
Result<vta::PackedConv2d> PackedGroupConv2dOf(const vta::Design& design, const Workload& workload);

}  // namespace tilewright
