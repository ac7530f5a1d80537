// Writes a convolution tile by tile and keeps blocks on the chip as long as they are used.

#include "src/vta/kernels/slot_conv2d.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "src/base/math.h"
#include "src/vta/kernels/axis_tile.h"
#include "src/vta/kernels/copy_pattern.h"
#include "src/vta/kernels/tile_gemm.h"
#include "src/vta/kernels/token_writer.h"

// One tile of the result, in program order; TokenWriter finds the dependences:
//
//   reset the accumulators
//   for each slice of the input channels:
//     load the data and the weights that are not on the chip
//     multiply
//   load the tensors of the epilogue, compute it
//   store
//
// Instructions have no base addresses, but micro-ops do, so a kernel serves one combination of
// slots. Tiles at the border of the image have kernels without the taps that would read padding.

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;

// Maximum micro-ops of a kernel over consecutive entries. With 64 micro-ops, both the cost of the
// loop around a kernel and the size of the kernel are negligible.
constexpr std::int64_t kMaxLinearUops = 64;

ConvAxis RowsOf(const PackedConv2d& conv) {
  return {conv.height, conv.kernel_h, conv.stride_h, conv.pad_h, true};
}
// Returns the axis of columns. A row of a transfer is consecutive, so columns cannot be skipped.
ConvAxis ColumnsOf(const PackedConv2d& conv) {
  return {conv.width, conv.kernel_w, conv.stride_w, conv.pad_w, false};
}

std::int64_t MaxCount(const std::vector<AxisTile>& tiles) {
  std::int64_t count = 0;
  for (const AxisTile& tile : tiles) count = std::max(count, tile.count);
  return count;
}

bool IsGemmAdd(const SlotConv2dPlan& plan, const EpilogueStep& step) {
  return plan.gemm_adds && step.operand == Operand::kTensorInt8 && step.op == AluOp::kAdd;
}

/// Sizes of blocks in entries, and their addresses in the on-chip memories: slots first.
struct Layout {
  std::int64_t inp_block, wgt_block, tile;
  std::int64_t identity;  // WGT
  std::vector<std::int64_t>
      operands;  // per step with an operand: in ACC, or in INP if a GEMM adds it
  PackedFootprint footprint;
};

Layout LayoutOf(const PackedConv2d& conv, const SlotConv2dPlan& plan,
                const std::vector<EpilogueStep>& epilogue) {
  Layout layout;
  layout.inp_block = plan.ci * MaxCount(SplitAxis(RowsOf(conv), plan.h)) *
                     MaxCount(SplitAxis(ColumnsOf(conv), plan.w));
  layout.wgt_block = plan.co * plan.ci * conv.kernel_h * conv.kernel_w;
  layout.tile = plan.co * plan.h * plan.w;
  layout.identity = plan.wgt_slots * layout.wgt_block;
  PackedFootprint& top = layout.footprint;
  top = {plan.inp_slots * layout.inp_block, layout.identity, plan.acc_slots * layout.tile};
  for (const EpilogueStep& step : epilogue) {
    std::int64_t& memory = IsGemmAdd(plan, step) ? top.inp : top.acc;
    layout.operands.push_back(memory);
    if (step.operand == Operand::kPerChannel) memory += conv.co;  // all of it stays on the chip
    if (step.operand == Operand::kTensor || step.operand == Operand::kTensorInt8) {
      memory += layout.tile;
    }
  }
  if (plan.gemm_adds) ++top.wgt;
  return layout;
}

/// Blocks in the slots of a memory, with least-recently-used replacement.
class Slots {
 public:
  explicit Slots(std::int64_t count) : slots_(static_cast<std::size_t>(count)) {}

  struct Place {
    std::int64_t slot;
    bool loaded;
  };
  Place Find(std::int64_t block) {
    auto at = std::ranges::find(slots_, block, &Slot::block);
    const bool loaded = at != slots_.end();
    if (!loaded) at = std::ranges::min_element(slots_, {}, &Slot::used);
    *at = {block, ++clock_};
    return {at - slots_.begin(), loaded};
  }

