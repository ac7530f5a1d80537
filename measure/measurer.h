#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/space/trial.h"

namespace tilewright::measure {

/// Candidate submitted for measuring.
struct Request {
  std::uint64_t ticket = 0;  ///< chosen by the caller, returned with the trial
  Candidate candidate;
  double best_seconds = 0;  ///< best verified value of the task, for time limits; 0: unknown
  std::int64_t attempt = 0;
  /// Allows an unverified trial, which does not wait for a reference result. Only for simulated
  /// devices (IsSimulated of src/templates/device.h); a measurer may verify the trial all the same.
  bool unverified = false;
};

/// Trial::attempt of a repeated measurement after drift of the device that measured attempt 0.
inline constexpr std::int64_t kRevisedAttempt = -2;

struct Reply {
  std::uint64_t ticket = 0;
  Trial trial;
  /// Additional reply for a ticket whose first reply the device may have falsified. No caller waits
  /// for it.
  bool again = false;
};

/// Breakdown of the wall time, in seconds since the measurer started.
struct TimeSplit {
  double wall_seconds = 0;
  double runner_busy_seconds = 0;    ///< a runner processes a candidate (load, verify, time)
  double runner_timing_seconds = 0;  ///< part of it: taking samples
  double builder_busy_seconds = 0;   ///< at least one build in progress
  double idle_seconds = 0;           ///< neither a build nor a run in progress
};

/// Settings of a race.
struct RaceSettings {
  /// Per finalist, its time in earlier clean samples: a race whose finalists are all slower than
  /// that is noisy. 0, or no entry: unknown.
  std::vector<double> known_seconds;
  /// The finalist that stays to the end, whatever its time: the others' times are ratios to it.
  std::optional<std::size_t> anchor;
  double seconds = 0;       ///< maximum for its rounds; 0: half a second for each finalist
  double wait_seconds = 0;  ///< additional maximum, if rounds are noisy
};

/// Interface that builds and times candidates, several at once: Submit queues a request, Next
/// returns a finished trial. Not thread-safe: one caller.
class Measurer {
 public:
  virtual ~Measurer() = default;
  /// Errors: kUnavailable if the measurer cannot continue (no builder can be started).
  virtual Status Submit(Request request) = 0;
  /// Returns the next finished trial, in any order; nullopt after `timeout_seconds` without one.
  virtual Result<std::optional<Reply>> Next(double timeout_seconds) = 0;
  /// Reports that the trial with this ticket is in the store: the measurer may release its copies.
  virtual void MarkStored(std::uint64_t /*ticket*/) {}
  /// Number of requests that are submitted and not yet returned.
  virtual int in_flight() const = 0;
  /// Drops the requests that are not being run: Next does not return them. It does return those
  /// being run. Returns the dropped tickets.
  virtual std::vector<std::uint64_t> CancelPending() = 0;
  /// Returns the number of requests that keeps every stage busy; further requests only wait.
  virtual int capacity() const = 0;
  virtual TimeSplit time_split() const = 0;
  /// Device fingerprint stored with each trial.
  virtual const DeviceFingerprint& device() const = 0;
  /// Returns whether trials contain joules (kJoules).
  virtual bool measures_energy() const { return false; }
  /// Returns the smallest relative difference that this device can resolve, from an A/A test (0.02
  /// = 2 %).
  virtual double resolution() const = 0;
  /// Measures the finalists again, interleaved; results are in the same order. Two finalists whose
  /// intervals overlap are a tie. A finalist that is significantly slower leaves the race early.
  virtual Result<std::vector<Trial>> Race(const std::vector<Candidate>& finalists,
                                          const RaceSettings& terms) = 0;
};

}  // namespace tilewright::measure
