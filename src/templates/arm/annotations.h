#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/space/config.h"
#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright {

// Parts that AutoTVM's templates for Arm CPUs share.

/// float32 lanes of a vector of NEON.
constexpr std::int64_t kNeonLanes = 4;

/// Returns the reason why AutoTVM's templates for Arm CPUs do not serve a target or the types of a
/// workload; empty if they do.
std::string RefusesForArm(const Workload& workload, const Target& target);

/// Returns a knob of all assignments of `words` ("none", "unroll", "vec") to `axes` axes, the last
/// axis fastest, with at most one "vec" (AutoTVM: try_unroll, try_unroll_vec).
Knob AnnotateKnob(std::string name, const std::vector<std::string>& words, int axes);

/// Loop over a tile, its iterations within the tile, and its word.
struct AnnotatedLoop {
  LoopId loop;
  std::int64_t extent = 1;
  std::string word;
};
/// Returns the loops of a tile. tiles: knobs with the extents; knob: annotate knob with the words.
std::vector<AnnotatedLoop> Annotated(const std::array<LoopId, 3>& loops, const Config& config,
                                     const std::array<const char*, 3>& tiles, const char* knob);
/// Returns the order of a tile's loops: the vectorized one innermost, the others as they are.
std::vector<LoopId> TileOrder(const std::vector<AnnotatedLoop>& tile);
/// Unrolls and vectorizes the loops of a tile that are innermost in TileOrder. Loops of more than
/// `max_unroll` iterations are not unrolled. "none" leaves a loop to the code generator, which
/// unrolls it if the sums of the tile fit in registers.
void AnnotateTile(Schedule& schedule, StageId stage, const std::vector<AnnotatedLoop>& tile,
                  std::int64_t max_unroll);

}  // namespace tilewright
