// Job states. A job is built, run and finished, each once unless its failure is undiagnosed in
// between. Every state change is a function here; an unexpected state is a bug.

#include "measure/supervisor/job_table.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"

namespace tilewright::measure {
namespace {

constexpr double kNewShare = 0.2;  // of the newest in a moving average

}  // namespace

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

JobId JobTable::Add(Job job) {
  const JobId id = next_id_++;
  const Candidate& candidate = job.request.candidate;
  const KernelLibrary* library = LibraryOfTemplate(candidate.template_key);
  Trial& trial = job.trial;
  trial.candidate = candidate;
  trial.attempt = job.request.attempt;
  trial.device = library != nullptr ? WithLibrary(device_, *library) : device_;
  trial.metric = MetricOf(candidate.task.target);
  trial.codegen_version = DeviceTraitsOf(candidate.task.target).codegen_version;
  job.task = tasks_.NumberOf(candidate);
  if (job.part != JobPart::kBuild) {
    const auto [place, added] = references_.try_emplace(job.task);
    ReferenceState& state = place->second.state;
    const bool asks = job.racing || !job.request.unverified;
    if (asks && state == ReferenceState::kNotNeeded) state = ReferenceState::kNeeded;
    if (added && !asks) state = ReferenceState::kNotNeeded;
  }
  const bool built = job.part == JobPart::kRun;
  auto kept = job.racing && !built ? kernel_cache_.Take(job.task, candidate) : std::nullopt;
  job.state = kept || built ? JobState::kBuilt : JobState::kToBuild;
  if (kept) job.kernel = *std::move(kept);
  if (built) job.kernel.task = job.task;
  if (job.state == JobState::kToBuild) {
    to_build_.push_back(id);
  } else if (!job.racing) {
    to_run_.push_back(id);
  }
  jobs_.emplace(id, std::move(job));
  return id;
}

void JobTable::AddRace(std::vector<Job> racers, const RaceSettings& terms) {
  TW_CHECK(!race_ && !racers.empty());
  race_ = Race{.racers = {}, .trials = std::vector<Trial>(racers.size()), .terms = terms};
  for (Job& racer : racers) race_->racers.push_back(Add(std::move(racer)));
}

Job& JobTable::Expect(JobId id, JobState state) {
  Job& job = jobs_.at(id);
  TW_CHECK(job.state == state);
  return job;
}

std::optional<JobId> JobTable::TakeToBuild() {
  if (to_build_.empty()) return std::nullopt;
  const JobId id = to_build_.front();
  to_build_.pop_front();
  Expect(id, JobState::kToBuild).state = JobState::kBuilding;
  return id;
}

void JobTable::MarkBuilt(JobId id, KernelSpec kernel) {
  Job& job = Expect(id, JobState::kBuilding);
  job.state = JobState::kBuilt;
  if (job.part == JobPart::kBuild) {
    built_[job.request.ticket] = std::move(kernel);
    return Finish(id, Outcome::kOk, "");
  }
  job.kernel = std::move(kernel);
  if (!job.racing) to_run_.push_back(id);
}

void JobTable::RecordBuildSeconds(JobId id, double seconds) {
  Expect(id, JobState::kBuilding).trial.build_seconds = seconds;
  build_seconds_ += kNewShare * (seconds - build_seconds_);
}

std::optional<std::uint64_t> JobTable::TakeReference() {
  for (auto& [task, reference] : references_) {
    if (reference.state != ReferenceState::kNeeded) continue;
    reference.state = ReferenceState::kInProgress;
    return task;
  }
  return std::nullopt;
}

std::optional<JobId> JobTable::TakeToRun() {
  for (std::size_t i = 0; i < to_run_.size();) {
    const JobId id = to_run_[i];
    const Reference& reference = references_.at(jobs_.at(id).task);
    const bool ready = reference.state == ReferenceState::kReady || jobs_.at(id).request.unverified;
    if (!ready && reference.state != ReferenceState::kFailed) {
      ++i;  // another task's candidate may be ready to run
      continue;
    }
    to_run_.erase(to_run_.begin() + static_cast<std::ptrdiff_t>(i));
    if (ready) {
      Expect(id, JobState::kBuilt).state = JobState::kRunning;
      return id;
    }
    Finish(id, Outcome::kRunFailed, "no reference result: " + reference.reason);
  }
  return std::nullopt;
}

std::vector<JobId> JobTable::TakeRace() {
  if (!race_) return {};
  std::vector<JobId> racers;
  for (const JobId id : std::vector<JobId>(race_->racers)) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;  // it has failed
    if (found->second.state != JobState::kBuilt) return {};
    const Reference& reference = references_.at(found->second.task);
    if (reference.state == ReferenceState::kFailed) {
      Finish(id, Outcome::kRunFailed, "no reference result: " + reference.reason);
      continue;
    }
    if (reference.state != ReferenceState::kReady) return {};
    racers.push_back(id);
  }
  for (const JobId id : racers) jobs_.at(id).state = JobState::kRunning;
  if (race_) race_->taken = racers.size();
  return racers;
}

bool JobTable::RequeueRace() {
  std::vector<JobId> racers = race_->racers;
  std::erase_if(racers, [this](JobId id) { return !Contains(id); });
  if (std::exchange(race_->returned, true) || racers.size() < race_->taken) return false;
  for (const JobId id : racers) Expect(id, JobState::kRunning).state = JobState::kBuilt;
  return true;
}

