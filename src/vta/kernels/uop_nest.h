#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/vta/isa.h"

namespace tilewright::vta {

/// Loop around a micro-op, and the increments of the micro-op's indices per iteration.
struct NestLoop {
  std::int64_t extent = 1;
  std::uint32_t dst = 0, src = 0, wgt = 0;
};

/// Loop nest as an instruction executes it: two loops, with the others unrolled into micro-ops.
struct UopNest {
  std::uint32_t iter_out = 1, iter_in = 1;
  Factor dst, src, wgt;
  std::vector<Uop> uops;
};

/// Returns the number of micro-ops of FoldNest for these loops around some micro-ops.
std::int64_t UopCount(std::span<const NestLoop> loops, std::int64_t uops = 1);

/// Folds loops, outermost first, around micro-ops. Removes loops of extent 1; the two outermost of
/// the rest become the instruction's loops; the others are unrolled inside each micro-op.
/// Requires that UopCount is at most 2^20.
UopNest FoldNest(std::span<const NestLoop> loops, std::vector<Uop> uops);

}  // namespace tilewright::vta
