#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/space/config.h"

namespace tilewright {

// AutoTVM's annotations: a word for each loop over a tile.

/// Lengths of the vectors that AutoTVM's templates for Mali accept.
inline constexpr std::array<std::int64_t, 5> kVectorLengths = {1, 2, 4, 8, 16};

/// Returns a knob of all assignments of `words` ("none", "unroll", "vec") to `axes` axes, the last
/// axis fastest, with at most one "vec" (AutoTVM: try_unroll, try_unroll_vec).
Knob AnnotateKnob(std::string name, const std::vector<std::string>& words, int axes);

/// Loop over a tile, its iterations within the tile, and its word.
struct AnnotatedLoop {
  LoopId loop;
  std::int64_t extent = 1;
  std::string word;
};
/// Returns the loops of a tile. tiles: knobs whose last factors are the extents; knob: annotate
/// knob with the words.
std::vector<AnnotatedLoop> Annotated(const std::array<LoopId, 3>& loops, const Config& config,
                                     const std::array<const char*, 3>& tiles, const char* knob);
/// Errors: kInvalidArgument for a loop that AutoTVM does not unroll because it has more than
/// `max_unroll` iterations, and, if `checks_vectors`, for vectors of other lengths than
/// kVectorLengths.
Status CheckAnnotated(const Config& config, const std::array<const char*, 3>& tiles,
                      const char* knob, std::int64_t max_unroll, bool checks_vectors = false);
/// Returns the order of a tile's loops: the vectorized one innermost, the others as they are.
std::vector<LoopId> TileOrder(const std::vector<AnnotatedLoop>& tile);
/// Unrolls and vectorizes the loops of a tile that are innermost in TileOrder. Loops of more than
/// `max_unroll` iterations are not unrolled. "none" leaves a loop to the code generator, which
/// unrolls it if the sums of the tile fit in registers.
void AnnotateTile(Schedule& schedule, StageId stage, const std::vector<AnnotatedLoop>& tile,
                  std::int64_t max_unroll);
/// Unrolls the loops whose word of an annotate knob is "unroll".
void UnrollAnnotated(Schedule& schedule, StageId stage, const std::vector<LoopId>& loops,
                     const Config& config, const char* knob);

}  // namespace tilewright
