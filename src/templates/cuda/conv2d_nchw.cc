#include "src/templates/cuda/conv2d_nchw.h"

#include "src/target/gpu.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

constexpr std::array kTiles = {"tile_f", "tile_y", "tile_x"};

}  // namespace

std::string Conv2dNchwCuda::Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (!IsFloat32(w) && !IsFloat16(w) && !IsInt8(w)) return kPlainTypes;
  return ComputeCapabilityOf(target).status().message();
}

Result<ConfigSpace> Conv2dNchwCuda::DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  std::vector<Result<Knob>> knobs = {
      Knob::Split("tile_f", s.k, 4),  Knob::Split("tile_y", s.oh, 4),
      Knob::Split("tile_x", s.ow, 4), Knob::Split("tile_rc", s.c, 2),
      Knob::Split("tile_ry", s.r, 2), Knob::Split("tile_rx", s.s, 2)};
  for (Result<Knob>& knob : UnrollKnobs(target, {0, 512, 1500})) knobs.push_back(std::move(knob));
  return MakeSpace(std::move(knobs));
}

Result<Config> Conv2dNchwCuda::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  constexpr std::int64_t kMaxStaged = 8;  // channels
  const ConvTile tile = DefaultConvTile(s.k, s.oh, s.ow);
  return LocateValues(space, {{"tile_f", ThreadsAndInner(s.k, tile.f, tile.sums)},
                              {"tile_y", ThreadsAndInner(s.oh, tile.y, 1)},
                              {"tile_x", ThreadsAndInner(s.ow, tile.x, 1)},
                              {"tile_rc", InnerFactor(s.c, LargestDivisor(s.c, kMaxStaged))},
                              {"tile_ry", InnerFactor(s.r, s.r)},
                              {"tile_rx", InnerFactor(s.s, s.s)},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{512}}},
                              {"unroll_explicit", KnobValue{std::int64_t{1}}}});
}

Result<Kernel> Conv2dNchwCuda::Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                                     const Config& config) {
  BlockThreads threads;
  for (std::size_t i = 0; i < threads.size(); ++i) threads[i] = config.Factors(kTiles[i])[2];
  TW_RETURN_IF_ERROR(CheckBlock(threads));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;

  std::array<TiledAxis, 3> axes;
  for (int i = 0; i < 3; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    axes[slot] = TileAxis(s, result, s.SpatialAxis(result, i + 1), config.Factors(kTiles[slot]));
  }
  axes[0].block = s.Fuse(result, s.SpatialAxis(result, 0), axes[0].block);
  const LoopId thread = BindTiles(s, result, axes);
  PragmaUnroll(s, result, axes[0].block, config);

  s.ComputeAt(sum, result, thread);
  const LoopId step = OrderReduction(
      s, sum, {config.Factors("tile_rc"), config.Factors("tile_ry"), config.Factors("tile_rx")});
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, step);
    FetchInRuns(s, copy, threads);
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts()};
}

}  // namespace tilewright
