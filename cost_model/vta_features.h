#pragma once

#include <cstddef>
#include <span>

#include "src/space/config.h"
#include "src/vta/design.h"
#include "src/vta/simulator/cycle_model.h"
#include "src/vta/stream_builder.h"

namespace tilewright::cost_model {

/// Columns of what the busiest engine has to do, and of the bytes on the bus; log2(1 + x), as all.
inline constexpr std::size_t kVtaBusyColumn = 0, kVtaBytesColumn = 5;

/// Features of a VTA candidate, from counting its instructions: tokens are not played, so nothing
/// is known of waiting. Bytes of each memory, instructions of each kind, what each engine has to do
/// by the cycle model, knobs. The columns are those of ExtractFeatures with another meaning, unused
/// ones zero: a model learns from candidates of one kind of target only.
/// out: FeatureCount() values, all finite.
void ExtractVtaFeatures(const vta::Design& design, const vta::CycleModel& cycles,
                        const vta::Stream& stream, const Config& config, std::span<float> out);

}  // namespace tilewright::cost_model
