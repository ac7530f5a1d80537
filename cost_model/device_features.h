#pragma once

#include <span>

#include "src/base/status.h"
#include "src/schedule/summary.h"
#include "src/space/config.h"
#include "src/target/target.h"
#include "src/vta/stream_builder.h"

namespace tilewright::cost_model {

/// Features of a candidate as the target's device has them: of its loops, or of its stream.
/// out: FeatureCount() values, all finite.
/// Errors: kInvalidArgument for a target that is none of the device.
Status ExtractLoopFeatures(const Target& target, const LoopSummary& summary, const Config& config,
                           std::span<float> out);
Status ExtractStreamFeatures(const Target& target, const vta::Stream& stream, const Config& config,
                             std::span<float> out);

}  // namespace tilewright::cost_model