 private:
  struct Slot {
    std::int64_t block = -1;
    std::int64_t used = 0;
  };
  std::vector<Slot> slots_;
  std::int64_t clock_ = 0;
};

struct Slice {
  std::int64_t begin = 0, size = 0;
};

std::vector<Slice> Split(std::int64_t extent, std::int64_t size) {
  std::vector<Slice> parts;
  for (std::int64_t begin = 0; begin < extent; begin += size) {
    parts.push_back({begin, std::min(size, extent - begin)});
  }
  return parts;
}

/// Part of the result; the indices identify blocks.
struct Tile {
  std::int64_t position, channel;  // indices
  std::int64_t batch;
  AxisTile rows, columns;
  Slice channels;
  std::int64_t entries() const { return channels.size * rows.size * columns.size; }
};

/// Returns the identity weight tile in its DRAM layout.
std::vector<std::byte> IdentityTile(const Design& design) {
  std::vector<std::byte> tile(static_cast<std::size_t>(design.ElementBytes(Memory::kWgt)));
  for (int i = 0; i < design.block(); ++i) {
    const int bit = (i * design.block() + i) * design.wgt_bits();
    tile[static_cast<std::size_t>(bit / 8)] |= static_cast<std::byte>(1 << bit % 8);
  }
  return tile;
}

/// Writer of the instructions of one convolution.
class SlotConv2dWriter {
 public:
  SlotConv2dWriter(const Design& design, const PackedConv2d& conv, const SlotConv2dPlan& plan,
                   const std::vector<EpilogueStep>& epilogue)
      : design_(design),
        conv_(conv),
        plan_(plan),
        epilogue_(epilogue),
        layout_(LayoutOf(conv, plan, epilogue)),
        slices_(Split(conv.ci, plan.ci)),
        inp_(plan.inp_slots),
        wgt_(plan.wgt_slots),
        writer_(design),
        data_(writer_.AddBuffer("data", false)),
        kernel_(writer_.AddBuffer("kernel", false)),
        output_(writer_.AddBuffer("output", true)) {
    for (std::size_t n = 0; n < epilogue_.size(); ++n) {
      const bool immediate = epilogue_[n].operand == Operand::kImmediate;
      operands_.push_back(immediate
                              ? Stream::kNoBuffer
                              : writer_.AddBuffer(fmt::format("operand of step {}", n), false));
    }
  }

  Result<Stream> Write() && {
    LoadConstants();
    const std::vector<Tile> tiles = Tiles();
    for (std::size_t n = 0; n < tiles.size(); ++n) {
      TW_RETURN_IF_ERROR(WriteTile(tiles[n], static_cast<std::int64_t>(n)));
      if (uops_ > design_.UsableUops()) {
        return InvalidArgument(fmt::format("needs more than {} micro-ops", design_.UsableUops()));
      }
    }
    return std::move(writer_).Finish();
  }

 private:
  /// All parameters of a kernel.
  using KernelKey = std::array<std::int64_t, 13>;

  std::vector<Tile> Tiles() const {
    std::vector<Tile> positions;
    for (std::int64_t batch = 0; batch < conv_.batch; ++batch) {
      for (const AxisTile& rows : SplitAxis(RowsOf(conv_), plan_.h)) {
        for (const AxisTile& columns : SplitAxis(ColumnsOf(conv_), plan_.w)) {
          const auto position = static_cast<std::int64_t>(positions.size());
          positions.push_back({position, 0, batch, rows, columns, {}});
        }
      }
    }
    const std::vector<Slice> channels = Split(conv_.co, plan_.co);
    const std::size_t outer = plan_.channels_outer ? channels.size() : positions.size();
    const std::size_t inner = plan_.channels_outer ? positions.size() : channels.size();
    std::vector<Tile> tiles;
    for (std::size_t i = 0; i < outer; ++i) {
      for (std::size_t step = 0; step < inner; ++step) {
        const std::size_t j = plan_.serpentine && i % 2 == 1 ? inner - 1 - step : step;
        const std::size_t channel = plan_.channels_outer ? i : j;
        tiles.push_back(positions[plan_.channels_outer ? j : i]);
        tiles.back().channel = static_cast<std::int64_t>(channel);
        tiles.back().channels = channels[channel];
      }
    }
    return tiles;
  }

