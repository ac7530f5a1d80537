#pragma once

#include <cstdint>
#include <span>

namespace tilewright {

/// Peak rates of one core of this machine, measured once at start (about 30 ms).
struct MachinePeaks {
  double float_ops_per_second = 0;   ///< fp32 FMA, two operations each, widest vectors
  double int8_ops_per_second = 0;    ///< int8 dot product (VNNI), else the int16 one
  double near_bytes_per_second = 0;  ///< read, 512 KiB buffer (L2)
  double far_bytes_per_second = 0;   ///< read, 8 MiB buffer (L3)
};

/// Measures the calling thread's core. widest_bits limits the vectors (512, 256), so that the peaks
/// match the code that is compared with them.
MachinePeaks MeasurePeaks(int widest_bits = 512);

/// Reads memory as fast as one core can. The returned value depends on all of `data` except less
/// than 128 bytes at its end.
std::int64_t ReadAll(std::span<const std::int64_t> data);

/// Lower bound of the value of any schedule, limited by arithmetic or by memory. Seconds on a CPU;
/// cycles or bytes on a VTA. Zeros: unknown.
struct RooflineBound {
  double arithmetic = 0;  ///< for all products of the definition
  double memory = 0;

  /// Returns the bound of a schedule that computes this share of the products (ProductShareOf).
  double LowerBound(double product_share = 1) const {
    return arithmetic * product_share > memory ? arithmetic * product_share : memory;
  }
};

/// Returns the bound of an operator on `threads` cores: operations / peak, and bytes / bandwidth.
/// `bytes` counts each tensor once and uses the L2 bandwidth if all of it fits 512 KiB per thread.
/// All commands use this roofline.
RooflineBound RooflineOf(const MachinePeaks& peaks, std::int64_t macs, std::int64_t bytes,
                         bool int8, int threads);

}  // namespace tilewright
