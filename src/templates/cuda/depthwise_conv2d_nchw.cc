#include "src/templates/cuda/depthwise_conv2d_nchw.h"

#include "src/target/gpu.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

constexpr std::array kTiles = {"tile_f", "tile_y", "tile_x"};

}  // namespace

std::string DepthwiseConv2dNchwCuda::Refuses(const Workload& w, const Target& target) {
  if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (!IsFloat32(w) && !IsFloat16(w) && !IsInt8(w)) return kPlainTypes;
  return ComputeCapabilityOf(target).status().message();
}

Result<ConfigSpace> DepthwiseConv2dNchwCuda::DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  std::vector<Result<Knob>> knobs = {Knob::Split("tile_f", shape.k, 4),
                                     Knob::Split("tile_y", shape.oh, 4),
                                     Knob::Split("tile_x", shape.ow, 4)};
  for (Result<Knob>& knob : UnrollKnobs(target, {0, 256, 1500})) knobs.push_back(std::move(knob));
  return MakeSpace(std::move(knobs));
}

Result<Config> DepthwiseConv2dNchwCuda::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvTile tile = DefaultConvTile(shape.k, shape.oh, shape.ow);
  return LocateValues(space, {{"tile_f", ThreadsAndInner(shape.k, tile.f, 1)},
                              {"tile_y", ThreadsAndInner(shape.oh, tile.y, 1)},
                              {"tile_x", ThreadsAndInner(shape.ow, tile.x, 1)},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{256}}},
                              {"unroll_explicit", KnobValue{std::int64_t{1}}}});
}

Result<Kernel> DepthwiseConv2dNchwCuda::Apply(const Workload& w, const Epilogue& epilogue,
                                              const Target&, const Config& config) {
  BlockThreads threads;
  for (std::size_t i = 0; i < threads.size(); ++i) threads[i] = config.Factors(kTiles[i])[2];
  TW_RETURN_IF_ERROR(CheckBlock(threads));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;
  std::vector<StageId> copies;
  for (const StageId shared : {stages.data, stages.weight}) {
    copies.push_back(s.CacheRead(s.stage(shared).op.name, Scope::kLocal, sum));
  }

  std::array<TiledAxis, 3> axes;
  for (int i = 0; i < 3; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    axes[slot] = TileAxis(s, result, s.SpatialAxis(result, i + 1), config.Factors(kTiles[slot]));
  }
  axes[0].block = s.Fuse(result, s.SpatialAxis(result, 0), axes[0].block);
  const LoopId thread = BindTiles(s, result, axes);
  PragmaUnroll(s, result, axes[0].block, config);

  s.ComputeAt(sum, result, thread);
  for (const StageId copy : copies) s.ComputeAt(copy, sum, s.SpatialAxis(sum, 0));
  for (const StageId shared : {stages.data, stages.weight}) {
    s.ComputeAt(shared, result, axes[2].block);
    FetchInterleaved(s, shared, threads);
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts()};
}

}  // namespace tilewright