void JobTable::CompleteRun(const RunReply& reply) {
  Job& job = Expect(reply.ticket, JobState::kRunning);
  Trial& trial = job.trial;
  trial.samples = reply.samples;
  trial.verified = reply.verified;
  trial.max_abs_error = reply.max_abs_error;
  trial.run_seconds = reply.run_seconds;
  if (!job.racing) run_seconds_ += kNewShare * (reply.run_seconds - run_seconds_);
  Reference& reference = references_.at(job.task);
  if (reply.outcome == Outcome::kOk) {
    trial.value = reply.value;
    trial.noise = reply.noise;
    trial.clean_fraction = reply.clean_fraction;
    trial.others = reply.others;
    if (job.kernel.code_bytes > 0) {
      trial.others[std::string(kCodeBytes)] = static_cast<double>(job.kernel.code_bytes);
    }
    double& best = reference.best;
    if (reply.verified && (best == 0 || reply.value < best)) best = reply.value;
  }
  if (reply.outcome == Outcome::kOk || reply.fault_domain == FaultDomain::kCandidate) {
    return Finish(reply.ticket, reply.outcome, reply.reason);
  }
  // It may be what cannot be read any more.
  if (reply.fault_domain == FaultDomain::kMachine) reference.state = ReferenceState::kNeeded;
  MarkUndiagnosed(reply.ticket, {reply.outcome, reply.reason, reply.fault_domain});
}

void JobTable::MarkUndiagnosed(JobId id, JobFailure failure) {
  Job& job = jobs_.at(id);
  TW_CHECK(job.state == JobState::kBuilding || job.state == JobState::kRunning);
  if (job.racing && job.state == JobState::kRunning) {
    const bool machine = failure.fault_domain == FaultDomain::kMachine;
    return Finish(id, machine ? Outcome::kDeviceLost : failure.outcome, std::move(failure.reason));
  }
  ++job.tries;
  RemoveArtifact(job);
  job.kernel = KernelSpec();
  job.failure = std::move(failure);
  job.state = JobState::kUndiagnosed;
  undiagnosed_.push_back(id);
}

void JobTable::RebuildJob(JobId id) {
  Expect(id, JobState::kUndiagnosed).state = JobState::kToBuild;
  to_build_.push_front(id);
}

void JobTable::Finish(JobId id, Outcome outcome, std::string reason) {
  auto node = jobs_.extract(id);
  TW_CHECK(!node.empty());
  Job& job = node.mapped();
  Trial& trial = job.trial;
  trial.outcome = outcome;
  trial.reason = OneLine(std::move(reason));
  trial.verified = trial.verified && outcome == Outcome::kOk;
  trial.finished_unix_seconds = clock_.UnixSeconds();
  CacheKernel(job);
  RemoveArtifact(job);
  if (job.racing) return FinishRacer(id, std::move(trial));
  finished_.push_back({job.request.ticket, std::move(trial)});
}

void JobTable::FinishRacer(JobId id, Trial trial) {
  const auto place = std::ranges::find(race_->racers, id) - race_->racers.begin();
  race_->trials[static_cast<std::size_t>(place)] = std::move(trial);
  if (std::ranges::any_of(race_->racers, [&](JobId other) { return Contains(other); })) return;
  race_result_ = std::move(race_->trials);
  race_.reset();
}

void JobTable::RemoveArtifact(const Job& job) const {
  if (!job.kernel.artifact.empty() && job.fault.artifact.empty()) {
    ::unlink(job.kernel.artifact.c_str());
  }
}

void JobTable::CacheKernel(Job& job) {
  const bool ok = job.trial.outcome == Outcome::kOk && job.trial.verified;
  if (!ok || job.racing || !job.fault.artifact.empty()) return;
  // Finalists are the fastest ones.
  constexpr double kMayRace = 1.25;
  if (job.trial.value > kMayRace * references_.at(job.task).best) return;
  const std::string kept = kernel_cache_.Keep(job.task, job.request.candidate, job.kernel);
  if (kept == job.kernel.artifact) job.kernel = KernelSpec();
}

std::vector<std::uint64_t> JobTable::CancelPending() {
  std::vector<std::uint64_t> tickets;
  std::erase_if(jobs_, [&](const auto& entry) {
    const Job& job = entry.second;
    if (job.racing || job.state == JobState::kRunning) return false;
    tickets.push_back(job.request.ticket);
    RemoveArtifact(job);
    return true;
  });
  const auto gone = [this](JobId id) { return !Contains(id); };
  std::erase_if(to_build_, gone);
  std::erase_if(to_run_, gone);
  std::erase_if(undiagnosed_, gone);
  return tickets;
}

void JobTable::GiveUp(const Status& why) {
  broken_ = why;
  std::vector<JobId> left;
  for (const auto& [id, job] : jobs_) {
    if (!job.racing) left.push_back(id);  // a race reports `broken` to its caller
  }
  for (const JobId id : left) Finish(id, Outcome::kDeviceLost, why.message());
  AbandonAll(why);
}

void JobTable::AbandonAll(const Status& why) {
  broken_ = why;
  for (const auto& [id, job] : jobs_) RemoveArtifact(job);
  jobs_.clear();
  to_build_.clear();
  to_run_.clear();
  undiagnosed_.clear();
}

}  // namespace tilewright::measure
