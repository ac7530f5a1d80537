#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// Templates for expressions: each derives its space from the structure of the computation. How each
// works is at the beginning of its .cc.

/// `auto.cpu/tiles`: a contraction in register tiles, with the elementwise stages that follow it.
TemplateEntry AutoTilesEntry();
/// `auto.cpu/flat`: every stage over its own loops.
TemplateEntry AutoFlatEntry();
/// `auto.cpu/windows`: windows that move over images by one element.
TemplateEntry AutoWindowsEntry();
/// `auto.cpu/fixed`, `auto.cuda/fixed`: the schedule of operators that are not tuned, as the only
/// config: a tuned expression is never slower than it.
TemplateEntry AutoFixedEntry();
TemplateEntry AutoFixedCudaEntry();
/// `auto.cuda/mma`: a contraction that is a matrix product, or a grid of them, on tensor cores.
TemplateEntry AutoMmaCudaEntry();
/// `auto.cuda/tiles`: a contraction in blocks, virtual threads and threads, with the elementwise
/// stages that follow it.
TemplateEntry AutoTilesCudaEntry();
/// `auto.cuda/flat`: every stage a launch over its own elements, or whole rows of the result in one
/// launch.
TemplateEntry AutoFlatCudaEntry();

/// All of them in order of preference.
inline constexpr TemplateMaker kAutoTemplates[] = {
    &AutoTilesEntry,     &AutoFlatEntry,    &AutoWindowsEntry,   &AutoFixedEntry,
    &AutoFixedCudaEntry, &AutoMmaCudaEntry, &AutoTilesCudaEntry, &AutoFlatCudaEntry,
};

}  // namespace tilewright
