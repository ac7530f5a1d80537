// Features of a scheduled candidate, from its loop summary only.
//
// One stage does most of the arithmetic (the "main" stage) and is described in detail. The stages
// before it (padding, packing) and after it (epilogue, copies) enter as two sums. Counts and bytes
// enter as log2(1 + x), so that trees split at ratios. In order:
//   main.*     loop counts, vector, unroll and parallel extents, the register tile
//   loop<i>.*  the innermost eight loops, innermost first: extent, kind, reduction or not
//   ai.*       operations per byte that crosses into a memory of 2^k bytes, k = 8 .. 23
//   access<i>.* the written buffer, then up to three read ones: footprints, strides, reloads
//   before.*, after.*, all.*  the other stages, and sums over all stages
//   knob<i>.*, knobs.*  up to three values of each of ten knobs; number and hash of the names
#include <algorithm>
#include <array>
#include <cmath>

#include "cost_model/cost_model.h"
#include "cost_model/feature_sink.h"

namespace tilewright::cost_model {
namespace {

constexpr int kAccesses = 4;
constexpr int kFirstCacheBits = 8;  // 256 bytes: a few vector registers
constexpr int kLastCacheBits = 23;  // 8 MiB: a share of a last-level cache
constexpr double kRegisterBytes = 2048, kL1Bytes = 32768, kL2Bytes = 1048576;

/// Quantities derived from one stage before its features are written.
struct StageView {
  const SummaryStage* stage = nullptr;
  std::vector<double> executions;  ///< per level: executions of its body
  std::vector<double> footprint;   ///< per level: bytes of all accesses
  int tile_level = 0;  ///< inside the innermost loop that is neither vectorized nor unrolled
  int vector_loop = -1;

