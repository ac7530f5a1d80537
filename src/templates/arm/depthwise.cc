// AutoTVM's depthwise convolution for Arm CPUs. Blocks of channels are computed after each other.
// For each block of rows, the data that it reads are copied with the channels of the block
// innermost. All sums stay in that form until they are copied to their places with the epilogue.

#include "src/templates/arm/templates.h"

#include "src/templates/annotations.h"
#include "src/templates/arm/arm_target.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace depthwise_arm {
namespace {

constexpr std::int64_t kMaxUnroll = 16;  // AutoTVM's limit
constexpr std::array kTiles = {"tile_h", "tile_w", "tile_c"};

constexpr KnobDoc kKnobs[] = {
    {"tile_c", "Channels: blocks, channels of one block."},
    {"tile_h", "Rows of the result: blocks, rows of one block."},
    {"tile_w", "Columns of the result: blocks, columns of one block."},
    {"ann",
     "Loops over rows, columns and channels of a block: `unroll` (up to 16 iterations), `vec`, or"
     " `none`, which unrolls them only if the sums of a block fit in registers. The loop with"
     " `vec` is innermost."},
};

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  const auto s = ConvShapeOf(w);
  if (!s.ok()) return s.status().message();
  if (s->c != s->k) return "only as many channels out as in";
  return RefusesForArm(w, target);
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return MakeSpace({Knob::Split("tile_c", s.k, 2), Knob::Split("tile_h", s.oh, 2),
                    Knob::Split("tile_w", s.ow, 2),
                    AnnotateKnob("ann", {"none", "unroll", "vec"}, 3)});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  constexpr std::int64_t kChannels = 8, kRows = 2, kColumns = 4;
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return LocateValues(space,
                      {{"tile_c", InnerFactor(s.k, LargestDivisor(s.k, kChannels))},
                       {"tile_h", InnerFactor(s.oh, LargestDivisor(s.oh, kRows))},
                       {"tile_w", InnerFactor(s.ow, LargestDivisor(s.ow, kColumns))},
                       {"ann", KnobValue{std::vector<std::string>{"unroll", "unroll", "vec"}}}});
}

/// Axes of the sums: image, block of channels, row, column, channel of the block.
void ScheduleSums(Schedule& s, StageId sums, StageId pack, const Config& config,
                  const Target& target) {
  const StageId registers = s.CacheWrite(sums, Scope::kLocal);
  const LoopId n = s.SpatialAxis(sums, 0), block = s.SpatialAxis(sums, 1);
  const auto [bh, vh] =
      s.Split(sums, s.SpatialAxis(sums, 2), config.Factors("tile_h")[1], Tail::kPeel);
  const auto [bw, vw] =
      s.Split(sums, s.SpatialAxis(sums, 3), config.Factors("tile_w")[1], Tail::kPeel);
  const std::vector<AnnotatedLoop> tile =
      Annotated({vh, vw, s.SpatialAxis(sums, 4)}, config, kTiles, "ann");
  std::vector<LoopId> order = {n, block, bh, bw};
  for (const LoopId loop : TileOrder(tile)) order.push_back(loop);
  s.Reorder(sums, order);
  AnnotateTile(s, sums, tile, kMaxUnroll);

  s.ComputeAt(registers, sums, bw);
  const std::vector<AnnotatedLoop> summed = Annotated(
      {s.SpatialAxis(registers, 2), s.SpatialAxis(registers, 3), s.SpatialAxis(registers, 4)},
      config, kTiles, "ann");
  order = {s.ReductionAxis(registers, 0), s.ReductionAxis(registers, 1)};
  for (const LoopId loop : TileOrder(summed)) order.push_back(loop);
  s.Reorder(registers, order);
  AnnotateTile(s, registers, summed, kMaxUnroll);
  s.ComputeAt(pack, sums, bh);
  ParallelFor(s, sums, s.Fuse(sums, n, block), target);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_RETURN_IF_ERROR(CheckAnnotated(config, kTiles, "ann", kMaxUnroll));
  KernelLayouts layouts;
  layouts.spatial_pack.channels = config.Factors("tile_c")[1];
  layouts.weight = Blocked(w.kernel_layout, layouts.spatial_pack.channels, 'o');
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  if (s.HasStage("pad")) s.ComputeInline(s.Stage("pad"));
  const StageId result = InlineIntoResult(s);
  ScheduleSums(s, s.Stage("sums"), s.Stage("pack"), config, target);
  ScheduleFlat(s, result, kNeonLanes, target, 1, AcrossAxis(s.stage(result).op, kNeonLanes));
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace depthwise_arm

TemplateEntry DepthwiseConv2dArmEntry() {
  using namespace depthwise_arm;
  return LoopTemplate("depthwise_conv2d_nchw.arm_cpu", 1, "llvm", kKnobs, &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

}  // namespace tilewright
