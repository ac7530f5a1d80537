// Direct convolution for CPUs in the layout that a whole network can keep: activations in blocks of
// the target's vector lanes (NCHW16c or NCHW8c), so that no two kernels need a transform between
// them. A tile of pixels and channels stays in registers; padding is copied as a whole, copied in
// rows, or skipped. 8-bit and bfloat16 data use the dot product of the target. The copy converts
// float16 data to float32. Data of fewer channels than lanes
// (first layers) stay in NCHW. Half blocks are blocks of half a vector, where the last whole one
// would be at least half padding: 24 channels are three half vectors, not two whole ones of which 8
// lanes multiply zeros. That is faster if the processor executes a vector in two halves
// (CpuFeatures::double_pumped_512).

#include "src/templates/cpu/templates.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/templates/cpu/conv_nest.h"
#include "src/templates/cpu/dot_choice.h"
#include "src/templates/limits.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace conv2d_direct_cpu {
namespace {

/// Fewer accumulators than this leave the two multiply-add units waiting for their own results.
constexpr std::int64_t kMinAccumulators = 8;

/// Properties that follow from workload and target.
struct Plan {
  ConvShape shape;
  bool flat = false;  // 1x1, stride 1, no padding: one long row of pixels
  Workload workload;  // what is computed: flattened if `flat`
  KernelLayouts layouts;
  std::int64_t lanes = 0;  // accumulators of one vector, and a block of the output
  std::int64_t data_block = 0;
  bool splits_vectors = false;  // blocks are whole vectors, which the processor splits
  std::int64_t registers = 0;
  std::int64_t ic_block = 0;  // channels per block of the weight
  std::int64_t ic_parts = 1;  // such blocks per block of the data
  int depth = 0;              // of the dot product, 0 for float
  std::string dot;
  std::int64_t product_registers = 1;  // in addition to those of sums and weights
  std::int64_t oc_blocks = 0;          // of the output
  std::int64_t group_blocks = 0;       // of a group's output; 0: there is one group
  bool groups_in_block = false;        // a block of channels has several groups
  bool padded = false;
  int threads = 1;
};

void SetDot(const CpuFeatures& features, const Workload& w, Plan& plan) {
  const DotChoice dot = ChooseDot(features, w);
  plan.depth = dot.depth;
  plan.dot = dot.name;
  plan.product_registers = dot.registers;
  plan.layouts.shift_data = dot.shift_data;
  plan.layouts.multiply_dtype = dot.multiply_dtype;
}

/// Blocks of channels: whole vectors, or half a vector if the last vector would have no more
/// channels.
enum class Blocks : std::uint8_t { kWhole, kHalves };

std::int64_t BlockFor(std::int64_t channels, std::int64_t lanes, Blocks blocks) {
  const std::int64_t rest = channels % lanes;
  return blocks == Blocks::kHalves && rest > 0 && rest <= lanes / 2 ? lanes / 2 : lanes;
}

Result<Plan> MakePlan(const Workload& w, const Target& target, bool dots,
                      Blocks blocks = Blocks::kWhole) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  Plan plan;
  plan.shape = shape;
  plan.threads = target.num_threads();
  plan.flat = IsFlatConvolution(shape);
  plan.workload = PlainConvolution(w, shape, plan.flat);
  plan.lanes = BlockFor(shape.k, features.float_lanes(), blocks);
  plan.data_block = BlockFor(shape.c, features.float_lanes(), blocks);
  plan.splits_vectors = features.double_pumped_512 && plan.lanes == features.float_lanes();
  plan.registers = features.vector_registers();
  plan.oc_blocks = CeilDiv(shape.k, plan.lanes);
  plan.padded = shape.pad_top + shape.pad_left + shape.pad_bottom + shape.pad_right > 0;
  if (dots) SetDot(features, w, plan);
  if (IsFloat16(w)) plan.layouts.multiply_dtype = kFloat32;
  const std::int64_t group_channels = shape.c / shape.groups;
  if (shape.groups > 1) {
    plan.group_blocks = std::max<std::int64_t>(1, shape.k / shape.groups / plan.lanes);
    plan.groups_in_block = group_channels < plan.lanes;
  }
  plan.layouts.output = Blocked("NCHW", plan.lanes, 'c');
  const bool few_channels = shape.c < plan.data_block;
  if (!dots && few_channels) {
    plan.ic_block = 1;
    plan.layouts.data = "NCHW";
    plan.layouts.weight = Blocked("OIHW", plan.lanes, 'o');
    return plan;
  }
  plan.layouts.data =
      Blocked("NCHW", few_channels ? RoundUp(shape.c, plan.depth) : plan.data_block, 'c');
  // The largest part of a data block that divides the channels, so that no padding is multiplied;
  // at least 4, since loops over fewer channels cost more than that saves.
  constexpr std::int64_t kMinBlock = 4;
  plan.ic_block = few_channels ? RoundUp(shape.c, plan.depth)
                               : std::max(kMinBlock, std::gcd(shape.c, plan.data_block));
  if (shape.groups > 1) plan.ic_block = std::gcd(group_channels, plan.lanes);
  if (!few_channels && !plan.groups_in_block) plan.ic_parts = plan.data_block / plan.ic_block;
  plan.layouts.weight =
      dots ? Blocked(Blocked(Blocked("OIHW", plan.ic_block / plan.depth, 'i'), plan.lanes, 'o'),
                     plan.depth, 'i')
           : Blocked(Blocked("OIHW", plan.ic_block, 'i'), plan.lanes, 'o');
  return plan;
}

