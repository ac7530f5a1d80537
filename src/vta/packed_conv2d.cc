#include "src/vta/packed_conv2d.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/vta/copy_pattern.h"
#include "src/vta/uop_nest.h"

// One tile of the program, for the virtual threads k in turn at every line (docs/vta.md):
//
//   reset the accumulators
//   for each slice of the input channels:
//     load activations and weights
//     multiply
//   load the operands of the epilogue, calculate
//   store

namespace tilewright::vta {
namespace {

// Above any real network; keeps every product here inside 64 bits.
constexpr std::int64_t kMaxExtent = 1 << 15;
constexpr std::int64_t kMaxPadding = 15;  // the field of a transfer

ResultBlocks BlocksOf(const PackedConv2d& conv, const PackedConv2dTiles& tiles) {
  return {conv.batch, conv.co, conv.out_height(), conv.out_width(), tiles.co, tiles.h, tiles.w};
}

std::int64_t RegionHeight(const PackedConv2d& conv, const PackedConv2dTiles& tiles) {
  return (tiles.h - 1) * conv.stride_h + conv.kernel_h;
}
std::int64_t RegionWidth(const PackedConv2d& conv, const PackedConv2dTiles& tiles) {
  return (tiles.w - 1) * conv.stride_w + conv.kernel_w;
}

std::uint32_t U32(std::int64_t value) { return static_cast<std::uint32_t>(value); }

// The order of the loops is the original's: it decides which two the instruction executes.
std::array<NestLoop, 6> GemmLoops(const PackedConv2d& conv, const PackedConv2dTiles& tiles) {
  const std::int64_t region_w = RegionWidth(conv, tiles);
  const std::int64_t region = RegionHeight(conv, tiles) * region_w;
  const std::int64_t filter = conv.kernel_h * conv.kernel_w;
  return {{{tiles.ci, 0, U32(region), U32(filter)},
           {tiles.w, 1, U32(conv.stride_w), 0},
           {conv.kernel_w, 0, 1, 1},
           {conv.kernel_h, 0, U32(region_w), U32(conv.kernel_w)},
           {tiles.co, U32(tiles.h * tiles.w), 0, U32(tiles.ci * filter)},
           {tiles.h, U32(tiles.w), U32(conv.stride_h * region_w), 0}}};
}

std::array<NestLoop, 3> ResetLoops(const PackedConv2dTiles& tiles) {
  return {{{tiles.w, 1, 0, 0},
           {tiles.co, U32(tiles.h * tiles.w), 0, 0},
           {tiles.h, U32(tiles.w), 0, 0}}};
}

/// Writes the instructions of one convolution.
class Writer {
 public:
  Writer(const Design& design, const PackedConv2d& conv, const PackedConv2dTiles& tiles,
         const std::vector<EpilogueStep>& epilogue)
      : conv_(conv),
        tiles_(tiles),
        threads_(tiles.threads()),
        slices_(conv.ci / tiles.ci),
        region_h_(RegionHeight(conv, tiles)),
        region_w_(RegionWidth(conv, tiles)),
        tile_entries_(tiles.co * tiles.h * tiles.w),
        builder_(design),
        data_(builder_.AddBuffer("data", false)),
        kernel_(builder_.AddBuffer("kernel", false)),
        output_(builder_.AddBuffer("output", true)),
        epilogue_(BlocksOf(conv, tiles), epilogue, threads_, builder_) {
    for (std::int64_t k = 0; k < threads_; ++k) AddKernels(k);
  }

