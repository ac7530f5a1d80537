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
  /// The original compiler's streams with one virtual thread leave a token store>compute.
  bool allow_tokens_left = false;
  /// Reports kRace, kWrongOrder, kNotWritten and kStaleOutput. If false, a stream with such faults
  /// returns the result of one order that its tokens allow.
  bool check_hazards = true;
  /// Maximum micro-ops per launch; a launch with more counts as endless.
  std::int64_t max_uops = std::int64_t{1} << 36;
};

struct RunResult {
  std::optional<Fault> fault;  ///< first fault; later results are then incomplete
  StreamSummary summary;
  Pipeline pipeline;  ///< input of Simulate, for cycles

  /// Returns the fault as kInvalidArgument, "kind: message".
  Status status() const;
};

/// Executes a stream on an empty VTA.
///
/// dram: memory of the transfers; null skips the data (timing only). Micro-ops, addresses and
///       hazards are then not checked, everything else is.
RunResult RunStream(const Design& design, std::span<const Instruction> instructions, Dram* dram,
                    const RunOptions& options = {});

}  // namespace tilewright::vta
