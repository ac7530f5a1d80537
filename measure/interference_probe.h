#pragma once

#include <cstdint>
#include <memory>

namespace tilewright::measure {

/// A constant piece of work whose duration tells whether the core is quiet: multiply-adds on
/// vectors read from a buffer that stays in the first-level cache, enough of them independent to
/// fill the units. A neighbour on the sibling hardware thread, a lower clock or an interruption
/// makes it slower. Not thread-safe.
class InterferenceProbe {
 public:
  /// Chooses how much work takes about kTargetSeconds on this core (takes some milliseconds).
  InterferenceProbe();
  /// Runs once. returns seconds for a fixed amount of work, however much this one chose to do: what
  /// two processes on one machine see can be compared.
  double Run();
  static constexpr double kTargetSeconds = 30e-6;

 private:
  static constexpr int kFloats = 1024;  // 4 KiB
  alignas(64) float data_[kFloats];
  double RunSeconds();
  std::int64_t rounds_ = 1;
  float sink_ = 0;
};

/// A constant piece of work at the level of memory where a kernel's data lie: reads of a buffer of
/// about that size. A neighbour who fills a cache or the bus that is shared makes it slower and
/// leaves the first-level canary alone. Not thread-safe; processes forked from its owner may run
/// it.
class MemoryInterferenceProbe {
 public:
  /// 0: the first-level cache, which Canary watches; then the second level, what is shared, and
  /// what lies beyond.
  static constexpr int kLevels = 4;
  /// The level for a kernel that touches so many bytes.
  static int LevelOf(std::int64_t bytes);
  /// Takes the memory, 16 MiB. Without it every Run is 0.
  MemoryInterferenceProbe();
  /// Duration in seconds, 70 to 300 us; 0 at level 0, where there is nothing to watch.
  double Run(int level);
  /// What one Run reads there.
  static std::int64_t BytesReadAt(int level);
  /// How far above the quiet time a duration is still quiet, relative: what is shared is never
  /// as even as the core, and a kernel computes beside reading.
  static double ToleranceOf(int level);

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  void Read(std::int64_t bytes, std::int64_t lines);
  std::unique_ptr<char, Free> data_;
  std::int64_t start_ = 0;  // of the next piece, where one run reads a piece of the buffer only
  std::int64_t sink_ = 0;
};

}  // namespace tilewright::measure
