#pragma once

#include <cstdint>
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

/// Multiple to which OpenAttentionSchedule needs the number of rows and keys padded.
std::int64_t OpenAttentionBlock(const Target& target);

/// Schedules attention whose rows and keys are padded, in the same way for every number of them
/// from two blocks on: the programs differ in extents and in integers alone, which are linear in
/// the number of blocks. Keys from length[0] on have no influence on the rows before; rows from
/// there on are any numbers.
///
/// compute: with long sums in one piece (DefineUnsplitList); of this many positions. length: one
/// int64, becomes the first input.
/// Returns nothing for what AttentionSchedule returns nothing for, except that there may be few
/// rows; and if rows or keys are not the positions.
std::optional<Schedule> OpenAttentionSchedule(Compute compute, const Buffer& length,
                                              std::int64_t positions, const Target& target);

}  // namespace tilewright
