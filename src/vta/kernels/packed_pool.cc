// Writes the maximum over windows: rows and columns of an image in tiles, one ALU operation for
// each position in the window.

#include "src/vta/kernels/packed_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/vta/kernels/copy_pattern.h"
#include "src/vta/kernels/uop_nest.h"

namespace tilewright::vta {
namespace {

// Initial value of the maximum.
constexpr std::int16_t kLowest = -128;
// Above any real network; keeps products within 64 bits.
constexpr std::int64_t kMaxSize = 1 << 15;

/// Indices first <= i < end.
struct Range {
  std::int64_t first = 0, end = 0;
  std::int64_t size() const { return std::max<std::int64_t>(0, end - first); }
};

/// Axis of a window operator.
struct Axis {
  std::int64_t extent, window, stride, pad;

  /// Returns the inputs inside the image that these outputs read.
  Range Inputs(Range outputs) const {
    return {std::max<std::int64_t>(0, outputs.first * stride - pad),
            std::min(extent, (outputs.end - 1) * stride - pad + window)};
  }
  /// Returns the outputs whose input at one position in the window is inside the image.
  Range Outputs(Range outputs, std::int64_t place) const {
    const std::int64_t shift = pad - place;  // output o reads input o * stride - shift
    return {std::max(outputs.first, CeilDiv(std::max<std::int64_t>(0, shift), stride)),
            std::min(outputs.end, FloorDiv(extent - 1 + shift, stride) + 1)};
  }
};

class PoolWriter {
 public:
  PoolWriter(const PackedPool& pool, const ResultBlocks& result, StreamBuilder& builder)
      : rows_{pool.height, pool.window_h, pool.stride_h, pool.pad_top},
        columns_{pool.width, pool.window_w, pool.stride_w, pool.pad_left},
        result_(result),
        builder_(builder),
        data_(builder.AddBuffer("data", false)),
        output_(builder.AddBuffer("output", true)) {}

  Status Write() {
    const std::int64_t channels = result_.co / result_.block_co;
    const std::int64_t rows = result_.height / result_.block_h;
    const std::int64_t columns = result_.width / result_.block_w;
    const std::int64_t count = result_.batch * channels * rows * columns;
    const bool many = count > 1;
    if (many) builder_.Push(Engine::kStore, Engine::kCompute);
    for (std::int64_t n = 0; n < count; ++n) {
      const BlockIndex block = {.batch = n / (rows * channels * columns),
                                .row = n / (channels * columns) % rows,
                                .channel = n / columns % channels,
                                .column = n % columns};
      if (many) builder_.Pop(Engine::kStore, Engine::kCompute);
      TW_RETURN_IF_ERROR(Calculate(block));
      builder_.Push(Engine::kCompute, Engine::kStore);
      builder_.Pop(Engine::kCompute, Engine::kStore);
      auto store = BlockTransfer(result_, block);
      if (!store.ok()) return store.status().WithContext("storing the output");
      store->is_store = true;
      store->memory = Memory::kOut;
      builder_.Append(*store, output_);
      if (many) builder_.Push(Engine::kStore, Engine::kCompute);
    }
    return {};
  }

 private:
  Status Calculate(const BlockIndex& block) {
    const Range rows = {block.row * result_.block_h, (block.row + 1) * result_.block_h};
    const Range columns = {block.column * result_.block_w, (block.column + 1) * result_.block_w};
    const Range in_rows = rows_.Inputs(rows), in_columns = columns_.Inputs(columns);
    Begin();
    TW_RETURN_IF_ERROR(Load(block, in_rows, in_columns));
    for (std::int64_t y = 0; y < rows_.window; ++y) {
      const Range to_rows = rows_.Outputs(rows, y);
      for (std::int64_t x = 0; x < columns_.window; ++x) {
        const Range to_columns = columns_.Outputs(columns, x);
        if (to_rows.size() == 0 || to_columns.size() == 0) continue;
        const std::int64_t row = to_rows.first * rows_.stride - rows_.pad + y - in_rows.first;
        const std::int64_t column =
            to_columns.first * columns_.stride - columns_.pad + x - in_columns.first;
        Uop base;
        base.dst =
            U32((to_rows.first - rows.first) * result_.block_w + to_columns.first - columns.first);
        base.src = U32(result_.entries() + row * in_columns.size() + column);
        Maximum(base, to_rows.size(), to_columns.size(), in_rows.size(), in_columns.size());
      }
    }
    return {};
  }

  /// Initializes every entry of the block with the smallest number.
  void Begin() {
    const NestLoop whole[] = {{result_.entries(), 1, 0, 0}};
    const UopNest nest = FoldNest(whole, {Uop()});
    Gemm reset;
    reset.reset = true;
    reset.loop.iter_out = nest.iter_out;
    reset.dst = nest.dst;
    builder_.Append(reset, KernelOf(nest.uops));
    Alu lowest;
    lowest.op = AluOp::kMin;
    lowest.use_immediate = true;
    lowest.immediate = kLowest;
    lowest.loop.iter_out = nest.iter_out;
    lowest.dst = nest.dst;
    builder_.Append(lowest, KernelOf(nest.uops));
  }