std::int64_t OutRows(const Plan& plan) { return plan.flat ? 1 : plan.shape.oh; }
std::int64_t OutCols(const Plan& plan) {
  return plan.flat ? plan.shape.oh * plan.shape.ow : plan.shape.ow;
}

using Tile = std::vector<std::int64_t>;  // blocks of output channels, rows, columns

/// Accumulators that a register tile may have: registers also hold the weights of its channels and
/// one value of the data (and a product, if it needs a register before it is added).
std::int64_t AccumulatorBudget(const Plan& plan, std::int64_t oc) {
  return plan.registers - oc - plan.product_registers;
}

/// Returns all register tiles that fit, without small ones if there are larger ones.
std::vector<Tile> RegisterTiles(const Plan& plan) {
  const std::int64_t rows = OutRows(plan), cols = OutCols(plan);
  constexpr std::int64_t kMaxBlocks = 6;
  std::vector<Tile> tiles, small;
  const std::int64_t blocks = plan.group_blocks > 0 ? plan.group_blocks : plan.oc_blocks;
  for (std::int64_t oc = 1; oc <= std::min(kMaxBlocks, blocks); ++oc) {
    const std::int64_t budget = AccumulatorBudget(plan, oc);
    if (budget < oc) break;
    for (std::int64_t col : MinWasteTiles(cols, budget / oc)) {
      const std::int64_t max_rows = col == cols ? std::min(rows, budget / (oc * col)) : 1;
      for (std::int64_t row = 1; row <= max_rows; ++row) {
        (oc * row * col >= kMinAccumulators ? tiles : small).push_back({oc, row, col});
      }
    }
  }
  return tiles.empty() ? small : tiles;
}

/// Cycles of a tile before its first product and after its last one on a core that splits vectors.
/// The more sums a tile has, the fewer of these cycles overlap with products of the tiles around
/// it. Fitted to 1x1 convolutions of 16 to 960 channels on Zen 4, where few sums suffice for one
/// multiply-add a cycle: with 16 channels, tiles of 1x14 take 0.92 of the time of 2x14.
double CyclesAround(std::int64_t oc, std::int64_t pixels) {
  const auto sums = static_cast<double>(oc * pixels);
  return 6 + sums * sums / (oc > 1 ? 10 : 20);
}

