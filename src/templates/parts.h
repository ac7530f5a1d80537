#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/space/config.h"
#include "src/target/cpu.h"
#include "src/templates/registry.h"

namespace tilewright {

// Pieces that several templates are made of.

/// The stages every anchor's compute has, in the roles a CPU schedule gives them.
struct AnchorStages {
  bool has_pad = false;
  StageId pad;     ///< valid if has_pad
  StageId sum;     ///< the reduction; its output is kLocal (registers)
  StageId result;  ///< writes the kernel's output
};
/// Finds the stages; without an epilogue the sums get a local copy first. Call before any split.
AnchorStages PrepareStages(Schedule& schedule);

/// Largest divisor of `extent` that is at most `limit` (at least 1).
std::int64_t LargestDivisor(std::int64_t extent, std::int64_t limit);
/// The smallest tile for each possible number of tiles, ascending: every listed tile wastes least
/// on its last one. 56, limit 28: 1, 2, …, 8, 10, 12, 14, 19, 28.
std::vector<std::int64_t> ThriftyTiles(std::int64_t extent, std::int64_t limit);

/// Split of `extent` in two with the given inner factor.
KnobValue InnerFactor(std::int64_t extent, std::int64_t inner);
/// The config of these values in the space.
Result<Config> LocateValues(const ConfigSpace& space,
                            std::vector<std::pair<std::string, KnobValue>> values);
/// Adds the knobs in order. Errors: those of Knob::Split and ConfigSpace::Add.
Result<ConfigSpace> MakeSpace(std::vector<Result<Knob>> knobs);

/// Fuses adjacent leaves, outermost first, into one loop.
LoopId FuseAll(Schedule& schedule, StageId stage, const std::vector<LoopId>& loops);
/// Parallel over the loop if the target has more than one thread.
void ParallelFor(Schedule& schedule, StageId stage, LoopId loop, const Target& target);
/// What ScheduleFlat leaves for stages that are to be computed inside.
struct FlatLoops {
  LoopId innermost;  ///< the innermost loop outside vector and tile; index -1 if there is none
};
/// A root stage as a whole: innermost axis vectorized in steps of `lanes`, around it `tile`
/// iterations unrolled, outer loops parallel.
FlatLoops ScheduleFlat(Schedule& schedule, StageId stage, std::int64_t lanes, const Target& target,
                       std::int64_t tile = 1);

/// True for 1x1 kernels, stride 1, no padding: rows of pixels need not be told apart.
bool IsFlatConvolution(const ConvShape& shape);
/// The convolution in plain layouts and, if flat, with all pixels in one row: the memory of blocked
/// activations is the same.
Workload PlainConvolution(const Workload& workload, const ConvShape& shape, bool flat);
/// True for float32 throughout.
bool IsFloat32(const Workload& workload);
/// True for float16 summed in float32, whether the result is rounded to float16 or not.
bool IsFloat16(const Workload& workload);
/// True for 8-bit data and int8 weight summed in int32.
bool IsInt8(const Workload& workload);
/// True if data and weight are in NCHW and OIHW (AutoTVM's templates take nothing else).
bool IsPlainNchw(const Workload& workload);
/// "NCHW" and 16 -> "NCHW16c".
std::string Blocked(const std::string& layout, std::int64_t block, char dimension);

/// The table's row for a template class with the four static functions.
template <typename Template>
constexpr TemplateEntry EntryOf(std::string_view key, int version,
                                TargetKind target = TargetKind::kLlvm) {
  return {key,
          version,
          target,
          &Template::Refuses,
          &Template::DefineSpace,
          &Template::DefaultConfig,
          &Template::Apply,
          nullptr};
}

}  // namespace tilewright
