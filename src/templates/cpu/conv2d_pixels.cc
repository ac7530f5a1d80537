// Convolutions of any number of groups whose channels no block needs to divide. Activations stay in
// NCHW and the vector runs over pixels; each weight is broadcast. The shuffled kernel writes the
// channels of its result in the order of a channel shuffle (output layout "N34cCHW" for groups of
// 34 channels), so that the shuffle (reshape, transpose, reshape) has nothing left to do.

#include "src/templates/cpu/templates.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/limits.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace conv2d_pixels_cpu {
namespace {

struct Plan {
  ConvShape shape;
  Workload workload;  // in plain layouts; all pixels in one row if equivalent
  std::int64_t lanes = 0, registers = 0;
  std::int64_t rows = 0, cols = 0;  // of the output as computed
  std::int64_t group_channels = 0;  // output channels per group
};

Result<Plan> MakePlan(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  Plan plan;
  plan.shape = shape;
  const bool flat = IsFlatConvolution(shape);
  plan.workload = PlainConvolution(w, shape, flat);
  plan.lanes = features.float_lanes();
  plan.registers = features.vector_registers();
  plan.rows = flat ? 1 : shape.oh;
  plan.cols = flat ? shape.oh * shape.ow : shape.ow;
  plan.group_channels = shape.k / shape.groups;
  return plan;
}

using Tile = std::vector<std::int64_t>;  // output channels, rows, vectors of columns

/// Returns the numbers of output channels of a tile, ascending. A tile reads the data of one group,
/// so they divide the channels of a group; if only small numbers do, a single group has tails.
std::vector<std::int64_t> TileChannels(const Plan& plan) {
  constexpr std::int64_t kMaxChannels = 17, kSmall = 4;
  std::vector<std::int64_t> channels;
  for (std::int64_t i = 1; i <= std::min(kMaxChannels, plan.group_channels); ++i) {
    if (plan.group_channels % i == 0) channels.push_back(i);
  }
  if (plan.shape.groups > 1 || channels.back() >= std::min(kSmall, plan.group_channels)) {
    return channels;
  }
  for (std::int64_t tile : MinWasteTiles(plan.group_channels, kMaxChannels)) {
    if (plan.group_channels % tile != 0) channels.push_back(tile);
  }
  std::ranges::sort(channels);
  return channels;
}

std::vector<Tile> RegisterTiles(const Plan& plan) {
  constexpr std::int64_t kMaxVectors = 6, kMaxRows = 8;
  const std::int64_t vectors = CeilDiv(plan.cols, plan.lanes);
  std::vector<Tile> tiles;
  for (std::int64_t channel : TileChannels(plan)) {
    for (std::int64_t vector : MinWasteTiles(vectors, kMaxVectors)) {
      const std::int64_t max_rows = vector == vectors ? std::min(kMaxRows, plan.rows) : 1;
      for (std::int64_t row = 1; row <= max_rows; ++row) {
        const std::int64_t data = row * vector;
        if (channel * data + data + 1 <= plan.registers) tiles.push_back({channel, row, vector});
      }
    }
  }
  return tiles;
}

/// Registers of a row of a tile: remaining columns take a vector of half the size, of a quarter, …
std::int64_t PiecesOfRow(const Plan& plan, std::int64_t vectors) {
  const std::int64_t rest = plan.cols % (vectors * plan.lanes);
  const auto odd = static_cast<std::uint64_t>(rest % plan.lanes);
  const std::int64_t full = plan.cols > rest ? vectors : 0;
  return std::max(full, rest / plan.lanes + std::popcount(odd));
}

bool FitsRegisters(const Plan& plan, const Tile& tile) {
  const std::int64_t data = tile[1] * PiecesOfRow(plan, tile[2]);
  return tile[0] * data + data + 1 <= plan.registers;
}

std::vector<std::int64_t> IcUnrolls(const Plan& plan) {
  std::vector<std::int64_t> unrolls;
  for (std::int64_t u : {1, 2, 4}) {
    if (u <= plan.shape.c / plan.shape.groups) unrolls.push_back(u);
  }
  return unrolls;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Output channels, rows and vectors of columns of the result whose sums stay in registers."
     " A 1x1 convolution without strides and padding has all pixels in one row."},
    {"ic_unroll", "Input channels that are unrolled."},
    {"unroll_kw", "true unrolls the loop over kernel columns."},
    {"pixels_first",
     "true puts the loops over tiles of pixels outside the loop over tiles of output channels,"
     " false inside."},
};

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  return MakeSpace(
      {Knob::Lists("register_tile", RegisterTiles(plan)), Knob::Other("ic_unroll", IcUnrolls(plan)),
       Knob::Bool("unroll_kw", plan.shape.s > 1 ? std::vector{false, true} : std::vector{false}),
       Knob::Bool("pixels_first", {false, true})});
}

