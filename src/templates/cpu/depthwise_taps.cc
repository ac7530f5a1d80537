// Depthwise convolutions of bytes, four taps at a time. In blocks of channels, four neighbouring
// pixels are one vector, whatever the stride. Transposed to four bytes for each channel, it is one
// operand of the target's dot product; weights in blocks of four columns, padded with zeros, are
// the other. A row of data prepared in this way serves all kernel rows: the more rows a tile has,
// the fewer loads and shuffles each product needs. Padding at the ends of rows is masked where
// pixels are loaded, and rows of padding are skipped. Only int8 data, whose zero becomes 128 when
// they are shifted to uint8, get a padded copy, some rows at a time.

#include "src/templates/cpu/templates.h"

#include <algorithm>
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
namespace depthwise_taps_cpu {
namespace {

constexpr std::string_view kIntrinsic = "taps4.u8s8";
constexpr std::int64_t kTaps = 4;

struct Plan {
  ConvShape shape;
  std::int64_t lanes = 0, registers = 0;
  bool shifted = false;  // the data are int8
  int threads = 1;
};

Result<Plan> MakePlan(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  // Products other than VNNI's take two registers before they are added.
  const int registers = features.vector_registers() - (features.has_saturating_dot() ? 2 : 0);
  return Plan{shape, features.float_lanes(), registers, w.data.dtype == kInt8,
              target.num_threads()};
}

using Tile = std::vector<std::int64_t>;  // rows, columns

std::int64_t ProductsOf(const Plan& plan, const Tile& tile) {
  return Product(tile) * plan.shape.r * CeilDiv(plan.shape.s, kTaps);
}

/// Whether the sums fit, with the rows of data of one column and the weights.
bool FitsRegisters(const Plan& plan, const Tile& tile) {
  const std::int64_t data = tile[0] + 1;
  return Product(tile) + data + std::min<std::int64_t>(plan.shape.r, 5) <= plan.registers;
}

std::vector<Tile> RegisterTiles(const Plan& plan) {
  std::vector<Tile> tiles;
  for (std::int64_t row : MinWasteTiles(plan.shape.oh, 8)) {
    for (std::int64_t col : MinWasteTiles(plan.shape.ow, plan.registers)) {
      const Tile tile = {row, col};
      const bool fits = FitsRegisters(plan, tile) && ProductsOf(plan, tile) <= kMaxUnrolledProducts;
      if (fits || Product(tile) == 1) tiles.push_back(tile);
    }
  }
  return tiles;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Rows and columns of the result, for one block of channels, whose sums stay in registers."},
    {"pass_tiles",
     "Register tiles along the rows in one pass. Threads share passes, and with `pad` = `rows`"
     " the rows of one pass are copied at a time."},
    {"pad",
     "How padding is read. `rows`: from a padded copy of the rows of a pass, made just before "
     "the pass; `skip`: loads at the edges are masked, without a copy."},
};

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  std::vector<std::string> pads = {"rows"};
  if (!plan.shifted) pads.emplace_back("skip");
  return MakeSpace({Knob::Lists("register_tile", RegisterTiles(plan)),
                    Knob::Other("pass_tiles", PassSizes(plan.shape.oh)),
                    Knob::Words("pad", std::move(pads))});
}

/// Rows of data are prepared once for the kernel rows that read them: prefers rows of a tile, then
/// columns.
Tile DefaultTile(const Plan& plan) {
  constexpr std::int64_t kGoodRows = 4, kGoodSums = 16;
  Tile best;
  for (const Tile& tile : RegisterTiles(plan)) {
    if (tile[0] <= kGoodRows && Product(tile) <= kGoodSums) best = tile;
  }
  return best;
}

/// Bytes of the padded rows that a pass reads.
std::int64_t PassBytes(const Plan& plan, std::int64_t rows) {
  const ConvShape& s = plan.shape;
  const std::int64_t read = (std::min(rows, s.oh) - 1) * s.stride_h + s.r;
  return read * ((s.ow - 1) * s.stride_w + RoundUp(s.s, kTaps)) * plan.lanes;
}

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
  if (!IsInt8(w)) return "only 8-bit data summed in int32";
  auto plan = MakePlan(w, target);
  if (!plan.ok()) return plan.status().message();
  auto features = FeaturesOf(target);
  const bool multiplies = features->avx512_vnni || (features->avx_vnni && !features->avx512);
  if (!multiplies && !(features->has_saturating_dot() && w.reduced_range_weights)) {
    return "only targets that multiply bytes (AVX512-VNNI, AVX-VNNI; of narrow weights AVX2)";
  }
  const ConvShape& s = plan->shape;
  if (s.c != s.k) return "only as many channels out as in";
  if (s.dilation_w != 1) return "only neighbouring taps";
  return s.r * CeilDiv(s.s, kTaps) <= kMaxUnrolledProducts ? "" : "only kernels of few taps";
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(w, target));
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const Tile tile = DefaultTile(plan);
  const std::vector<double> blocks(
      static_cast<std::size_t>(plan.shape.n * CeilDiv(plan.shape.c, plan.lanes)), 1);
  std::vector<std::int64_t> passes = PassSizes(plan.shape.oh);
  // A padded copy has to stay in the nearest cache.
  constexpr std::int64_t kNearBytes = 16 << 10;
  while (plan.shifted && passes.size() > 1 &&
         PassBytes(plan, passes.back() * tile[0]) > kNearBytes) {
    passes.pop_back();
  }
  const std::int64_t pass =
      BalancedPass(passes, CeilDiv(plan.shape.oh, tile[0]), blocks, plan.threads);
  const Knob& pads = space.knobs().back();
  return LocateValues(space, {{"register_tile", KnobValue{tile}},
                              {"pass_tiles", KnobValue{pass}},
                              {"pad", pads[pads.size() - 1]}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto plan, MakePlan(w, target));
  const Tile& tile = config.Factors("register_tile");
  DepthwiseNest nest;
  nest.rows = tile[0];
  nest.cols = tile[1];
  nest.row_tiles = config.Integer("pass_tiles");
  nest.taps = kIntrinsic;
  const bool rows = config.Word("pad") == "rows";
  nest.pad = rows ? PadPlace::kRows : PadPlace::kInline;
  const std::int64_t bytes = PassBytes(plan, nest.rows * nest.row_tiles) +
                             Product(tile) * plan.lanes * w.out_dtype.bytes();
  if (rows) TW_RETURN_IF_ERROR(CheckPassBytes(bytes));
  KernelLayouts layouts;
  layouts.data = layouts.output = Blocked("NCHW", plan.lanes, 'c');
  layouts.weight = Blocked("OIHW", plan.lanes, 'o') + std::to_string(kTaps) + "w";
  layouts.shift_data = plan.shifted;
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule schedule(std::move(compute));
  ScheduleDepthwiseNest(schedule, nest, plan.lanes, target);
  return FinishKernel(std::move(schedule), layouts);
}

bool IsPreferred(const Workload& w, const Target&) {
  const auto shape = ConvShapeOf(w);
  // Padded copies of rows cost more than they save if only every second row begins a window.
  // Measured on Zen 4.
  return shape.ok() && (w.data.dtype == kUInt8 || shape->stride_h * shape->stride_w < 4);
}

}  // namespace
}  // namespace depthwise_taps_cpu

TemplateEntry DepthwiseTapsInt8CpuEntry() {
  using namespace depthwise_taps_cpu;
  TemplateEntry entry = {"depthwise_taps_int8.cpu",
                         1,
                         "llvm",
                         kKnobs,
                         &Refuses,
                         &SpaceByPlan<&MakePlan, &SpaceOf>,
                         &DefaultConfig,
                         &Apply};
  entry.is_preferred = &IsPreferred;
  return entry;
}

}  // namespace tilewright
