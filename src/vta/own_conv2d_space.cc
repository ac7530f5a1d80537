#include "src/vta/own_conv2d_space.h"

#include <algorithm>

#include "src/base/math.h"
#include "src/vta/axis_tile.h"

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;
using Unrolled = OwnConv2dPlan::Unrolled;

/// ceil(extent / n) for every n: each number of parts once, with the smallest tile for it.
std::vector<std::int64_t> EvenTiles(std::int64_t extent) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t parts = 1; parts <= extent; ++parts) tiles.push_back(CeilDiv(extent, parts));
  const auto rest = std::ranges::unique(tiles);
  tiles.erase(rest.begin(), rest.end());
  return tiles;
}

/// Up to four, and as many as fit; no more than there are blocks.
std::vector<std::int64_t> SlotCounts(std::int64_t depth, std::int64_t block, std::int64_t blocks) {
  const std::int64_t most = std::min(depth / block, blocks);
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= std::min<std::int64_t>(most, 4); ++count) {
    counts.push_back(count);
  }
  if (most > 4) counts.push_back(most);
  return counts;
}

/// One axis in tiles: how many, and what they need of the data.
struct AxisCost {
  std::int64_t tiles = 0;
  std::int64_t data = 0;      // of all tiles
  std::int64_t max_data = 0;  // of one
  std::int64_t pairs = 0;     // of a result and a tap that reads data
};
AxisCost CostOf(const ConvAxis& axis, std::int64_t size) {
  AxisCost cost;
  for (const AxisTile& tile : SplitAxis(axis, size)) {
    ++cost.tiles;
    cost.data += tile.count;
    cost.max_data = std::max(cost.max_data, tile.count);
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const AxisTile::Results results = tile.ResultsOf(tap);
      cost.pairs += results.high - results.low;
    }
  }
  return cost;
}

/// What goes into a memory of some number of slots when blocks are passed over again and again.
struct Fill {
  double loads = 0;     // of blocks
  double elements = 0;  // at least
};
/// A number of blocks, in `groups` that come one after the other, each passed over `passes` times.
struct Passes {
  std::int64_t groups, passes, blocks;  // blocks: of a group
  std::int64_t elements, max_block;     // of all groups; of the largest block
};
/// Each pass loads its blocks anew, unless they all stay; but every other pass may go backwards and
/// find the last ones.
Fill FillOf(const Passes& p, std::int64_t slots, bool serpentine) {
  const std::int64_t kept = p.blocks <= slots ? p.blocks : serpentine ? slots : 0;
  const std::int64_t kept_elements = std::min(p.elements, p.groups * kept * p.max_block);
  const std::int64_t again = p.passes - 1;
  return {static_cast<double>(p.groups * (p.passes * p.blocks - again * kept)),
          static_cast<double>(p.passes * p.elements - again * kept_elements)};
}

/// Cycles of the engines, and bytes.
struct Costs {
  double load = 0, compute = 0, store = 0, bytes = 0;
};

/// What the epilogue adds for `results` entries in `tiles` tiles.
void AddEpilogue(const Design& design, const PackedConv2d& conv, bool gemm_adds,
                 const std::vector<EpilogueStep>& epilogue, const CycleModel& model, double tiles,
                 double results, Costs& costs) {
  for (const EpilogueStep& step : epilogue) {
    const bool immediate = step.operand == Operand::kImmediate;
    double cycles = immediate ? model.alu_immediate_cycles : model.alu_two_operand_cycles;
    if (step.operand == Operand::kPerChannel) {
      costs.bytes += static_cast<double>(conv.co * design.ElementBytes(Memory::kAcc));
    } else if (!immediate) {
      const bool int8 = step.operand == Operand::kTensorInt8;
      const bool by_gemm = gemm_adds && int8 && step.op == AluOp::kAdd;
      const double moved = results * static_cast<double>(design.ElementBytes(int8 ? Memory::kAccInt8
                                                                                  : Memory::kAcc));
      const double transfer = model.dma_cycles * tiles + moved / model.bytes_per_cycle;
      costs.bytes += moved;
      (by_gemm ? costs.load : costs.compute) += transfer;
      if (by_gemm) cycles = 1;
    }
    costs.compute += model.compute_cycles * tiles + cycles * results;
  }
}

}  // namespace

