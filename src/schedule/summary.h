#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/schedule/intrinsics.h"
#include "src/schedule/launch.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// One loop around a stage's body as it will execute, attach points resolved.
struct SummaryLoop {
  std::int64_t extent = 1;
  LoopKind kind = LoopKind::kSerial;
  bool reduction = false;
};

/// What one thread loop of a GPU adds to an address: stride * ((i / divisor) % extent), where i is
/// the loop's index. A loop over fused axes has one step for each of them.
struct ThreadStep {
  int loop = 0;  ///< position in SummaryStage::loops
  std::int64_t divisor = 1, extent = 1;
  std::int64_t stride = 0;  ///< elements
};

/// How the body of a stage touches one buffer.
struct SummaryAccess {
  std::string buffer;
  DataType dtype;
  Scope scope = Scope::kGlobal;
  bool write = false;
  /// Per loop (same order as SummaryStage::loops): elements moved per iteration, 0 if none.
  std::vector<std::int64_t> strides;
  /// Per level i: bytes touched by one execution of everything inside loops[0..i-1]; level 0 is the
  /// whole stage, the last level is one execution of the body.
  std::vector<std::int64_t> footprint_bytes;
  std::vector<ThreadStep> thread_steps = {};  ///< empty but for stages bound to a GPU's threads
};

struct SummaryStage {
  std::string name;
  /// Outermost first, those of the stage it is attached to included. Thread loops around a stage
  /// in shared memory have extent 1: its own loops are dealt to the threads instead.
  std::vector<SummaryLoop> loops;
  std::vector<SummaryAccess> accesses;
  std::int64_t arithmetic_ops = 0;  ///< of one execution of the body
  std::int64_t local_bytes = 0;     ///< kLocal output it keeps, of one virtual thread
  std::int64_t shared_bytes = 0;    ///< kShared output it keeps, rounded up; of all copies
  int root = 0;                     ///< StageId of the stage that all of its loops begin with
  bool has_dot = false;             ///< tensorized
  /// Not null: by a matrix product of a warp, whose loops (rows, columns, products) are the last.
  const MmaIntrinsic* mma = nullptr;
};

/// Extents, strides and footprints per level, from the schedule alone: features and legality read
/// this, so scoring needs no lowering. Takes microseconds. Where a fused loop is cut so that parts
/// begin in the middle of the inner one, strides and parts are about those of the code.
struct LoopSummary {
  std::vector<SummaryStage> stages;
};
Result<LoopSummary> Summarize(const Schedule& schedule);

/// The share of the threads' time in which they work, 0 to 1: less than 1 where a stage is not
/// parallel, or the iterations of its parallel loop cannot be dealt out evenly.
double ParallelEfficiency(const LoopSummary& summary, int threads);

/// Bytes that are read from beyond a cache of this size for each arithmetic operation, as far as
/// loops tell: what the inside of a loop touches and the cache has room for comes once each time
/// that the inside is executed.
double CacheMissBytesPerOperation(const LoopSummary& summary, std::int64_t cache_bytes);

/// Whether the blocks of each launch have room for what they keep in shared memory, as Lower finds
/// it. Errors: those of CheckLaunch.
Status CheckSharedMemory(const LoopSummary& summary, const LaunchLimits& limits);

}  // namespace tilewright