  /// Loads data common to all tiles: operands for each channel, and the identity.
  void LoadConstants() {
    for (std::size_t n = 0; n < epilogue_.size(); ++n) {
      if (epilogue_[n].operand != Operand::kPerChannel) continue;
      Transfer load;
      load.memory = Memory::kAcc;
      load.sram_base = U32(layout_.operands[n]);
      load.y_size = 1;
      load.x_size = load.x_stride = U32(conv_.co);
      writer_.Append(load, operands_[n]);
    }
  }

  Status WriteTile(const Tile& tile, std::int64_t n) {
    const std::int64_t acc = n % plan_.acc_slots * layout_.tile;
    Reset(acc, tile.entries());
    const auto slices = static_cast<std::int64_t>(slices_.size());
    for (std::int64_t step = 0; step < slices; ++step) {
      const std::int64_t slice = plan_.serpentine && n % 2 == 1 ? slices - 1 - step : step;
      TW_RETURN_IF_ERROR(WriteSlice(tile, slice, acc));
    }
    for (std::size_t step = 0; step < epilogue_.size(); ++step) {
      TW_RETURN_IF_ERROR(Calculate(tile, step, acc));
    }
    return CopyTile(tile, {.is_store = true, .memory = Memory::kOut, .sram_base = U32(acc)},
                    output_);
  }

  Status WriteSlice(const Tile& tile, std::int64_t slice, std::int64_t acc) {
    const auto slices = static_cast<std::int64_t>(slices_.size());
    const Slots::Place inp = inp_.Find(tile.position * slices + slice);
    const Slots::Place wgt = wgt_.Find(tile.channel * slices + slice);
    const Slice& channels = slices_[static_cast<std::size_t>(slice)];
    const Uop base = {U32(acc), U32(inp.slot * layout_.inp_block),
                      U32(wgt.slot * layout_.wgt_block)};
    if (!inp.loaded) TW_RETURN_IF_ERROR(LoadData(tile, channels, base.src));
    if (!wgt.loaded) TW_RETURN_IF_ERROR(LoadWeights(tile, channels, base.wgt));
    Multiply(tile, channels.size, base);
    return Status();
  }

  Status LoadData(const Tile& tile, const Slice& channels, std::int64_t sram) {
    const AxisTile& rows = tile.rows;
    const AxisTile& columns = tile.columns;
    const CopyDimension region[] = {{channels.size, conv_.height * conv_.width},
                                    {rows.count, rows.step * conv_.width},
                                    {columns.count, 1}};
    const std::int64_t channel = tile.batch * conv_.ci + channels.begin;
    const std::int64_t dram = (channel * conv_.height + rows.first) * conv_.width + columns.first;
    return Copy(region, {.memory = Memory::kInp, .sram_base = U32(sram), .dram_base = U32(dram)},
                data_);
  }

  Status LoadWeights(const Tile& tile, const Slice& channels, std::int64_t sram) {
    const std::int64_t taps = conv_.kernel_h * conv_.kernel_w;
    const CopyDimension region[] = {{tile.channels.size, conv_.ci * taps},
                                    {channels.size * taps, 1}};
    const std::int64_t dram = (tile.channels.begin * conv_.ci + channels.begin) * taps;
    return Copy(region, {.memory = Memory::kWgt, .sram_base = U32(sram), .dram_base = U32(dram)},
                kernel_);
  }

  /// Copies the tile's part of a tensor with the result's shape.
  Status CopyTile(const Tile& tile, const Transfer& base, std::int32_t buffer) {
    const std::int64_t width = conv_.out_width();
    const std::int64_t plane = conv_.out_height() * width;
    const CopyDimension region[] = {
        {tile.channels.size, plane}, {tile.rows.size, width}, {tile.columns.size, 1}};
    const std::int64_t channel = tile.batch * conv_.co + tile.channels.begin;
    Transfer from = base;
    from.dram_base = U32(channel * plane + tile.rows.begin * width + tile.columns.begin);
    return Copy(region, from, buffer);
  }

