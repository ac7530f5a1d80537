#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/space/trial.h"

namespace tilewright::measure {

/// A candidate on its way to becoming a trial.
struct Request {
  std::uint64_t ticket = 0;  ///< chosen by the caller, returned with the trial
  Candidate candidate;
  double best_seconds = 0;  ///< best verified value of the task so far; 0 if none: limits follow it
  std::int64_t attempt = 0;
  /// What its result is need not be looked at yet: the trial comes unverified, without waiting for
  /// a reference. Only for devices that count (IsSimulated of src/templates/device.h); a measurer
  /// may verify anyway.
  bool unverified = false;
};

/// Trial::attempt of a trial that was measured again, as the device that gave attempt 0 had
/// drifted.
inline constexpr std::int64_t kRevisedAttempt = -2;

struct Reply {
  std::uint64_t ticket = 0;
  Trial trial;
  /// The ticket had a reply already, which the device that gave it may have spoilt: this is beside
  /// it, and nobody waits for it.
  bool again = false;
};

/// Where the wall time went, in seconds since the measurer started.
struct TimeSplit {
  double wall_seconds = 0;
  double runner_busy_seconds = 0;    ///< a runner works on a candidate (load, verify, time)
  double runner_timing_seconds = 0;  ///< of it: samples being taken
  double builder_busy_seconds = 0;   ///< at least one build under way
  double idle_seconds = 0;           ///< neither a build nor a run under way
};

/// What a race is to know and keep to.
struct RaceSettings {
  /// Per finalist, what it took in quiet moments before: a race whose finalists are all slower than
  /// that is disturbed. 0, or no entry: unknown.
  std::vector<double> known_seconds;
  /// The finalist that stays to the end, whatever it takes: the others are told as ratios to it.
  std::optional<std::size_t> anchor;
  double seconds = 0;       ///< for its rounds at most; 0: half a second for each finalist
  double wait_seconds = 0;  ///< beyond that, for quiet moments
};

/// Compiles and times candidates, several at once: Submit queues, Next hands out what is finished.
/// Not thread-safe: one caller.
class Measurer {
 public:
  virtual ~Measurer() = default;
  /// Errors: kUnavailable if the measurer can not go on at all (no builder can be started).
  virtual Status Submit(Request request) = 0;
  /// The next finished trial, in any order; nullopt after `timeout_seconds` without one.
  virtual Result<std::optional<Reply>> Next(double timeout_seconds) = 0;
  /// The trial that came with this ticket is in the store: what else stands for it may go.
  virtual void MarkStored(std::uint64_t /*ticket*/) {}
  /// Submitted and not yet handed out.
  virtual int in_flight() const = 0;
  /// Drops what was submitted and is not being run: it never comes back. What is being run does.
  /// returns the tickets dropped.
  virtual std::vector<std::uint64_t> CancelPending() = 0;
  /// How many requests keep every stage busy; more only wait.
  virtual int capacity() const = 0;
  virtual TimeSplit time_split() const = 0;
  /// What the trials are measured on.
  virtual const DeviceFingerprint& device() const = 0;
  /// Whether trials say joules (kJoules).
  virtual bool measures_energy() const { return false; }
  /// Smallest relative difference this device can tell, from an A/A test (0.02 = 2 %).
  virtual double resolution() const = 0;
  /// Measures the finalists again, interleaved; result in the same order. Two whose intervals
  /// overlap are a tie. Those that are slower for certain are timed no further.
  virtual Result<std::vector<Trial>> Race(const std::vector<Candidate>& finalists,
                                          const RaceSettings& terms) = 0;
};

}  // namespace tilewright::measure
