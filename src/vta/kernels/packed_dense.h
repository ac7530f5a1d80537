#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/vta/kernels/packed_operator.h"

namespace tilewright::vta {

/// A matrix product on packed tensors: data [batch][ci] of INP tiles, weight [co][ci] of WGT tiles,
/// result [batch][co]. Channels count blocks, the batch counts tiles.
struct PackedDense {
  std::int64_t batch = 1, ci = 1, co = 1;
};

/// A point of AutoTVM's space dense_packed.vta: inner extents of its splits, and over how many
/// virtual threads the outer loop of channels is spread.
struct PackedDenseTiles {
  std::int64_t b = 1, ci = 1, co = 1;
  std::int64_t oc_threads = 1;
};

/// The product with a schedule: the weights of a tile are loaded for each of its batches again.
/// Errors: kInvalidArgument with the reason if an extent is out of range or does not divide.
Result<PackedOperator> SchedulePackedDense(const PackedDense& dense, const PackedDenseTiles& tiles);

}  // namespace tilewright::vta
