// Estimated cycles of Winograd's convolution on a CPU, counted from its sums and transforms and the
// weights it reads, compared with the direct convolution.

#include "src/templates/cpu/winograd_plan.h"

#include <algorithm>
#include <numeric>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/workload_kind.h"
#include "src/tensor/compute/winograd.h"
#include "src/tensor/compute/winograd_integer.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMaxIdle = 4;  // of this many rounds, threads may idle in one
constexpr std::int64_t kLargestWindow = 8;
constexpr std::int64_t kCachedBytes = std::int64_t{12} << 20;  // a share of the last-level cache
constexpr std::int64_t kNearBytes = std::int64_t{1} << 20;
constexpr double kNotHidden = 0.25;  // part of the prefetched reads that does not overlap with sums

/// Rows and columns of the data that a tile needs.
std::int64_t WindowOf(const WinogradPlan& plan, std::int64_t m) { return m + plan.shape.r - 1; }

/// Bytes of an element of transformed data and weights.
std::int64_t ElementBytes(const WinogradPlan& plan) { return plan.whole ? 2 : 4; }

/// Bytes of the transformed weights.
std::int64_t WeightBytes(const WinogradPlan& plan, std::int64_t m) {
  const std::int64_t window = WindowOf(plan, m);
  return window * window * plan.shape.c * plan.oc_blocks * plan.lanes * ElementBytes(plan);
}

/// Cycles of `threads`, each with this many cycles of sums and transforms, which read
/// `weight_bytes` from the last-level cache or from memory at the same time: each thread all of
/// them, or each its `part`.
double CyclesWith(double cycles, std::int64_t weight_bytes, int threads, bool part = false) {
  constexpr double kLastLevelRate = 28, kMemoryRate = 7;  // bytes per cycle
  const double rate = weight_bytes <= kCachedBytes ? kLastLevelRate : kMemoryRate;
  double reading = weight_bytes <= kNearBytes ? 0 : static_cast<double>(weight_bytes) / rate;
  if (part) reading /= threads;
  cycles /= threads;
  return std::max(cycles, reading) + kNotHidden * std::min(cycles, reading);
}

/// Estimated cycles of tiles of m x m, with one vector operation a cycle. Within 15 % of
/// measurements for 16 to 512 channels and images of 5 x 5 to 112 x 112.
double Cycles(const WinogradPlan& plan, std::int64_t m) {
  const WinogradTiles tiles = WinogradTilesOf(plan.shape, m);
  const std::int64_t window = tiles.window, in_blocks = CeilDiv(plan.shape.c, plan.lanes);
  const std::int64_t sums = window * window * plan.shape.c * plan.oc_blocks;
  // Half of the elements of the transform matrices are zero.
  const std::int64_t data = in_blocks * window * window * window;
  const std::int64_t results = plan.oc_blocks * m * (window + m) * window / 2;
  const double of_tile =
      plan.sum_cost * static_cast<double>(sums) + static_cast<double>(data + results);
  return CyclesWith(static_cast<double>(tiles.count) * of_tile, WeightBytes(plan, m), plan.threads,
                    !ByRows(plan, m));
}

/// The same for the direct convolution, which skips the products of padding.
double DirectCycles(const WinogradPlan& plan) {
  const ConvShape& s = plan.shape;
  const auto taps = [](std::int64_t out, std::int64_t in, std::int64_t kernel, std::int64_t pad) {
    std::int64_t count = 0;
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t first = std::max<std::int64_t>(o - pad, 0);
      count += std::max<std::int64_t>(std::min(o - pad + kernel, in) - first, 0);
    }
    return count;
  };
  const std::int64_t sums = s.n * taps(s.oh, s.h, s.r, s.pad_top) *
                            taps(s.ow, s.w, s.s, s.pad_left) * s.c * plan.oc_blocks;
  // Integers are read as bytes if four are multiplied at once, else as 16 bits; floats as bfloat16
  // if two are multiplied at once.
  const bool dots = plan.direct_cost < plan.sum_cost;
  const std::int64_t bytes = plan.whole ? (dots ? 1 : 2) : (dots ? 2 : 4);
  return CyclesWith(plan.direct_cost * static_cast<double>(sums),
                    s.r * s.s * s.c * plan.oc_blocks * plan.lanes * bytes, plan.threads);
}

}  // namespace