  /// Appends the transfers of a region. base: direction, memory and both addresses of the region.
  Status Copy(std::span<const CopyDimension> region, const Transfer& base, std::int32_t buffer) {
    auto transfers = CopyPatterns(region);
    if (!transfers.ok()) return transfers.status();
    for (Transfer& transfer : *transfers) {
      transfer.is_store = base.is_store;
      transfer.memory = base.memory;
      transfer.sram_base += base.sram_base;
      transfer.dram_base += base.dram_base;
      writer_.Append(transfer, buffer);
    }
    return Status();
  }

  /// Returns the kernel of `key`; writes it first if it does not exist.
  template <typename MakeUops>
  std::int32_t KernelOf(const KernelKey& key, MakeUops make) {
    const auto found = kernels_.find(key);
    if (found != kernels_.end()) return found->second;
    const std::vector<Uop> uops = make();
    uops_ += static_cast<std::int64_t>(uops.size());
    return kernels_[key] = writer_.AddKernel(uops);
  }

  /// Returns a GEMM over `entries` consecutive accumulators (and data, if it does not reset), all
  /// with the same weights.
  Gemm LinearGemm(std::int64_t entries, const Uop& base, bool reset, std::int32_t& kernel) {
    std::int64_t count = std::min(entries, kMaxLinearUops);
    while (entries % count != 0) --count;
    kernel = KernelOf({-1, count, base.dst, base.src, base.wgt, reset}, [&] {
      std::vector<Uop> uops;
      for (std::uint32_t i = 0; i < count; ++i) {
        uops.push_back({base.dst + i, base.src + (reset ? 0 : i), base.wgt});
      }
      return uops;
    });
    Gemm gemm;
    gemm.reset = reset;
    gemm.loop.iter_in = U32(entries / count);
    gemm.dst.in = U32(count);
    gemm.src.in = reset ? 0 : U32(count);
    return gemm;
  }

  void Reset(std::int64_t acc, std::int64_t entries) {
    std::int32_t kernel = 0;
    const Gemm gemm = LinearGemm(entries, {U32(acc), 0, 0}, true, kernel);
    writer_.Append(gemm, kernel, {acc, entries}, {}, {});
  }

  void Multiply(const Tile& tile, std::int64_t ci, const Uop& base) {
    const AxisTile& rows = tile.rows;
    const AxisTile& columns = tile.columns;
    const TileGemm products = {
        rows, columns, ci, tile.channels.size, conv_.kernel_h, conv_.kernel_w, plan_.unrolled};
    const EntryRange acc = {base.dst, tile.entries()};
    const EntryRange inp = {base.src, ci * rows.count * columns.count};
    const EntryRange wgt = {base.wgt, products.co * ci * conv_.kernel_h * conv_.kernel_w};
    for (const TileGemm::Part& part : products.Parts()) {
      const KernelKey key = {base.dst,      base.src,   base.wgt,   ci,           products.co,
                             rows.size,     rows.shift, rows.count, columns.size, columns.shift,
                             columns.count, part.first, part.end};
      const std::int32_t kernel = KernelOf(key, [&] { return products.UopsOf(part, base); });
      writer_.Append(products.LoopsOf(part), kernel, acc, inp, wgt);
    }
  }

