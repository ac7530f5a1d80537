// Writes a packed operator in the order of TVM's schedules, for one or two virtual threads.

#include "src/vta/kernels/packed_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/vta/kernels/copy_pattern.h"

// One tile of the program; at every line for all virtual threads k in turn (docs/vta.md):
//
//   reset the accumulators
//   for each part of the sums, for each slice of the reduction:
//     load activations and weights
//     multiply
//   load the operands of the epilogue, compute it
//   store

namespace tilewright::vta {
namespace {

// Returns the GEMM that resets a tile. The loop order is the original's, because it determines the
// two loops that the instruction executes.
Product ResetProduct(const ResultBlocks& blocks) {
  const std::int64_t plane = blocks.block_h * blocks.block_w;
  return {.loops = {{blocks.block_batch, U32(blocks.block_co * plane), 0, 0},
                    {blocks.block_w, 1, 0, 0},
                    {blocks.block_co, U32(plane), 0, 0},
                    {blocks.block_h, U32(blocks.block_w), 0, 0}}};
}

/// Writer of the instructions of one operator.
class PackedOperatorWriter {
 public:
  PackedOperatorWriter(const Design& design, const PackedOperator& op,
                       const std::vector<EpilogueStep>& epilogue)
      : op_(op),
        blocks_(op.tiles.blocks),
        threads_(op.tiles.threads()),
        builder_(design),
        data_(builder_.AddBuffer("data", false)),
        kernel_(builder_.AddBuffer("kernel", false)),
        output_(builder_.AddBuffer("output", true)),
        epilogue_(blocks_, epilogue, threads_, builder_) {
    for (std::int64_t k = 0; k < threads_; ++k) AddKernels(k);
  }

