#pragma once

#include <functional>
#include <vector>

namespace tilewright::bench {

/// Interleaved timer of several functions that keeps only the clean slices.
///
/// On shared machines a core is clean or noisy for seconds at a time. An interference probe (a
/// short kernel of known speed that stays in L1) runs before and after every slice of about 2 ms. A
/// slice counts only if both probe times are within a few per cent of the fastest one so far and
/// the thread was not preempted.
class QuietTimer {
 public:
  QuietTimer();

  struct Timing {
    double seconds = 0;  ///< median per call over the clean slices (the fastest slice if none was
                         ///< clean)
    int quiet_slices = 0;
    int slices = 0;
  };
  /// Returns one Timing per function. rounds: slices per function, up to five times as many while
  /// clean ones are missing. threads: of the functions. With several threads, each slice waits
  /// until the threads of the previous function, which spin for work, are asleep.
  std::vector<Timing> Measure(const std::vector<std::function<void()>>& functions, int rounds,
                              int threads = 1);

 private:
  double InterferenceProbe();
  bool IsQuiet(bool preempted, double probe_seconds) const;
  std::vector<float> probe_data_;
  double fastest_probe_ = 1e9;
};

/// Returns the seconds of a monotonic clock.
double Now();

}  // namespace tilewright::bench
