#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

/// As many transfers as it takes, for regions of up to three dimensions: one, or else one for each
/// index of the outermost. sram_base and dram_base count from the start of the region.
/// Errors: kInvalidArgument if a size does not fit its field.
Result<std::vector<Transfer>> CopyPatterns(std::span<const CopyDimension> dimensions);

}  // namespace tilewright::vta
