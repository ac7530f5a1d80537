#pragma once

#include <cstdint>
#include <vector>

#include "src/vta/isa.h"
#include "src/vta/kernels/axis_tile.h"

namespace tilewright::vta {

/// Which loop of a tile becomes micro-ops, besides the columns and the kernel's taps. The
/// instruction executes the other two.
enum class UnrolledLoop : std::uint8_t { kRows, kInputChannels, kOutputChannels };

/// The products of one tile of a convolution with a slice of its input channels, as GEMM
/// instructions that leave padding out.
///
/// Blocks lie densely on the chip: data [ci][rows][columns], weights [co][ci][kernel_h][kernel_w],
/// accumulators [co][rows][columns].
struct TileGemm {
  AxisTile rows, columns;
  std::int64_t ci = 1, co = 1;  ///< in blocks
  std::int64_t kernel_h = 1, kernel_w = 1;
  UnrolledLoop unrolled = UnrolledLoop::kRows;

  /// What one instruction does: taps [first, end) of the kernel's rows. If it loops over rows, that
  /// is all of them that contribute to the same results, which are then `results`.
  struct Part {
    std::int64_t first = 0, end = 0;
    AxisTile::Results results;
  };
  std::vector<Part> Parts() const;
  /// The instruction of a part, without its micro-ops.
  Gemm LoopsOf(const Part& part) const;
  /// base: where the three blocks begin.
  std::vector<Uop> UopsOf(const Part& part, const Uop& base) const;
};

}  // namespace tilewright::vta
