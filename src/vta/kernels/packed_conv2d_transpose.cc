#include "src/vta/kernels/packed_conv2d_transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/base/math.h"
#include "src/vta/kernels/uop_nest.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {
namespace {

/// Results of a tile at first, first + stride, … along one axis. They use the taps first_tap,
/// first_tap + stride, …. The n-th of these taps reads element (base + i - n), where i counts the
/// results and elements count from the start of the tile.
struct Phase {
  std::int64_t first, count;
  std::int64_t first_tap, taps;
  std::int64_t base;
};

/// Axis of a tile.
struct TileAxis {
  std::vector<Phase> phases;
  std::int64_t begin, extent;  // of the data that it reads
};

/// Computes the phases. Errors: kInvalidArgument if a phase has no taps.
Result<TileAxis> AxisOf(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                        std::int64_t pad) {
  if (kernel < stride) {
    return InvalidArgument(
        fmt::format("kernel of {} with stride {}: some results have no products", kernel, stride));
  }
  TileAxis axis{{}, INT64_MAX, 0};
  std::int64_t end = INT64_MIN;
  for (std::int64_t r = 0; r < std::min(stride, size); ++r) {
    Phase phase;
    phase.first = r;
    phase.count = CeilDiv(size - r, stride);
    phase.first_tap = (r + pad) % stride;
    phase.taps = CeilDiv(kernel - phase.first_tap, stride);
    phase.base = (r + pad) / stride;
    axis.begin = std::min(axis.begin, phase.base - phase.taps + 1);
    end = std::max(end, phase.base + phase.count);
    axis.phases.push_back(phase);
  }
  axis.extent = end - axis.begin;
  return axis;
}

/// Errors: kInvalidArgument naming the field.
Status CheckShape(const PackedConv2dTranspose& conv) {
  const NamedExtent extents[] = {{"batch", conv.batch},
                                 {"ci", conv.ci},
                                 {"co", conv.co},
                                 {"height", conv.height},
                                 {"width", conv.width},
                                 {"kernel_h", conv.kernel_h},
                                 {"kernel_w", conv.kernel_w},
                                 {"stride_h", conv.stride_h},
                                 {"stride_w", conv.stride_w},
                                 {"out_height", conv.out_height},
                                 {"out_width", conv.out_width}};
  TW_RETURN_IF_ERROR(CheckExtents(extents));
  for (const auto& [pad, kernel] :
       {std::pair{conv.pad_h, conv.kernel_h}, std::pair{conv.pad_w, conv.kernel_w}}) {
    if (pad < 0 || pad >= kernel) {
      return InvalidArgument(
          fmt::format("padding: {}, expected 0 to {}, less than the kernel", pad, kernel - 1));
    }
  }
  return Status();
}

/// Checks that every tile begins with the same phase.
Status CheckPhases(const char* name, std::int64_t extent, std::int64_t inner, std::int64_t stride) {
  if (inner % stride == 0 || inner == extent) return Status();
  return InvalidArgument(fmt::format(
      "{}: tiles of {} with stride {}, expected a multiple or one tile", name, inner, stride));
}

struct Tap {
  std::int64_t order;  ///< taps of the same order in one instruction never update the same result
  Uop uop;
};

/// Returns true if updates of one result are far enough apart in a kernel of all the taps, in their
/// order. each: micro-ops of a tap, which are consecutive.
bool FarApart(const std::vector<Tap>& taps, std::int64_t each) {
  std::int64_t position = 0;
  std::map<std::uint32_t, std::int64_t> last;
  for (const Tap& tap : taps) {
    const auto [found, first] = last.emplace(tap.uop.dst, position);
    if (!first && (position - found->second) * each < std::int64_t{kHazardDistance}) return false;
    found->second = position++;
  }
  return true;
}

/// Returns the products of the phases of a tile. Phases with equal numbers of rows and columns
/// share an instruction. Taps are the outermost of its micro-ops, so that updates of one result are
/// far apart. If they are too close, each order of taps has an instruction of its own.
std::vector<Product> GemmProducts(const PackedConv2dTranspose& conv, const PackedConv2dTiles& tiles,
                                  const TileAxis& rows, const TileAxis& columns) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Tap>> taps;
  for (const Phase& y : rows.phases) {
    for (const Phase& x : columns.phases) {
      auto& list = taps[{y.count, x.count}];
      for (std::int64_t ny = 0; ny < y.taps; ++ny) {
        for (std::int64_t nx = 0; nx < x.taps; ++nx) {
          const std::int64_t src =
              (y.base - ny - rows.begin) * columns.extent + (x.base - nx - columns.begin);
          const std::int64_t wgt =
              (y.first_tap + ny * conv.stride_h) * conv.kernel_w + x.first_tap + nx * conv.stride_w;
          list.push_back(
              {ny * x.taps + nx, {U32(y.first * tiles.w + x.first), U32(src), U32(wgt)}});
        }
      }
    }
  }
  const std::int64_t window = rows.extent * columns.extent;
  const std::int64_t filter = conv.kernel_h * conv.kernel_w;
  std::vector<Product> products;
  for (auto& [counts, list] : taps) {
    std::ranges::stable_sort(list, {}, &Tap::order);
    const std::vector<NestLoop> loops = {
        {tiles.ci, 0, U32(window), U32(filter)},
        {counts.second, U32(conv.stride_w), 1, 0},
        {tiles.co, U32(tiles.h * tiles.w), 0, U32(tiles.ci * filter)},
        {counts.first, U32(conv.stride_h * tiles.w), U32(columns.extent), 0}};
    const bool together = FarApart(list, UopCount(loops));
    for (auto first = list.begin(); first != list.end();) {
      const auto end =
          together ? list.end()
                   : std::ranges::upper_bound(first, list.end(), first->order, {}, &Tap::order);
      Product product{loops, {}};
      for (; first != end; ++first) product.uops.push_back(first->uop);
      products.push_back(std::move(product));
    }
  }
  return products;
}

}  // namespace

