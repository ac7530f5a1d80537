// Candidate plans of a convolution: even tiles, slots for a few copies or for all, and the distinct
// loop orders; with lower bounds of their loads and times.

#include "src/vta/kernels/slot_conv2d_space.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "src/base/math.h"
#include "src/vta/kernels/axis_tile.h"

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;

/// Returns counts for double buffering, a little more, and the maximum.
std::vector<std::int64_t> SlotCounts(std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t count : {2, 3}) {
    if (count < most) counts.push_back(count);
  }
  counts.push_back(most);
  return counts;
}

/// Adds `plan` in every distinct order of its loops.
void AddOrders(const SlotConv2dCounts& counts, SlotConv2dPlan plan,
               std::vector<SlotConv2dPlan>& plans) {
  const bool one_loop = counts.positions == 1 || counts.channels == 1;
  const bool resident = plan.inp_slots >= counts.positions * counts.slices &&
                        plan.wgt_slots >= counts.channels * counts.slices;
  for (const bool channels_outer : {false, true}) {
    if (channels_outer && one_loop) continue;
    for (const bool serpentine : {false, true}) {
      if (serpentine && resident) continue;
      for (const auto unrolled :
           {UnrolledLoop::kRows, UnrolledLoop::kInputChannels, UnrolledLoop::kOutputChannels}) {
        plan.channels_outer = channels_outer;
        plan.serpentine = serpentine;
        plan.unrolled = unrolled;
        plans.push_back(plan);
      }
    }
  }
}

/// Axis split into tiles, and their requirements.
struct AxisCost {
  std::int64_t tiles = 0;
  std::int64_t data = 0, max_data = 0,
               first_data = 0;  // of all tiles, the largest one, the first one
  /// Numbers of pairs of a result and a tap that reads data: in all tiles, in all different tiles,
  /// in the smallest tile. The same for taps that read any data.
  std::int64_t pairs = 0, unlike_pairs = 0, min_pairs = 0;
  std::int64_t unlike_taps = 0, min_taps = 0;
};
AxisCost CostOf(const ConvAxis& axis, std::int64_t size) {
  AxisCost cost;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
  for (const AxisTile& tile : SplitAxis(axis, size)) {
    std::int64_t pairs = 0, taps = 0;
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const AxisTile::Results results = tile.ResultsOf(tap);
      pairs += results.high - results.low;
      if (results.high > results.low) ++taps;
    }
    const bool unlike = seen.emplace(tile.size, tile.shift, tile.count).second;
    cost.unlike_pairs += unlike ? pairs : 0;
    cost.unlike_taps += unlike ? taps : 0;
    cost.min_pairs = cost.tiles == 0 ? pairs : std::min(cost.min_pairs, pairs);
    cost.min_taps = cost.tiles == 0 ? taps : std::min(cost.min_taps, taps);
    if (cost.tiles == 0) cost.first_data = tile.count;
    ++cost.tiles;
    cost.data += tile.count;
    cost.max_data = std::max(cost.max_data, tile.count);
    cost.pairs += pairs;
  }
  return cost;
}

/// Data loaded into a memory with some number of slots during repeated passes over blocks.
struct Fill {
  double loads = 0;     // of blocks
  double elements = 0;  // lower bound
};
/// Number of blocks in `groups` that follow each other, with `passes` passes over each.
struct Passes {
  std::int64_t groups, passes, blocks;  // blocks: of a group
  std::int64_t elements, max_block;     // of all groups; of the largest block
};
/// Returns a lower bound. Each pass loads its blocks again unless all of them stay. With
/// `serpentine`, every other pass runs backwards and reuses the last blocks.
Fill FillOf(const Passes& p, std::int64_t slots, bool serpentine) {
  const std::int64_t kept = p.blocks <= slots ? p.blocks : serpentine ? slots : 0;
  const std::int64_t kept_elements = std::min(p.elements, p.groups * kept * p.max_block);
  const std::int64_t again = p.passes - 1;
  return {static_cast<double>(p.groups * (p.passes * p.blocks - again * kept)),
          static_cast<double>(p.passes * p.elements - again * kept_elements)};
}

