// What the supervisor does about failures that may be the machine's: no room or no right to
// execute in the folder of artifacts, no descriptors, processes or memory left, a builder that the
// system killed. Such a candidate waits as a suspect while a probe is built and loaded. If that
// fails, too, it was the machine: what is built from now on goes to another folder if that is
// better off, the suspects are built again once a later probe goes well, and if none does, the
// measurer ends and says what to do. If the probe goes well, the failure is the candidate's, unless
// the worker has seen the system refuse something: then it is tried again a few times.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "measure/supervisor/supervisor.h"

namespace tilewright::measure {
namespace {

/// Tries of a candidate whose failures are the machine's, though probes go well.
constexpr int kMostTries = 3;
/// Tries again of a probe, or of what the machine refused; after the last one the measurer ends.
constexpr int kMostPauses = 4;
constexpr double kPauseGrowth = 3;
constexpr double kProbeLimitSeconds = 20;

/// What to do about it.
std::string AdviceFor(const std::string& why, const std::string& folder) {
  struct Advice {
    const char* words;
    const char* text;
  };
  constexpr Advice kAdvice[] = {
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

void Supervisor::Suspected(Suspect suspect) {
  Job& job = jobs_.at(suspect.job);
  // Racers are known to work: they are not told apart any further.
  if (job.racing && !job.kernel.artifact.empty()) {
    const Outcome outcome =
        suspect.blame == Blame::kMachine ? Outcome::kDeviceLost : suspect.outcome;
    return Finish(suspect.job, outcome, std::move(suspect.reason));
  }
  ++job.tries;
  if (!job.kernel.artifact.empty() && job.fault.artifact.empty()) {
    (void)std::remove(job.kernel.artifact.c_str());
  }
  job.kernel = KernelSpec();
  suspects_.push_back(std::move(suspect));
  if (probe_ == ProbeState::kNone) probe_ = ProbeState::kWanted;
}

bool Supervisor::DispatchProbe(Worker& worker) {
  const double now = clock_.MonotonicSeconds();
  if (worker.role == Role::kBuild && probe_ == ProbeState::kWanted && !jobs_.empty()) {
    if (now < probe_after_) {
      worker.ready_after = probe_after_;  // so that it is woken for it
      return true;
    }
    checking_ = std::exchange(suspects_, {});
    const Target& target = jobs_.begin()->second.request.candidate.task.target;
    probe_order_ = {target.ToString(), folder_ + "/probe.so", std::max(1, target.num_threads())};
    probe_ = ProbeState::kBuilding;
  } else if (worker.role == Role::kRun && probe_ == ProbeState::kBuilt) {
    probe_ = ProbeState::kLoading;
  } else {
    return false;
  }
  worker.probing = true;
  SendTo(worker, ToJson(probe_order_), kProbeLimitSeconds);
  return true;
}

void Supervisor::HandleProbed(Worker& worker, const ProbeReply& reply) {
  worker.probing = false;
  worker.process.SetIdle();
  if (!reply.problem.empty()) return ProbeFailed(reply.problem);
  if (worker.role == Role::kBuild && !settings_.remote) {
    probe_ = ProbeState::kBuilt;
  } else {
    ProbeSucceeded();
  }
}

void Supervisor::ProbeSucceeded() {
  probe_failures_ = 0;
  probe_ = suspects_.empty() ? ProbeState::kNone : ProbeState::kWanted;
  for (Suspect& suspect : std::exchange(checking_, {})) {
    const auto found = jobs_.find(suspect.job);
    if (found == jobs_.end()) continue;
    // Killed again and again where others are not: it takes more memory than there is.
    const bool killed = suspect.reason.find("SIGKILL") != std::string::npos;
    if (suspect.blame == Blame::kMachine && found->second.tries < kMostTries) {
      to_build_.push_front(suspect.job);
    } else if (suspect.blame == Blame::kMachine && !killed) {
      return StopForMachine(suspect.reason);
    } else {
      Finish(suspect.job, suspect.outcome, std::move(suspect.reason));
    }
  }
}

void Supervisor::ProbeFailed(const std::string& why) {
  for (auto* waiting : {&checking_, &suspects_}) {
    for (const Suspect& suspect : std::exchange(*waiting, {})) {
      if (jobs_.contains(suspect.job)) to_build_.push_front(suspect.job);
    }
  }
  if (probe_failures_ == kMostPauses) return StopForMachine(why);
  kept_.Clear();  // room is what may be lacking
  ChangeFolder();
  probe_after_ = clock_.MonotonicSeconds() + PauseAfter(probe_failures_++);
  probe_ = ProbeState::kWanted;
}

void Supervisor::ChangeFolder() {
  const auto root = TemporaryRoot();
  if (!root.ok() || folder_.starts_with(*root + "/")) return;
  auto folder = LockedFolder::Create(LockedFolder::kMeasurers);
  if (!folder.ok()) return;
  // What is in the old one is still used: it goes with this object's end.
  other_folders_.push_back(*std::move(folder));
  folder_ = other_folders_.back().path();
}

void Supervisor::MoveReference(Reference& reference) {
  std::string& path = reference.path;
  if (!settings_.reference_folder.empty() || path.starts_with(folder_ + "/")) return;
  path = folder_ + path.substr(path.rfind('/'));
}

double Supervisor::PauseAfter(int failures) const {
  return settings_.machine_pause_seconds * std::pow(kPauseGrowth, failures);
}

void Supervisor::RetryReference(Worker& worker, Reference& reference, const std::string& why) {
  if (reference.tries == kMostPauses) return StopForMachine("no reference result: " + why);
  ChangeFolder();
  worker.ready_after = clock_.MonotonicSeconds() + PauseAfter(reference.tries++);
  reference.state = ReferenceState::kWanted;
}

void Supervisor::StopForMachine(const std::string& why) {
  if (broken_) return;
  broken_ = true;
  to_build_.clear();
  to_run_.clear();
  suspects_.clear();
  checking_.clear();
  for (Worker& worker : workers_) worker.job.reset();
  for (const auto& [id, job] : jobs_) {
    if (job.fault.artifact.empty() && !job.kernel.artifact.empty()) {
      (void)std::remove(job.kernel.artifact.c_str());
    }
  }
  jobs_.clear();
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.broken =
      Unavailable("nothing can be measured here: " + why + "; " + AdviceFor(why, folder_) +
                  ". Nothing of this is kept as a result; the same command goes on");
  mailbox_.changed.notify_all();
}

}  // namespace tilewright::measure
