#pragma once

#include "src/templates/vta/packed_template.h"
#include "src/vta/kernels/packed_conv2d_transpose.h"

namespace tilewright {

/// `conv2d_transpose_packed.vta`: AutoTVM's template for transposed convolutions on packed tensors,
/// with the knobs of its convolutions. Layouts: data and output NCHW<batch>n<block>c, weight
/// OIHW<block>o<block>i, as it lies in memory (AutoTVM calls it IOHW).
struct PackedConv2dTransposeOperator {
  using Shape = vta::PackedConv2dTranspose;
  static Result<Shape> ShapeOf(const vta::Design& design, const Workload& workload);
  static Result<ConfigSpace> Space(const Shape& conv);
  static Result<vta::PackedOperator> Schedule(const Shape& conv, const Config& config);
};
using Conv2dTransposePackedVta = PackedVta<PackedConv2dTransposeOperator>;

}  // namespace tilewright
