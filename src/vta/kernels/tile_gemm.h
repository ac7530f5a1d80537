#pragma once

#include <cstdint>
#include <vector>

#include "src/vta/isa.h"
#include "src/vta/kernels/axis_tile.h"

namespace tilewright::vta {

/// Loop of a tile that is unrolled into micro-ops, in addition to the columns and the kernel's
/// taps. The instruction executes the other two.
enum class UnrolledLoop : std::uint8_t { kRows, kInputChannels, kOutputChannels };

/// Products of one tile of a convolution with a slice of its input channels, as GEMM instructions
/// without padding.
///
/// Blocks are contiguous on the chip: data [ci][rows][columns], weights
/// [co][ci][kernel_h][kernel_w], accumulators [co][rows][columns].
struct TileGemm {
  AxisTile rows, columns;
  std::int64_t ci = 1, co = 1;  ///< in blocks
  std::int64_t kernel_h = 1, kernel_w = 1;
  UnrolledLoop unrolled = UnrolledLoop::kRows;

  /// Work of one instruction: taps [first, end) of the kernel's rows. If it loops over rows, these
  /// are all taps that contribute to the same results, `results`.
  struct Part {
    std::int64_t first = 0, end = 0;
    AxisTile::Results results;
  };
  std::vector<Part> Parts() const;
  /// Returns the instruction of a part, without its micro-ops.
  Gemm LoopsOf(const Part& part) const;
  /// Returns the micro-ops of a part. base: start of the three blocks.
  std::vector<Uop> UopsOf(const Part& part, const Uop& base) const;
};

}  // namespace tilewright::vta
