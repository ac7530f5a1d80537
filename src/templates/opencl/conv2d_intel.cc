// AutoTVM's convolution for Intel graphics, with channels in blocks. Up to 16 work-items of a
// group, one for each output channel of a part of a block, compute the same rows and columns. The
// window that they read is copied to the memory of the group channel by channel, and the weights to
// registers.

#include <algorithm>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/opencl/intel_blocks.h"
#include "src/templates/opencl/templates.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace conv2d_intel {
namespace {

constexpr std::int64_t kMaxLanes = 16;
/// AutoTVM's limits of blocks of channels.
constexpr std::int64_t kMaxInputs = 32, kMinOutputs = 8, kMaxOutputs = 64;

constexpr KnobDoc kKnobs[] = {
    {"tile_ic", "Input channels of a block, the innermost dimension of the data."},
    {"tile_oc",
     "Output channels of a block, the innermost dimension of the result. Up to 16 at a time, the"
     " largest divisor, are the work-items of a group."},
    {"block_oh",
     "Rows of the result that a work-item computes. The data of the last ones are padded if they do"
     " not divide its rows."},
    {"block_ow",
     "Columns of the result that a work-item computes. The data of the last ones are padded if they"
     " do not divide its columns."},
};

/// Returns the values that divide an extent.
std::vector<std::int64_t> Dividing(std::vector<std::int64_t> values, std::int64_t extent) {
  std::erase_if(values, [&](std::int64_t value) { return extent % value != 0; });
  return values;
}

std::string Refuses(const Workload& w, const Target& target) {
  constexpr std::int64_t kLargestResult = 1 << 20;  // the space is linear in it
  if (std::ranges::count(target.keys(), "intel_graphics") == 0) {
    return "only targets with -device=intel_graphics";
  }
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  if (w.dilation != kOne) return "only without dilation";
  const auto s = ConvShapeOf(w);
  if (!s.ok()) return s.status().message();
  if (s->oh > kLargestResult || s->ow > kLargestResult) return "only results of up to 2^20 rows";
  const IntelBlocks blocks = IntelBlocksOf(s->oh, s->ow);
  if (Dividing(blocks.rows, s->oh).empty() || Dividing(blocks.columns, s->ow).empty()) {
    return "AutoTVM's space has no block that divides the rows or the columns of the result";
  }
  return RefusesPlainTypes(w, target);
}

/// Values of the knobs.
struct Values {
  std::vector<std::int64_t> inputs, outputs;
  IntelBlocks blocks;
};

Values ValuesOf(const ConvShape& s) {
  Values values{DivisorsWithin(s.c, 1, kMaxInputs),
                DivisorsWithin(s.k, std::min(s.k, kMinOutputs), kMaxOutputs),
                IntelBlocksOf(s.oh, s.ow)};
  if (values.outputs.empty()) values.outputs = {1, s.k};
  return values;
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  Values values = ValuesOf(s);
  return MakeSpace({Knob::Other("tile_ic", std::move(values.inputs)),
                    Knob::Other("tile_oc", std::move(values.outputs)),
                    Knob::Other("block_oh", std::move(values.blocks.rows)),
                    Knob::Other("block_ow", std::move(values.blocks.columns))});
}

/// Returns the largest of `values` that is at most `limit`, or the smallest one.
KnobValue UpTo(const std::vector<std::int64_t>& values, std::int64_t limit) {
  std::int64_t best = std::ranges::min(values);
  for (const std::int64_t value : values) {
    if (value <= limit) best = std::max(best, value);
  }
  return KnobValue{best};
}

/// AutoTVM's, as far as the space has it.
Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  struct Block {
    std::int64_t rows, columns;
  };
  constexpr Block kStrided = {4, 5}, kOfThree = {2, 14}, kOther = {1, 16};
  const Block block = s.stride_h == 2 ? kStrided : s.r == 3 ? kOfThree : kOther;
  const Values values = ValuesOf(s);
  return LocateValues(space,
                      {{"tile_ic", KnobValue{std::int64_t{1}}},
                       {"tile_oc", UpTo(values.outputs, kMaxLanes)},
                       {"block_oh", UpTo(Dividing(values.blocks.rows, s.oh), block.rows)},
                       {"block_ow", UpTo(Dividing(values.blocks.columns, s.ow), block.columns)}});
}

