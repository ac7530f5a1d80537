#include "src/templates/cuda/int8.h"

#include <algorithm>

#include "src/target/gpu.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
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

/// All orders of 0, 1, 2, lexicographic.
Knob Permutations(const char* name) {
  std::vector<KnobValue> values;
  std::vector<std::int64_t> order = {0, 1, 2};
  do {
    values.emplace_back().value = order;
  } while (std::next_permutation(order.begin(), order.end()));
  return Knob::Candidates(name, KnobKind::kReorder, std::move(values));
}

struct DenseSizes {
  std::int64_t m, n, k;
  std::int64_t vector;  ///< bytes of one access to memory
};

DenseSizes SizesOf(const Workload& w) {
  constexpr std::int64_t kLongest = 16;
  const std::int64_t k = w.data.shape[1];
  return {w.data.shape[0], w.weight.shape[0], k, k % kLongest == 0 ? kLongest : kDepth};
}

}  // namespace

std::string Conv2dNchwcInt8Cuda::Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (w.weight.shape[0] % kDepth != 0 || w.weight.shape[1] % kDepth != 0) {
    return "only multiples of 4 channels";
  }
  return RefusesInt8(w, target);
}

Result<ConfigSpace> Conv2dNchwcInt8Cuda::DefineSpace(const Workload& w, const Target&) {
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

Result<Config> Conv2dNchwcInt8Cuda::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
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

Result<Kernel> Conv2dNchwcInt8Cuda::Apply(const Workload& w, const Epilogue& epilogue,
                                          const Target&, const Config& config) {
  KernelLayouts layouts;
  layouts.data = layouts.output = Blocked("NCHW", kDepth, 'c');
  layouts.weight = "OIHW4o4i";
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
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
  s.Pragma(result, axes[0].block, "auto_unroll_max_step", config.Integer("auto_unroll_max_step"));
  s.Vectorize(result, s.SpatialAxis(result, 4));

  s.ComputeAt(sum, result, threads.loops[2]);
  const LoopId step = OrderReduction(
      s, sum, {config.Factors("tile_rc"), config.Factors("tile_ry"), config.Factors("tile_rx")},
      config.Factors("reorder_inner"));
  s.Tensorize(sum, s.SpatialAxis(sum, 4), DotOf(w));
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, step);
    FetchVectors(s, copy, threads.counts, kDepth);
  }
  if (config.Integer("AA_double_buffer") != 0) s.DoubleBuffer(stages.data);
  if (config.Integer("WW_double_buffer") != 0) s.DoubleBuffer(stages.weight);
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), layouts};
}

std::string DenseInt8Cuda::Refuses(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  if (w.data.shape[1] % kDepth != 0) return "only multiples of 4 inputs";
  return RefusesInt8(w, target);
}

Result<ConfigSpace> DenseInt8Cuda::DefineSpace(const Workload& w, const Target&) {
  const DenseSizes s = SizesOf(w);
  return MakeSpace({Knob::Split("tile_y", s.m, 4), Knob::Split("tile_x", s.n, 4),
                    Knob::Split("tile_k", s.k / s.vector, 2),
                    Knob::Other("auto_unroll_max_step", {0, 512, 1500})});
}

Result<Config> DenseInt8Cuda::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  constexpr std::int64_t kRows = 8, kColumns = 16, kInner = 2, kMaxStaged = 8;
  const DenseSizes s = SizesOf(w);
  const auto tile = [&](std::int64_t extent, std::int64_t most) {
    const std::int64_t threads = LargestDivisor(extent, most);
    return ThreadsAndInner(extent, threads, LargestDivisor(extent / threads, kInner));
  };
  const std::int64_t vectors = s.k / s.vector;
  return LocateValues(space, {{"tile_y", tile(s.m, kRows)},
                              {"tile_x", tile(s.n, kColumns)},
                              {"tile_k", InnerFactor(vectors, LargestDivisor(vectors, kMaxStaged))},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{512}}}});
}

Result<Kernel> DenseInt8Cuda::Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                                    const Config& config) {
  const DenseSizes sizes = SizesOf(w);
  const std::vector<std::int64_t>&rows = config.Factors("tile_y"),
        &columns = config.Factors("tile_x");
  const BlockThreads threads = {1, rows[2], columns[2]};
  TW_RETURN_IF_ERROR(CheckBlock(threads));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const TiledAxis y = TileAxis(s, result, s.SpatialAxis(result, 0), rows);
  const TiledAxis x = TileAxis(s, result, s.SpatialAxis(result, 1), columns);
  const LoopId thread = BindPlane(s, result, y, x);
  s.Pragma(result, y.block, "auto_unroll_max_step", config.Integer("auto_unroll_max_step"));

  s.ComputeAt(sum, result, thread);
  const auto [products, depth] = s.Split(sum, s.ReductionAxis(sum, 0), kDepth);
  const std::int64_t staged = config.Factors("tile_k")[1] * sizes.vector / kDepth;
  const auto [step, inside] = s.Split(sum, products, staged);
  // Weights are not packed: each lane of the dot product is a loop of its own.
  const auto [column, lane] = s.Split(sum, s.SpatialAxis(sum, 1), 1);
  s.Reorder(sum, {step, inside, s.SpatialAxis(sum, 0), column, lane, depth});
  s.Tensorize(sum, lane, DotOf(w));
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, step);
    FetchVectors(s, copy, threads, sizes.vector);
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts()};
}

}  // namespace tilewright
