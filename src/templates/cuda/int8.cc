// AutoTVM's convolutions and matrix products of 8-bit data for CUDA, by dp4a. Convolutions have
// channels in blocks of 4, whose products one dp4a sums.

#include "src/templates/cuda/templates.h"

#include <algorithm>

#include "src/target/gpu.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace int8_cuda {
namespace {

constexpr std::int64_t kDepth = 4;  // products of one dp4a

std::string RefusesInt8(const Workload& w, const Target& target) {
  constexpr int kFirstWithDp4a = 61;
  if (!IsInt8(w)) return "only 8-bit data and int8 weights summed in int32";
  const auto capability = ComputeCapabilityOf(target);
  if (!capability.ok()) return capability.status().message();
  if (*capability < kFirstWithDp4a) return "the device has no dp4a (compute capability 6.1)";
  return "";
}

const char* DotOf(const Workload& w) { return w.data.dtype == kUInt8 ? "dot4.u8s8" : "dot4.s8s8"; }

/// Returns a knob with all orders of 0, 1, 2, lexicographic.
Knob Permutations(const char* name) {
  std::vector<KnobValue> values;
  std::vector<std::int64_t> order = {0, 1, 2};
  do {
    values.emplace_back().value = order;
  } while (std::next_permutation(order.begin(), order.end()));
  return Knob::Candidates(name, KnobKind::kReorder, std::move(values));
}

/// Bytes of one access to memory.
std::int64_t AccessBytes(std::int64_t k) {
  constexpr std::int64_t kLongest = 16;
  return k % kLongest == 0 ? kLongest : kDepth;
}

std::string RefusesConv(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (w.weight.shape[0] % kDepth != 0 || w.weight.shape[1] % kDepth != 0) {
    return "only multiples of 4 channels";
  }
  return RefusesInt8(w, target);
}

constexpr KnobDoc kConvKnobs[] = {
    kTileImagesDoc,
    {"tile_f",
     "Blocks of 4 output channels: blocks of the grid, virtual threads, threads of a block, "
     "blocks of channels of one thread."},
    kTileRowsDoc,
    kTileColumnsDoc,
    kFuseYxDoc,
    {"tile_rc",
     "Blocks of 4 input channels: steps, blocks that are copied to shared memory at once."},
    {"tile_ry", "Kernel rows: steps, rows that are copied to shared memory at once."},
    {"tile_rx", "Kernel columns: steps, columns that are copied to shared memory at once."},
    {"reorder_inner",
     "Order of the three loops over steps, outermost first: 0 is tile_rc, 1 is tile_ry, 2 is "
     "tile_rx."},
    {"AA_double_buffer",
     "1 gives the data two buffers in shared memory that alternate from step to step."},
    {"WW_double_buffer",
     "1 gives the weight two buffers in shared memory that alternate from step to step."},
    kUnrollStepsDoc,
};

Result<ConfigSpace> ConvSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  return MakeSpace({Knob::Split("tile_n", s.n, 4), Knob::Split("tile_f", s.k / kDepth, 4),
                    Knob::Split("tile_y", s.oh, 4), Knob::Split("tile_x", s.ow, 4),
                    Knob::Other("fuse_yx", {0, 1}), Knob::Split("tile_rc", s.c / kDepth, 2),
                    Knob::Split("tile_ry", s.r, 2), Knob::Split("tile_rx", s.s, 2),
                    Permutations("reorder_inner"), Knob::Other("AA_double_buffer", {0, 1}),
                    Knob::Other("WW_double_buffer", {0, 1}),
                    Knob::Other("auto_unroll_max_step", {0, 512, 1500})});
}

Result<Config> ConvDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, ConvSpace(w, target));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  constexpr std::int64_t kMaxStaged = 8;  // blocks of channels
  const std::int64_t blocks = s.c / kDepth;
  const ConvTile tile = DefaultConvTile(s.k / kDepth, s.oh, s.ow);
  const auto number = [](std::int64_t value) { return KnobValue{value}; };
  return LocateValues(space, {{"tile_n", ThreadsAndInner(s.n, 1, 1)},
                              {"tile_f", ThreadsAndInner(s.k / kDepth, tile.f, tile.sums)},
                              {"tile_y", ThreadsAndInner(s.oh, tile.y, 1)},
                              {"tile_x", ThreadsAndInner(s.ow, tile.x, 1)},
                              {"fuse_yx", number(0)},
                              {"tile_rc", InnerFactor(blocks, LargestDivisor(blocks, kMaxStaged))},
                              {"tile_ry", InnerFactor(s.r, s.r)},
                              {"tile_rx", InnerFactor(s.s, s.s)},
                              {"reorder_inner", KnobValue{std::vector<std::int64_t>{0, 1, 2}}},
                              {"AA_double_buffer", number(0)},
                              {"WW_double_buffer", number(0)},
                              {"auto_unroll_max_step", number(512)}});
}

