// AutoTVM's matrix products for CUDA. For small batches, one block computes one result and its
// threads share the sum. For large ones, rows and columns are tiled, and both operands are copied
// to shared memory and then to registers. The third template is a batched product.

#include "src/templates/cuda/templates.h"

#include <algorithm>
#include <utility>

#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace dense_cuda {
namespace {

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  return RefusesPlainTypes(w, target);
}

/// Copies the elements that a sum reads from shared memory to registers, in loop `at`.
void KeepInRegisters(Schedule& s, StageId shared, StageId sum, LoopId at) {
  const StageId copy = s.CacheRead(s.stage(shared).op.name, Scope::kLocal, sum);
  s.ComputeAt(copy, sum, at);
}

constexpr KnobDoc kSmallBatchKnobs[] = {
    {"tile_k", "Products of one sum: products of each thread, threads that share the sum."},
};

Result<ConfigSpace> SmallBatchSpace(const Workload& w, const Target&) {
  return MakeSpace({Knob::Split("tile_k", MatmulSizesOf(w).k, 2)});
}

Result<Config> SmallBatchDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, SmallBatchSpace(w, target));
  constexpr std::int64_t kThreads = 64;
  const std::int64_t k = MatmulSizesOf(w).k;
  return LocateValues(space, {{"tile_k", InnerFactor(k, LargestDivisor(k, kThreads))}});
}

Result<Kernel> ApplySmallBatch(const Workload& w, const Epilogue& epilogue, const Target&,
                               const Config& config) {
  const std::int64_t threads = config.Factors("tile_k")[1];
  TW_RETURN_IF_ERROR(CheckBlock({1, 1, threads}));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  // Each thread sums every threads-th product. The sums of the threads are added up in shared
  // memory, in two rounds if there are many.
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
  return FinishKernel(std::move(s));
}

std::string RefusesLargeBatch(const Workload& w, const Target& target) {
  constexpr std::int64_t kSmallest = 32;  // AutoTVM's limit
  if (w.op == OpKind::kDense && w.data.shape[0] < kSmallest) return "only batches of 32 or more";
  return Refuses(w, target);
}

constexpr KnobDoc kLargeBatchKnobs[] = {
    {"tile_x",
     "Rows of the result: blocks, virtual threads, threads of a block, rows of one thread."},
    {"tile_y",
     "Columns of the result: blocks, virtual threads, threads of a block, columns of one "
     "thread."},
    {"tile_k",
     "Products of one sum: copies to shared memory, copies of each to registers, products of "
     "one copy to registers."},
};

Result<ConfigSpace> LargeBatchSpace(const Workload& w, const Target&) {
  const MatmulSizes s = MatmulSizesOf(w);
  return MakeSpace({Knob::Split("tile_x", s.m, 4), Knob::Split("tile_y", s.n, 4),
                    Knob::Split("tile_k", s.k, 3)});
}

Result<Config> LargeBatchDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, LargeBatchSpace(w, target));
  constexpr std::int64_t kThreads = 8, kInner = 4, kDepth = 8;
  const MatmulSizes s = MatmulSizesOf(w);
  const auto tile = [](std::int64_t extent) {
    const std::int64_t threads = LargestPowerOfTwo(extent, kThreads);
    return ThreadsAndInner(extent, threads, LargestPowerOfTwo(extent / threads, kInner));
  };
  const std::int64_t depth = LargestPowerOfTwo(s.k, kDepth);
  return LocateValues(space,
                      {{"tile_x", tile(s.m)},
                       {"tile_y", tile(s.n)},
                       {"tile_k", KnobValue{std::vector<std::int64_t>{s.k / depth, depth, 1}}}});
}

