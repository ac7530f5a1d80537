#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// AutoTVM's templates for Arm CPUs, with its names and knobs, so that its records apply; how each
// works is at the beginning of its .cc. They serve targets of Arm and those with the key `arm_cpu`.
// Source: reference of AutoTVM records, sections 12.9 to 12.12.

/// `conv2d_nchw_spatial_pack.arm_cpu`: convolutions of one group in blocks of the result.
TemplateEntry Conv2dSpatialPackArmEntry();
/// `conv2d_nchw_winograd.arm_cpu`: Winograd's F(4x4, 3x3) of float32.
TemplateEntry Conv2dWinogradArmEntry();
/// `conv2d_transpose_nchw.arm_cpu`: transposed convolutions, like conv2d_nchw_spatial_pack.arm_cpu.
TemplateEntry Conv2dTransposeArmEntry();
/// `depthwise_conv2d_nchw.arm_cpu`: depthwise convolutions in blocks of channels.
TemplateEntry DepthwiseConv2dArmEntry();

/// All of them in order of preference. Tilewright's templates for all CPUs are preferred to them.
inline constexpr TemplateMaker kArmTemplates[] = {
    &Conv2dSpatialPackArmEntry,
    &Conv2dWinogradArmEntry,
    &Conv2dTransposeArmEntry,
    &DepthwiseConv2dArmEntry,
};

}  // namespace tilewright