/// Axes of the result. If its channels are shuffled: n, channel of the group, group, row, column;
/// else one axis has the channels of all groups.
struct ResultAxes {
  bool shuffled = false;
  int row() const { return shuffled ? 3 : 2; }
  int column() const { return row() + 1; }
};

/// Loops of the result: n, group | channel tile, row tile, column tile | register tile.
LoopId ScheduleResult(Schedule& s, StageId result, const Plan& plan, const Tile& tile,
                      ResultAxes axes, bool pixels_first, const Target& target) {
  LoopId group, in_group;
  if (axes.shuffled) {
    group = s.SpatialAxis(result, 2);
    in_group = s.SpatialAxis(result, 1);
  } else {
    std::tie(group, in_group) = s.Split(result, s.SpatialAxis(result, 1), plan.group_channels);
  }
  const auto [channel_tile, channel] = s.Split(result, in_group, tile[0], Tail::kPeel);
  const auto [row_tile, row] =
      s.Split(result, s.SpatialAxis(result, axes.row()), tile[1], Tail::kPeel);
  const auto [col_tile, cols] =
      s.Split(result, s.SpatialAxis(result, axes.column()), tile[2] * plan.lanes, Tail::kPeel);
  const auto [vector, lane] = s.Split(result, cols, plan.lanes, Tail::kPeel);
  std::vector<LoopId> outer = {s.SpatialAxis(result, 0), group, row_tile, col_tile};
  outer.insert(pixels_first ? outer.end() : outer.begin() + 2, channel_tile);
  std::vector<LoopId> order = outer;
  order.insert(order.end(), {channel, row, vector, lane});
  s.Reorder(result, order);
  s.Unroll(result, channel);
  s.Unroll(result, row);
  s.Unroll(result, vector);
  s.Vectorize(result, lane);
  const LoopId innermost = outer.back();
  outer.pop_back();
  ParallelFor(s, result, FuseAll(s, result, outer), target);
  return innermost;
}

void ScheduleSum(Schedule& s, StageId sum, const Plan& plan, ResultAxes axes,
                 std::int64_t ic_unroll, bool unroll_kw) {
  const LoopId row = s.SpatialAxis(sum, axes.row());
  const auto [vector, lane] =
      s.Split(sum, s.SpatialAxis(sum, axes.column()), plan.lanes, Tail::kPeel);
  const auto [ic, ic_unrolled] = s.Split(sum, s.ReductionAxis(sum, 0), ic_unroll, Tail::kPeel);
  const LoopId kh = s.ReductionAxis(sum, 1), kw = s.ReductionAxis(sum, 2);
  s.Reorder(sum, {ic, kh, kw, ic_unrolled, s.SpatialAxis(sum, 1), row, vector, lane});
  if (unroll_kw) s.Unroll(sum, kw);
  s.Unroll(sum, ic_unrolled);
  s.Unroll(sum, s.SpatialAxis(sum, 1));
  s.Unroll(sum, row);
  s.Unroll(sum, vector);
  s.Vectorize(sum, lane);
}

