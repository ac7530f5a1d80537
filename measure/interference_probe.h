#pragma once

#include <cstdint>
#include <memory>

namespace tilewright::measure {

/// Interference probe of a core: a constant piece of work whose duration shows whether other work
/// disturbs the core. It runs multiply-adds on vectors from a buffer that stays in the first-level
/// cache, with enough independent operations to fill the units. A neighbour on the sibling hardware
/// thread, a lower clock or an interruption makes it slower. Not thread-safe.
class InterferenceProbe {
 public:
  /// Chooses how much work takes about kTargetSeconds on this core (takes some milliseconds).
  InterferenceProbe();
  /// Runs the probe once. Returns the seconds of a fixed amount of work, independent of the amount
  /// that this object chose: values of two processes on one machine are comparable.
  double Run();
  static constexpr double kTargetSeconds = 30e-6;

 private:
  static constexpr int kFloats = 1024;  // 4 KiB
  alignas(64) float data_[kFloats];
  double RunSeconds();
  std::int64_t rounds_ = 1;
  float sink_ = 0;
};

/// Interference probe of the memory level that contains a kernel's data: reads of a buffer of about
/// that size. A neighbour that fills a shared cache or the memory bus makes it slower and does not
/// affect the core's probe. Not thread-safe; processes forked from its owner may run it.
class MemoryInterferenceProbe {
 public:
  /// Levels: 0 is the first-level cache, which InterferenceProbe covers; then the second level, the
  /// shared cache, and main memory.
  static constexpr int kLevels = 4;
  /// Returns the level of a kernel that touches `bytes` bytes.
  static int LevelOf(std::int64_t bytes);
  /// Allocates the memory, 16 MiB. If that fails, every Run returns 0.
  MemoryInterferenceProbe();
  /// Returns the duration in seconds, 70 to 300 us; 0 at level 0, which needs no memory probe.
  double Run(int level);
  /// Returns the number of bytes that one Run reads at the level.
  static std::int64_t BytesReadAt(int level);
  /// Returns the relative tolerance above the uncontended time. Shared levels vary more than the
  /// core, and a kernel also computes between reads.
  static double ToleranceOf(int level);

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  void Read(std::int64_t bytes, std::int64_t lines);
  std::unique_ptr<char, Free> data_;
  std::int64_t start_ = 0;  // of the next piece, if one run reads only a piece of the buffer
  std::int64_t sink_ = 0;
};

}  // namespace tilewright::measure
