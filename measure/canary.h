#pragma once

#include <cstdint>

namespace tilewright::measure {

/// A constant piece of work whose duration tells whether the core is quiet: multiply-adds on
/// vectors read from a buffer that stays in the first-level cache, enough of them independent to
/// fill the units. A neighbour on the sibling hardware thread, a lower clock or an interruption
/// makes it slower. Not thread-safe.
class Canary {
 public:
  /// Chooses how much work takes about kTargetSeconds on this core (takes some milliseconds).
  Canary();
  /// Runs once; its duration in seconds.
  double Run();
  static constexpr double kTargetSeconds = 30e-6;

 private:
  static constexpr int kFloats = 1024;  // 4 KiB
  alignas(64) float data_[kFloats];
  std::int64_t rounds_ = 1;
  float sink_ = 0;
};

}  // namespace tilewright::measure
