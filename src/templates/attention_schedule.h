#pragma once

#include <optional>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// Attention as one loop over heads (and over runs of rows, where threads need them), which threads
/// share: scores = query x key, what is elementwise behind them, a softmax along the keys, and its
/// product with the values. A block of rows of scores at a time lies in a near cache, as many as a
/// register tile has; keys and values are packed once for each iteration. What only moves elements,
/// before and behind the products, is where they read and write. Nothing if the computation is none
/// such: it needs two sums of float32 products, the second one of what the first one's rows become;
/// at least 8 rows; and blocks of rows that fit a cache.
std::optional<Schedule> AttentionSchedule(Compute compute, const Target& target);

}  // namespace tilewright