  Status Calculate(const Tile& tile, std::size_t n, std::int64_t acc) {
    const EpilogueStep& step = epilogue_[n];
    const std::int64_t operand = layout_.operands[n];
    if (IsGemmAdd(plan_, step)) return AddByGemm(tile, n, acc);
    if (step.operand == Operand::kTensor || step.operand == Operand::kTensorInt8) {
      const bool int8 = step.operand == Operand::kTensorInt8;
      TW_RETURN_IF_ERROR(CopyTile(
          tile, {.memory = int8 ? Memory::kAccInt8 : Memory::kAcc, .sram_base = U32(operand)},
          operands_[n]));
    }
    Uop uop;
    uop.dst = U32(acc);
    Alu alu;
    alu.op = step.op;
    alu.use_immediate = step.operand == Operand::kImmediate;
    alu.immediate = step.immediate;
    alu.loop.iter_in = U32(tile.entries());
    alu.dst.in = 1;
    if (step.operand == Operand::kPerChannel) {
      uop.src = U32(operand + tile.channels.begin);
      alu.loop.iter_out = U32(tile.channels.size);
      alu.loop.iter_in = U32(tile.rows.size * tile.columns.size);
      alu.dst.out = tile.channels.size == 1 ? 0 : alu.loop.iter_in;
      alu.src.out = 1;
    } else if (!alu.use_immediate) {
      uop.src = U32(operand);
      alu.src.in = 1;
    }
    const std::int32_t kernel = KernelOf({-2, uop.dst, uop.src}, [&] { return std::vector{uop}; });
    writer_.Append(alu, kernel, {acc, tile.entries()});
    return Status();
  }

  Status AddByGemm(const Tile& tile, std::size_t n, std::int64_t acc) {
    if (!has_identity_) {
      has_identity_ = true;
      Transfer load;
      load.memory = Memory::kWgt;
      load.sram_base = U32(layout_.identity);
      load.y_size = load.x_size = load.x_stride = 1;
      writer_.Append(load, writer_.AddConstant("identity", IdentityTile(design_)));
    }
    const std::int64_t operand = layout_.operands[n];
    TW_RETURN_IF_ERROR(
        CopyTile(tile, {.memory = Memory::kInp, .sram_base = U32(operand)}, operands_[n]));
    std::int32_t kernel = 0;
    const Gemm gemm =
        LinearGemm(tile.entries(), {U32(acc), U32(operand), U32(layout_.identity)}, false, kernel);
    writer_.Append(gemm, kernel, {acc, tile.entries()}, {operand, tile.entries()},
                   {layout_.identity, 1});
    return Status();
  }

  const Design& design_;
  const PackedConv2d conv_;
  const SlotConv2dPlan plan_;
  const std::vector<EpilogueStep>& epilogue_;
  const Layout layout_;
  const std::vector<Slice> slices_;  // of the input channels
  Slots inp_, wgt_;
  TokenWriter writer_;
  const std::int32_t data_, kernel_, output_;
  std::vector<std::int32_t> operands_;  // buffers of the steps
  std::map<KernelKey, std::int32_t> kernels_;
  std::int64_t uops_ = 0;
  bool has_identity_ = false;
};

Status CheckFootprint(const Design& design, const PackedFootprint& footprint) {
  for (const auto& [memory, entries] :
       {std::pair{Memory::kInp, footprint.inp}, std::pair{Memory::kWgt, footprint.wgt},
        std::pair{Memory::kAcc, footprint.acc}}) {
    if (entries > design.Depth(memory)) {
      return InvalidArgument(fmt::format("needs {} entries of {}, expected at most {}", entries,
                                         MemoryName(memory), design.Depth(memory)));
    }
  }
  return Status();
}

struct Extent {
  const char* name;
  std::int64_t value, limit;
};

Status CheckGemmAdds(const Design& design, const SlotConv2dPlan& plan,
                     const std::vector<EpilogueStep>& epilogue) {
  if (!plan.gemm_adds) return Status();
  if (std::ranges::none_of(epilogue, [&](const auto& step) { return IsGemmAdd(plan, step); })) {
    return InvalidArgument("gemm_adds: no step adds an int8 tensor");
  }
  if (design.inp_bits() != 8 || design.wgt_bits() < 2) {
    return InvalidArgument(fmt::format(
        "gemm_adds: activations of {} bits and weights of {}, expected 8 and at least 2",
        design.inp_bits(), design.wgt_bits()));
  }
  return Status();
}

}  // namespace

SlotConv2dCounts::SlotConv2dCounts(const PackedConv2d& conv, const SlotConv2dPlan& plan)
    : slices(CeilDiv(conv.ci, plan.ci)),
      positions(conv.batch * CeilDiv(conv.out_height(), plan.h) *
                CeilDiv(conv.out_width(), plan.w)),
      channels(CeilDiv(conv.co, plan.co)) {}

