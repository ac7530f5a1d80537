#pragma once

namespace tilewright::quantize {

/// Version of what the passes make of a network and its samples: annotations, ranges, scales,
/// rounding. Raised when any of these changes; errors and times that were stored of networks of an
/// earlier version are then not used (src/optimize/job_key.h).
inline constexpr int kQuantizerVersion = 1;

}  // namespace tilewright::quantize