/// Cycles of the whole convolution for each reduction step on a core with two multiply-add units
/// (if it splits vectors: one for whole vectors) and nearly two loads a cycle.
double TileCost(const Plan& plan, const Tile& tile) {
  constexpr double kCyclesPerLoad = 0.65;
  constexpr double kLatency = 5;  // of a multiply-add, and some for the loop around it
  const ConvShape& s = plan.shape;
  const double products_per_cycle = plan.splits_vectors ? 1 : 2;
  const auto steps =
      static_cast<double>(CeilDiv(s.c / s.groups, std::max(1, plan.depth)) * s.r * s.s);
  const auto cost = [&](std::int64_t oc, std::int64_t row, std::int64_t col) {
    const auto products = static_cast<double>(oc * row * col);
    const auto loads = static_cast<double>(oc + row * col);
    const double around = plan.splits_vectors ? CyclesAround(oc, row * col) / steps : 0;
    return around + std::max({products / products_per_cycle, loads * kCyclesPerLoad, kLatency});
  };
  const auto parts = [](std::int64_t extent, std::int64_t tile_extent) {
    std::vector<std::pair<std::int64_t, std::int64_t>> list = {{extent / tile_extent, tile_extent}};
    if (extent % tile_extent != 0) list.emplace_back(1, extent % tile_extent);
    return list;
  };
  double total = 0;
  const std::int64_t blocks = plan.group_blocks > 0 ? plan.group_blocks : plan.oc_blocks;
  for (const auto& [oc_count, oc] : parts(blocks, tile[0])) {
    for (const auto& [row_count, row] : parts(OutRows(plan), tile[1])) {
      for (const auto& [col_count, col] : parts(OutCols(plan), tile[2])) {
        total += static_cast<double>(oc_count * row_count * col_count) * cost(oc, row, col);
      }
    }
  }
  return total * static_cast<double>(plan.oc_blocks / blocks);
}

/// Products of the default config's unrolled body if no copy of the data is made.
std::int64_t InlinedProducts(const Plan& plan, const Tile& tile, std::int64_t ic_unroll) {
  return Product(tile) * ic_unroll * (1 + 2 * plan.shape.s);
}

Tile BestTile(const Plan& plan) {
  Tile best;
  double best_cost = 0;
  for (const Tile& tile : RegisterTiles(plan)) {
    // All channels of a group are unrolled: only small tiles can do without a copy of the data.
    if (plan.groups_in_block && !best.empty() &&
        InlinedProducts(plan, tile, plan.ic_block) > kMaxUnrolledProducts) {
      continue;
    }
    // Of tiles with equal cost the larger one loads less.
    const double more = plan.splits_vectors ? 0 : 0.5 / static_cast<double>(Product(tile));
    const double cost = TileCost(plan, tile) * (1 + more);
    if (best.empty() || cost < best_cost) best = tile, best_cost = cost;
  }
  return best;
}

/// Tiles per pass.
std::vector<std::int64_t> PassTiles(const Plan& plan) {
  return PassSizes(plan.flat ? OutCols(plan) : OutRows(plan));
}

std::vector<std::int64_t> IcUnrolls(const Plan& plan) {
  const std::int64_t steps = plan.ic_block / std::max(1, plan.depth);
  std::vector<std::int64_t> unrolls;
  // With several groups in a block, each step has its own shuffle, which is code.
  for (std::int64_t u = 1; u < steps && !plan.groups_in_block; u *= 2) unrolls.push_back(u);
  unrolls.push_back(steps);
  return unrolls;
}

