#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/schedule/schedule.h"

namespace tilewright {

/// One loop around a stage's body as it will execute, attach points resolved.
struct SummaryLoop {
  std::int64_t extent = 1;
  LoopKind kind = LoopKind::kSerial;
  bool reduction = false;
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
};

struct SummaryStage {
  std::string name;
  std::vector<SummaryLoop>
      loops;  ///< outermost first, those of the stage it is attached to included
  std::vector<SummaryAccess> accesses;
  std::int64_t arithmetic_ops = 0;  ///< of one execution of the body
  std::int64_t local_bytes = 0;     ///< kLocal output it keeps
  bool has_dot = false;             ///< tensorized
};

/// Extents, strides and footprints per level, from the schedule alone: features and legality read
/// this, so scoring needs no lowering. Takes microseconds.
struct LoopSummary {
  std::vector<SummaryStage> stages;
};
Result<LoopSummary> Summarize(const Schedule& schedule);

}  // namespace tilewright