  double iterations() const { return executions.back(); }
  double ops() const {
    return iterations() * static_cast<double>(std::max<std::int64_t>(1, stage->arithmetic_ops));
  }
};

StageView View(const SummaryStage& stage) {
  StageView view;
  view.stage = &stage;
  const std::size_t levels = stage.loops.size() + 1;
  view.executions = ExecutionsOf(stage);
  view.footprint.assign(levels, 0);
  for (std::size_t i = 0; i < stage.loops.size(); ++i) {
    const SummaryLoop& loop = stage.loops[i];
    if (loop.kind == LoopKind::kVectorized) {
      view.vector_loop = static_cast<int>(i);
    } else if (loop.kind != LoopKind::kUnrolled) {
      view.tile_level = static_cast<int>(i) + 1;
    }
  }
  for (const SummaryAccess& access : stage.accesses) {
    for (std::size_t i = 0; i < levels && i < access.footprint_bytes.size(); ++i) {
      view.footprint[i] += static_cast<double>(access.footprint_bytes[i]);
    }
  }
  return view;
}

/// Returns the outermost level whose working set fits into `bytes`; the innermost one if none does.
std::size_t FittingLevel(const StageView& view, double bytes) {
  for (std::size_t i = 0; i < view.footprint.size(); ++i) {
    if (view.footprint[i] <= bytes) return i;
  }
  return view.footprint.size() - 1;
}

/// Returns the bytes of one access that cross into a memory that holds the working set of `level`.
/// Loops just outside that do not move the access reuse its data.
double Traffic(const StageView& view, const SummaryAccess& access, std::size_t level) {
  if (level >= access.footprint_bytes.size()) return 0;
  std::size_t outside = level;
  while (outside > 0 && outside <= access.strides.size() && access.strides[outside - 1] == 0) {
    --outside;
  }
  return static_cast<double>(access.footprint_bytes[level]) * view.executions[outside];
}

double TotalTraffic(const StageView& view, double memory_bytes) {
  const std::size_t level = FittingLevel(view, memory_bytes);
  double sum = 0;
  for (const SummaryAccess& access : view.stage->accesses) sum += Traffic(view, access, level);
  return sum;
}

/// Returns the product of the extents of the loops of one kind.
double ExtentOf(const SummaryStage& stage, LoopKind kind) {
  double product = 1;
  for (const SummaryLoop& loop : stage.loops) {
    if (loop.kind == kind) product *= static_cast<double>(loop.extent);
  }
  return product;
}

void PutMain(const StageView& view, FeatureSink& sink) {
  const SummaryStage& stage = *view.stage;
  const std::size_t loops = stage.loops.size();
  double reductions = 0, spatial_tile = 1, reduction_tile = 1;
  std::size_t first_reduction = loops, parallel_depth = 0;
  for (std::size_t i = 0; i < loops; ++i) {
    const SummaryLoop& loop = stage.loops[i];
    if (loop.reduction) {
      reductions += 1;
      first_reduction = std::min(first_reduction, i);
    }
    if (loop.kind == LoopKind::kParallel) parallel_depth = i + 1;
    if (static_cast<int>(i) >= view.tile_level) {
      (loop.reduction ? reduction_tile : spatial_tile) *= static_cast<double>(loop.extent);
    }
  }
  double inside_reduction = 1;
  for (std::size_t i = first_reduction; i < loops; ++i) {
    if (!stage.loops[i].reduction) inside_reduction *= static_cast<double>(stage.loops[i].extent);
  }
  const auto tile = static_cast<std::size_t>(view.tile_level);
  const SummaryLoop* serial = tile > 0 ? &stage.loops[tile - 1] : nullptr;
  const double vector = ExtentOf(stage, LoopKind::kVectorized);
  double tile_written = 0;
  for (const SummaryAccess& access : stage.accesses) {
    if (access.write && tile < access.footprint_bytes.size()) {
      tile_written += static_cast<double>(access.footprint_bytes[tile]);
    }
  }
  const double tile_read = view.footprint[tile] - tile_written;
  sink.Put("main.loops", static_cast<double>(loops));
  sink.Put("main.reductions", reductions);
  sink.Put("main.iterations", Log2Plus1(view.iterations()));
  sink.Put("main.ops", Log2Plus1(view.ops()));
  sink.Put("main.bytes", Log2Plus1(view.footprint[0]));
  sink.Put("main.vector", Log2Plus1(vector));
  sink.Put("main.unrolled", Log2Plus1(ExtentOf(stage, LoopKind::kUnrolled)));
  sink.Put("main.parallel", Log2Plus1(ExtentOf(stage, LoopKind::kParallel)));
  sink.Put("main.parallel_depth", static_cast<double>(parallel_depth));
  sink.Put("main.inner_serial",
           serial != nullptr ? Log2Plus1(static_cast<double>(serial->extent)) : 0);
  sink.Put("main.inner_serial_reduces", serial != nullptr && serial->reduction ? 1 : 0);
  sink.Put("main.tile_spatial", Log2Plus1(spatial_tile));
  sink.Put("main.tile_reduction", Log2Plus1(reduction_tile));
  sink.Put("main.tile_vectors", Log2Plus1(spatial_tile / std::max(1.0, vector)));
  sink.Put("main.tile_written_bytes", Log2Plus1(tile_written));
  sink.Put("main.tile_read_bytes", Log2Plus1(tile_read));
  sink.Put("main.tile_ops_per_read_byte",
           Log2Plus1(spatial_tile * reduction_tile * static_cast<double>(stage.arithmetic_ops) /
                     std::max(1.0, tile_read)));
  sink.Put("main.reduction_depth", static_cast<double>(first_reduction));
  sink.Put("main.inside_reduction", Log2Plus1(inside_reduction));
  sink.Put("main.local_bytes", Log2Plus1(static_cast<double>(stage.local_bytes)));
  sink.Put("main.dot", stage.has_dot ? 1 : 0);
}

void PutIntensity(const StageView& view, FeatureSink& sink) {
  for (int bits = kFirstCacheBits; bits <= kLastCacheBits; ++bits) {
    const double traffic = std::max(1.0, TotalTraffic(view, std::ldexp(1.0, bits)));
    sink.Put("ai", bits, "ops_per_byte", Log2Plus1(view.ops() / traffic));
  }
}

void PutAccesses(const StageView& view, FeatureSink& sink) {
  std::array<const SummaryAccess*, kAccesses> slots{};
  std::size_t reads = 1;
  for (const SummaryAccess& access : view.stage->accesses) {
    if (access.write) {
      if (slots[0] == nullptr) slots[0] = &access;
    } else if (reads < slots.size()) {
      slots[reads++] = &access;
    }
  }
  const std::array<std::size_t, 3> levels = {FittingLevel(view, kRegisterBytes),
                                             FittingLevel(view, kL1Bytes),
                                             FittingLevel(view, kL2Bytes)};
  for (int i = 0; i < kAccesses; ++i) {
    const SummaryAccess* access = slots[static_cast<std::size_t>(i)];
    const auto footprint = [&](std::size_t level) {
      if (access == nullptr || level >= access->footprint_bytes.size()) return 0.0;
      return static_cast<double>(access->footprint_bytes[level]);
    };
    const auto reloads = [&](std::size_t level) {
      if (access == nullptr) return 0.0;
      return Log2Plus1(Traffic(view, *access, level) / std::max(1.0, footprint(0)));
    };
    const auto stride = [&](std::ptrdiff_t loop) {
      if (access == nullptr || loop < 0 || loop >= std::ssize(access->strides)) return -1.0;
      return Log2Plus1(
          std::abs(static_cast<double>(access->strides[static_cast<std::size_t>(loop)])));
    };
    sink.Put("access", i, "bytes", Log2Plus1(footprint(0)));
    sink.Put("access", i, "tile_bytes",
             Log2Plus1(footprint(static_cast<std::size_t>(view.tile_level))));
    sink.Put("access", i, "vector_stride", stride(view.vector_loop));
    sink.Put("access", i, "serial_stride", stride(view.tile_level - 1));
    sink.Put("access", i, "register_reloads", reloads(levels[0]));
    sink.Put("access", i, "l1_reloads", reloads(levels[1]));
    sink.Put("access", i, "l2_reloads", reloads(levels[2]));
  }
}

/// Adds sums over the stages [first, last); the extents are those of the one with most iterations.
void PutOthers(const char* group, const std::vector<StageView>& views, std::size_t first,
               std::size_t last, FeatureSink& sink) {
  double ops = 0, bytes = 0, iterations = 0, local = 0, l1_traffic = 0;
  const StageView* largest = nullptr;
  for (std::size_t i = first; i < last; ++i) {
    const StageView& view = views[i];
    ops += view.ops();
    bytes += view.footprint[0];
    iterations += view.iterations();
    local += static_cast<double>(view.stage->local_bytes);
    l1_traffic += TotalTraffic(view, kL1Bytes);
    if (largest == nullptr || view.iterations() > largest->iterations()) largest = &view;
  }
  sink.Put(group, -1, "stages", static_cast<double>(last - first));
  sink.Put(group, -1, "ops", Log2Plus1(ops));
  sink.Put(group, -1, "bytes", Log2Plus1(bytes));
  sink.Put(group, -1, "iterations", Log2Plus1(iterations));
  sink.Put(group, -1, "local_bytes", Log2Plus1(local));
  sink.Put(group, -1, "l1_traffic", Log2Plus1(l1_traffic));
  sink.Put(group, -1, "vector",
           largest != nullptr ? Log2Plus1(ExtentOf(*largest->stage, LoopKind::kVectorized)) : 0);
  sink.Put(group, -1, "parallel",
           largest != nullptr ? Log2Plus1(ExtentOf(*largest->stage, LoopKind::kParallel)) : 0);
  sink.Put(group, -1, "loops",
           largest != nullptr ? static_cast<double>(largest->stage->loops.size()) : 0);
}

void Extract(const LoopSummary& summary, const Config& config, FeatureSink& sink) {
  static const SummaryStage kEmpty;
  std::vector<StageView> views;
  views.reserve(summary.stages.size() + 1);
  for (const SummaryStage& stage : summary.stages) views.push_back(View(stage));
  if (views.empty()) views.push_back(View(kEmpty));
  std::size_t main = 0;
  double total_ops = 0, total_bytes = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    total_ops += views[i].ops();
    total_bytes += views[i].footprint[0];
    if (views[i].ops() > views[main].ops()) main = i;
  }
  PutMain(views[main], sink);
  PutLoops(*views[main].stage, sink);
  PutIntensity(views[main], sink);
  PutAccesses(views[main], sink);
  PutOthers("before", views, 0, main, sink);
  PutOthers("after", views, main + 1, views.size(), sink);
  sink.Put("all.bytes", Log2Plus1(total_bytes));
  sink.Put("all.main_share", views[main].ops() / std::max(1.0, total_ops));
  PutKnobs(config, sink);
}

}  // namespace

const std::vector<std::string>& FeatureNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    FeatureSink sink(&names);
    Extract(LoopSummary(), Config(), sink);
    return names;
  }();
  return kNames;
}

int FeatureCount() { return static_cast<int>(FeatureNames().size()); }

void ExtractFeatures(const LoopSummary& summary, const Config& config, std::span<float> out) {
  TW_CHECK(out.size() == static_cast<std::size_t>(FeatureCount()), "wrong width of a feature row");
  FeatureSink sink(out);
  Extract(summary, config, sink);
}

}  // namespace tilewright::cost_model
