#include "src/templates/cuda/conv2d_transpose_nchw.h"

#include "src/target/gpu.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {

std::string Conv2dTransposeNchwCuda::Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2dTranspose) return "only transposed convolutions";
  if (w.groups != 1) return "only convolutions of one group";
  if (w.data_layout != "NCHW" || w.kernel_layout != "IOHW") {
    return "only NCHW data and IOHW weights";
  }
  if (!IsFloat32(w) && !IsFloat16(w) && !IsInt8(w)) return kPlainTypes;
  return ComputeCapabilityOf(target).status().message();
}

Result<ConfigSpace> Conv2dTransposeNchwCuda::DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  std::vector<Result<Knob>> knobs = {Knob::Split("tile_n", s.n, 4), Knob::Split("tile_f", s.k, 4),
                                     Knob::Split("tile_y", s.oh, 4), Knob::Split("tile_x", s.ow, 4),
                                     Knob::Split("tile_rc", s.c, 3)};
  for (Result<Knob>& knob : UnrollKnobs(target, {64, 512, 1500})) knobs.push_back(std::move(knob));
  knobs.push_back(Knob::Other("fuse_yx", {0, 1}));
  return MakeSpace(std::move(knobs));
}

Result<Config> Conv2dTransposeNchwCuda::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  constexpr std::int64_t kMaxStaged = 8;  // channels
  const ConvTile tile = DefaultConvTile(s.k, s.oh, s.ow);
  const std::int64_t staged = LargestDivisor(s.c, kMaxStaged);
  const KnobValue channels{std::vector<std::int64_t>{s.c / staged, 1, staged}};
  return LocateValues(space, {{"tile_n", ThreadsAndInner(s.n, 1, 1)},
                              {"tile_f", ThreadsAndInner(s.k, tile.f, tile.sums)},
                              {"tile_y", ThreadsAndInner(s.oh, tile.y, 1)},
                              {"tile_x", ThreadsAndInner(s.ow, tile.x, 1)},
                              {"tile_rc", channels},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{512}}},
                              {"unroll_explicit", KnobValue{std::int64_t{1}}},
                              {"fuse_yx", KnobValue{std::int64_t{0}}}});
}

Result<Kernel> Conv2dTransposeNchwCuda::Apply(const Workload& w, const Epilogue& epilogue,
                                              const Target&, const Config& config) {
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;

  std::vector<TiledAxis> axes;
  for (const char* name : {"tile_n", "tile_f", "tile_y", "tile_x"}) {
    const LoopId axis = s.SpatialAxis(result, static_cast<int>(axes.size()));
    axes.push_back(TileAxis(s, result, axis, config.Factors(name)));
  }
  OrderTiles(s, result, axes);
  const LoopId pixels = s.Fuse(result, axes[2].block, axes[3].block);
  BindBlockLoops(s, result, {axes[0].block, axes[1].block, pixels});
  const ThreadDistribution threads =
      DistributeThreads(s, result, axes, config.Integer("fuse_yx") != 0);
  TW_RETURN_IF_ERROR(CheckBlock(threads.counts));
  PragmaUnroll(s, result, axes[0].block, config);

  s.ComputeAt(sum, result, threads.loops[2]);
  const std::vector<LoopId> channels =
      s.SplitBy(sum, s.ReductionAxis(sum, 0), config.Factors("tile_rc"));
  const LoopId row = s.ReductionAxis(sum, 1), column = s.ReductionAxis(sum, 2);
  std::vector<LoopId> order = {channels[0], channels[1], row, column, channels[2]};
  for (int i = 0; i < 4; ++i) order.push_back(s.SpatialAxis(sum, i));
  s.Reorder(sum, order);
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, column);
    FetchInterleaved(s, copy, threads.counts);
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts()};
}

}  // namespace tilewright
