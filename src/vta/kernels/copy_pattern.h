#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

/// Dimension of a region: extent, and stride in DRAM in elements.
struct CopyDimension {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
};

/// Returns the sizes and the stride of the single transfer that copies a region, outermost
/// dimension first. Removes dimensions of extent 1, and merges a dimension with the next inner one
/// if that covers its whole stride.
/// Errors: kInvalidArgument if more than rows of consecutive elements remain, or if a size does not
/// fit its field.
Result<Transfer> CopyPattern(std::span<const CopyDimension> dimensions);

/// Returns the transfers for a region of up to three dimensions: one, or else one for each index of
/// the outermost dimension. sram_base and dram_base are relative to the start of the region.
/// Errors: kInvalidArgument if a size does not fit its field.
Result<std::vector<Transfer>> CopyPatterns(std::span<const CopyDimension> dimensions);

}  // namespace tilewright::vta
