#include "src/templates/vta/packed_workload.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

/// Returns a convolution in blocks. Errors: kUnsupported with the property that a packed one cannot
/// have.
Result<vta::PackedConv2d> BlocksOf(const vta::Design& design, const Workload& workload) {
  TW_ASSIGN_OR_RETURN(auto shape, PackedConvShapeOf(design, workload));
  if (shape.k / shape.groups % design.block() != 0) {
    return Unsupported(fmt::format("{} groups of {} output channels, expected blocks of {}",
                                   shape.groups, shape.k / shape.groups, design.block()));
  }
  auto conv = InBlocks<vta::PackedConv2d>(design, shape);
  conv.groups = shape.groups;
  conv.extra_pad_h = shape.pad_bottom - shape.pad_top;
  conv.extra_pad_w = shape.pad_right - shape.pad_left;
  return conv;
}

}  // namespace

std::string VtaDataLayout(const vta::Design& design) {
  return fmt::format("NCHW{}n{}c", design.batch(), design.block());
}

std::string VtaKernelLayout(const vta::Design& design) {
  return fmt::format("OIHW{0}o{0}i", design.block());
}

Status CheckPackedOperands(const vta::Design& design, const Workload& workload,
                           const std::string& data, const std::string& kernel) {
  if (workload.data_layout != data || workload.kernel_layout != kernel) {
    return Unsupported(fmt::format("layouts {} and {}, expected {} and {}", workload.data_layout,
                                   workload.kernel_layout, data, kernel));
  }
  if (workload.data.dtype != kInt8 || workload.weight.dtype != kInt8 ||
      workload.out_dtype != kInt32 || design.inp_bits() != 8 || design.wgt_bits() != 8) {
    return Unsupported("expected int8 data and weight summed in int32, and a design of 8 bits");
  }
  return Status();
}

Result<ConvShape> PackedConvShapeOf(const vta::Design& design, const Workload& workload) {
  TW_RETURN_IF_ERROR(
      CheckPackedOperands(design, workload, VtaDataLayout(design), VtaKernelLayout(design)));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(workload));
  if (shape.dilation_h != 1 || shape.dilation_w != 1) {
    return Unsupported("expected no dilation");
  }
  return shape;
}

Result<vta::PackedConv2d> PackedConv2dOf(const vta::Design& design, const Workload& workload) {
  if (workload.op != OpKind::kConv2d || workload.groups != 1) {
    return Unsupported("expected a convolution of one group");
  }
  return BlocksOf(design, workload);
}

Result<vta::PackedConv2d> PackedGroupConv2dOf(const vta::Design& design, const Workload& workload) {
  if (workload.op != OpKind::kConv2d || workload.groups == 1) {
    return Unsupported("expected a convolution of several groups");
  }
  return BlocksOf(design, workload);
}

}  // namespace tilewright