  /// Loads the part of the image that a block reads, after the block.
  Status Load(const BlockIndex& block, Range rows, Range columns) {
    const CopyDimension region[] = {{result_.block_co, rows_.extent * columns_.extent},
                                    {rows.size(), columns_.extent},
                                    {columns.size(), 1}};
    auto transfers = CopyPatterns(region);
    if (!transfers.ok()) return transfers.status().WithContext("loading the data");
    const std::int64_t channel = block.batch * result_.co + block.channel * result_.block_co;
    const std::int64_t first =
        (channel * rows_.extent + rows.first) * columns_.extent + columns.first;
    for (Transfer& transfer : *transfers) {
      transfer.memory = Memory::kAccInt8;
      transfer.sram_base += U32(result_.entries());
      transfer.dram_base += U32(first);
      builder_.Append(transfer, data_);
    }
    return {};
  }

  void Maximum(const Uop& base, std::int64_t rows, std::int64_t columns, std::int64_t in_rows,
               std::int64_t in_columns) {
    std::array<NestLoop, 3> loops = {
        NestLoop{result_.block_co, U32(result_.block_h * result_.block_w),
                 U32(in_rows * in_columns), 0},
        NestLoop{rows, U32(result_.block_w), U32(rows_.stride * in_columns), 0},
        NestLoop{columns, 1, U32(columns_.stride), 0}};
    // The shortest loop is unrolled into micro-ops.
    std::ranges::stable_sort(loops, std::ranges::greater(), &NestLoop::extent);
    const UopNest nest = FoldNest(loops, {base});
    Alu maximum;
    maximum.op = AluOp::kMax;
    maximum.loop.iter_out = nest.iter_out;
    maximum.loop.iter_in = nest.iter_in;
    maximum.dst = nest.dst;
    maximum.src = nest.src;
    builder_.Append(maximum, KernelOf(nest.uops));
  }

  std::int32_t KernelOf(const std::vector<Uop>& uops) {
    const auto known =
        std::ranges::find(kernels_, uops, &std::pair<std::vector<Uop>, std::int32_t>::first);
    if (known != kernels_.end()) return known->second;
    kernels_.emplace_back(uops, builder_.AddKernel(uops));
    return kernels_.back().second;
  }

  const Axis rows_, columns_;
  const ResultBlocks& result_;
  StreamBuilder& builder_;
  const std::int32_t data_, output_;
  std::vector<std::pair<std::vector<Uop>, std::int32_t>> kernels_;
};

/// Returns the accumulator entries of the largest part of the image that a block reads.
std::int64_t InputEntries(const PackedPool& pool, const ResultBlocks& result) {
  const std::int64_t rows =
      std::min(pool.height, (result.block_h - 1) * pool.stride_h + pool.window_h);
  const std::int64_t columns =
      std::min(pool.width, (result.block_w - 1) * pool.stride_w + pool.window_w);
  return result.block_co * rows * columns;
}

/// Checks that every window has inputs inside the image.
Status CheckPool(const PackedPool& pool, const ResultBlocks& result) {
  for (std::int64_t v : {pool.height, pool.width, pool.window_h, pool.window_w, pool.stride_h,
                         pool.stride_w, pool.pad_top + 1, pool.pad_left + 1}) {
    if (v < 1 || v > kMaxSize) {
      return InvalidArgument(fmt::format("pool: size {}, expected 1 to {}", v, kMaxSize));
    }
  }
  const bool inside = pool.pad_top < pool.window_h && pool.pad_left < pool.window_w &&
                      (result.height - 1) * pool.stride_h - pool.pad_top < pool.height &&
                      (result.width - 1) * pool.stride_w - pool.pad_left < pool.width;
  return inside ? Status() : InvalidArgument("pool: a window holds nothing but padding");
}

}  // namespace

Result<Stream> BuildPackedPool(const Design& design, const PackedPool& pool,
                               const ResultBlocks& result) {
  TW_RETURN_IF_ERROR(CheckBlocks(result));
  TW_RETURN_IF_ERROR(CheckPool(pool, result));
  const std::int64_t entries = result.entries() + InputEntries(pool, result);
  if (entries > design.Depth(Memory::kAcc)) {
    return InvalidArgument(fmt::format("needs {} entries of ACC, expected at most {}", entries,
                                       design.Depth(Memory::kAcc)));
  }
  StreamBuilder builder(design);
  TW_RETURN_IF_ERROR(PoolWriter(pool, result, builder).Write());
  return std::move(builder).Finish();
}

}  // namespace tilewright::vta
