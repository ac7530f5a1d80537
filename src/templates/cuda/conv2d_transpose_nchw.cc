// AutoTVM's transposed convolution for CUDA: the flipped kernel moves over the data with zeros
// between its elements. The copies in shared memory contain the zeros.

#include "src/templates/cuda/templates.h"

#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"

namespace tilewright {
namespace conv2d_transpose_nchw_cuda {
namespace {

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2dTranspose) return "only transposed convolutions";
  if (w.groups != 1) return "only convolutions of one group";
  if (w.data_layout != "NCHW" || w.kernel_layout != "IOHW") {
    return "only NCHW data and IOHW weights";
  }
  return RefusesPlainTypes(w, target);
}

constexpr KnobDoc kKnobs[] = {
    kTileImagesDoc,
    {"tile_f",
     "Output channels: blocks, virtual threads, threads of a block, channels of one thread."},
    kTileRowsDoc,
    kTileColumnsDoc,
    {"tile_rc",
     "Input channels: outer steps, steps of each, channels that are copied to shared memory at"
     " once. The loops over kernel rows and columns are inside the steps."},
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
    kFuseYxDoc,
};

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  return SpaceWithUnroll(
      {Knob::Split("tile_n", s.n, 4), Knob::Split("tile_f", s.k, 4), Knob::Split("tile_y", s.oh, 4),
       Knob::Split("tile_x", s.ow, 4), Knob::Split("tile_rc", s.c, 3)},
      target, {64, 512, 1500}, {Knob::Other("fuse_yx", {0, 1})});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
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

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;

  TW_ASSIGN_OR_RETURN(const auto tiles, TileImages(s, result, config));
  PragmaUnroll(s, result, tiles.block, config);

  s.ComputeAt(sum, result, tiles.thread);
  const std::vector<LoopId> channels =
      s.SplitBy(sum, s.ReductionAxis(sum, 0), config.Factors("tile_rc"));
  const LoopId row = s.ReductionAxis(sum, 1), column = s.ReductionAxis(sum, 2);
  std::vector<LoopId> order = {channels[0], channels[1], row, column, channels[2]};
  for (int i = 0; i < 4; ++i) order.push_back(s.SpatialAxis(sum, i));
  s.Reorder(sum, order);
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, column);
    FetchInterleaved(s, copy, tiles.threads);
  }
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace conv2d_transpose_nchw_cuda

TemplateEntry Conv2dTransposeNchwCudaEntry() {
  using namespace conv2d_transpose_nchw_cuda;
  return LoopTemplate("conv2d_transpose_nchw.cuda", 2, "cuda", kKnobs, &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

}  // namespace tilewright
