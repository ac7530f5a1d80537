#pragma once

#include <span>

#include "src/base/status.h"
#include "src/schedule/summary.h"
#include "src/space/config.h"
#include "src/target/target.h"
#include "src/vta/stream_builder.h"

namespace tilewright::cost_model {

/// Computes the features of a candidate for the target's device, from its loops or from its stream.
/// out: FeatureCount() values, all finite. Errors: kInvalidArgument if the target is not of that
/// device.
Status ExtractLoopFeatures(const Target& target, const LoopSummary& summary, const Config& config,
                           std::span<float> out);
Status ExtractStreamFeatures(const Target& target, const vta::Stream& stream, const Config& config,
                             std::span<float> out);

}  // namespace tilewright::cost_model
