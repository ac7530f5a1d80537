#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/dram.h"
#include "src/vta/fault.h"
#include "src/vta/pipeline.h"
#include "src/vta/simulator/statistics.h"

namespace tilewright::vta {

struct RunOptions {
  /// Streams of one virtual thread made by the original compiler leave a token store>compute.
  bool allow_tokens_left = false;
  /// Reports kRace, kWrongOrder, kNotWritten and kStaleOutput. Off, the result of a stream with
  /// such faults is that of one order its tokens allow.
  bool check_hazards = true;
  /// Micro-ops that a launch may execute before it is given up as endless.
  std::int64_t max_uops = std::int64_t{1} << 36;
};

struct RunResult {
  std::optional<Fault> fault;  ///< the first one; what follows is then incomplete
  StreamSummary summary;
  Pipeline pipeline;  ///< input of Simulate, for cycles

  /// The fault as kInvalidArgument, "kind: message".
  Status status() const;
};

/// Executes a stream on an empty VTA.
///
/// dram: what transfers address; null skips the data (timing only): micro-ops, addresses and
///       hazards are then not looked at, everything else is checked.
RunResult RunStream(const Design& design, std::span<const Instruction> instructions, Dram* dram,
                    const RunOptions& options = {});

}  // namespace tilewright::vta
