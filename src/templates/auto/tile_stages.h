#pragma once

#include <cstdint>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// Vectors of products that one piece of code may have: more no longer fit the instruction cache
/// and take long to compile.
inline constexpr std::int64_t kMaxWrittenOut = 512;

/// Whether a stage loads the buffer. as_it_is: becomes false if it does other than element by
/// element, in the order of its own axes.
bool ReadsBuffer(const Schedule& schedule, StageId stage, const Buffer& buffer, bool* as_it_is);

/// The only stage that reads the buffer, if it does so element by element and could do it to a
/// tile; index -1 if there is none.
StageId OnlyConsumer(const Schedule& schedule, const Buffer& buffer);

/// A sum in registers, and the stage that writes what becomes of it.
struct SumAndWriter {
  StageId sum, writer;
};
/// Of the stage `main`: its only follower writes, or itself what it has summed in a cache.
SumAndWriter SumInRegisters(Schedule& schedule, StageId main);

}  // namespace tilewright