  Result<Stream> Write() && {
    // Extents of the tile loops, in their order; the thread axis is inside the last-named one.
    const Axis batch = {conv_.batch, &BlockIndex::batch};
    const Axis row = {conv_.out_height() / tiles_.h / tiles_.h_threads, &BlockIndex::row};
    const Axis channel = {conv_.co / tiles_.co / tiles_.oc_threads, &BlockIndex::channel};
    const Axis column = {conv_.out_width() / tiles_.w, &BlockIndex::column};
    std::array<Axis, 4> axes = {batch, row, channel, column};
    if (tiles_.oc_threads > 1) axes = {row, channel, batch, column};
    if (tiles_.h_threads > 1) axes = {row, batch, channel, column};

    const std::int64_t count = batch.extent * row.extent * channel.extent * column.extent;
    const bool many = count > 1;
    for (std::int64_t k = 0; many && k < threads_; ++k) {
      builder_.Push(Engine::kStore, Engine::kCompute);
    }
    for (std::int64_t n = 0; n < count; ++n) {
      BlockIndex tile;
      std::int64_t rest = n;
      for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        tile.*(axis->place) = rest % axis->extent;
        rest /= axis->extent;
      }
      TW_RETURN_IF_ERROR(WriteTile(tile, many));
    }
    // The original puts the pop of a single thread behind FINISH's synchronization.
    for (std::int64_t k = 0; many && threads_ > 1 && k < threads_; ++k) {
      builder_.Pop(Engine::kStore, Engine::kCompute);
    }
    return std::move(builder_).Finish();
  }

 private:
  struct Axis {
    std::int64_t extent;
    std::int64_t BlockIndex::*place;
  };
  struct ThreadKernels {
    std::int32_t reset = 0, gemm = 0;
  };

  void AddKernels(std::int64_t k) {
    const Uop base = {U32(k * tile_entries_), U32(k * tiles_.ci * region_h_ * region_w_),
                      U32(k * tiles_.co * tiles_.ci * conv_.kernel_h * conv_.kernel_w)};
    gemm_nest_ = FoldNest(GemmLoops(conv_, tiles_), base);
    reset_nest_ = FoldNest(ResetLoops(tiles_), {base.dst, 0, 0});
    ThreadKernels kernels;
    kernels.reset = builder_.AddKernel(reset_nest_.uops);
    kernels.gemm = builder_.AddKernel(gemm_nest_.uops);
    kernels_.push_back(kernels);
    epilogue_.AddKernels();
  }

  /// What thread k works on.
  BlockIndex OfThread(BlockIndex tile, std::int64_t k) const {
    if (tiles_.oc_threads > 1) tile.channel = tile.channel * tiles_.oc_threads + k;
    if (tiles_.h_threads > 1) tile.row = tile.row * tiles_.h_threads + k;
    return tile;
  }

  Status WriteTile(const BlockIndex& tile, bool many) {
    for (std::int64_t k = 0; k < threads_; ++k) {
      if (many) builder_.Pop(Engine::kStore, Engine::kCompute);
      Append(reset_nest_, true, kernels_[static_cast<std::size_t>(k)].reset);
      builder_.Push(Engine::kCompute, Engine::kLoad);
    }
    for (std::int64_t slice = 0; slice < slices_; ++slice) {
      for (std::int64_t k = 0; k < threads_; ++k) {
        builder_.Pop(Engine::kCompute, Engine::kLoad);
        TW_RETURN_IF_ERROR(LoadOperands(OfThread(tile, k), k, slice));
        builder_.Push(Engine::kLoad, Engine::kCompute);
      }
      for (std::int64_t k = 0; k < threads_; ++k) {
        builder_.Pop(Engine::kLoad, Engine::kCompute);
        Append(gemm_nest_, false, kernels_[static_cast<std::size_t>(k)].gemm);
        // With a single slice the epilogue follows at once, on the same engine.
        if (slices_ == 1) {
          TW_RETURN_IF_ERROR(WriteEpilogue(OfThread(tile, k), k));
        } else {
          builder_.Push(Engine::kCompute, Engine::kLoad);
        }
      }
    }
    if (slices_ > 1) {
      for (std::int64_t k = 0; k < threads_; ++k) builder_.Pop(Engine::kCompute, Engine::kLoad);
      for (std::int64_t k = 0; k < threads_; ++k) {
        TW_RETURN_IF_ERROR(WriteEpilogue(OfThread(tile, k), k));
      }
    }
    for (std::int64_t k = 0; k < threads_; ++k) {
      builder_.Pop(Engine::kCompute, Engine::kStore);
      TW_RETURN_IF_ERROR(epilogue_.Store(OfThread(tile, k), k, output_));
      if (many) builder_.Push(Engine::kStore, Engine::kCompute);
    }
    return Status();
  }