/// Computes the bounds of one plan.
class Bounder {
 public:
  Bounder(const Design& design, const PackedConv2d& conv, const SlotConv2dPlan& plan,
          const CycleModel& model)
      : design_(design),
        conv_(conv),
        plan_(plan),
        model_(model),
        rows_(CostOf({conv.height, conv.kernel_h, conv.stride_h, conv.pad_h, true}, plan.h)),
        columns_(CostOf({conv.width, conv.kernel_w, conv.stride_w, conv.pad_w, false}, plan.w)),
        counts_(conv, plan),
        tiles_(static_cast<double>(counts_.positions * counts_.channels)),
        results_(static_cast<double>(conv.batch * conv.co * conv.out_height() * conv.out_width())) {
  }

  SlotConv2dBound Bound(const std::vector<EpilogueStep>& epilogue) {
    CountTransfers();
    CountProducts();
    CountEpilogue(epilogue);
    // Products wait for the first blocks, and the last store waits for the last product.
    const std::int64_t first_inp = plan_.ci * rows_.first_data * columns_.first_data;
    const std::int64_t first_wgt = plan_.ci * plan_.co * conv_.kernel_h * conv_.kernel_w;
    const double first =
        model_.dma_cycles * 2 + model_.row_cycles + model_.weight_row_cycles +
        Bytes(Memory::kInp, static_cast<double>(first_inp)) / model_.bytes_per_cycle +
        Bytes(Memory::kWgt, static_cast<double>(first_wgt)) / model_.weight_bytes_per_cycle;
    const double last = model_.dma_cycles + model_.row_cycles;
    return {model_.launch_cycles + last +
                std::max({load_ + model_.compute_cycles, compute_ + first, store_ - last}),
            static_cast<std::int64_t>(bytes_), uops_};
  }

 private:
  double Bytes(Memory memory, double elements) const {
    return elements * static_cast<double>(design_.ElementBytes(memory));
  }

  void CountTransfers() {
    const std::int64_t taps = conv_.kernel_h * conv_.kernel_w;
    // For operands of the outer loop, only the slices of one step have to stay.
    const bool outer = plan_.channels_outer;
    const auto& [slices, positions, channels] = counts_;
    const Fill inp = FillOf({outer ? 1 : positions, channels, outer ? positions * slices : slices,
                             conv_.batch * conv_.ci * rows_.data * columns_.data,
                             plan_.ci * rows_.max_data * columns_.max_data},
                            plan_.inp_slots, plan_.serpentine);
    const Fill wgt = FillOf({outer ? channels : 1, positions, outer ? slices : channels * slices,
                             conv_.ci * conv_.co * taps, plan_.ci * plan_.co * taps},
                            plan_.wgt_slots, plan_.serpentine);
    const double inp_bytes = Bytes(Memory::kInp, inp.elements);
    const double wgt_bytes = Bytes(Memory::kWgt, wgt.elements);
    const double out_bytes = Bytes(Memory::kOut, results_);
    load_ = (model_.dma_cycles + model_.row_cycles) * inp.loads +
            (model_.dma_cycles + model_.weight_row_cycles) * wgt.loads +
            inp_bytes / model_.bytes_per_cycle + wgt_bytes / model_.weight_bytes_per_cycle;
    store_ =
        (model_.dma_cycles + model_.row_cycles) * tiles_ + out_bytes / model_.store_bytes_per_cycle;
    bytes_ = inp_bytes + wgt_bytes + out_bytes;
  }

  void CountProducts() {
    const double products =
        static_cast<double>(conv_.batch * conv_.ci * conv_.co * rows_.pairs * columns_.pairs);
    const std::int64_t strips = conv_.batch * conv_.out_height() * columns_.tiles;
    std::int64_t iterations = 0;
    std::int64_t unlike = columns_.unlike_pairs, smallest = columns_.min_pairs;
    switch (plan_.unrolled) {
      case UnrolledLoop::kRows:
        iterations = counts_.positions * conv_.ci * conv_.co;
        unlike *= rows_.unlike_pairs;
        smallest *= rows_.min_pairs;
        break;
      case UnrolledLoop::kInputChannels:
        iterations = strips * conv_.co * counts_.slices;
        unlike *= rows_.unlike_taps * plan_.ci;
        smallest *= rows_.min_taps;
        break;
      case UnrolledLoop::kOutputChannels:
        iterations = strips * conv_.ci * counts_.channels;
        unlike *= rows_.unlike_taps * plan_.co;
        smallest *= rows_.min_taps;
        break;
    }
    // At least one kernel per slot.
    const std::int64_t slots =
        std::max({std::min(plan_.inp_slots, counts_.positions * counts_.slices),
                  std::min(plan_.wgt_slots, counts_.channels * counts_.slices),
                  std::min(plan_.acc_slots, counts_.positions * counts_.channels)});
    uops_ = std::max(unlike, smallest * slots);
    bytes_ += Bytes(Memory::kUop, static_cast<double>(uops_));
    // Each tile is reset and multiplied with at least one instruction per slice. The reset of
    // the first tile is not counted, because it overlaps with the first loads.
    compute_ = products + model_.gemm_loop_cycles * static_cast<double>(iterations) + results_ -
               static_cast<double>(plan_.co * plan_.h * plan_.w) +
               model_.compute_cycles * (tiles_ * static_cast<double>(1 + counts_.slices) - 1);
  }

