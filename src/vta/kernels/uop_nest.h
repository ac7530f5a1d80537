#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/vta/isa.h"

namespace tilewright::vta {

/// One loop around a micro-op, and what its indices grow by with each iteration.
struct NestLoop {
  std::int64_t extent = 1;
  std::uint32_t dst = 0, src = 0, wgt = 0;
};

/// A loop nest as an instruction executes it: two loops, and the rest unrolled into micro-ops.
struct UopNest {
  std::uint32_t iter_out = 1, iter_in = 1;
  Factor dst, src, wgt;
  std::vector<Uop> uops;
};

/// Micro-ops that FoldNest makes of these loops around some micro-ops.
std::int64_t UopCount(std::span<const NestLoop> loops, std::int64_t uops = 1);

/// Loops outermost first, around micro-ops: loops of extent 1 vanish, the two outermost of the rest
/// become the instruction's; the others run inside of each micro-op.
/// Requires that UopCount is at most 2^20.
UopNest FoldNest(std::span<const NestLoop> loops, std::vector<Uop> uops);

}  // namespace tilewright::vta
