#pragma once

#include <cstdint>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// Limit of vectors of products in one piece of code: more do not fit the instruction cache and
/// take long to compile.
inline constexpr std::int64_t kMaxWrittenOut = 512;

/// Whether a stage loads the buffer. as_it_is: set to false if it does not do so element by
/// element, in the order of its own axes.
bool ReadsBuffer(const Schedule& schedule, StageId stage, const Buffer& buffer, bool* as_it_is);

/// Returns the only stage that reads the buffer, if it does so element by element and can be
/// applied to a tile; index -1 if there is none.
StageId OnlyConsumer(const Schedule& schedule, const Buffer& buffer);

/// Sum in registers, and the stage that writes the result computed from it.
struct SumAndWriter {
  StageId sum, writer;
};
/// Returns the sum of the stage `main`, written by its only follower or, if there is none, by
/// `main` itself from a local copy.
SumAndWriter SumInRegisters(Schedule& schedule, StageId main);

}  // namespace tilewright
