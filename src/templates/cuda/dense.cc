// AutoTVM's matrix products for CUDA: a small batch sums along a row with several threads, a large
// one is tiled; and batched products.

#include "src/templates/cuda/dense.h"

#include <algorithm>
#include <utility>

#include "src/target/gpu.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

Sizes SizesOf(const Workload& w) {
  const std::size_t rank = w.data.shape.size();
  return {w.data.shape[rank - 2], w.weight.shape[rank - 2], w.data.shape[rank - 1]};
}

std::string RefusesTypes(const Workload& w, const Target& target) {
  if (!IsFloat32(w) && !IsFloat16(w) && !IsInt8(w)) return kPlainTypes;
  return ComputeCapabilityOf(target).status().message();
}

std::string RefusesDense(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  return RefusesTypes(w, target);
}

/// Largest power of two that is at most `limit` and divides `extent`.
std::int64_t PowerOfTwo(std::int64_t extent, std::int64_t limit) {
  std::int64_t power = 1;
  while (power * 2 <= limit && extent % (power * 2) == 0) power *= 2;
  return power;
}

/// A copy in registers of what a sum reads of a shared one, made in loop `at`.
void KeepInRegisters(Schedule& s, StageId shared, StageId sum, LoopId at) {
  const StageId copy = s.CacheRead(s.stage(shared).op.name, Scope::kLocal, sum);
  s.ComputeAt(copy, sum, at);
}

}  // namespace

std::string DenseSmallBatchCuda::Refuses(const Workload& w, const Target& target) {
  return RefusesDense(w, target);
}

Result<ConfigSpace> DenseSmallBatchCuda::DefineSpace(const Workload& w, const Target&) {
  return MakeSpace({Knob::Split("tile_k", SizesOf(w).k, 2)});
}

Result<Config> DenseSmallBatchCuda::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  constexpr std::int64_t kThreads = 64;
  const std::int64_t k = SizesOf(w).k;
  return LocateValues(space, {{"tile_k", InnerFactor(k, LargestDivisor(k, kThreads))}});
}

Result<Kernel> DenseSmallBatchCuda::Apply(const Workload& w, const Epilogue& epilogue,
                                          const Target&, const Config& config) {
  const std::int64_t threads = config.Factors("tile_k")[1];
  TW_RETURN_IF_ERROR(CheckBlock({1, 1, threads}));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  // Each thread sums every threads-th product; sums of threads meet in shared memory, in two rounds
  // where there are many.
  constexpr std::int64_t kMaxAtOnce = 32;
  std::vector<std::int64_t> rounds = {threads};
  if (threads > kMaxAtOnce) rounds.push_back(LargestDivisor(threads, kMaxAtOnce));
  s.Bind(stages.result, s.SpatialAxis(stages.result, 0), LoopKind::kBlockY);
  const LoopId element = s.SpatialAxis(stages.result, 1);
  s.Bind(stages.result, element, LoopKind::kBlockX);
  s.ComputeAt(stages.sum, stages.result, element);
  for (const std::int64_t count : rounds) {
    const StageId partial = s.RFactor(stages.sum, 0, count);
    const StageId own = s.CacheWrite(partial, Scope::kLocal);
    s.SetScope(partial, Scope::kShared);
    const LoopId thread = s.SpatialAxis(partial, 2);
    s.Bind(partial, thread, LoopKind::kThreadX);
    s.ComputeAt(partial, stages.result, element);
    s.ComputeAt(own, partial, thread);
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts()};
}

std::string DenseLargeBatchCuda::Refuses(const Workload& w, const Target& target) {
  constexpr std::int64_t kSmallest = 32;  // as AutoTVM draws the line
  if (w.op == OpKind::kDense && w.data.shape[0] < kSmallest) return "only batches of 32 or more";
  return RefusesDense(w, target);
}

Result<ConfigSpace> DenseLargeBatchCuda::DefineSpace(const Workload& w, const Target&) {
  const Sizes s = SizesOf(w);
  return MakeSpace({Knob::Split("tile_x", s.m, 4), Knob::Split("tile_y", s.n, 4),
                    Knob::Split("tile_k", s.k, 3)});
}

Result<Config> DenseLargeBatchCuda::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  constexpr std::int64_t kThreads = 8, kInner = 4, kDepth = 8;
  const Sizes s = SizesOf(w);
  const auto tile = [](std::int64_t extent) {
    const std::int64_t threads = PowerOfTwo(extent, kThreads);
    return ThreadsAndInner(extent, threads, PowerOfTwo(extent / threads, kInner));
  };
  const std::int64_t depth = PowerOfTwo(s.k, kDepth);
  return LocateValues(space,
                      {{"tile_x", tile(s.m)},
                       {"tile_y", tile(s.n)},
                       {"tile_k", KnobValue{std::vector<std::int64_t>{s.k / depth, depth, 1}}}});
}