  void Append(const UopNest& nest, bool reset, std::int32_t kernel) {
    Gemm gemm;
    gemm.reset = reset;
    gemm.loop.iter_out = nest.iter_out;
    gemm.loop.iter_in = nest.iter_in;
    gemm.dst = nest.dst;
    gemm.src = nest.src;
    gemm.wgt = nest.wgt;
    builder_.Append(gemm, kernel);
  }

  Status LoadOperands(const BlockIndex& tile, std::int64_t k, std::int64_t slice) {
    const std::int64_t top = tile.row * tiles_.h * conv_.stride_h - conv_.pad_h;
    const std::int64_t left = tile.column * tiles_.w * conv_.stride_w - conv_.pad_w;
    const std::int64_t row = std::max<std::int64_t>(top, 0);
    const std::int64_t column = std::max<std::int64_t>(left, 0);
    const std::int64_t rows = std::min(top + region_h_, conv_.height) - row;
    const std::int64_t columns = std::min(left + region_w_, conv_.width) - column;
    const std::int64_t channel = tile.batch * conv_.ci + slice * tiles_.ci;
    const CopyDimension region[] = {
        {tiles_.ci, conv_.height * conv_.width}, {rows, conv_.width}, {columns, 1}};
    auto data = CopyPattern(region);
    if (conv_.pad_h + conv_.pad_w > 0) {
      // Padded loads keep their rows as they are.
      if (tiles_.ci > 1) {
        return InvalidArgument(fmt::format(
            "a padded load of {} channel blocks: expected one, rows and columns only", tiles_.ci));
      }
      data = Transfer();
      data->y_size = U32(rows);
      data->x_size = U32(columns);
      data->x_stride = U32(conv_.width);
      data->y_pad_0 = U32(row - top);
      data->y_pad_1 = U32(region_h_ - rows - (row - top));
      data->x_pad_0 = U32(column - left);
      data->x_pad_1 = U32(region_w_ - columns - (column - left));
    }
    if (!data.ok()) return data.status().WithContext("loading the data");
    data->memory = Memory::kInp;
    data->sram_base = U32(k * tiles_.ci * region_h_ * region_w_);
    data->dram_base = U32((channel * conv_.height + row) * conv_.width + column);
    builder_.Append(*data, data_);

    const std::int64_t wgt_plane = conv_.kernel_h * conv_.kernel_w;
    const CopyDimension filters[] = {{tiles_.co, conv_.ci * wgt_plane}, {tiles_.ci * wgt_plane, 1}};
    auto kernel = CopyPattern(filters);
    if (!kernel.ok()) return kernel.status().WithContext("loading the kernel");
    kernel->memory = Memory::kWgt;
    kernel->sram_base = U32(k * tiles_.co * tiles_.ci * wgt_plane);
    kernel->dram_base = U32((tile.channel * tiles_.co * conv_.ci + slice * tiles_.ci) * wgt_plane);
    builder_.Append(*kernel, kernel_);
    return Status();
  }

  Status WriteEpilogue(const BlockIndex& tile, std::int64_t k) {
    TW_RETURN_IF_ERROR(epilogue_.Calculate(tile, k));
    builder_.Push(Engine::kCompute, Engine::kStore);
    return Status();
  }

  const PackedConv2d conv_;
  const PackedConv2dTiles tiles_;
  const std::int64_t threads_;
  const std::int64_t slices_;  // of the input channels
  const std::int64_t region_h_, region_w_;
  const std::int64_t tile_entries_;
  StreamBuilder builder_;
  const std::int32_t data_, kernel_, output_;
  EpilogueWriter epilogue_;
  UopNest gemm_nest_, reset_nest_;  // loops are alike for all threads
  std::vector<ThreadKernels> kernels_;
};

}  // namespace

