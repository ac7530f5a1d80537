// AutoTVM's convolution and transposed convolution for Arm CPUs. The result is cut into blocks of
// channels, rows and columns. First the data are copied so that each block of rows and columns has
// its window in neighbouring memory. Then each block is summed, and written to its place with the
// epilogue. Of a transposed convolution, the copies have zeros between the elements of the data,
// and the kernel is flipped.

#include "src/templates/arm/templates.h"

#include "src/target/cpu.h"
#include "src/templates/annotations.h"
#include "src/templates/arm/arm_target.h"
#include "src/templates/space_values.h"
#include "src/templates/spatial_pack.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace spatial_pack_arm {
namespace {

constexpr KnobDoc kKnobs[] = {
    {"tile_co", "Output channels: blocks, channels of one block."},
    {"tile_oh", "Rows of the result: blocks, rows of one block."},
    {"tile_ow", "Columns of the result: blocks, columns of one block."},
    kBlockOrderDoc,
    kBlockTapsDoc,
    kBlockLoopsDoc,
};

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  return RefusesForArm(w, target);
}

std::string RefusesTransposed(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2dTranspose) return "only transposed convolutions";
  if (w.groups != 1) return "only convolutions of one group";
  if (w.data_layout != "NCHW" || w.kernel_layout != "IOHW") {
    return "only NCHW data and IOHW weights";
  }
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  if (w.dilation != kOne) return "only without dilation";
  return RefusesForArm(w, target);
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) { return SpatialPackSpace(w, 2); }

/// A block of two vectors of channels by pixels, whose sums take half of the registers; without
/// channels that fill a vector, the columns are the vector.
Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  constexpr std::int64_t kChannelsOfBlock = 8, kMaxTaps = 9;
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto features, FeaturesOf(target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  const std::int64_t channels = LargestDivisor(s.k, kChannelsOfBlock);
  const std::int64_t pixels = features.vector_registers() / 2 / (kChannelsOfBlock / kNeonLanes);
  const std::int64_t columns = LargestDivisor(s.ow, pixels);
  const bool by_columns = channels < kNeonLanes && columns > channels;
  const std::string taps = s.r * s.s <= kMaxTaps ? "unroll" : "none";
  const std::vector<std::string> words = by_columns
                                             ? std::vector<std::string>{"unroll", "vec", "unroll"}
                                             : std::vector<std::string>{"unroll", "unroll", "vec"};
  return LocateValues(space,
                      {{"tile_co", InnerFactor(s.k, channels)},
                       {"tile_oh", InnerFactor(s.oh, LargestDivisor(s.oh, pixels / columns))},
                       {"tile_ow", InnerFactor(s.ow, columns)},
                       {"reorder_0", PlainBlockOrder()},
                       {"ann_reduce", KnobValue{std::vector<std::string>{taps, taps}}},
                       {"ann_spatial", KnobValue{words}}});
}

/// Returns the loop over blocks of columns, in which the sums of a block are computed.
LoopId ScheduleResult(Schedule& s, StageId result, const Config& config, const Target& target) {
  constexpr std::int64_t kMaxUnroll = 16;
  const auto [bk, vc] =
      s.Split(result, s.SpatialAxis(result, 1), config.Factors("tile_co")[1], Tail::kPeel);
  const auto [bh, vh] =
      s.Split(result, s.SpatialAxis(result, 2), config.Factors("tile_oh")[1], Tail::kPeel);
  const auto [bw, vw] =
      s.Split(result, s.SpatialAxis(result, 3), config.Factors("tile_ow")[1], Tail::kPeel);
  const LoopId n = s.SpatialAxis(result, 0);
  const std::vector<AnnotatedLoop> tile =
      Annotated({vh, vw, vc}, config, kBlockKnobs, "ann_spatial");
  std::vector<LoopId> order = {n, bk, bh, bw};
  for (const LoopId loop : TileOrder(tile)) order.push_back(loop);
  s.Reorder(result, order);
  AnnotateTile(s, result, tile, kMaxUnroll);
  ParallelFor(s, result, s.Fuse(result, n, bk), target);
  return bw;
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  const KernelLayouts layouts = SpatialPackLayouts(w, config);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const StageId pack = s.Stage("pack"), sums = s.Stage("sums");
  const StageId result = InlineIntoResult(s);
  if (s.HasStage("pad")) s.ComputeInline(s.Stage("pad"));
  ScheduleFlat(s, pack, kNeonLanes, target);
  const LoopId block = ScheduleResult(s, result, config, target);
  s.SetScope(sums, Scope::kLocal);
  s.ComputeAt(sums, result, block);
  ScheduleBlockSums(s, sums, config);
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace spatial_pack_arm

TemplateEntry Conv2dSpatialPackArmEntry() {
  using namespace spatial_pack_arm;
  return LoopTemplate("conv2d_nchw_spatial_pack.arm_cpu", 1, "llvm", kKnobs, &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

TemplateEntry Conv2dTransposeArmEntry() {
  using namespace spatial_pack_arm;
  return LoopTemplate("conv2d_transpose_nchw.arm_cpu", 1, "llvm", kKnobs, &RefusesTransposed,
                      &DefineSpace, &DefaultConfig, &Apply);
}

}  // namespace tilewright
