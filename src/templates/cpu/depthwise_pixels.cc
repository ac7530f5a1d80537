#include "src/templates/cpu/templates.h"

#include <string>
#include <vector>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/limits.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace depthwise_pixels_cpu {
namespace {

struct Plan {
  ConvShape shape;
  std::int64_t lanes = 0;
  bool padded = false;
};

Result<Plan> MakePlan(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  const ConvShape& s = shape;
  return Plan{s, features.float_lanes(), s.pad_top + s.pad_left + s.pad_bottom + s.pad_right > 0};
}

using Tile = std::vector<std::int64_t>;  // rows, vectors of columns

/// Accumulators in addition to a weight and a few vectors of data.
constexpr std::int64_t kMaxSums = 12;

std::vector<Tile> RegisterTiles(const Plan& plan) {
  std::vector<Tile> tiles;
  for (std::int64_t vector : MinWasteTiles(CeilDiv(plan.shape.ow, plan.lanes), 4)) {
    for (std::int64_t row : MinWasteTiles(plan.shape.oh, kMaxSums / vector)) {
      tiles.push_back({row, vector});
    }
  }
  return tiles;
}

/// Bytes of one channel with its padding.
std::int64_t ChannelBytes(const Plan& plan) {
  const ConvShape& s = plan.shape;
  return (s.h + s.pad_top + s.pad_bottom) * (s.w + s.pad_left + s.pad_right) *
         static_cast<std::int64_t>(sizeof(float));
}

/// Whether the padded channel and the sums of a tile fit into the memory of one thread.
bool FitsLocally(const Plan& plan, const Tile& tile) {
  return ChannelBytes(plan) +
             Product(tile) * plan.lanes * static_cast<std::int64_t>(sizeof(float)) <=
         LowerLimits().max_local_bytes;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile", "Rows and vectors of columns of the result whose sums stay in registers."},
    {"unroll_kh",
     "true unrolls the loop over kernel rows; the loop over kernel columns is always unrolled."},
    {"pad",
     "How padding is read. `copy`: from a padded copy of all data; `channel`: from a padded "
     "copy of each channel, in the local memory of its thread."},
};

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  std::vector<std::string> pads = {"copy"};
  if (plan.padded) pads.emplace_back("channel");
  return MakeSpace({Knob::Lists("register_tile", RegisterTiles(plan)),
                    Knob::Bool("unroll_kh", {true, false}), Knob::Words("pad", std::move(pads))});
}

/// Most sums: the weights are read once for all of them.
Tile DefaultTile(const Plan& plan) {
  Tile best = {1, 1};
  for (const Tile& tile : RegisterTiles(plan)) {
    if (Product(tile) * plan.shape.s > kMaxUnrolledProducts) continue;
    if (Product(tile) > Product(best)) best = tile;
  }
  return best;
}

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
  if (!IsFloat32(w)) return "only float32";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  auto plan = MakePlan(w, target);
  if (!plan.ok()) return plan.status().message();
  if (plan->shape.c != plan->shape.k) return "only as many channels out as in";
  if (plan->shape.s > kMaxUnrolledProducts) return "only kernels whose rows can be unrolled";
  return plan->shape.stride_w == 1 ? "" : "only windows that move by one column";
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(w, target));
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const Tile tile = DefaultTile(plan);
  KnobValue pad;
  pad.value = std::string(plan.padded && FitsLocally(plan, tile) ? "channel" : "copy");
  const bool unroll = Product(tile) * plan.shape.r * plan.shape.s <= kMaxUnrolledProducts;
  return LocateValues(
      space, {{"register_tile", KnobValue{tile}}, {"unroll_kh", KnobValue{unroll}}, {"pad", pad}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(w, target));
  const Tile& tile = config.Factors("register_tile");
  const bool unroll_kh = config.Integer("unroll_kh") != 0;
  const std::int64_t products = Product(tile) * plan.shape.s * (unroll_kh ? plan.shape.r : 1);
  TW_RETURN_IF_ERROR(CheckUnrolledProducts(products));
  const bool by_channel = config.Word("pad") == "channel";
  if (by_channel && !FitsLocally(plan, tile)) {
    return InvalidArgument("a padded channel of " + std::to_string(ChannelBytes(plan)) +
                           " bytes, expected at most " +
                           std::to_string(LowerLimits().max_local_bytes));
  }
  KernelLayouts layouts;
  layouts.data = layouts.output = "NCHW";
  layouts.weight = "OIHW";
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const auto [row_tile, row] = s.Split(result, s.SpatialAxis(result, 2), tile[0], Tail::kPeel);
  const auto [col_tile, cols] =
      s.Split(result, s.SpatialAxis(result, 3), tile[1] * plan.lanes, Tail::kPeel);
  const auto [vector, lane] = s.Split(result, cols, plan.lanes, Tail::kPeel);
  s.Reorder(result, {s.SpatialAxis(result, 0), s.SpatialAxis(result, 1), row_tile, col_tile, row,
                     vector, lane});
  s.Unroll(result, row);
  s.Unroll(result, vector);
  s.Vectorize(result, lane);
  const LoopId channel = FuseAll(s, result, {s.SpatialAxis(result, 0), s.SpatialAxis(result, 1)});
  ParallelFor(s, result, channel, target);

  s.ComputeAt(sum, result, col_tile);
  const auto [sum_vector, sum_lane] = s.Split(sum, s.SpatialAxis(sum, 3), plan.lanes, Tail::kPeel);
  const int reductions = static_cast<int>(s.stage(sum).op.reduce_axes.size());
  const LoopId kh = s.ReductionAxis(sum, reductions - 2);
  const LoopId kw = s.ReductionAxis(sum, reductions - 1);
  s.Reorder(sum, {kh, kw, s.SpatialAxis(sum, 2), sum_vector, sum_lane});
  if (unroll_kh) s.Unroll(sum, kh);
  s.Unroll(sum, kw);
  s.Unroll(sum, s.SpatialAxis(sum, 2));
  s.Unroll(sum, sum_vector);
  s.Vectorize(sum, sum_lane);
  if (stages.has_pad && by_channel) {
    s.ComputeAt(stages.pad, result, channel);
    s.SetScope(stages.pad, Scope::kLocal);
    const auto [chunk, pad_lane] =
        s.Split(stages.pad, s.Leaves(stages.pad).back(), plan.lanes, Tail::kPeel);
    s.Vectorize(stages.pad, pad_lane);
  } else if (stages.has_pad) {
    ScheduleFlat(s, stages.pad, plan.lanes, target);
  }
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace depthwise_pixels_cpu

TemplateEntry DepthwisePixelsCpuEntry() {
  using namespace depthwise_pixels_cpu;
  TemplateEntry entry = LoopTemplate("depthwise_pixels.cpu", 1, "llvm", kKnobs, &Refuses,
                                     &SpaceByPlan<&MakePlan, &SpaceOf>, &DefaultConfig, &Apply);
  entry.layout_configs = &OnlyDefault<&DefaultConfig>;
  return entry;
}

}  // namespace tilewright