Result<WinogradPlan> MakeWinogradPlan(const Workload& w, const Target& target, bool whole) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  WinogradPlan plan;
  plan.shape = shape;
  plan.lanes = features.float_lanes();
  plan.registers = features.vector_registers();
  plan.oc_blocks = CeilDiv(shape.k, plan.lanes);
  plan.ic_step = std::gcd(shape.c, plan.lanes);
  plan.threads = target.num_threads();
  plan.masks = features.avx512;
  plan.whole = whole;
  if (IsBFloat16(w) && features.avx512_bf16) plan.direct_cost = 1.0 / 2;
  if (!whole) return plan;
  if (features.has_int8_dot()) {  // two products of 16 bits at once, or four of 8
    plan.sum_cost = 1.0 / 2;
    plan.direct_cost = 1.0 / 4;
  } else {  // two products, and then the sum
    plan.registers -= 1;
    // Four products of bytes, their sums, and then the sum: measured.
    plan.pairs = features.has_saturating_dot() && w.reduced_range_weights;
    if (plan.pairs) plan.direct_cost = 0.6;
  }
  return plan;
}

std::vector<std::int64_t> TileSizes(const WinogradPlan& plan) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t m : {6, 4, 2}) {
    if (plan.whole && !HasIntegerWinogradTiles(m)) continue;
    if (m <= plan.shape.oh && m <= plan.shape.ow && m + plan.shape.r - 1 <= kLargestWindow) {
      sizes.push_back(m);
    }
  }
  return sizes;
}

std::int64_t TilesOf(const WinogradPlan& plan, std::int64_t m, bool by_rows) {
  const WinogradTiles tiles = WinogradTilesOf(plan.shape, m);
  return by_rows ? tiles.cols : tiles.count;
}

std::int64_t LocalBytes(const WinogradPlan& plan, std::int64_t m, std::int64_t blocks,
                        std::int64_t run) {
  const std::int64_t window = WindowOf(plan, m);
  const std::int64_t vectors = (window * window + 1) * blocks * run + 2 * m * window + m * m;
  return vectors * plan.lanes * 4;
}

std::int64_t RowBytes(const WinogradPlan& plan, std::int64_t m) {
  const std::int64_t window = WindowOf(plan, m);
  return window * window * RoundUp(plan.shape.c, plan.lanes) * TilesOf(plan, m, true) *
         ElementBytes(plan);
}

bool ByRows(const WinogradPlan& plan, std::int64_t m) {
  const std::int64_t rows = plan.shape.n * CeilDiv(plan.shape.oh, m);
  const std::int64_t turns = RoundUp(rows, plan.threads);
  const bool even = turns - rows <= turns / kMaxIdle;
  constexpr std::int64_t kFewRows = 4;
  return RowBytes(plan, m) <= kMaxRowBytes &&
         WeightBytes(plan, m) <= (rows > kFewRows ? kCachedBytes : kNearBytes) && even;
}

bool WeightsExceedCache(const WinogradPlan& plan, std::int64_t m) {
  return WeightBytes(plan, m) > kNearBytes;
}

double CyclesOfRuns(const WinogradPlan& plan, std::int64_t m, double sums, std::int64_t reads) {
  constexpr double kFarRate = 10;  // bytes per cycle, measured while sums are computed
  const std::int64_t window = WindowOf(plan, m);
  const double computing =
      plan.sum_cost * sums * static_cast<double>(window * window * plan.shape.c);
  const double reading = WeightsExceedCache(plan, m)
                             ? static_cast<double>(reads * WeightBytes(plan, m)) / kFarRate
                             : 0;
  return std::max(computing, reading) + kNotHidden * std::min(computing, reading);
}

std::int64_t CheapestTile(const WinogradPlan& plan) {
  constexpr std::int64_t kExactWindow = 6;
  std::int64_t best = TileSizes(plan).back();
  for (std::int64_t m : TileSizes(plan)) {
    const bool exact = m + plan.shape.r - 1 <= kExactWindow;
    if (exact && Cycles(plan, m) < Cycles(plan, best)) best = m;
  }
  return best;
}

bool IsClearlyCheaper(const WinogradPlan& plan) {
  const std::int64_t m = CheapestTile(plan);
  // Weights that exceed the caches arrive as fast as other users of the memory allow: with a direct
  // convolution by pairs of bytes, 512 channels of 7 x 7 took 0.8 to 1.2 of its time, and 0.77 by
  // this count.
  const bool uncertain = plan.pairs && WeightBytes(plan, m) > kCachedBytes;
  return Cycles(plan, m) < (uncertain ? 0.75 : 0.95) * DirectCycles(plan);
}

}  // namespace tilewright