Result<Kernel> ApplyConv(const Workload& w, const Epilogue& epilogue, const Target&,
                         const Config& config) {
  KernelLayouts layouts;
  layouts.data = layouts.output = Blocked("NCHW", kDepth, 'c');
  layouts.weight = "OIHW4o4i";
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;

  TW_ASSIGN_OR_RETURN(const auto tiles, TileImages(s, result, config));
  s.Pragma(result, tiles.block, "auto_unroll_max_step", config.Integer("auto_unroll_max_step"));
  s.Vectorize(result, s.SpatialAxis(result, 4));

  s.ComputeAt(sum, result, tiles.thread);
  const LoopId step = OrderReduction(
      s, sum, {config.Factors("tile_rc"), config.Factors("tile_ry"), config.Factors("tile_rx")},
      config.Factors("reorder_inner"));
  s.Tensorize(sum, s.SpatialAxis(sum, 4), DotOf(w));
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, step);
    FetchVectors(s, copy, tiles.threads, kDepth);
  }
  if (config.Integer("AA_double_buffer") != 0) s.DoubleBuffer(stages.data);
  if (config.Integer("WW_double_buffer") != 0) s.DoubleBuffer(stages.weight);
  return FinishKernel(std::move(s), layouts);
}

std::string RefusesDenseInt8(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  if (w.data.shape[1] % kDepth != 0) return "only multiples of 4 inputs";
  return RefusesInt8(w, target);
}

constexpr KnobDoc kDenseKnobs[] = {
    kTileRowsDoc,
    kTileColumnsDoc,
    {"tile_k",
     "Products of one sum, in vectors of 16 bytes (4 if 16 does not divide them): steps, "
     "vectors that are copied to shared memory at once."},
    kUnrollStepsDoc,
};

Result<ConfigSpace> DenseSpace(const Workload& w, const Target&) {
  const MatmulSizes s = MatmulSizesOf(w);
  return MakeSpace({Knob::Split("tile_y", s.m, 4), Knob::Split("tile_x", s.n, 4),
                    Knob::Split("tile_k", s.k / AccessBytes(s.k), 2),
                    Knob::Other("auto_unroll_max_step", {0, 512, 1500})});
}

Result<Config> DenseDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DenseSpace(w, target));
  constexpr std::int64_t kRows = 8, kColumns = 16, kInner = 2, kMaxStaged = 8;
  const MatmulSizes s = MatmulSizesOf(w);
  const auto tile = [&](std::int64_t extent, std::int64_t most) {
    const std::int64_t threads = LargestDivisor(extent, most);
    return ThreadsAndInner(extent, threads, LargestDivisor(extent / threads, kInner));
  };
  const std::int64_t vectors = s.k / AccessBytes(s.k);
  return LocateValues(space, {{"tile_y", tile(s.m, kRows)},
                              {"tile_x", tile(s.n, kColumns)},
                              {"tile_k", InnerFactor(vectors, LargestDivisor(vectors, kMaxStaged))},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{512}}}});
}

Result<Kernel> ApplyDense(const Workload& w, const Epilogue& epilogue, const Target&,
                          const Config& config) {
  const std::int64_t bytes = AccessBytes(w.data.shape[1]);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;
  TW_ASSIGN_OR_RETURN(const auto tiles,
                      TilePlane(s, result, config.Factors("tile_y"), config.Factors("tile_x")));
  s.Pragma(result, tiles.block, "auto_unroll_max_step", config.Integer("auto_unroll_max_step"));

  s.ComputeAt(sum, result, tiles.thread);
  const auto [products, depth] = s.Split(sum, s.ReductionAxis(sum, 0), kDepth);
  const std::int64_t staged = config.Factors("tile_k")[1] * bytes / kDepth;
  const auto [step, inside] = s.Split(sum, products, staged);
  // Weights are not packed: each lane of the dot product is a separate loop.
  const auto [column, lane] = s.Split(sum, s.SpatialAxis(sum, 1), 1);
  s.Reorder(sum, {step, inside, s.SpatialAxis(sum, 0), column, lane, depth});
  s.Tensorize(sum, lane, DotOf(w));
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, step);
    FetchVectors(s, copy, tiles.threads, bytes);
  }
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace int8_cuda

TemplateEntry Conv2dNchwcInt8CudaEntry() {
  using namespace int8_cuda;
  return LoopTemplate("conv2d_NCHWc_int8.cuda", 2, "cuda", kConvKnobs, &RefusesConv, &ConvSpace,
                      &ConvDefault, &ApplyConv);
}

TemplateEntry DenseInt8CudaEntry() {
  using namespace int8_cuda;
  return LoopTemplate("dense_int8.cuda", 2, "cuda", kDenseKnobs, &RefusesDenseInt8, &DenseSpace,
                      &DenseDefault, &ApplyDense);
}

}  // namespace tilewright
