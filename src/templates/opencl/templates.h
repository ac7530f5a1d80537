#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// AutoTVM's templates for Mali and Intel graphics, with its names and knobs, so that its records
// apply; how each works is at the beginning of its .cc. They serve targets of OpenCL with the key
// `mali` or `intel_graphics`. Source: reference of AutoTVM records, sections 12.13 to 12.17.

/// `conv2d_nchw_spatial_pack.mali`: convolutions of one group in blocks of the result.
TemplateEntry Conv2dSpatialPackMaliEntry();
/// `conv2d_nchw_winograd.mali`: Winograd's F(4x4, 3x3) or F(2x2, 3x3) of floats.
TemplateEntry Conv2dWinogradMaliEntry();
/// `depthwise_conv2d_nchw.mali`: depthwise convolutions.
TemplateEntry DepthwiseConv2dMaliEntry();
/// `dense.mali`: matrix products.
TemplateEntry DenseMaliEntry();

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

/// Those for Intel graphics. The templates for CUDA are preferred to them: they need no blocks of
/// channels.
inline constexpr TemplateMaker kIntelGraphicsTemplates[] = {
    &Conv2dNchwcIntelEntry,
};

}  // namespace tilewright
