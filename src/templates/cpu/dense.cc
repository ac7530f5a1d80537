// AutoTVM's matrix products for x86, with its knobs: with a packed weight (NK<x>n), without, and
// batched. Without packing, the inner part of K is a vector of partial sums.
// Source: reference of AutoTVM records, sections 9.4, 12.8 and 13.

#include "src/templates/cpu/templates.h"

#include <utility>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace dense_cpu {
namespace {

std::string Refuses(const Workload& w, const Target&) { return RefusesDense(w); }

constexpr KnobDoc kTwoPartKnobs[] = {
    {"tile_y", "Rows of the result: tiles, rows of one register tile."},
    {"tile_x", "Columns of the result: tiles, columns of one register tile."},
    {"tile_k",
     "Products of one sum: steps, products of one step, which are lanes of a vector of partial"
     " sums."},
};

Result<ConfigSpace> TwoPartSpace(const Workload& w, const Target&) {
  const MatmulSizes s = MatmulSizesOf(w);
  return MakeSpace({Knob::Split("tile_y", s.m, 2), Knob::Split("tile_x", s.n, 2),
                    Knob::Split("tile_k", s.k, 2)});
}

std::int64_t Lanes(const Target& target) {
  const auto features = FeaturesOf(target);
  return features.ok() && features->avx512 ? 16 : 8;
}

/// Rejects tiles that only fill memory with partial sums.
Status CheckTile(std::int64_t vectors, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  const std::int64_t most = 2 * features.vector_registers();
  if (vectors <= most) return {};
  return InvalidArgument("register tile of " + std::to_string(vectors) +
                         " vectors, expected at most " + std::to_string(most));
}

/// Tiles rows and columns of the result; the sums of a tile are vectors over the inner part of K.
/// kBatch: 1 if a batch axis comes first, else 0.
template <int kBatch>
Result<Kernel> ApplyPartialSums(const Workload& w, const Epilogue& epilogue, const Target& target,
                                const Config& config) {
  const std::int64_t y = config.Factors("tile_y")[1], x = config.Factors("tile_x")[1];
  const std::int64_t k = config.Factors("tile_k")[1];
  TW_RETURN_IF_ERROR(CheckTile(y * x * CeilDiv(k, Lanes(target)), target));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const StageId partial = s.RFactor(sum, 0, k);
  s.SetScope(partial, Scope::kLocal);

  const auto [y_outer, y_inner] = s.Split(result, s.SpatialAxis(result, kBatch), y, Tail::kPeel);
  const auto [x_outer, x_inner] =
      s.Split(result, s.SpatialAxis(result, kBatch + 1), x, Tail::kPeel);
  std::vector<LoopId> outer = {y_outer, x_outer};
  if (kBatch > 0) outer.insert(outer.begin(), s.SpatialAxis(result, 0));
  std::vector<LoopId> order = outer;
  order.insert(order.end(), {y_inner, x_inner});
  s.Reorder(result, order);
  const LoopId tile = FuseAll(s, result, outer);
  ParallelFor(s, result, tile, target);

  s.ComputeAt(sum, result, tile);
  const auto [once, sum_y] = s.Split(sum, s.SpatialAxis(sum, kBatch), y);
  s.Reorder(sum, {once, sum_y, s.SpatialAxis(sum, kBatch + 1), s.ReductionAxis(sum, 0)});
  s.Unroll(sum, s.ReductionAxis(sum, 0));
  s.Unroll(sum, s.SpatialAxis(sum, kBatch + 1));
  s.Unroll(sum, sum_y);

  s.ComputeAt(partial, sum, once);
  const LoopId lanes = s.SpatialAxis(partial, kBatch + 2);
  s.Reorder(partial, {s.ReductionAxis(partial, 0), s.SpatialAxis(partial, kBatch),
                      s.SpatialAxis(partial, kBatch + 1), lanes});
  s.Unroll(partial, s.SpatialAxis(partial, kBatch));
  s.Unroll(partial, s.SpatialAxis(partial, kBatch + 1));
  s.Vectorize(partial, lanes);
  return FinishKernel(std::move(s));
}

Result<Config> NopackDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, TwoPartSpace(w, target));
  const MatmulSizes s = MatmulSizesOf(w);
  // The fallback gives tile_y all of M, for which a few rows use up the registers.
  constexpr std::int64_t kMaxRows = 8;
  return LocateValues(space,
                      {{"tile_y", InnerFactor(s.m, LargestDivisor(s.m, kMaxRows))},
                       {"tile_x", InnerFactor(s.n, 1)},
                       {"tile_k", InnerFactor(s.k, LargestDivisor(s.k, 2 * Lanes(target)))}});
}

std::string RefusesBatched(const Workload& w, const Target&) {
  if (w.op != OpKind::kBatchMatmul) return "only batch_matmul";
  return w.data_layout == "BMK" && w.kernel_layout == "BNK" ? "" : "only BMK and BNK layouts";
}

constexpr std::int64_t kHalfVector = 8;

/// Returns true for products with vectors: of their columns, vectors would have one, and the rows
/// have whole vectors along K.
bool IsOneColumn(const Workload& w) {
  return IsFloat32(w) && MatmulSizesOf(w).n == 1 && MatmulSizesOf(w).k % kHalfVector == 0;
}

