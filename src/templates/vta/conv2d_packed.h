#pragma once

#include "src/templates/vta/packed_template.h"

namespace tilewright {

/// AutoTVM's templates for convolutions on packed tensors, with its knobs, so that its records
/// apply. The stream is the original compiler's, instruction by instruction. Layouts: data and
/// output NCHW<batch>n<block>c, weight OIHW<block>o<block>i.
///
/// `conv2d_packed.vta`: of one group.
struct PackedConv2dOperator {
  using Shape = vta::PackedConv2d;
  static Result<Shape> ShapeOf(const vta::Design& design, const Workload& workload);
  static Result<ConfigSpace> Space(const Shape& conv);
  static Result<vta::PackedOperator> Schedule(const Shape& conv, const Config& config);
};
using Conv2dPackedVta = PackedVta<PackedConv2dOperator>;

/// `group_conv2d_packed.vta`: of several groups of whole blocks. tile_ci cuts the channels of one
/// group; a tile of results has whole groups, or part of one.
struct PackedGroupConv2dOperator : PackedConv2dOperator {
  static Result<Shape> ShapeOf(const vta::Design& design, const Workload& workload);
};
using GroupConv2dPackedVta = PackedVta<PackedGroupConv2dOperator>;

}  // namespace tilewright