Knob PadKnob(const Plan& plan) {
  const bool converts = plan.layouts.shift_data || plan.layouts.multiply_dtype.has_value();
  std::vector<std::string> words = {"copy"};
  if (plan.padded || converts) words.emplace_back("rows");
  // Data that are converted have to be stored.
  if (plan.padded && !converts) words.emplace_back("skip");
  return Knob::Words("pad", std::move(words));
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Blocks of output channels, rows and columns of the result whose sums stay in registers. "
     "A 1x1 convolution without strides and padding has all pixels in one row."},
    {"pass_tiles",
     "Register tiles along the rows in one pass over a group of output channels, whose weights"
     " stay in cache meanwhile; along the columns if all pixels are in one row."},
    {"ic_unroll",
     "Steps over the input channels of a block that are unrolled. A step is one channel, or "
     "for 8-bit and bfloat16 data the channels of one dot product."},
    {"unroll_kw", "true unrolls the loop over kernel columns."},
    {"channels_first",
     "true puts the loop over groups of output channels outside the loop over passes, false "
     "inside."},
    {"pad",
     "How padding is read. `copy`: from a padded copy of all data; `rows`: of the rows of a pass, "
     "just before it; `skip`: taps outside the data are skipped. A copy converts 8-bit and float16 "
     "data, too."},
};

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  const bool columns = plan.shape.s > 1;
  return MakeSpace(
      {Knob::Lists("register_tile", RegisterTiles(plan)),
       Knob::Other("pass_tiles", PassTiles(plan)), Knob::Other("ic_unroll", IcUnrolls(plan)),
       Knob::Bool("unroll_kw", columns ? std::vector{false, true} : std::vector{false}),
       Knob::Bool("channels_first", {false, true}), PadKnob(plan)});
}

/// Rows of tiles (of a flat convolution: tiles) in one pass, balanced for the threads of the
/// target.
std::int64_t DefaultPass(const Plan& plan, const Tile& tile) {
  std::vector<double> groups;  // work of a tile of each group, for each image
  for (std::int64_t n = 0; n < plan.shape.n; ++n) {
    for (std::int64_t first = 0; first < plan.oc_blocks; first += tile[0]) {
      groups.push_back(static_cast<double>(std::min(tile[0], plan.oc_blocks - first)));
    }
  }
  const std::int64_t tiles =
      plan.flat ? CeilDiv(OutCols(plan), tile[2]) : CeilDiv(OutRows(plan), tile[1]);
  return BalancedPass(PassTiles(plan), tiles, groups, plan.threads);
}

Result<Config> DefaultOf(const Plan& plan) {
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const Tile tile = BestTile(plan);
  // Two steps hide the overhead of the loop; more only take time to build.
  std::int64_t unroll = IcUnrolls(plan).front();
  for (std::int64_t u : IcUnrolls(plan)) {
    if (u <= 2) unroll = std::max(unroll, u);
  }
  // Prefers no copy of the data, if the space has that.
  const Knob& pads = space.knobs().back();
  KnobValue pad;
  pad.value = std::string("skip");
  if (pads.Find(pad) < 0 || InlinedProducts(plan, tile, unroll) > kMaxUnrolledProducts) {
    pad = pads[0];
  }
  return LocateValues(space, {{"register_tile", KnobValue{tile}},
                              {"pass_tiles", KnobValue{DefaultPass(plan, tile)}},
                              {"ic_unroll", KnobValue{unroll}},
                              {"unroll_kw", KnobValue{false}},
                              {"channels_first", KnobValue{true}},
                              {"pad", pad}});
}

/// Bytes of the data that one pass reads, if they are copied for it.
std::int64_t PassBytes(const Plan& plan, const ConvNest& nest) {
  const ConvShape& s = plan.shape;
  const auto reach = [](std::int64_t count, std::int64_t all, std::int64_t stride,
                        std::int64_t kernel, std::int64_t dilation) {
    return (std::min(count, all) - 1) * stride + (kernel - 1) * dilation + 1;
  };
  const std::int64_t rows =
      reach(nest.rows * nest.row_tiles, OutRows(plan), s.stride_h, s.r, s.dilation_h);
  const std::int64_t pass_cols =
      nest.col_tiles == ConvNest::kWholeAxis ? OutCols(plan) : nest.cols * nest.col_tiles;
  const std::int64_t cols = reach(pass_cols, OutCols(plan), s.stride_w, s.s, s.dilation_w);
  const std::int64_t channels = RoundUp(s.c, std::max<std::int64_t>(1, plan.ic_block));
  const DataType dtype = plan.layouts.multiply_dtype.value_or(plan.workload.data.dtype);
  return rows * cols * channels * dtype.bytes();
}