PackedFootprint SlotFootprint(const PackedConv2d& conv, const SlotConv2dPlan& plan,
                              const std::vector<EpilogueStep>& epilogue) {
  return LayoutOf(conv, plan, epilogue).footprint;
}

SlotConv2dPlan FillSlots(const Design& design, const PackedConv2d& conv, const SlotConv2dPlan& plan,
                         const std::vector<EpilogueStep>& epilogue) {
  if (std::min({plan.h, plan.w, plan.ci, plan.co}) < 1) return plan;
  SlotConv2dPlan one = plan;
  one.inp_slots = one.wgt_slots = 1;
  const Layout layout = LayoutOf(conv, one, epilogue);
  const SlotConv2dCounts counts(conv, plan);
  // Remaining memory after the first block.
  const std::int64_t inp_room = design.Depth(Memory::kInp) - layout.footprint.inp;
  const std::int64_t wgt_room = design.Depth(Memory::kWgt) - layout.footprint.wgt;
  const auto fit = [](std::int64_t room, std::int64_t block, std::int64_t blocks) {
    return std::clamp<std::int64_t>(1 + room / block, 1, blocks);
  };
  SlotConv2dPlan filled = plan;
  if (plan.inp_slots == 0) {
    filled.inp_slots = fit(inp_room, layout.inp_block, counts.positions * counts.slices);
  }
  if (plan.wgt_slots == 0) {
    filled.wgt_slots = fit(wgt_room, layout.wgt_block, counts.channels * counts.slices);
  }
  return filled;
}

Status CheckSlotConv2d(const Design& design, const PackedConv2d& conv, const SlotConv2dPlan& plan,
                       const std::vector<EpilogueStep>& epilogue) {
  TW_RETURN_IF_ERROR(CheckShape(conv));
  if (conv.groups != 1) {
    return InvalidArgument(fmt::format("groups: {}, expected 1", conv.groups));
  }
  if (conv.extra_pad_h != 0 || conv.extra_pad_w != 0) {
    return InvalidArgument("expected the same padding on opposite sides");
  }
  // Results that read only padding would never be written.
  if (conv.pad_h >= conv.kernel_h || conv.pad_w >= conv.kernel_w) {
    return InvalidArgument(fmt::format("padding {}x{}: expected less than the kernel, {}x{}",
                                       conv.pad_h, conv.pad_w, conv.kernel_h, conv.kernel_w));
  }
  const std::int64_t depth = design.Depth(Memory::kInp);
  for (const auto& [name, value, limit] :
       {Extent{"tile_h", plan.h, conv.out_height()}, Extent{"tile_w", plan.w, conv.out_width()},
        Extent{"tile_ci", plan.ci, conv.ci}, Extent{"tile_co", plan.co, conv.co},
        Extent{"inp_slots", plan.inp_slots, depth}, Extent{"wgt_slots", plan.wgt_slots, depth},
        Extent{"acc_slots", plan.acc_slots, depth}}) {
    if (value < 1 || value > limit) {
      return InvalidArgument(fmt::format("{}: {}, expected 1 to {}", name, value, limit));
    }
  }
  TW_RETURN_IF_ERROR(CheckGemmAdds(design, plan, epilogue));
  // First checks one block of each: if these fit, no product below exceeds 64 bits.
  SlotConv2dPlan one = plan;
  one.inp_slots = one.wgt_slots = one.acc_slots = 1;
  TW_RETURN_IF_ERROR(CheckFootprint(design, SlotFootprint(conv, one, epilogue)));
  return CheckFootprint(design, SlotFootprint(conv, plan, epilogue));
}

Result<Stream> BuildSlotConv2d(const Design& design, const PackedConv2d& conv,
                               const SlotConv2dPlan& plan,
                               const std::vector<EpilogueStep>& epilogue) {
  TW_RETURN_IF_ERROR(CheckSlotConv2d(design, conv, plan, epilogue));
  return SlotConv2dWriter(design, conv, plan, epilogue).Write();
}

}  // namespace tilewright::vta
