#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/target/target.h"
#include "src/templates/registry.h"
#include "src/tensor/workload.h"

namespace tilewright {

// Parts that AutoTVM's templates for Adreno share. Channels are in blocks of 4, one texel of an
// image: operands are copied to images, and a work-item computes texels.

/// Returns the reason why these templates do not serve a convolution of one group, or a depthwise
/// one; empty if they do.
std::string RefusesConvForAdreno(const Workload& workload, const Target& target, bool depthwise);

/// Returns the layouts of data, weight and result: texels of 4 channels. The weight has its output
/// channels in texels and, if the input channels are not a multiple of 4, padded blocks of those.
KernelLayouts TexelLayouts(const Workload& workload, const ConvShape& shape);

/// Stores a stage in an image, whose texels its innermost loop writes at once. Which dimensions are
/// rows and which are columns follows AutoTVM: the first choice whose numbers of texels are below
/// the target's -texture_spatial_limit. Refuses the schedule if there is none.
void StoreInImage(Schedule& schedule, StageId stage, const Target& target);
/// Vectorizes a loop over the channels of a texel.
void VectorizeTexel(Schedule& schedule, StageId stage, LoopId channel);
/// Copies a buffer for a stage to an image by a launch whose work-items write one texel each.
/// buffer: an input, or "pad", which is computed so instead of copied. Call before any split.
void CopyToImage(Schedule& schedule, std::string_view buffer, StageId reader, const Target& target);

/// Cuts the result by the knobs tile_fc, tile_y and tile_x into work-groups, virtual threads and
/// work-items, and orders and binds the loops. Returns the innermost loop over work-items.
LoopId TileTexels(Schedule& schedule, StageId result, const Config& config);

/// Returns AutoTVM's values of tile_fc, tile_y and tile_x for an untuned operator, and those of the
/// knobs of unrolling.
std::vector<std::pair<std::string, KnobValue>> DefaultTexelTiles(const ConvShape& shape);

inline constexpr KnobDoc kTexelChannelsDoc = {
    "tile_fc", "Texels of 4 output channels: work-groups, virtual threads, work-items of a group."};
inline constexpr KnobDoc kTexelRowsDoc = {
    "tile_y",
    "Rows of the result, rounded up to a multiple of 4: work-groups, virtual threads, work-items of"
    " a group."};
inline constexpr KnobDoc kTexelColumnsDoc = {
    "tile_x",
    "Columns of the result, rounded up to a multiple of 4: work-groups, virtual threads, work-items"
    " of a group."};

}  // namespace tilewright
