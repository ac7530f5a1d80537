#pragma once

#include <cstdint>
#include <span>

#include "search/job.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/graph/open/size_range.h"

namespace tilewright::session {

// End of a tuning job for a range of sizes: the register tiles that it found for some sizes are
// measured at the others, so that measured times decide which tile serves which size.

/// Limits of MeasureTiles.
struct TileLimits {
  std::int64_t trials = 0;  ///< 0: none
  double seconds = 0;       ///< of the whole job; 0: none
};

/// Takes a part of a job's limits for MeasureTiles out of its settings.
TileLimits ReserveForTiles(search::JobSettings& settings);

/// Measures the tiles of dense layers (TilesToMeasure) and stores their trials, under a job of its
/// own. It ends at the limits and when context.stop becomes true; what is measured is stored.
///
/// tasks: of one entry. store: path of context.store. Returns the number of trials.
/// Errors: those of the stores and of the measurer.
Result<std::int64_t> MeasureTiles(const SizeRange& range, std::span<const search::TuneTask> tasks,
                                  const search::JobSettings& settings, const TileLimits& limits,
                                  const search::TuneContext& context);

}  // namespace tilewright::session