Result<Kernel> DenseLargeBatchCuda::Apply(const Workload& w, const Epilogue& epilogue,
                                          const Target&, const Config& config) {
  const std::vector<std::int64_t>&rows = config.Factors("tile_x"),
        &columns = config.Factors("tile_y");
  const BlockThreads threads = {1, columns[2], rows[2]};
  TW_RETURN_IF_ERROR(CheckBlock(threads));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const TiledAxis x = TileAxis(s, result, s.SpatialAxis(result, 0), rows);
  const TiledAxis y = TileAxis(s, result, s.SpatialAxis(result, 1), columns);
  const LoopId thread = BindPlane(s, result, y, x);

  constexpr std::int64_t kVector = 4;  // floats of the longest access
  s.ComputeAt(sum, result, thread);
  const std::vector<LoopId> k = s.SplitBy(sum, s.ReductionAxis(sum, 0), config.Factors("tile_k"));
  s.Reorder(sum, {k[0], k[1], k[2], s.SpatialAxis(sum, 0), s.SpatialAxis(sum, 1)});
  for (const StageId shared : {stages.data, stages.weight}) {
    KeepInRegisters(s, shared, sum, k[1]);
    s.ComputeAt(shared, sum, k[0]);
    FetchVectors(s, shared, threads, PowerOfTwo(s.Extent(k[1]) * s.Extent(k[2]), kVector));
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts()};
}

std::string BatchMatmulCuda::Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kBatchMatmul) return "only batch_matmul";
  if (w.data_layout != "BMK" || w.kernel_layout != "BNK") return "only BMK and BNK";
  return RefusesTypes(w, target);
}

Result<ConfigSpace> BatchMatmulCuda::DefineSpace(const Workload& w, const Target& target) {
  const Sizes s = SizesOf(w);
  std::vector<Result<Knob>> knobs = {Knob::Split("tile_y", s.m, 3), Knob::Split("tile_x", s.n, 3),
                                     Knob::Split("tile_k", s.k, 2)};
  for (Result<Knob>& knob : UnrollKnobs(target, {8, 16, 32, 64})) knobs.push_back(std::move(knob));
  return MakeSpace(std::move(knobs));
}

Result<Config> BatchMatmulCuda::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  constexpr std::int64_t kBlock = 64, kThreads = 8, kDepth = 8;
  const Sizes s = SizesOf(w);
  const auto tile = [&](std::int64_t extent) {
    const std::int64_t block = PowerOfTwo(extent, kBlock);
    const std::int64_t threads = std::min(kThreads, block);
    return KnobValue{std::vector<std::int64_t>{extent / block, threads, block / threads}};
  };
  return LocateValues(space, {{"tile_y", tile(s.m)},
                              {"tile_x", tile(s.n)},
                              {"tile_k", InnerFactor(s.k, LargestDivisor(s.k, kDepth))},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{16}}},
                              {"unroll_explicit", KnobValue{std::int64_t{1}}}});
}

Result<Kernel> BatchMatmulCuda::Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                                      const Config& config) {
  const std::vector<std::int64_t>&rows = config.Factors("tile_y"),
        &columns = config.Factors("tile_x");
  TW_RETURN_IF_ERROR(CheckBlock({1, rows[1], columns[1]}));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const std::vector<LoopId> y = s.SplitBy(result, s.SpatialAxis(result, 1), rows);
  const std::vector<LoopId> x = s.SplitBy(result, s.SpatialAxis(result, 2), columns);
  s.Reorder(result, {y[0], x[0], y[1], x[1], y[2], x[2]});
  BindBlockLoops(s, result, {s.SpatialAxis(result, 0), y[0], x[0]});
  s.Bind(result, y[1], LoopKind::kThreadY);
  s.Bind(result, x[1], LoopKind::kThreadX);
  PragmaUnroll(s, result, s.SpatialAxis(result, 0), config);

  s.ComputeAt(sum, result, x[1]);
  const std::vector<LoopId> k = s.SplitBy(sum, s.ReductionAxis(sum, 0), config.Factors("tile_k"));
  s.Reorder(sum, {k[0], k[1], s.SpatialAxis(sum, 0), s.SpatialAxis(sum, 1), s.SpatialAxis(sum, 2)});
  for (const StageId shared : {stages.data, stages.weight}) {
    KeepInRegisters(s, shared, sum, k[1]);
    s.ComputeAt(shared, sum, k[0]);
    // Rows to threads along y, depth to threads along x.
    const auto [row, row_run] = s.SplitParts(shared, s.SpatialAxis(shared, 1), rows[1]);
    const auto [depth, depth_run] = s.SplitParts(shared, s.SpatialAxis(shared, 2), columns[1]);
    s.Reorder(shared, {row, depth, row_run, depth_run});
    s.Bind(shared, row, LoopKind::kThreadY);
    s.Bind(shared, depth, LoopKind::kThreadX);
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts()};
}

}  // namespace tilewright
