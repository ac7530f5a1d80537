#include "measure/supervisor/machine_health.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilewright::measure {
namespace {

/// Maximum tries of a candidate with machine failures although probes succeed.
constexpr int kMaxTries = 3;
/// Maximum retries of a probe, or of a denied resource; after the last one the measurer ends.
constexpr int kMaxPauses = 4;
constexpr double kPauseGrowth = 3;

/// Remedy for the failure.
std::string AdviceFor(const std::string& why, const std::string& folder) {
  struct Advice {
    const char* words;
    const char* text;
  };
  constexpr Advice kAdvice[] = {
      {"energy_uj", "make that counter work, or tune without the metric joules"},
      {"counter of energy", "make that counter work, or tune without the metric joules"},
      {"No space left", "make room there, or set TMPDIR to a folder with room"},
      {"Disk quota", "make room there, or set TMPDIR to a folder with room"},
      {"Read-only file system", "set TMPDIR to a folder that can be written to"},
      {"Too many open files", "allow more of them (ulimit -n 1024)"},
      {"Resource temporarily unavailable", "end other processes, or allow more (ulimit -u)"},
      {"no threads", "end other processes, or allow more (ulimit -u)"},
      {"Operation not permitted", "set TMPDIR to a folder whose files may be executed"},
      {"Permission denied", "set TMPDIR to a folder whose files may be executed"},
      {"/proc", "mount it (mount -t proc proc /proc)"},
      {"emory", "free some memory, or allow more of it (ulimit -v)"},
      {"SIGKILL", "the system ended it, as it does when memory runs out: free some"}};
  for (const Advice& advice : kAdvice) {
    if (why.find(advice.words) != std::string::npos) return advice.text;
  }
  return "see what this machine lacks; files are kept in " + folder;
}

}  // namespace

bool MachineHealth::NeedsProbe(bool builder) const {
  if (!builder) return probe_ == Probe::kBuilt;
  const bool wanted =
      probe_ == Probe::kNeeded || (probe_ == Probe::kNone && jobs_.HasUndiagnosed());
  return wanted && !jobs_.empty();
}

ProbeOrder MachineHealth::TakeProbe() {
  if (probe_ == Probe::kBuilt) {
    probe_ = Probe::kLoading;
    return order_;
  }
  under_diagnosis_ = jobs_.TakeUndiagnosed();
  const Target& target = jobs_.first().request.candidate.task.target;
  order_ = {target.ToString(), folder_ + "/probe.so", std::max(1, target.num_threads())};
  probe_ = Probe::kBuilding;
  return order_;
}

void MachineHealth::HandleProbeReply(const ProbeReply& reply, bool builder) {
  if (!reply.problem.empty()) return ProbeFailed(reply.problem);
  if (builder && !settings_.remote) {
    probe_ = Probe::kBuilt;
  } else {
    ProbeSucceeded();
  }
}

void MachineHealth::ProbeSucceeded() {
  probe_failures_ = 0;
  probe_ = Probe::kNone;
  for (const JobId id : std::exchange(under_diagnosis_, {})) {
    if (!jobs_.Contains(id)) continue;
    const Job& job = jobs_.At(id);
    const JobFailure failure = job.failure;
    // Killed repeatedly while others are not: it needs more memory than the machine has.
    const bool killed = failure.reason.find("SIGKILL") != std::string::npos;
    if (failure.fault_domain == FaultDomain::kMachine && job.tries < kMaxTries) {
      jobs_.RebuildJob(id);
    } else if (failure.fault_domain == FaultDomain::kMachine && !killed) {
      return Stop(failure.reason);
    } else {
      jobs_.Finish(id, failure.outcome, failure.reason);
    }
  }
}

void MachineHealth::ProbeFailed(const std::string& why) {
  for (const auto& undiagnosed : {std::exchange(under_diagnosis_, {}), jobs_.TakeUndiagnosed()}) {
    for (const JobId id : undiagnosed) {
      if (jobs_.Contains(id)) jobs_.RebuildJob(id);
    }
  }
  if (probe_failures_ == kMaxPauses) return Stop(why);
  jobs_.ClearKernelCache();  // disk space may be the missing resource
  ChangeFolder();
  probe_after_ = clock_.MonotonicSeconds() + BackoffSeconds(probe_failures_++);
  probe_ = Probe::kNeeded;
}

void MachineHealth::ChangeFolder() {
  const auto root = TemporaryRoot();
  if (!root.ok() || folder_.starts_with(*root + "/")) return;
  auto folder = LockedTempDir::Create(LockedTempDir::kMeasurerPrefix);
  if (!folder.ok()) return;
  // Files in the old folder are still in use: the destructor removes it.
  other_folders_.push_back(*std::move(folder));
  folder_ = other_folders_.back().path();
}

double MachineHealth::BackoffSeconds(int failures) const {
  return settings_.machine_backoff_seconds * std::pow(kPauseGrowth, failures);
}

bool MachineHealth::ShouldRetry(int tries, const std::string& why, double& retry_after) {
  if (tries == kMaxPauses) {
    Stop(why);
    return false;
  }
  ChangeFolder();
  retry_after = clock_.MonotonicSeconds() + BackoffSeconds(tries);
  return true;
}

void MachineHealth::Stop(const std::string& why) {
  if (!jobs_.broken().ok()) return;
  under_diagnosis_.clear();
  jobs_.AbandonAll(Unavailable("nothing can be measured here: " + OneLine(why) + "; " +
                               AdviceFor(why, folder_) +
                               ". These failures are not stored; rerun the command to resume"));
}

}  // namespace tilewright::measure
