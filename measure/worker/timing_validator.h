#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tilewright::measure {

/// Validator of the times that a candidate's process reports. The process measures them itself, and
/// the kernel may have changed its code. The times must agree with the runner's clock, with the
/// processor time that the system counts, and with the lower bound of the machine.
class TimingValidator {
 public:
  struct Terms {
    double min_call_seconds = 0;  ///< lower bound of a call, see MinCallSeconds
    int threads = 1;              ///< of the kernel
  };
  /// Runner's measurement of one step: its own clock from the order to the answer (or until
  /// CandidateProcess::Stop), and the processor time of all threads of the process.
  struct RunnerTimes {
    double wall_seconds = 0;
    double processor_seconds = 0;
    /// Processor time of all threads between steps, of all steps since loading.
    double between_seconds = 0;
  };

  explicit TimingValidator(const Terms& terms) : terms_(terms) {}

  /// Adds a slice: seconds per call, of samples with `batch` calls each. Returns why the times are
  /// implausible; nullopt if they are plausible.
  std::optional<std::string> AddSlice(std::span<const double> samples, std::int64_t batch,
                                      const RunnerTimes& seen);
  /// Checks the timed run that is verified: compares the runner's measurement, up to the moment
  /// when it takes the result, with the time of one call by all samples together.
  std::optional<std::string> CheckVerifiedRun(std::int64_t calls, double call_seconds,
                                              const RunnerTimes& seen) const;

 private:
  /// Returns a lower bound of the time that the kernel's threads worked.
  double WorkedSeconds(const RunnerTimes& seen) const;

  Terms terms_;
  double reported_ = 0, wall_ = 0, worked_ = 0;  // of all slices
  double between_ = 0;                           // worked between steps
};

}  // namespace tilewright::measure
