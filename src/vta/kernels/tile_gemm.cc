#include "src/vta/kernels/tile_gemm.h"

namespace tilewright::vta {
std::vector<TileGemm::Part> TileGemm::Parts() const {
  if (unrolled == UnrolledLoop::kRows) return {{0, kernel_h, {}}};
  std::vector<Part> parts;
  for (std::int64_t tap = 0; tap < kernel_h; ++tap) {
    const AxisTile::Results results = rows.ResultsOf(tap);
    if (results.low == results.high) continue;
    if (parts.empty() || parts.back().results != results || parts.back().end != tap) {
      parts.push_back({tap, tap, results});
    }
    parts.back().end = tap + 1;
  }
  return parts;
}

Gemm TileGemm::LoopsOf(const Part& part) const {
  Gemm gemm;
  bool outer = true;
  const auto add = [&](std::int64_t extent, std::int64_t dst, std::int64_t src, std::int64_t wgt) {
    (outer ? gemm.loop.iter_out : gemm.loop.iter_in) = U32(extent);
    if (extent > 1) {  // otherwise factors need not fit their fields
      (outer ? gemm.dst.out : gemm.dst.in) = U32(dst);
      (outer ? gemm.src.out : gemm.src.in) = U32(src);
      (outer ? gemm.wgt.out : gemm.wgt.in) = U32(wgt);
    }
    outer = false;
  };
  const std::int64_t taps = kernel_h * kernel_w;
  if (unrolled != UnrolledLoop::kInputChannels) add(ci, 0, rows.count * columns.count, taps);
  if (unrolled != UnrolledLoop::kOutputChannels) add(co, rows.size * columns.size, 0, ci * taps);
  if (unrolled != UnrolledLoop::kRows) {
    add(part.results.high - part.results.low, columns.size, rows.stride * columns.count, 0);
  }
  return gemm;
}

// Accumulators vary fastest, because the hardware must not update one twice in succession.
std::vector<Uop> TileGemm::UopsOf(const Part& part, const Uop& base) const {
  const std::int64_t inner_ci = unrolled == UnrolledLoop::kInputChannels ? ci : 1;
  const std::int64_t inner_co = unrolled == UnrolledLoop::kOutputChannels ? co : 1;
  std::vector<Uop> uops;
  for (std::int64_t i = 0; i < inner_ci; ++i) {
    for (std::int64_t tap = part.first * kernel_w; tap < part.end * kernel_w; ++tap) {
      const std::int64_t kh = tap / kernel_w;
      const std::int64_t kw = tap % kernel_w;
      const AxisTile::Results xs = columns.ResultsOf(kw);
      // An instruction that loops over rows begins at the first row of its part.
      AxisTile::Results ys = {part.results.low, part.results.low + 1};
      if (unrolled == UnrolledLoop::kRows) ys = rows.ResultsOf(kh);
      for (std::int64_t o = 0; o < inner_co; ++o) {
        for (std::int64_t y = ys.low; y < ys.high; ++y) {
          for (std::int64_t x = xs.low; x < xs.high; ++x) {
            const std::int64_t row = i * rows.count + rows.shift + y * rows.stride + kh;
            const std::int64_t column = columns.shift + x * columns.stride + kw;
            uops.push_back({base.dst + U32((o * rows.size + y) * columns.size + x),
                            base.src + U32(row * columns.count + column),
                            base.wgt + U32((o * ci + i) * kernel_h * kernel_w + tap)});
          }
        }
      }
    }
  }
  return uops;
}

}  // namespace tilewright::vta