  void CountEpilogue(const std::vector<EpilogueStep>& epilogue) {
    for (const EpilogueStep& step : epilogue) {
      const bool immediate = step.operand == Operand::kImmediate;
      double cycles = immediate ? model_.alu_immediate_cycles : model_.alu_two_operand_cycles;
      if (step.operand == Operand::kPerChannel) {
        bytes_ += Bytes(Memory::kAcc, static_cast<double>(conv_.co));
      } else if (!immediate) {
        const bool int8 = step.operand == Operand::kTensorInt8;
        const bool by_gemm = plan_.gemm_adds && int8 && step.op == AluOp::kAdd;
        const double moved = Bytes(int8 ? Memory::kAccInt8 : Memory::kAcc, results_);
        bytes_ += moved;
        (by_gemm ? load_ : compute_) += model_.dma_cycles * tiles_ + moved / model_.bytes_per_cycle;
        if (by_gemm) cycles = 1;
      }
      compute_ += model_.compute_cycles * tiles_ + cycles * results_;
    }
  }

  const Design& design_;
  const PackedConv2d& conv_;
  const SlotConv2dPlan& plan_;
  const CycleModel& model_;
  const AxisCost rows_, columns_;
  const SlotConv2dCounts counts_;
  const double tiles_, results_;
  double load_ = 0, compute_ = 0, store_ = 0, bytes_ = 0;
  std::int64_t uops_ = 0;
};

}  // namespace

std::vector<std::int64_t> EvenTiles(std::int64_t extent, std::int64_t max_parts) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t parts = 1; parts <= std::min(extent, max_parts); ++parts) {
    tiles.push_back(CeilDiv(extent, parts));
  }
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  return tiles;
}

std::vector<SlotConv2dPlan> SlotConv2dPlans(const Design& design, const PackedConv2d& conv,
                                            const std::vector<EpilogueStep>& epilogue) {
  std::vector<SlotConv2dPlan> plans;
  const auto add_slots = [&](const SlotConv2dPlan& tiles) {
    const SlotConv2dCounts counts(conv, tiles);
    const std::int64_t acc_most = std::min<std::int64_t>(counts.positions * counts.channels, 2);
    for (const bool gemm_adds : {false, true}) {
      SlotConv2dPlan most = tiles;
      most.gemm_adds = gemm_adds;
      most = FillSlots(design, conv, most, epilogue);
      for (const std::int64_t inp : SlotCounts(most.inp_slots)) {
        for (const std::int64_t wgt : SlotCounts(most.wgt_slots)) {
          for (std::int64_t acc = 1; acc <= acc_most; ++acc) {
            SlotConv2dPlan plan = most;
            plan.inp_slots = inp;
            plan.wgt_slots = wgt;
            plan.acc_slots = acc;
            if (CheckSlotConv2d(design, conv, plan, epilogue).ok()) AddOrders(counts, plan, plans);
          }
        }
      }
    }
  };
  for (const std::int64_t h : EvenTiles(conv.out_height(), conv.out_height())) {
    for (const std::int64_t w : EvenTiles(conv.out_width(), kMaxColumnParts)) {
      for (const std::int64_t ci : EvenTiles(conv.ci, conv.ci)) {
        for (const std::int64_t co : EvenTiles(conv.co, conv.co)) {
          SlotConv2dPlan plan;
          plan.h = h;
          plan.w = w;
          plan.ci = ci;
          plan.co = co;
          plan.inp_slots = plan.wgt_slots = 0;
          add_slots(plan);
        }
      }
    }
  }
  return plans;
}

SlotConv2dBound LowerBound(const Design& design, const PackedConv2d& conv,
                           const SlotConv2dPlan& plan, const std::vector<EpilogueStep>& epilogue,
                           const CycleModel& model) {
  return Bounder(design, conv, plan, model).Bound(epilogue);
}

}  // namespace tilewright::vta