  Result<Stream> Write() && {
    // Extents of the tile loops, in order; the thread axis is inside the last-named one.
    const PackedTiles& tiles = op_.tiles;
    const Axis batch = {blocks_.batch / blocks_.block_batch, &BlockIndex::batch};
    const Axis row = {blocks_.height / blocks_.block_h / tiles.h_threads, &BlockIndex::row};
    const Axis channel = {blocks_.co / blocks_.block_co / tiles.oc_threads, &BlockIndex::channel};
    const Axis column = {blocks_.width / blocks_.block_w, &BlockIndex::column};
    std::array<Axis, 4> axes = {batch, row, channel, column};
    if (tiles.oc_threads > 1) axes = {row, channel, batch, column};
    if (tiles.h_threads > 1) axes = {row, batch, channel, column};

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
    // The original puts the pop of a single thread after FINISH's synchronization.
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
  /// GEMM instruction of one thread.
  struct Multiplication {
    Gemm gemm;
    std::int32_t kernel = 0;
  };
  struct ThreadProducts {
    Multiplication reset;
    std::vector<std::vector<Multiplication>> parts;
  };

  void AddKernels(std::int64_t k) {
    const Uop base = {U32(k * blocks_.entries()), U32(k * op_.inp_entries),
                      U32(k * op_.wgt_entries)};
    ThreadProducts products;
    products.reset = Multiply(ResetProduct(blocks_), true, {base.dst, 0, 0});
    for (const std::vector<Product>& part : op_.parts) {
      products.parts.emplace_back();
      for (const Product& product : part) {
        products.parts.back().push_back(Multiply(product, false, base));
      }
    }
    products_.push_back(std::move(products));
    epilogue_.AddKernels();
  }

  Multiplication Multiply(const Product& product, bool reset, const Uop& base) {
    std::vector<Uop> uops = product.uops;
    for (Uop& uop : uops) {
      uop.dst += base.dst;
      uop.src += base.src;
      uop.wgt += base.wgt;
    }
    const UopNest nest = FoldNest(product.loops, uops);
    Multiplication result;
    result.gemm.reset = reset;
    result.gemm.loop.iter_out = nest.iter_out;
    result.gemm.loop.iter_in = nest.iter_in;
    result.gemm.dst = nest.dst;
    result.gemm.src = nest.src;
    result.gemm.wgt = nest.wgt;
    result.kernel = builder_.AddKernel(nest.uops);
    return result;
  }

  const ThreadProducts& Of(std::int64_t k) const { return products_[static_cast<std::size_t>(k)]; }
  void Append(const Multiplication& product) { builder_.Append(product.gemm, product.kernel); }

  /// Returns the block of thread k.
  BlockIndex OfThread(BlockIndex tile, std::int64_t k) const {
    if (op_.tiles.oc_threads > 1) tile.channel = tile.channel * op_.tiles.oc_threads + k;
    if (op_.tiles.h_threads > 1) tile.row = tile.row * op_.tiles.h_threads + k;
    return tile;
  }

  Status WriteTile(const BlockIndex& tile, bool many) {
    for (std::int64_t k = 0; k < threads_; ++k) {
      if (many) builder_.Pop(Engine::kStore, Engine::kCompute);
      Append(Of(k).reset);
      builder_.Push(Engine::kCompute, Engine::kLoad);
    }
    for (std::int64_t n = 0; n < op_.steps(); ++n) {
      TW_RETURN_IF_ERROR(WriteStep(tile, {n / op_.slices, n % op_.slices}));
    }
    if (op_.steps() > 1) {
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

  Status WriteStep(const BlockIndex& tile, const StepIndex& step) {
    for (std::int64_t k = 0; k < threads_; ++k) {
      builder_.Pop(Engine::kCompute, Engine::kLoad);
      TW_RETURN_IF_ERROR(LoadOperands(OfThread(tile, k), k, step));
      builder_.Push(Engine::kLoad, Engine::kCompute);
    }
    for (std::int64_t k = 0; k < threads_; ++k) {
      builder_.Pop(Engine::kLoad, Engine::kCompute);
      for (const Multiplication& product : Of(k).parts[static_cast<std::size_t>(step.part)]) {
        Append(product);
      }
      // With a single step the epilogue follows immediately, on the same engine.
      if (op_.steps() == 1) {
        TW_RETURN_IF_ERROR(WriteEpilogue(OfThread(tile, k), k));
      } else {
        builder_.Push(Engine::kCompute, Engine::kLoad);
      }
    }
    return Status();
  }

  Status LoadOperands(const BlockIndex& tile, std::int64_t k, const StepIndex& step) {
    auto data = op_.load_inp(tile, step);
    if (!data.ok()) return data.status().WithContext("loading the data");
    data->memory = Memory::kInp;
    data->sram_base = U32(k * op_.inp_entries);
    builder_.Append(*data, data_);
    auto kernel = op_.load_wgt(tile, step);
    if (!kernel.ok()) return kernel.status().WithContext("loading the kernel");
    kernel->memory = Memory::kWgt;
    kernel->sram_base = U32(k * op_.wgt_entries);
    builder_.Append(*kernel, kernel_);
    return Status();
  }

  Status WriteEpilogue(const BlockIndex& tile, std::int64_t k) {
    TW_RETURN_IF_ERROR(epilogue_.Calculate(tile, k));
    builder_.Push(Engine::kCompute, Engine::kStore);
    return Status();
  }

  const PackedOperator& op_;
  const ResultBlocks& blocks_;
  const std::int64_t threads_;
  StreamBuilder builder_;
  const std::int32_t data_, kernel_, output_;
  EpilogueWriter epilogue_;
  std::vector<ThreadProducts> products_;
};

}  // namespace

std::int64_t PackedTiles::count() const {
  return blocks.batch / blocks.block_batch * (blocks.co / blocks.block_co) *
         (blocks.height / blocks.block_h) * (blocks.width / blocks.block_w);
}

Status CheckSplits(std::span<const AxisSplit> splits) {
  std::int64_t threads = 1;
  for (const AxisSplit& split : splits) {
    if (split.inner < 1 || split.extent % split.inner != 0) {
      return InvalidArgument(
          fmt::format("{}: {} does not divide {}", split.name, split.inner, split.extent));
    }
    const std::int64_t outer = split.extent / split.inner;
    if (split.threads < 1 || split.threads > 2 || outer % split.threads != 0) {
      return InvalidArgument(fmt::format("{}: {} outer iterations for {} virtual threads",
                                         split.name, outer, split.threads));
    }
    threads *= split.threads;
  }
  if (threads > 2) {
    return InvalidArgument(
        "oc_nthread and h_nthread are both 2: a micro-op kernel depends on one thread axis");
  }
  return Status();
}

Status CheckExtents(std::span<const NamedExtent> extents) {
  for (const NamedExtent& extent : extents) {
    if (extent.value < 1 || extent.value > kMaxExtent) {
      return InvalidArgument(
          fmt::format("{}: {}, expected 1 to {}", extent.name, extent.value, kMaxExtent));
    }
  }
  return Status();
}

PackedFootprint FootprintOf(const PackedOperator& op, const std::vector<EpilogueStep>& epilogue) {
  const std::int64_t threads = op.tiles.threads();
  std::int64_t acc = op.tiles.blocks.entries();
  for (const EpilogueStep& step : epilogue) acc += OperandEntries(step.operand, op.tiles.blocks);
  return {threads * op.inp_entries, threads * op.wgt_entries, threads * acc};
}

std::int64_t LoadedBytes(const Design& design, const PackedOperator& op) {
  return op.tiles.count() * op.steps() *
         (op.inp_entries * design.ElementBytes(Memory::kInp) +
          op.wgt_entries * design.ElementBytes(Memory::kWgt));
}

Status CheckPackedOperator(const Design& design, const PackedOperator& op,
                           const std::vector<EpilogueStep>& epilogue) {
  const PackedFootprint footprint = FootprintOf(op, epilogue);
  for (const auto& [memory, entries] :
       {std::pair{Memory::kInp, footprint.inp}, std::pair{Memory::kWgt, footprint.wgt},
        std::pair{Memory::kAcc, footprint.acc}}) {
    if (entries > design.Depth(memory)) {
      return InvalidArgument(fmt::format("needs {} entries of {}, expected at most {}", entries,
                                         MemoryName(memory), design.Depth(memory)));
    }
  }
  for (const std::vector<Product>& part : op.parts) {
    for (const Product& product : part) {
      const std::int64_t uops = UopCount(product.loops, std::ssize(product.uops));
      if (uops <= design.UsableUops()) continue;
      return InvalidArgument(fmt::format("needs {} micro-ops in one kernel, expected at most {}",
                                         uops, design.UsableUops()));
    }
  }
  return Status();
}

Result<Stream> BuildPackedOperator(const Design& design, const PackedOperator& op,
                                   const std::vector<EpilogueStep>& epilogue) {
  TW_RETURN_IF_ERROR(CheckPackedOperator(design, op, epilogue));
  return PackedOperatorWriter(design, op, epilogue).Write();
}

Result<Transfer> WindowTransfer(const ImageWindow& image, const ChannelRuns& channels,
                                std::int64_t top, std::int64_t left) {
  const std::int64_t plane = image.height * image.width;
  const std::int64_t row = std::max<std::int64_t>(top, 0);
  const std::int64_t column = std::max<std::int64_t>(left, 0);
  const std::int64_t rows = std::min(top + image.window_h, image.height) - row;
  const std::int64_t columns = std::min(left + image.window_w, image.width) - column;
  if (rows < 1 || columns < 1) return InvalidArgument("a tile that reads padding only");
  const CopyDimension region[] = {{channels.count, channels.stride * plane},
                                  {channels.run, plane},
                                  {rows, image.width},
                                  {columns, 1}};
  auto transfer = CopyPattern(region);
  if (image.padded) {
    // Padded loads cannot merge rows.
    if (channels.count * channels.run > 1) {
      return InvalidArgument(
          fmt::format("a padded load of {} channel blocks: expected one, rows and columns only",
                      channels.count * channels.run));
    }
    transfer = Transfer();
    transfer->y_size = U32(rows);
    transfer->x_size = U32(columns);
    transfer->x_stride = U32(image.width);
    transfer->y_pad_0 = U32(row - top);
    transfer->y_pad_1 = U32(image.window_h - rows - (row - top));
    transfer->x_pad_0 = U32(column - left);
    transfer->x_pad_1 = U32(image.window_w - columns - (column - left));
  }
  TW_RETURN_IF_ERROR(transfer);
  transfer->dram_base = U32((channels.first * image.height + row) * image.width + column);
  return transfer;
}

Result<Transfer> KernelTransfer(const KernelBlocks& kernel, std::int64_t channel,
                                std::int64_t slice) {
  const CopyDimension region[] = {{kernel.block_co, kernel.ci * kernel.filter},
                                  {kernel.block_ci * kernel.filter, 1}};
  TW_ASSIGN_OR_RETURN(auto transfer, CopyPattern(region));
  transfer.dram_base =
      U32((channel * kernel.block_co * kernel.ci + slice * kernel.block_ci) * kernel.filter);
  return transfer;
}

}  // namespace tilewright::vta
