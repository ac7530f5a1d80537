#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/hash.h"

namespace tilewright {

/// Deterministic random number generator (SplitMix64), the same on every machine and library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() { return Mix64(state_ += 0x9E3779B97F4A7C15ULL); }
  /// Returns a number uniform in [0, bound), bound >= 1, with negligible bias (128-bit multiply).
  std::uint64_t Below(std::uint64_t bound) {
#ifdef __SIZEOF_INT128__
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
#else
    // The same in 32-bit halves, for 32-bit boards.
    const std::uint64_t value = Next();
    const std::uint64_t low = value & 0xFFFFFFFFU, high = value >> 32;
    const std::uint64_t bound_low = bound & 0xFFFFFFFFU, bound_high = bound >> 32;
    const std::uint64_t middle = high * bound_low + ((low * bound_low) >> 32);
    const std::uint64_t other = low * bound_high + (middle & 0xFFFFFFFFU);
    return high * bound_high + (middle >> 32) + (other >> 32);
#endif
  }
  /// Returns a number uniform in [0, 1) with 53 bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

/// Returns element `index` (row-major, from 0) of the synthetic contents of a tensor whose name has
/// the FNV-1a hash `seed`: an integer in [0, 2^24).
constexpr std::uint32_t SeededElement(std::uint64_t seed, std::uint64_t index) {
  return static_cast<std::uint32_t>(Mix64(seed + (index + 1) * 0x9E3779B97F4A7C15ULL) >> 40);
}

}  // namespace tilewright
