#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/vta/kernels/packed_operator.h"

namespace tilewright::vta {

/// Matrix product on packed tensors: data [batch][ci] of INP tiles, weight [co][ci] of WGT tiles,
/// result [batch][co]. Channels count blocks, the batch counts tiles.
struct PackedDense {
  std::int64_t batch = 1, ci = 1, co = 1;
};

/// Point of AutoTVM's space dense_packed.vta: inner extents of its splits, and the number of
/// virtual threads for the outer loop of channels.
struct PackedDenseTiles {
  std::int64_t b = 1, ci = 1, co = 1;
  std::int64_t oc_threads = 1;
};

/// Schedules the product: the weights of a tile are loaded again for each of its batches.
/// Errors: kInvalidArgument with the reason if an extent is out of range or does not divide.
Result<PackedOperator> SchedulePackedDense(const PackedDense& dense, const PackedDenseTiles& tiles);

}  // namespace tilewright::vta
