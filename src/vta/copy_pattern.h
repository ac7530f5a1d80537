#pragma once

#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

/// One dimension of a region: how many, and how far apart in DRAM, in elements.
struct CopyDimension {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
};

/// The sizes and the stride of the one transfer that copies a region, outermost dimension first.
/// Dimensions of extent 1 vanish, and one whose stride is the whole of the next inner one joins it.
/// Errors: kInvalidArgument if more than rows of consecutive elements remain, or a size does not
///         fit its field.
Result<Transfer> CopyPattern(std::span<const CopyDimension> dimensions);

}  // namespace tilewright::vta
