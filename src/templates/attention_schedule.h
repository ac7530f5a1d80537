#pragma once

#include <optional>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// Schedules attention as one loop over heads, which threads share; if there are fewer heads than
/// threads need, also over runs of rows. An iteration computes scores = query x key, the
/// elementwise stages after them, a softmax along the keys, and the product with the values.
/// Scores are computed for a block of rows at a time, as many rows as a register tile has, in a
/// buffer that fits a private cache. Keys and values are packed once for each iteration. Stages
/// before and after the products that only move elements are inlined.
/// Returns nothing if the computation is not attention: it needs two sums of float32 products, of
/// which the second one reads the rows of the first one; at least 8 rows; and blocks of rows that
/// fit a cache.
std::optional<Schedule> AttentionSchedule(Compute compute, const Target& target);

}  // namespace tilewright