Result<Kernel> ApplyLargeBatch(const Workload& w, const Epilogue& epilogue, const Target&,
                               const Config& config) {
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;
  TW_ASSIGN_OR_RETURN(const auto tiles, TilePlane(s, result, config.Factors("tile_x"),
                                                  config.Factors("tile_y"), /*rows_along_x=*/true));

  constexpr std::int64_t kVector = 4;  // floats of the longest access
  s.ComputeAt(sum, result, tiles.thread);
  const std::vector<LoopId> k = s.SplitBy(sum, s.ReductionAxis(sum, 0), config.Factors("tile_k"));
  s.Reorder(sum, {k[0], k[1], k[2], s.SpatialAxis(sum, 0), s.SpatialAxis(sum, 1)});
  for (const StageId shared : {stages.data, stages.weight}) {
    KeepInRegisters(s, shared, sum, k[1]);
    s.ComputeAt(shared, sum, k[0]);
    FetchVectors(s, shared, tiles.threads,
                 LargestPowerOfTwo(s.Extent(k[1]) * s.Extent(k[2]), kVector));
  }
  return FinishKernel(std::move(s));
}

std::string RefusesBatched(const Workload& w, const Target& target) {
  if (w.op != OpKind::kBatchMatmul) return "only batch_matmul";
  if (w.data_layout != "BMK" || w.kernel_layout != "BNK") return "only BMK and BNK";
  return RefusesPlainTypes(w, target);
}

constexpr KnobDoc kBatchedKnobs[] = {
    {"tile_y", "Rows of the result: blocks, threads of a block, rows of one thread."},
    {"tile_x", "Columns of the result: blocks, threads of a block, columns of one thread."},
    {"tile_k", "Products of one sum: steps, products that are copied to shared memory at once."},
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
};

Result<ConfigSpace> BatchedSpace(const Workload& w, const Target& target) {
  const MatmulSizes s = MatmulSizesOf(w);
  return SpaceWithUnroll(
      {Knob::Split("tile_y", s.m, 3), Knob::Split("tile_x", s.n, 3), Knob::Split("tile_k", s.k, 2)},
      target, {8, 16, 32, 64});
}

Result<Config> BatchedDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, BatchedSpace(w, target));
  constexpr std::int64_t kBlock = 64, kThreads = 8, kDepth = 8;
  const MatmulSizes s = MatmulSizesOf(w);
  const auto tile = [&](std::int64_t extent) {
    const std::int64_t block = LargestPowerOfTwo(extent, kBlock);
    const std::int64_t threads = std::min(kThreads, block);
    return KnobValue{std::vector<std::int64_t>{extent / block, threads, block / threads}};
  };
  return LocateValues(space, {{"tile_y", tile(s.m)},
                              {"tile_x", tile(s.n)},
                              {"tile_k", InnerFactor(s.k, LargestDivisor(s.k, kDepth))},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{16}}},
                              {"unroll_explicit", KnobValue{std::int64_t{1}}}});
}

Result<Kernel> ApplyBatched(const Workload& w, const Epilogue& epilogue, const Target&,
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
    // Distributes rows over threads along y, and depth over threads along x.
    const auto [row, row_run] = s.SplitParts(shared, s.SpatialAxis(shared, 1), rows[1]);
    const auto [depth, depth_run] = s.SplitParts(shared, s.SpatialAxis(shared, 2), columns[1]);
    s.Reorder(shared, {row, depth, row_run, depth_run});
    s.Bind(shared, row, LoopKind::kThreadY);
    s.Bind(shared, depth, LoopKind::kThreadX);
  }
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace dense_cuda

TemplateEntry DenseSmallBatchCudaEntry() {
  using namespace dense_cuda;
  return LoopTemplate("dense_small_batch.cuda", 2, "cuda", kSmallBatchKnobs, &Refuses,
                      &SmallBatchSpace, &SmallBatchDefault, &ApplySmallBatch);
}

TemplateEntry DenseLargeBatchCudaEntry() {
  using namespace dense_cuda;
  return LoopTemplate("dense_large_batch.cuda", 2, "cuda", kLargeBatchKnobs, &RefusesLargeBatch,
                      &LargeBatchSpace, &LargeBatchDefault, &ApplyLargeBatch);
}

TemplateEntry BatchMatmulCudaEntry() {
  using namespace dense_cuda;
  return LoopTemplate("batch_matmul.cuda", 2, "cuda", kBatchedKnobs, &RefusesBatched, &BatchedSpace,
                      &BatchedDefault, &ApplyBatched);
}

}  // namespace tilewright
