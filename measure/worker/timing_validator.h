#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tilewright::measure {

/// Judges the times that a candidate's process reports: it measures them itself, and its code may
/// have been changed by the kernel. They have to agree with the runner's clock, with the processor
/// time that the system counts, and with the least time that the machine needs.
class TimingValidator {
 public:
  struct Terms {
    double min_call_seconds = 0;  ///< no kernel can be faster, see MinCallSeconds
    int threads = 1;              ///< of the kernel
  };
  /// The runner's measure of one step: its own clock from the order to the answer (or to the stop
  /// of the process, see CandidateProcess::Stop), and the processor time of all threads of the
  /// process.
  struct RunnerTimes {
    double wall_seconds = 0;
    double processor_seconds = 0;
    /// Processor time of all threads between steps, of all steps since loading.
    double between_seconds = 0;
  };

  explicit TimingValidator(const Terms& terms) : terms_(terms) {}

  /// Of a slice: seconds per call, of samples with `batch` calls each.
  /// returns why they cannot be; nullopt: they may be true.
  std::optional<std::string> AddSlice(std::span<const double> samples, std::int64_t batch,
                                      const RunnerTimes& seen);
  /// Of the timed run that is verified: the runner's measure of it, up to the moment when the
  /// result is taken, against the time of one call that all samples together say.
  std::optional<std::string> CheckVerifiedRun(std::int64_t calls, double call_seconds,
                                              const RunnerTimes& seen) const;

 private:
  /// The kernel's threads were at work for so long at least.
  double WorkedSeconds(const RunnerTimes& seen) const;

  Terms terms_;
  double reported_ = 0, wall_ = 0, worked_ = 0;  // of all slices
  double between_ = 0;                           // worked between steps
};

}  // namespace tilewright::measure