/// Returns the definition, with the data padded for whole blocks of the result: work-items of the
/// last ones read what they do not need.
Result<Compute> DefineBlocks(const Workload& w, const Epilogue& epilogue,
                             const KernelLayouts& layouts, const Config& config) {
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  const std::int64_t rows = RoundUp(s.oh, config.Integer("block_oh")),
                     columns = RoundUp(s.ow, config.Integer("block_ow"));
  if (rows == s.oh && columns == s.ow) return compute;
  Workload larger = w;
  larger.padding[2] += (rows - s.oh) * s.stride_h;
  larger.padding[3] += (columns - s.ow) * s.stride_w;
  TW_ASSIGN_OR_RETURN(auto padded, DefineAnchor(larger, {}, layouts));
  ComputeOp pad = padded.stages.front();
  pad.body = LoadInstead(pad.body, padded.inputs[0], compute.inputs[0]);
  const bool has_pad = compute.stages.front().name == pad.name;
  const Buffer read = has_pad ? compute.stages.front().output : compute.inputs[0];
  if (has_pad) compute.stages.erase(compute.stages.begin());
  for (ComputeOp& stage : compute.stages) stage.body = LoadInstead(stage.body, read, pad.output);
  compute.stages.insert(compute.stages.begin(), std::move(pad));
  return compute;
}

/// Cuts the result for work-items and returns the loop over those of a group.
LoopId TileResult(Schedule& s, StageId result, const Config& config, std::int64_t lanes) {
  const LoopId image = s.SpatialAxis(result, 0), block = s.SpatialAxis(result, 1);
  const auto [rows, row] = s.Split(result, s.SpatialAxis(result, 2), config.Integer("block_oh"));
  const auto [columns, column] =
      s.Split(result, s.SpatialAxis(result, 3), config.Integer("block_ow"));
  const auto [part, lane] = s.Split(result, s.SpatialAxis(result, 4), lanes);
  s.Reorder(result, {image, block, part, rows, columns, lane, row, column});
  BindBlockLoops(s, result, {rows, columns, FuseAll(s, result, {image, block, part})});
  s.Bind(result, lane, LoopKind::kThreadX);
  return lane;
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                     const Config& config) {
  constexpr std::int64_t kLongKernel = 7;  // columns of a kernel that AutoTVM does not unroll
  const std::int64_t outputs = config.Integer("tile_oc"), inputs = config.Integer("tile_ic");
  KernelLayouts layouts;
  layouts.data = Blocked("NCHW", inputs, 'c');
  layouts.output = Blocked("NCHW", outputs, 'c');
  layouts.weight = Blocked(Blocked("OIHW", inputs, 'i'), outputs, 'o');
  TW_ASSIGN_OR_RETURN(auto compute, DefineBlocks(w, epilogue, layouts, config));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId sum = stages.sum;
  const StageId window = s.CacheRead(stages.has_pad ? "pad" : "data", Scope::kShared, sum);
  const StageId weight = s.CacheRead("weight", Scope::kLocal, sum);
  if (stages.has_pad) s.ComputeInline(stages.pad);
  const std::int64_t lanes = LargestDivisor(outputs, kMaxLanes);
  s.ComputeAt(sum, stages.result, TileResult(s, stages.result, config, lanes));
  const LoopId block = s.ReductionAxis(sum, 0), ky = s.ReductionAxis(sum, 1),
               kx = s.ReductionAxis(sum, 2), input = s.ReductionAxis(sum, 3);
  s.Reorder(sum, {block, input, ky, kx, s.SpatialAxis(sum, 4), s.SpatialAxis(sum, 2),
                  s.SpatialAxis(sum, 3)});
  if (w.weight.shape[3] != kLongKernel) {
    s.Unroll(sum, ky);
    s.Unroll(sum, kx);
  }
  s.ComputeAt(window, sum, input);
  FetchInterleaved(s, window, {1, 1, lanes});
  const bool by_rows = config.Integer("block_oh") == 2 && config.Integer("block_ow") == 14;
  s.ComputeAt(weight, sum, by_rows ? ky : kx);
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace conv2d_intel

TemplateEntry Conv2dNchwcIntelEntry() {
  using namespace conv2d_intel;
  return LoopTemplate("conv2d_NCHWc.intel_graphics", 1, "opencl", kKnobs, &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

}  // namespace tilewright