bool IsBatchedPreferred(const Workload& w, const Target&) { return IsOneColumn(w); }

Result<Config> BatchedDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, TwoPartSpace(w, target));
  const MatmulSizes s = MatmulSizesOf(w);
  constexpr std::int64_t kMaxTile = 8, kPartialSums = 16;
  std::int64_t y = LargestPowerOfTwo(s.m, kMaxTile), x = LargestPowerOfTwo(s.n, kMaxTile);
  std::int64_t k = LargestDivisor(s.k, kPartialSums);
  if (IsOneColumn(w) && k % kHalfVector != 0) k = kHalfVector;
  // The fallback of 8 x 8 vectors spills; the nearest tile that CheckTile accepts is taken.
  while (x > 1 && !CheckTile(2 * y * x * CeilDiv(k, Lanes(target)), target).ok()) x /= 2;
  while (y > 1 && !CheckTile(2 * y * x * CeilDiv(k, Lanes(target)), target).ok()) y /= 2;
  return LocateValues(space, {{"tile_y", InnerFactor(s.m, y)},
                              {"tile_x", InnerFactor(s.n, x)},
                              {"tile_k", InnerFactor(s.k, k)}});
}

constexpr KnobDoc kPackKnobs[] = {
    {"tile_y",
     "Rows of the result: parts that threads share, register tiles of one part, rows of one "
     "register tile."},
    {"tile_x",
     "Columns of the result: parts that threads share, register tiles of one part, columns of "
     "one register tile and of one block of the packed weight."},
    {"tile_k", "Products of one sum: outer steps, products of one step."},
};

Result<ConfigSpace> PackSpace(const Workload& w, const Target&) {
  const MatmulSizes s = MatmulSizesOf(w);
  return MakeSpace({Knob::Split("tile_y", s.m, 3), Knob::Split("tile_x", s.n, 3),
                    Knob::Split("tile_k", s.k, 2)});
}

Result<Config> PackDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, PackSpace(w, target));
  const MatmulSizes s = MatmulSizesOf(w);
  // The rule of AutoTVM's fallback; see the reference, section 9.4.
  const std::int64_t x_inner = LargestDivisor(s.n, 2 * Lanes(target));
  std::int64_t x_outer = s.n / x_inner, x_middle = 1;
  while (x_outer > 4 && x_outer % 2 == 0) x_outer /= 2, x_middle *= 2;
  std::int64_t y_inner = 8, y_middle = 8;
  while (s.m % y_inner != 0) y_inner /= 2;
  while (s.m / y_inner % y_middle != 0) y_middle /= 2;
  const auto factors = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return KnobValue{std::vector<std::int64_t>{a, b, c}};
  };
  return LocateValues(space, {{"tile_y", factors(s.m / y_inner / y_middle, y_middle, y_inner)},
                              {"tile_x", factors(x_outer, x_middle, x_inner)},
                              {"tile_k", InnerFactor(s.k, 1)}});
}

Result<Kernel> ApplyPack(const Workload& w, const Epilogue& epilogue, const Target& target,
                         const Config& config) {
  const auto& y = config.Factors("tile_y");
  const auto& x = config.Factors("tile_x");
  TW_RETURN_IF_ERROR(CheckTile(y[2] * CeilDiv(x[2], Lanes(target)), target));
  KernelLayouts layouts;
  layouts.weight = Blocked("NK", x[2], 'n');
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const auto ys = s.SplitBy(result, s.SpatialAxis(result, 0), y);
  const auto xs = s.SplitBy(result, s.SpatialAxis(result, 1), x);
  if (!s.status().ok()) return s.status();
  s.Reorder(result, {xs[0], ys[0], ys[1], xs[1], ys[2], xs[2]});
  s.Vectorize(result, xs[2]);
  ParallelFor(s, result, FuseAll(s, result, {xs[0], ys[0]}), target);
  s.ComputeAt(sum, result, xs[1]);
  const auto [k_outer, k_inner] =
      s.Split(sum, s.ReductionAxis(sum, 0), config.Factors("tile_k")[1]);
  s.Reorder(sum, {k_outer, k_inner, s.SpatialAxis(sum, 0), s.SpatialAxis(sum, 1)});
  s.Unroll(sum, s.SpatialAxis(sum, 0));
  s.Vectorize(sum, s.SpatialAxis(sum, 1));
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace dense_cpu

TemplateEntry DenseNopackX86Entry() {
  using namespace dense_cpu;
  return LoopTemplate("dense_nopack.x86", 1, "llvm", kTwoPartKnobs, &Refuses, &TwoPartSpace,
                      &NopackDefault, &ApplyPartialSums<0>);
}

TemplateEntry DensePackX86Entry() {
  using namespace dense_cpu;
  return LoopTemplate("dense_pack.x86", 1, "llvm", kPackKnobs, &Refuses, &PackSpace, &PackDefault,
                      &ApplyPack);
}

TemplateEntry BatchMatmulX86Entry() {
  using namespace dense_cpu;
  TemplateEntry entry = LoopTemplate("batch_matmul.x86", 1, "llvm", kTwoPartKnobs, &RefusesBatched,
                                     &TwoPartSpace, &BatchedDefault, &ApplyPartialSums<1>);
  entry.is_preferred = &IsBatchedPreferred;
  return entry;
}

}  // namespace tilewright
