#include "src/templates/cpu/templates.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/cpu/depthwise_nest.h"
#include "src/templates/limits.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace depthwise_direct_cpu {
namespace {

struct Plan {
  ConvShape shape;
  std::int64_t lanes = 0, registers = 0;
  bool padded = false;  ///< or converted: the kernel has a copy of the data
  bool splits_vectors = false;
  int threads = 1;
  std::optional<DataType> wide;  ///< type in which 16-bit floats are multiplied
};

Result<Plan> MakePlan(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  const ConvShape& s = shape;
  Plan plan{s,
            features.float_lanes(),
            features.vector_registers(),
            s.pad_top + s.pad_left + s.pad_bottom + s.pad_right > 0,
            features.double_pumped_512,
            target.num_threads(),
            std::nullopt};
  if (IsFloat16(w) || IsBFloat16(w)) plan.padded = true, plan.wide = kFloat32;
  return plan;
}

using Tile = std::vector<std::int64_t>;  // rows, columns

/// Accumulators in addition to the weights of one kernel row and a few vectors of data.
std::int64_t AccumulatorBudget(const Plan& plan) {
  return std::max<std::int64_t>(1, plan.registers - plan.shape.s - 2);
}

std::vector<Tile> RegisterTiles(const Plan& plan) {
  constexpr std::int64_t kMaxRows = 4;
  std::vector<Tile> tiles;
  for (std::int64_t row = 1; row <= std::min(kMaxRows, plan.shape.oh); ++row) {
    for (std::int64_t col : MinWasteTiles(plan.shape.ow, AccumulatorBudget(plan) / row)) {
      const bool small = row * col < 4 && col < plan.shape.ow;
      if (!small) tiles.push_back({row, col});
    }
  }
  if (tiles.empty()) tiles.push_back({1, 1});
  return tiles;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Rows and columns of the result, for one block of channels, whose sums stay in registers."},
    {"pass_tiles",
     "Register tiles along the rows in one pass. Threads share passes, and with `pad` = `rows`"
     " the rows of one pass are copied at a time."},
    {"unroll_kh",
     "true unrolls the loop over kernel rows; the loop over kernel columns is always unrolled."},
    {"pad",
     "How padding is read. `copy`: from a padded copy of all data; `rows`: from a padded copy "
     "of the rows of a pass, made just before the pass; `skip`: taps outside the data are "
     "skipped, without a copy."},
};

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  std::vector<std::string> pads = {"copy"};
  if (plan.padded) pads = {"copy", "rows", "skip"};
  return MakeSpace({Knob::Lists("register_tile", RegisterTiles(plan)),
                    Knob::Other("pass_tiles", PassSizes(plan.shape.oh)),
                    Knob::Bool("unroll_kh", {true, false}), Knob::Words("pad", std::move(pads))});
}

/// Returns a tile of one row, with columns such that the tiles are few and even. If vectors are
/// split, one multiply-add a cycle needs fewer sums, and the stores of a short tile overlap with
/// the products of the next one: 7 or 8 columns took 0.73 to 0.89 of the time of 14 on Zen 4.
Tile DefaultTile(const Plan& plan) {
  const std::int64_t good_columns = plan.splits_vectors ? 8 : 14;
  Tile best;
  for (const Tile& tile : RegisterTiles(plan)) {
    if (tile[0] == 1 && tile[1] <= good_columns) best = tile;
  }
  return best.empty() ? RegisterTiles(plan).front() : best;
}

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
  if (!IsFloat32(w) && !IsFloat16(w) && !IsBFloat16(w) && !IsInt8(w)) {
    return "only floats of 16 and 32 bits, or 8-bit summed in int32";
  }
  auto plan = MakePlan(w, target);
  if (!plan.ok()) return plan.status().message();
  return plan->shape.c == plan->shape.k ? "" : "only as many channels out as in";
}

/// Bytes of the rows of a pass and of the sums of a tile.
std::int64_t LocalBytes(const Plan& plan, const Workload& w, const Tile& tile,
                        std::int64_t pass_tiles) {
  const ConvShape& c = plan.shape;
  const std::int64_t rows = std::min(tile[0] * pass_tiles, c.oh);
  return ((rows - 1) * c.stride_h + (c.r - 1) * c.dilation_h + 1) *
             (c.w + c.pad_left + c.pad_right) * plan.lanes *
             plan.wide.value_or(w.data.dtype).bytes() +
         Product(tile) * plan.lanes * plan.wide.value_or(w.out_dtype).bytes();
}

/// Returns the place of the padding: it is skipped, but data that are converted are converted once.
std::string DefaultPad(const Plan& plan, const Workload& w, const Tile& tile, std::int64_t pass) {
  if (!plan.wide) return plan.padded ? "skip" : "copy";
  return LocalBytes(plan, w, tile, pass) <= LowerLimits().max_local_bytes ? "rows" : "copy";
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(w, target));
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const Tile tile = DefaultTile(plan);
  const std::vector<double> blocks(
      static_cast<std::size_t>(plan.shape.n * CeilDiv(plan.shape.c, plan.lanes)), 1);
  const std::int64_t pass =
      BalancedPass(PassSizes(plan.shape.oh), CeilDiv(plan.shape.oh, tile[0]), blocks, plan.threads);
  return LocateValues(space, {{"register_tile", KnobValue{tile}},
                              {"pass_tiles", KnobValue{pass}},
                              {"unroll_kh", KnobValue{true}},
                              {"pad", KnobValue{DefaultPad(plan, w, tile, pass)}}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(w, target));
  const Tile& tile = config.Factors("register_tile");
  DepthwiseNest nest;
  nest.rows = tile[0];
  nest.cols = tile[1];
  nest.row_tiles = config.Integer("pass_tiles");
  nest.unroll_kh = config.Integer("unroll_kh") != 0;
  nest.pad = PadPlaceOf(config.Word("pad"));
  const std::int64_t products = Product(tile) * plan.shape.s * (nest.unroll_kh ? plan.shape.r : 1);
  TW_RETURN_IF_ERROR(CheckUnrolledProducts(products));
  if (nest.pad == PadPlace::kRows) {
    TW_RETURN_IF_ERROR(CheckPassBytes(LocalBytes(plan, w, tile, nest.row_tiles)));
  }
  KernelLayouts layouts;
  layouts.data = layouts.output = Blocked("NCHW", plan.lanes, 'c');
  layouts.weight = Blocked("OIHW1i", plan.lanes, 'o');
  layouts.multiply_dtype = plan.wide;
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule schedule(std::move(compute));
  ScheduleDepthwiseNest(schedule, nest, plan.lanes, target);
  return FinishKernel(std::move(schedule), layouts);
}

}  // namespace
}  // namespace depthwise_direct_cpu

TemplateEntry DepthwiseDirectCpuEntry() {
  using namespace depthwise_direct_cpu;
  return LoopTemplate("depthwise_direct.cpu", 1, "llvm", kKnobs, &Refuses,
                      &SpaceByPlan<&MakePlan, &SpaceOf>, &DefaultConfig, &Apply);
}

}  // namespace tilewright