/// Distance by which weights are prefetched: while one tile of channels is computed, those of the
/// next one. In a network weights come from memory, and the first pixels of each tile of channels
/// wait for them. That matters if there are few pixels (160 -> 960 channels of 7x7 on Zen 4: 0.81
/// of the time in MobileNetV2), but not for 14x14 pixels. A kernel that runs alone, with weights
/// that stay in a cache, takes 1.00 to 1.02 of its time with prefetches.
std::int64_t WeightDistance(const Plan& plan, const ConvNest& nest) {
  constexpr std::int64_t kFewTiles = 8;
  const std::int64_t block = plan.ic_block * plan.ic_parts;
  const bool whole = plan.flat && plan.shape.groups == 1 && plan.shape.c % block == 0;
  if (!whole || !nest.channels_first) return 0;
  if (CeilDiv(OutCols(plan), nest.cols) > kFewTiles) return 0;
  return nest.oc_blocks * (plan.shape.c / block);
}

Result<Kernel> ApplyPlan(const Plan& plan, const Workload&, const Epilogue& epilogue,
                         const Target& target, const Config& config) {
  ConvNest nest;
  const Tile& tile = config.Factors("register_tile");
  if (tile.size() != 3 || Product(tile) > AccumulatorBudget(plan, tile[0])) {
    return InvalidArgument("register tile " + config.Find("register_tile")->ToString() +
                           ": more vectors than the target's " + std::to_string(plan.registers) +
                           " registers hold");
  }
  nest.oc_blocks = tile[0];
  nest.group_blocks = plan.group_blocks;
  nest.rows = tile[1];
  nest.cols = tile[2];
  (plan.flat ? nest.col_tiles : nest.row_tiles) = config.Integer("pass_tiles");
  nest.ic_parts = plan.ic_parts;
  nest.ic_unroll = config.Integer("ic_unroll");
  nest.unroll_kw = config.Integer("unroll_kw") != 0;
  nest.channels_first = config.Integer("channels_first") != 0;
  nest.dot = plan.dot;
  nest.pad = PadPlaceOf(config.Word("pad"));
  nest.weight_distance = WeightDistance(plan, nest);
  // If the padding is inlined, the tiles at both edges are separate code with kw unrolled.
  const std::int64_t copies =
      (nest.unroll_kw ? plan.shape.s : 1) + (nest.pad == PadPlace::kInline ? 2 * plan.shape.s : 0);
  const std::int64_t products = Product(tile) * nest.ic_unroll * copies;
  TW_RETURN_IF_ERROR(CheckUnrolledProducts(products));
  if (nest.pad == PadPlace::kRows) {
    const std::int64_t sums = Product(tile) * plan.lanes * plan.workload.out_dtype.bytes();
    TW_RETURN_IF_ERROR(CheckPassBytes(PassBytes(plan, nest) + sums));
  }
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(plan.workload, epilogue, plan.layouts));
  Schedule schedule(std::move(compute));
  ScheduleConvNest(schedule, nest, plan.lanes, target);
  return FinishKernel(std::move(schedule), plan.layouts);
}

/// Whether blocks of channels are whole groups or parts of one, of data and result alike.
bool HasGroupsOfBlocks(const ConvShape& s, std::int64_t lanes) {
  const std::int64_t in = s.c / s.groups, out = s.k / s.groups;
  if (in % lanes == 0 && out % lanes == 0) return true;
  return in == out && in > 1 && lanes % in == 0 && s.c % lanes == 0;
}

/// Whether blocks of half a vector differ from whole ones, for data or result.
bool HasHalves(const ConvShape& s, std::int64_t lanes) {
  return BlockFor(s.c, lanes, Blocks::kHalves) != lanes ||
         BlockFor(s.k, lanes, Blocks::kHalves) != lanes;
}

