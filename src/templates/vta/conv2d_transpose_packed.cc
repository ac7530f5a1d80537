#include "src/templates/vta/conv2d_transpose_packed.h"

#include "src/templates/vta/packed_workload.h"

namespace tilewright {

Result<vta::PackedConv2dTranspose> PackedConv2dTransposeOperator::ShapeOf(
    const vta::Design& design, const Workload& workload) {
  if (workload.op != OpKind::kConv2dTranspose || workload.groups != 1) {
    return Unsupported("expected a transposed convolution of one group");
  }
  TW_ASSIGN_OR_RETURN(auto shape, PackedConvShapeOf(design, workload));
  if (shape.r < shape.stride_h || shape.s < shape.stride_w) {
    return Unsupported("expected a kernel that is not smaller than the strides");
  }
  if (shape.pad_top >= shape.r || shape.pad_left >= shape.s) {
    return Unsupported("expected a padding smaller than the kernel");
  }
  return vta::PackedConv2dTranspose{.batch = shape.n / design.batch(),
                                    .ci = shape.c / design.block(),
                                    .co = shape.k / design.block(),
                                    .height = shape.h,
                                    .width = shape.w,
                                    .kernel_h = shape.r,
                                    .kernel_w = shape.s,
                                    .stride_h = shape.stride_h,
                                    .stride_w = shape.stride_w,
                                    .pad_h = shape.pad_top,
                                    .pad_w = shape.pad_left,
                                    .out_height = shape.oh,
                                    .out_width = shape.ow};
}

Result<ConfigSpace> PackedConv2dTransposeOperator::Space(const Shape& conv) {
  return PackedConvSpace(conv.batch, conv.out_height, conv.out_width, conv.ci, conv.co);
}

Result<vta::PackedOperator> PackedConv2dTransposeOperator::Schedule(const Shape& conv,
                                                                    const Config& config) {
  return vta::SchedulePackedConv2dTranspose(conv, PackedConvTiles(config));
}

}  // namespace tilewright
