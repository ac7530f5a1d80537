#include "src/vta/kernels/packed_conv2d.h"

#include <fmt/format.h>

namespace tilewright::vta {
namespace {

constexpr std::int64_t kMaxPadding = 15;  // the field of a transfer

/// Distribution of the channels of a tile's results over groups.
struct TileGroups {
  std::int64_t count;    // groups of a tile
  std::int64_t outputs;  // of each group, in the tile
};

Result<TileGroups> GroupsOf(const PackedConv2d& conv, const PackedConv2dTiles& tiles) {
  const std::int64_t outputs = conv.co / conv.groups;
  if (outputs % tiles.co == 0) return TileGroups{1, tiles.co};
  if (tiles.co % outputs == 0) return TileGroups{tiles.co / outputs, outputs};
  return InvalidArgument(
      fmt::format("tile_co: {} channel blocks are neither part of a group of {} nor whole groups",
                  tiles.co, outputs));
}

// Returns the GEMM of a step. The loop order is the original's, because it determines the two loops
// that the instruction executes.
Product GemmProduct(const PackedConv2d& conv, const PackedConv2dTiles& tiles,
                    const TileGroups& groups, const ImageWindow& image) {
  const std::int64_t window = image.window_h * image.window_w;
  const std::int64_t filter = conv.kernel_h * conv.kernel_w;
  const std::int64_t plane = tiles.h * tiles.w;
  return {.loops = {{tiles.ci, 0, U32(window), U32(filter)},
                    {tiles.w, 1, U32(conv.stride_w), 0},
                    {conv.kernel_w, 0, 1, 1},
                    {conv.kernel_h, 0, U32(image.window_w), U32(conv.kernel_w)},
                    {groups.count, U32(groups.outputs * plane), U32(tiles.ci * window),
                     U32(groups.outputs * tiles.ci * filter)},
                    {groups.outputs, U32(plane), 0, U32(tiles.ci * filter)},
                    {tiles.h, U32(tiles.w), U32(conv.stride_h * image.window_w), 0}}};
}

}  // namespace

Status CheckShape(const PackedConv2d& conv) {
  const NamedExtent extents[] = {{"batch", conv.batch},
                                 {"ci", conv.ci},
                                 {"co", conv.co},
                                 {"height", conv.height},
                                 {"width", conv.width},
                                 {"kernel_h", conv.kernel_h},
                                 {"kernel_w", conv.kernel_w},
                                 {"stride_h", conv.stride_h},
                                 {"stride_w", conv.stride_w},
                                 {"groups", conv.groups}};
  TW_RETURN_IF_ERROR(CheckExtents(extents));
  if (conv.co % conv.groups != 0) {
    return InvalidArgument(fmt::format("groups: {} do not divide {}", conv.groups, conv.co));
  }
  for (const std::int64_t pad :
       {conv.pad_h, conv.pad_w, conv.pad_h + conv.extra_pad_h, conv.pad_w + conv.extra_pad_w}) {
    if (pad < 0 || pad > kMaxPadding) {
      return InvalidArgument(fmt::format("padding: {}, expected 0 to {}", pad, kMaxPadding));
    }
  }
  if (conv.padded_height() < conv.kernel_h || conv.padded_width() < conv.kernel_w) {
    return InvalidArgument("the kernel is larger than the padded data");
  }
  return Status();
}

Result<PackedOperator> TileConv(const ConvSums& sums, const PackedConv2dTiles& tiles) {
  const AxisSplit splits[] = {{"tile_h", sums.out_height, tiles.h, tiles.h_threads},
                              {"tile_w", sums.out_width, tiles.w, 1},
                              {"tile_ci", sums.ci, tiles.ci, 1},
                              {"tile_co", sums.co, tiles.co, tiles.oc_threads}};
  TW_RETURN_IF_ERROR(CheckSplits(splits));
  const KernelBlocks kernel = {sums.ci, sums.taps, tiles.co, tiles.ci};
  PackedOperator op;
  op.tiles = {{sums.batch, sums.co, sums.out_height, sums.out_width, tiles.co, tiles.h, tiles.w},
              tiles.oc_threads,
              tiles.h_threads};
  op.wgt_entries = kernel.entries();
  op.slices = sums.ci / tiles.ci;
  op.load_wgt = [kernel](const BlockIndex& tile, const StepIndex& step) {
    return KernelTransfer(kernel, tile.channel, step.slice);
  };
  return op;
}

Result<PackedOperator> SchedulePackedConv2d(const PackedConv2d& conv,
                                            const PackedConv2dTiles& tiles) {
  TW_RETURN_IF_ERROR(CheckShape(conv));
  TW_ASSIGN_OR_RETURN(auto op, TileConv({conv.batch, conv.ci, conv.co, conv.out_height(),
                                         conv.out_width(), conv.kernel_h * conv.kernel_w},
                                        tiles));
  TW_ASSIGN_OR_RETURN(const auto groups, GroupsOf(conv, tiles));
  const ImageWindow image = {
      .height = conv.height,
      .width = conv.width,
      .window_h = (tiles.h - 1) * conv.stride_h + conv.kernel_h,
      .window_w = (tiles.w - 1) * conv.stride_w + conv.kernel_w,
      .padded = conv.padded_height() > conv.height || conv.padded_width() > conv.width};
  op.inp_entries = groups.count * tiles.ci * image.window_h * image.window_w;
  op.parts = {{GemmProduct(conv, tiles, groups, image)}};
  const std::int64_t group_count = groups.count;  // Clang 14 cannot capture a structured binding
  op.load_inp = [conv, tiles, group_count, image](const BlockIndex& tile, const StepIndex& step) {
    const std::int64_t group = tile.channel * tiles.co / (conv.co / conv.groups);
    const std::int64_t first = (tile.batch * conv.groups + group) * conv.ci + step.slice * tiles.ci;
    return WindowTransfer(image, {first, group_count, tiles.ci, conv.ci},
                          tile.row * tiles.h * conv.stride_h - conv.pad_h,
                          tile.column * tiles.w * conv.stride_w - conv.pad_w);
  };
  return op;
}

Result<Stream> BuildPackedConv2d(const Design& design, const PackedConv2d& conv,
                                 const PackedConv2dTiles& tiles,
                                 const std::vector<EpilogueStep>& epilogue) {
  TW_ASSIGN_OR_RETURN(const auto op, SchedulePackedConv2d(conv, tiles));
  return BuildPackedOperator(design, op, epilogue);
}

}  // namespace tilewright::vta
