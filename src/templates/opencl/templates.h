#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// AutoTVM's templates for Mali, Adreno and Intel graphics, with its names and knobs, so that its
// records apply; how each works is at the beginning of its .cc. They serve targets of OpenCL with
// the key `mali`, `adreno` or `intel_graphics`. Source: reference of AutoTVM records, sections
// 12.13 to 12.17 and 12.21 to 12.23.

/// `conv2d_nchw_spatial_pack.mali`: convolutions of one group in blocks of the result.
TemplateEntry Conv2dSpatialPackMaliEntry();
/// `conv2d_nchw_winograd.mali`: Winograd's F(4x4, 3x3) or F(2x2, 3x3) of floats.
TemplateEntry Conv2dWinogradMaliEntry();
/// `depthwise_conv2d_nchw.mali`: depthwise convolutions.
TemplateEntry DepthwiseConv2dMaliEntry();
/// `dense.mali`: matrix products.
TemplateEntry DenseMaliEntry();

/// `conv2d_nchwc.image2d`: convolutions of one group with channels in texels of an image.
TemplateEntry Conv2dImageEntry();
/// `conv2d_nchw_winograd.image2d`: Winograd's F(4x4) or F(2x2) with such channels.
TemplateEntry Conv2dWinogradImageEntry();
/// `depthwise_conv2d_nchwc.image2d`: depthwise convolutions with such channels.
TemplateEntry DepthwiseConv2dImageEntry();

/// `conv2d_NCHWc.intel_graphics`: convolutions of one group with channels in blocks.
TemplateEntry Conv2dNchwcIntelEntry();

/// Those for Mali in order of preference. On targets of Mali they are preferred to the templates
/// for CUDA, which copy operands to the memory of a group: Mali keeps that in main memory.
inline constexpr TemplateMaker kMaliTemplates[] = {
    &Conv2dSpatialPackMaliEntry,
    &Conv2dWinogradMaliEntry,
    &DepthwiseConv2dMaliEntry,
    &DenseMaliEntry,
};

/// Those for Adreno. The templates for CUDA are preferred to them: they need no texels of channels.
inline constexpr TemplateMaker kAdrenoTemplates[] = {
    &Conv2dImageEntry,
    &Conv2dWinogradImageEntry,
    &DepthwiseConv2dImageEntry,
};

/// Those for Intel graphics. The templates for CUDA are preferred to them: they need no blocks of
/// channels.
inline constexpr TemplateMaker kIntelGraphicsTemplates[] = {
    &Conv2dNchwcIntelEntry,
};

}  // namespace tilewright
