#pragma once

#include <functional>
#include <vector>

namespace tilewright::bench {

/// Times several functions in one go, interleaved, and keeps the slices taken in quiet moments.
///
/// On shared machines a core is quiet or disturbed for seconds at a time. A canary (a short
/// kernel of known speed that stays in L1) runs before and after every slice of about 2 ms; a slice
/// counts only if both canaries came within a few per cent of the fastest canary seen and the
/// thread kept its core.
class QuietTimer {
 public:
  QuietTimer();

  struct Timing {
    double seconds = 0;  ///< median per call over the quiet slices (the fastest one if none was)
    int quiet_slices = 0;
    int slices = 0;
  };
  /// One Timing per function. rounds: slices per function, up to five times as many while
  /// quiet ones are missing. threads: of the functions; of several each slice waits until those of
  /// the function before, which wait for work awake, have gone to sleep.
  std::vector<Timing> Measure(const std::vector<std::function<void()>>& functions, int rounds,
                              int threads = 1);

 private:
  double InterferenceProbe();
  bool IsQuiet(bool preempted, double probe_seconds) const;
  std::vector<float> canary_data_;
  double fastest_canary_ = 1e9;
};

/// Seconds of a monotonic clock.
double Now();

}  // namespace tilewright::bench