Result<Kernel> ApplyPixels(const Workload& w, const Epilogue& epilogue, const Target& target,
                           const Config& config, ResultAxes axes) {
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(w, target));
  const Tile& tile = config.Factors("register_tile");
  const std::int64_t ic_unroll = config.Integer("ic_unroll");
  const bool unroll_kw = config.Integer("unroll_kw") != 0;
  const std::int64_t products = Product(tile) * ic_unroll * (unroll_kw ? plan.shape.s : 1);
  TW_RETURN_IF_ERROR(CheckUnrolledProducts(products));
  KernelLayouts layouts;
  layouts.data = "NCHW";
  layouts.output = axes.shuffled ? "N" + std::to_string(plan.group_channels) + "cCHW" : "NCHW";
  layouts.weight = Blocked("OIHW", tile[0], 'o');
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(plan.workload, epilogue, layouts));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const bool pixels_first = config.Integer("pixels_first") != 0;
  const LoopId innermost = ScheduleResult(s, stages.result, plan, tile, axes, pixels_first, target);
  s.ComputeAt(stages.sum, stages.result, innermost);
  ScheduleSum(s, stages.sum, plan, axes, ic_unroll, unroll_kw);
  if (stages.has_pad) ScheduleFlat(s, stages.pad, plan.lanes, target);
  return FinishKernel(std::move(s), layouts);
}

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d) return "only convolutions";
  auto plan = MakePlan(w, target);
  if (!plan.ok()) return plan.status().message();
  return plan->shape.groups > 1 && plan->shape.c == plan->shape.groups
             ? "depthwise convolutions have templates of their own"
             : "";
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(w, target));
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  // Most sums first; of equal tiles the one with fewer loads for each step.
  const auto loads = [](const Tile& t) { return t[0] + t[1] * t[2]; };
  Tile best = {1, 1, 1};
  for (const Tile& tile : RegisterTiles(plan)) {
    if (!FitsRegisters(plan, tile)) continue;
    const std::int64_t sums = Product(tile), most = Product(best);
    if (sums > most || (sums == most && loads(tile) < loads(best))) best = tile;
  }
  return LocateValues(space, {{"register_tile", KnobValue{best}},
                              {"ic_unroll", KnobValue{IcUnrolls(plan).back()}},
                              {"unroll_kw", KnobValue{false}},
                              {"pixels_first", KnobValue{false}}});
}

Result<std::vector<Config>> LayoutConfigs(const Workload& w, const Target& target) {
  if (!IsFloat32(w)) return std::vector<Config>();
  TW_ASSIGN_OR_RETURN(auto config, DefaultConfig(w, target));
  return std::vector<Config>{std::move(config)};
}

std::string RefusesShuffled(const Workload& w, const Target& target) {
  if (w.op_name() != "group_conv2d" || !IsFloat32(w)) return "only float32 in several groups";
  if (std::string reason = Refuses(w, target); !reason.empty()) return reason;
  const auto shape = ConvShapeOf(w);
  if (!shape.ok()) return shape.status().message();
  return shape->k > shape->groups ? "" : "only groups of several channels";
}

template <bool kShuffled>
Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  return ApplyPixels(w, epilogue, target, config, {.shuffled = kShuffled});
}

}  // namespace
}  // namespace conv2d_pixels_cpu

TemplateEntry Conv2dPixelsCpuEntry() {
  using namespace conv2d_pixels_cpu;
  TemplateEntry entry = {"conv2d_pixels.cpu",
                         2,  // tiles of channels that do not divide those of a group
                         "llvm",
                         kKnobs,
                         &Refuses,
                         &SpaceByPlan<&MakePlan, &SpaceOf>,
                         &DefaultConfig,
                         &Apply<false>};
  entry.layout_configs = &LayoutConfigs;
  return entry;
}

TemplateEntry GroupConv2dShuffledCpuEntry() {
  using namespace conv2d_pixels_cpu;
  TemplateEntry entry =
      LoopTemplate("group_conv2d_shuffled.cpu", 1, "llvm", kKnobs, &RefusesShuffled,
                   &SpaceByPlan<&MakePlan, &SpaceOf>, &DefaultConfig, &Apply<true>);
  entry.layout_configs = &LayoutConfigs;
  return entry;
}

}  // namespace tilewright
