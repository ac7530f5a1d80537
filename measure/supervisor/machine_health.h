#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/messages.h"
#include "measure/supervisor/job_table.h"
#include "measure/supervisor/process_measurer.h"
#include "src/base/files/locked_temp_dir.h"

namespace tilewright::measure {

/// Handler of failures that may be the machine's: no space or no execute permission in the artifact
/// folder, no descriptors, processes or memory, a builder that the system killed. Such a candidate
/// is undiagnosed while a probe is built and loaded.
///
/// If the probe fails, too, it is a machine failure. New artifacts go to another folder if that one
/// is usable, and the undiagnosed candidates are built again after a later probe succeeds. If none
/// succeeds, the measurer ends with a remedy.
///
/// If the probe succeeds, the failure is the candidate's. If the worker saw the system deny a
/// resource, the candidate is retried a few times first. Not thread-safe. Included by .cc files of
/// measure/ only.
class MachineHealth {
 public:
  /// folder: of artifacts and reference results.
  MachineHealth(const ProcessMeasurerSettings& settings, std::string folder, JobTable& jobs,
                Clock& clock)
      : settings_(settings), folder_(std::move(folder)), jobs_(jobs), clock_(clock) {}

  const std::string& folder() const { return folder_; }
  /// Returns whether the last probe failed, so that no work is possible.
  bool halted() const { return probe_failures_ > 0; }

  /// Returns whether the next order for a builder, or for a runner, is a probe.
  bool NeedsProbe(bool builder) const;
  /// Earliest time of the next probe; monotonic seconds.
  double probe_after() const { return probe_after_; }
  /// Takes the probe, which is in progress now. Requires NeedsProbe.
  ProbeOrder TakeProbe();
  /// Handles the result of the probe.
  void HandleProbeReply(const ProbeReply& reply, bool builder);
  void ProbeFailed(const std::string& why);

  /// Decides about a failure that is not a candidate's and may be the machine's, after `tries`
  /// earlier ones: returns whether to retry; if not, the measurer ends. retry_after: earliest time
  /// of the retry.
  bool ShouldRetry(int tries, const std::string& why, double& retry_after);
  /// Ends measuring for a missing resource of this machine: it becomes no candidate's result.
  void Stop(const std::string& why);

 private:
  enum class Probe : std::uint8_t { kNone, kNeeded, kBuilding, kBuilt, kLoading };
  void ProbeSucceeded();
  /// Changes to another folder if folder_ lacks space or permissions and the other one has them.
  void ChangeFolder();
  /// Returns the seconds to wait after `failures` machine failures.
  double BackoffSeconds(int failures) const;

  const ProcessMeasurerSettings& settings_;
  std::string folder_;
  std::vector<LockedTempDir> other_folders_;  // created when the first one had no space left
  JobTable& jobs_;
  Clock& clock_;
  Probe probe_ = Probe::kNeeded;
  ProbeOrder order_;
  std::vector<JobId> under_diagnosis_;  // candidates that the probe in progress decides about
  double probe_after_ = 0;
  int probe_failures_ = 0;  // in a row
};

}  // namespace tilewright::measure