std::string RefusesPlan(const Workload& w, const Target& target, bool dots) {
  if (w.op != OpKind::kConv2d) return "only convolutions";
  auto plan = MakePlan(w, target, dots);
  if (!plan.ok()) return plan.status().message();
  if (plan->shape.groups == 1) return "";
  if (dots) return "only convolutions of one group";
  return HasGroupsOfBlocks(plan->shape, plan->lanes)
             ? ""
             : "only groups that are whole blocks of channels, or of which a block has several";
}

std::string RefusesFloat(const Workload& w, const Target& target) {
  return IsFloat32(w) || IsFloat16(w) ? RefusesPlan(w, target, false) : "only float32 and float16";
}

std::string RefusesInt8(const Workload& w, const Target& target) {
  return IsInt8(w) ? RefusesPlan(w, target, true)
                   : "only 8-bit data and int8 weights summed in int32";
}

std::string RefusesBFloat16(const Workload& w, const Target& target) {
  return IsBFloat16(w) ? RefusesPlan(w, target, true) : "only bfloat16";
}

std::string RefusesHalfBlocks(const Workload& w, const Target& target) {
  if (w.op_name() != "conv2d") return "only convolutions of one group";
  if (!w.data.dtype.is_float() && !IsInt8(w)) return "only floats, or 8-bit summed in int32";
  if (w.data.dtype == kFloat64) return "only floats of 16 and 32 bits";
  auto features = FeaturesOf(target);
  if (!features.ok()) return features.status().message();
  if (!features->avx512) return "only targets whose vectors have 512 bits";
  auto shape = ConvShapeOf(w);
  if (!shape.ok()) return shape.status().message();
  return HasHalves(*shape, features->float_lanes())
             ? ""
             : "no number of channels is a few more than whole vectors hold";
}

// Plans of the templates.

Result<Plan> FloatPlan(const Workload& w, const Target& target) {
  return MakePlan(w, target, false);
}
Result<Plan> DotPlan(const Workload& w, const Target& target) { return MakePlan(w, target, true); }
Result<Plan> HalfBlocksPlan(const Workload& w, const Target& target) {
  return MakePlan(w, target, IsInt8(w) || IsBFloat16(w), Blocks::kHalves);
}

template <auto kPlan>
TemplateEntry EntryFor(std::string_view key, decltype(TemplateEntry::refuses) refuses) {
  return LoopTemplate(key, 1, "llvm", kKnobs, refuses, &SpaceByPlan<kPlan, &SpaceOf>,
                      &DefaultByPlan<kPlan, &DefaultOf>, &ApplyByPlan<kPlan, &ApplyPlan>);
}

}  // namespace
}  // namespace conv2d_direct_cpu

TemplateEntry Conv2dDirectCpuEntry() {
  using namespace conv2d_direct_cpu;
  return EntryFor<&FloatPlan>("conv2d_direct.cpu", &RefusesFloat);
}

TemplateEntry Conv2dDirectInt8CpuEntry() {
  using namespace conv2d_direct_cpu;
  return EntryFor<&DotPlan>("conv2d_direct_int8.cpu", &RefusesInt8);
}

TemplateEntry Conv2dDirectBFloat16CpuEntry() {
  using namespace conv2d_direct_cpu;
  return EntryFor<&DotPlan>("conv2d_direct_bf16.cpu", &RefusesBFloat16);
}

TemplateEntry Conv2dHalfBlocksCpuEntry() {
  using namespace conv2d_direct_cpu;
  TemplateEntry entry = EntryFor<&HalfBlocksPlan>("conv2d_half_blocks.cpu", &RefusesHalfBlocks);
  entry.layout_configs = &OnlyDefault<&DefaultByPlan<&HalfBlocksPlan, &DefaultOf>>;
  return entry;
}

}  // namespace tilewright
