#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/messages.h"
#include "measure/supervisor/job_table.h"
#include "measure/supervisor/process_measurer.h"
#include "src/base/files/locked_temp_dir.h"

namespace tilewright::measure {

/// What is done about failures that may be the machine's: no room or no right to execute in the
/// folder of artifacts, no descriptors, processes or memory left, a builder that the system killed.
/// Such a candidate is a suspect while a probe is built and loaded. If that fails, too, it was the
/// machine: what is built from now on goes to another folder if that is better off, the suspects
/// are built again once a later probe goes well, and if none does, the measurer ends and says what
/// to do. If the probe goes well, the failure is the candidate's, unless the worker has seen the
/// system refuse something: then it is tried again a few times. Not thread-safe. Included by .cc
/// files of measure/ only.
class MachineHealth {
 public:
  /// folder: where artifacts and reference results are put.
  MachineHealth(const ProcessMeasurerSettings& settings, std::string folder, JobTable& jobs,
                Clock& clock)
      : settings_(settings), folder_(std::move(folder)), jobs_(jobs), clock_(clock) {}

  const std::string& folder() const { return folder_; }
  /// A probe says that nothing can work here now.
  bool halted() const { return probe_failures_ > 0; }

  /// Whether the next thing for a builder, or for a runner, is a probe.
  bool NeedsProbe(bool builder) const;
  /// Not before this moment; monotonic seconds.
  double probe_after() const { return probe_after_; }
  /// The probe, which is under way now. Requires NeedsProbe.
  ProbeOrder TakeProbe();
  /// What came of it.
  void HandleProbeReply(const ProbeReply& reply, bool builder);
  void ProbeFailed(const std::string& why);

  /// Something else than a candidate failed by what may be the machine's fault, so many times
  /// before: whether to try it again, else the measurer ends. retry_after: not before.
  bool ShouldRetry(int tries, const std::string& why, double& retry_after);
  /// Ends measuring, for what this machine lacks: nothing becomes a result of the candidates.
  void Stop(const std::string& why);

 private:
  enum class Probe : std::uint8_t { kNone, kNeeded, kBuilding, kBuilt, kLoading };
  void ProbeSucceeded();
  /// Takes another folder if what folder_ is in lacks room or rights now and another place does
  /// not.
  void ChangeFolder();
  /// Seconds to wait after so many failures that are the machine's.
  double BackoffSeconds(int failures) const;

  const ProcessMeasurerSettings& settings_;
  std::string folder_;
  std::vector<LockedTempDir> other_folders_;  // made where the first one had no room any more
  JobTable& jobs_;
  Clock& clock_;
  Probe probe_ = Probe::kNeeded;
  ProbeOrder order_;
  std::vector<JobId> under_diagnosis_;  // suspects that the probe under way decides about
  double probe_after_ = 0;
  int probe_failures_ = 0;  // in a row
};

}  // namespace tilewright::measure