Result<PackedOperator> SchedulePackedConv2dTranspose(const PackedConv2dTranspose& conv,
                                                     const PackedConv2dTiles& tiles) {
  TW_RETURN_IF_ERROR(CheckShape(conv));
  TW_ASSIGN_OR_RETURN(auto op, TileConv({conv.batch, conv.ci, conv.co, conv.out_height,
                                         conv.out_width, conv.kernel_h * conv.kernel_w},
                                        tiles));
  TW_RETURN_IF_ERROR(CheckPhases("tile_h", conv.out_height, tiles.h, conv.stride_h));
  TW_RETURN_IF_ERROR(CheckPhases("tile_w", conv.out_width, tiles.w, conv.stride_w));
  TW_ASSIGN_OR_RETURN(const auto rows, AxisOf(tiles.h, conv.kernel_h, conv.stride_h, conv.pad_h));
  TW_ASSIGN_OR_RETURN(const auto columns,
                      AxisOf(tiles.w, conv.kernel_w, conv.stride_w, conv.pad_w));
  // Start of a tile's data: tiles begin with whole elements.
  const std::int64_t row_step = tiles.h / conv.stride_h, top = rows.begin;
  const std::int64_t column_step = tiles.w / conv.stride_w, left = columns.begin;
  const std::int64_t last_row = (conv.out_height / tiles.h - 1) * row_step;
  const std::int64_t last_column = (conv.out_width / tiles.w - 1) * column_step;
  const ImageWindow image = {.height = conv.height,
                             .width = conv.width,
                             .window_h = rows.extent,
                             .window_w = columns.extent,
                             .padded = top < 0 || left < 0 ||
                                       last_row + top + rows.extent > conv.height ||
                                       last_column + left + columns.extent > conv.width};
  op.inp_entries = tiles.ci * image.window_h * image.window_w;
  op.parts = {GemmProducts(conv, tiles, rows, columns)};
  op.load_inp = [=, ci = conv.ci, block = tiles.ci](const BlockIndex& tile, const StepIndex& step) {
    return WindowTransfer(image, {.first = tile.batch * ci + step.slice * block, .run = block},
                          tile.row * row_step + top, tile.column * column_step + left);
  };
  return op;
}

}  // namespace tilewright::vta