std::vector<OwnConv2dPlan> OwnConv2dPlans(const Design& design, const PackedConv2d& conv,
                                          const std::vector<EpilogueStep>& epilogue) {
  std::vector<OwnConv2dPlan> plans;
  const auto add = [&](OwnConv2dPlan plan) {
    if (CheckOwnConv2d(design, conv, plan, epilogue).ok()) plans.push_back(plan);
  };
  const auto add_orders = [&](OwnConv2dPlan plan) {
    for (int order = 0; order < 8; ++order) {
      plan.channels_outer = (order & 1) != 0;
      plan.serpentine = (order & 2) != 0;
      plan.gemm_adds = (order & 4) != 0;
      for (const auto unrolled :
           {Unrolled::kRows, Unrolled::kInputChannels, Unrolled::kOutputChannels}) {
        plan.unrolled = unrolled;
        add(plan);
      }
    }
  };
  const auto add_slots = [&](OwnConv2dPlan plan) {
    const PackedConv2dFootprint block = OwnFootprint(conv, plan, {});
    if (block.acc > design.Depth(Memory::kAcc)) return;
    const std::int64_t slices = CeilDiv(conv.ci, plan.ci);
    const std::int64_t positions =
        conv.batch * CeilDiv(conv.out_height(), plan.h) * CeilDiv(conv.out_width(), plan.w);
    const std::int64_t channels = CeilDiv(conv.co, plan.co);
    for (const std::int64_t inp :
         SlotCounts(design.Depth(Memory::kInp), block.inp, positions * slices)) {
      for (const std::int64_t wgt :
           SlotCounts(design.Depth(Memory::kWgt), block.wgt, channels * slices)) {
        for (const std::int64_t acc : {1, 2}) {
          plan.inp_slots = inp;
          plan.wgt_slots = wgt;
          plan.acc_slots = acc;
          add_orders(plan);
        }
      }
    }
  };
  for (const std::int64_t h : EvenTiles(conv.out_height())) {
    for (const std::int64_t w : EvenTiles(conv.out_width())) {
      for (const std::int64_t ci : EvenTiles(conv.ci)) {
        for (const std::int64_t co : EvenTiles(conv.co)) {
          OwnConv2dPlan plan;
          plan.h = h;
          plan.w = w;
          plan.ci = ci;
          plan.co = co;
          add_slots(plan);
        }
      }
    }
  }
  return plans;
}

OwnConv2dBound LowerBound(const Design& design, const PackedConv2d& conv, const OwnConv2dPlan& plan,
                          const std::vector<EpilogueStep>& epilogue, const CycleModel& model) {
  const AxisCost rows =
      CostOf({conv.height, conv.kernel_h, conv.stride_h, conv.pad_h, true}, plan.h);
  const AxisCost columns =
      CostOf({conv.width, conv.kernel_w, conv.stride_w, conv.pad_w, false}, plan.w);
  const std::int64_t slices = CeilDiv(conv.ci, plan.ci);
  const std::int64_t positions = conv.batch * rows.tiles * columns.tiles;
  const std::int64_t channels = CeilDiv(conv.co, plan.co);
  const std::int64_t taps = conv.kernel_h * conv.kernel_w;
  const bool outer = plan.channels_outer;

  // Of what belongs to the outer loop, only the slices of one step have to stay.
  const Fill inp = FillOf(
      {outer ? 1 : positions, channels, outer ? positions * slices : slices,
       conv.batch * conv.ci * rows.data * columns.data, plan.ci * rows.max_data * columns.max_data},
      plan.inp_slots, plan.serpentine);
  const Fill wgt = FillOf({outer ? channels : 1, positions, outer ? slices : channels * slices,
                           conv.ci * conv.co * taps, plan.ci * plan.co * taps},
                          plan.wgt_slots, plan.serpentine);
  const auto tiles = static_cast<double>(positions * channels);
  const auto results =
      static_cast<double>(conv.batch * conv.co * conv.out_height() * conv.out_width());
  const auto products =
      static_cast<double>(conv.batch * conv.ci * conv.co * rows.pairs * columns.pairs);
  const double inp_bytes = inp.elements * static_cast<double>(design.ElementBytes(Memory::kInp));
  const double wgt_bytes = wgt.elements * static_cast<double>(design.ElementBytes(Memory::kWgt));
  const double out_bytes = results * static_cast<double>(design.ElementBytes(Memory::kOut));

  Costs costs;
  costs.load = model.dma_cycles * (inp.loads + wgt.loads) + inp_bytes / model.bytes_per_cycle +
               wgt_bytes / model.weight_bytes_per_cycle;
  costs.store = model.dma_cycles * tiles + out_bytes / model.store_bytes_per_cycle;
  costs.bytes = inp_bytes + wgt_bytes + out_bytes;
  // Each tile is reset and multiplied with at least an instruction for each slice.
  costs.compute =
      products + results + model.compute_cycles * tiles * static_cast<double>(1 + slices);
  AddEpilogue(design, conv, plan.gemm_adds, epilogue, model, tiles, results, costs);
  return {model.launch_cycles + std::max({costs.load, costs.compute, costs.store}),
          static_cast<std::int64_t>(costs.bytes)};
}

}  // namespace tilewright::vta
