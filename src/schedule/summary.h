#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/schedule/intrinsics.h"
#include "src/schedule/launch.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// Loop around a stage's body as it will execute, with resolved attach points.
struct SummaryLoop {
  std::int64_t extent = 1;
  LoopKind kind = LoopKind::kSerial;
  bool reduction = false;
};

/// Contribution of one GPU thread loop to an address: stride * ((i / divisor) % extent), where i is
/// the loop's index. A loop over fused axes has one step for each of them.
struct ThreadStep {
  int loop = 0;  ///< position in SummaryStage::loops
  std::int64_t divisor = 1, extent = 1;
  std::int64_t stride = 0;  ///< elements
};

/// Accesses of a stage's body to one buffer.
struct SummaryAccess {
  std::string buffer;
  DataType dtype;
  Scope scope = Scope::kGlobal;
  bool write = false;
  /// Per loop (same order as SummaryStage::loops): stride in elements per iteration, 0 if constant.
  std::vector<std::int64_t> strides;
  /// Per level i: bytes accessed by one execution of everything inside loops[0..i-1]. Level 0 is
  /// the whole stage, the last level is one execution of the body.
  std::vector<std::int64_t> footprint_bytes;
  std::vector<ThreadStep> thread_steps = {};  ///< empty for stages not bound to a GPU's threads
};

struct SummaryStage {
  std::string name;
  /// Outermost first, including those of the stage it is attached to. Thread loops around a stage
  /// in shared memory have extent 1, because its own loops are distributed to the threads instead.
  std::vector<SummaryLoop> loops;
  std::vector<SummaryAccess> accesses;
  std::int64_t arithmetic_ops = 0;  ///< of one execution of the body
  std::int64_t local_bytes = 0;     ///< kLocal output of one virtual thread
  std::int64_t shared_bytes = 0;    ///< kShared output, rounded up; all copies
  int root = 0;                     ///< StageId of the outermost stage around it
  bool has_dot = false;             ///< tensorized
  /// Not null for a matrix product of a warp; its loops (rows, columns, products) are the last
  /// ones.
  const MmaIntrinsic* mma = nullptr;
};

/// Extents, strides and footprints per level, computed from the schedule alone in microseconds.
/// Features and legality checks read this, so scoring needs no lowering. If a fused loop is split
/// so that parts begin in the middle of the inner loop, strides and parts are approximate.
struct LoopSummary {
  std::vector<SummaryStage> stages;
};
Result<LoopSummary> Summarize(const Schedule& schedule);

/// Returns the fraction of the threads' time in which they work, 0 to 1. Less than 1 if a stage is
/// not parallel, or if the iterations of its parallel loop cannot be distributed evenly.
double ParallelEfficiency(const LoopSummary& summary, int threads);

/// Returns the cache-miss traffic of a cache of this size in bytes per arithmetic operation,
/// estimated from the loops. Data that the inside of a loop accesses, and that fit the cache, are
/// loaded once per execution of the inside.
double CacheMissBytesPerOperation(const LoopSummary& summary, std::int64_t cache_bytes);

/// Checks that the shared memory of each launch's blocks is within the limits, as Lower does.
/// Errors: those of CheckLaunch.
Status CheckSharedMemory(const LoopSummary& summary, const LaunchLimits& limits);

}  // namespace tilewright
