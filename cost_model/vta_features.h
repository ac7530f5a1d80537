#pragma once

#include <cstddef>
#include <span>

#include "src/space/config.h"
#include "src/vta/design.h"
#include "src/vta/simulator/cycle_model.h"
#include "src/vta/stream_builder.h"

namespace tilewright::cost_model {

/// Columns of the busiest engine's work and of the bus traffic, as log2(1 + x) like all.
inline constexpr std::size_t kVtaBusyColumn = 0, kVtaBytesColumn = 5;

/// Computes the features of a VTA candidate by counting its instructions, without simulating tokens
/// and therefore without stalls: bytes of each memory, instructions of each kind, the work of each
/// engine by the cycle model, knobs. The columns of ExtractFeatures have other meanings here,
/// unused ones are zero: a model is trained on candidates of one target kind only. out:
/// FeatureCount() values, all finite.
void ExtractVtaFeatures(const vta::Design& design, const vta::CycleModel& cycles,
                        const vta::Stream& stream, const Config& config, std::span<float> out);

}  // namespace tilewright::cost_model