Status CheckShape(const PackedConv2d& conv) {
  for (const auto& [name, value] :
       {std::pair{"batch", conv.batch}, std::pair{"ci", conv.ci}, std::pair{"co", conv.co},
        std::pair{"height", conv.height}, std::pair{"width", conv.width},
        std::pair{"kernel_h", conv.kernel_h}, std::pair{"kernel_w", conv.kernel_w},
        std::pair{"stride_h", conv.stride_h}, std::pair{"stride_w", conv.stride_w}}) {
    if (value < 1 || value > kMaxExtent) {
      return InvalidArgument(fmt::format("{}: {}, expected 1 to {}", name, value, kMaxExtent));
    }
  }
  for (const std::int64_t pad : {conv.pad_h, conv.pad_w}) {
    if (pad < 0 || pad > kMaxPadding) {
      return InvalidArgument(fmt::format("padding: {}, expected 0 to {}", pad, kMaxPadding));
    }
  }
  if (conv.height + 2 * conv.pad_h < conv.kernel_h || conv.width + 2 * conv.pad_w < conv.kernel_w) {
    return InvalidArgument("the kernel is larger than the padded data");
  }
  return Status();
}

PackedConv2dFootprint Footprint(const PackedConv2d& conv, const PackedConv2dTiles& tiles,
                                const std::vector<EpilogueStep>& epilogue) {
  PackedConv2dFootprint footprint;
  footprint.inp = tiles.threads() * tiles.ci * RegionHeight(conv, tiles) * RegionWidth(conv, tiles);
  footprint.wgt = tiles.threads() * tiles.co * tiles.ci * conv.kernel_h * conv.kernel_w;
  const ResultBlocks blocks = BlocksOf(conv, tiles);
  std::int64_t acc = blocks.entries();
  for (const EpilogueStep& step : epilogue) acc += OperandEntries(step.operand, blocks);
  footprint.acc = tiles.threads() * acc;
  return footprint;
}

Status CheckPackedConv2d(const Design& design, const PackedConv2d& conv,
                         const PackedConv2dTiles& tiles,
                         const std::vector<EpilogueStep>& epilogue) {
  TW_RETURN_IF_ERROR(CheckShape(conv));
  struct Split {
    const char* name;
    std::int64_t extent, inner, threads;
  };
  for (const auto& [name, extent, inner, threads] :
       {Split{"tile_h", conv.out_height(), tiles.h, tiles.h_threads},
        Split{"tile_w", conv.out_width(), tiles.w, 1}, Split{"tile_ci", conv.ci, tiles.ci, 1},
        Split{"tile_co", conv.co, tiles.co, tiles.oc_threads}}) {
    if (inner < 1 || extent % inner != 0) {
      return InvalidArgument(fmt::format("{}: {} does not divide {}", name, inner, extent));
    }
    if (threads < 1 || threads > 2 || extent / inner % threads != 0) {
      return InvalidArgument(fmt::format("{}: {} outer iterations for {} virtual threads", name,
                                         extent / inner, threads));
    }
  }
  if (tiles.oc_threads > 1 && tiles.h_threads > 1) {
    return InvalidArgument(
        "oc_nthread and h_nthread are both 2: a micro-op kernel depends on one thread axis");
  }
  const PackedConv2dFootprint footprint = Footprint(conv, tiles, epilogue);
  for (const auto& [memory, entries] :
       {std::pair{Memory::kInp, footprint.inp}, std::pair{Memory::kWgt, footprint.wgt},
        std::pair{Memory::kAcc, footprint.acc}}) {
    if (entries > design.Depth(memory)) {
      return InvalidArgument(fmt::format("needs {} entries of {}, expected at most {}", entries,
                                         MemoryName(memory), design.Depth(memory)));
    }
  }
  const std::int64_t uops = UopCount(GemmLoops(conv, tiles));
  if (uops > design.UsableUops()) {
    return InvalidArgument(fmt::format("needs {} micro-ops in one kernel, expected at most {}",
                                       uops, design.UsableUops()));
  }
  return Status();
}

Result<Stream> BuildPackedConv2d(const Design& design, const PackedConv2d& conv,
                                 const PackedConv2dTiles& tiles,
                                 const std::vector<EpilogueStep>& epilogue) {
  TW_RETURN_IF_ERROR(CheckPackedConv2d(design, conv, tiles, epilogue));
  return Writer(design, conv, tiles, epilogue).Write();
}

}  // namespace tilewright::vta
