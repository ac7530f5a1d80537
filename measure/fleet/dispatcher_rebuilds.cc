// This machine rebuilds artifacts of the fleet's builders where they matter: before a trial becomes
// the best of its task, and before a finalist races. Builds are deterministic, so both artifacts
// are equal to the byte. A builder with a different artifact has another version or is dishonest.
// Its results do not count, its order is enqueued again, and its later artifacts are rejected. If
// this machine cannot build, nothing is confirmed and the candidate is not blamed: the build is
// retried, then the trial is lost, as with a lost device.

#include <algorithm>
#include <utility>

#include "measure/fleet/dispatcher.h"
#include "measure/kernel_message.h"

namespace tilewright::measure::fleet {
namespace {

constexpr int kMaxUnconfirmed = 3;  // of one candidate, by different builders
constexpr std::size_t kMaxOwnBuilt = 4096;
constexpr const char* kDiffers = "its artifact is not what this machine builds";
constexpr const char* kUnconfirmed = "what builders made of it was not confirmed: ";
// Pause after a failure of this machine, for each failure so far. A full executor may refuse seven
// times, in 28 s; a build that fails or times out is tried three times.
constexpr double kAgainSeconds = 1;
constexpr int kFailuresOfBuild = 3, kMaxOwnFailures = 8;

std::string CandidateText(const Candidate& candidate) {
  return TaskKey(candidate) + "\n" + candidate.task.target.ToString() + "\n" +
         candidate.template_key + "\n" + std::to_string(candidate.template_version) + "\n" +
         candidate.config.ToString();
}

/// Returns the artifact and description of a kernel without machine-specific paths and names.
std::string BuiltText(const Built& built) {
  KernelSpec kernel = built.kernel;
  kernel.task = 0;
  kernel.artifact.clear();
  kernel.artifact_name.clear();
  return built.hash + " " + std::to_string(built.size) + " " + DumpJson(ToJson(kernel));
}

}  // namespace

std::string TaskKey(const Candidate& candidate) {
  return candidate.task.workload.Key() + candidate.epilogue.ToString();
}

bool Dispatcher::MustConfirm(const LeaseTable::Entry& entry, const DeviceName& device,
                             const Trial& trial) const {
  if (!settings_.make_local_executor || entry.order.built.empty()) return false;
  if (trial.outcome != Outcome::kOk || !trial.verified) return false;
  const auto best = best_.find(TaskKey(entry.order.candidates.front()));
  const double scale = trial.metric == "seconds" ? device_registry_.ScaleOf(device) : 1;
  return best == best_.end() || best->second <= 0 || trial.value / scale <= best->second;
}

void Dispatcher::ConfirmTrial(Rebuild rebuild) {
  const auto [found, first] = unconfirmed_.try_emplace(TaskKey(rebuild.candidate));
  if (first) return ConfirmBuilt(std::move(rebuild));
  found->second.push_back(std::move(rebuild));
}

void Dispatcher::ConfirmWaiting(const std::string& task) {
  auto node = unconfirmed_.extract(task);
  if (node.empty()) return;
  std::vector<Rebuild>& waiting = node.mapped();
  std::ranges::stable_sort(waiting, {}, [](const Rebuild& one) { return one.trial.value; });
  for (Rebuild& one : waiting) {
    LeaseTable::Entry* entry = lease_table_.Find(one.sequence);
    if (entry == nullptr) continue;
    if (MustConfirm(*entry, one.device, one.trial)) {
      ConfirmTrial(std::move(one));
    } else {
      KeepTrial(*entry, one.device, std::move(one.trial));
    }
  }
}

void Dispatcher::ConfirmBuilt(Rebuild rebuild) {
  const auto known = local_builds_.find(CandidateText(rebuild.candidate));
  if (known != local_builds_.end()) {
    const bool differs = known->second != BuiltText(rebuild.built);
    return Rebuilt(std::move(rebuild), differs);
  }
  ++counts_.rebuilt;
  StartRebuild(std::move(rebuild));
}

void Dispatcher::StartRebuild(Rebuild rebuild) {
  Order order = OrderFor(rebuild.candidate);
  order.stage = Stage::kBuild;
  const std::uint64_t number = next_rebuild_++;
  rebuild.again_at = 0;
  rebuilding_.emplace(number, std::move(rebuild));
  local_executor_->Start(number, order, {});
}

void Dispatcher::TakeRebuilt() {
  if (local_executor_ == nullptr || rebuilding_.empty() || !ended_.ok()) return;
  const std::vector<Executor::Event> events = local_executor_->Take();
  // Checked first: a failed executor refuses all its orders.
  if (!local_executor_->status().ok()) return EndUnconfirmed(local_executor_->status());
  for (const Executor::Event& event : events) {
    const auto found = rebuilding_.find(event.number);
    if (!event.over || found == rebuilding_.end()) continue;
    Rebuild rebuild = std::move(found->second);
    rebuilding_.erase(found);
    if (!event.built) {
      HandleRebuildFailure(std::move(rebuild), event);
      continue;
    }
    if (local_builds_.size() >= kMaxOwnBuilt) local_builds_.clear();
    const std::string own = BuiltText(*event.built);
    local_builds_[CandidateText(rebuild.candidate)] = own;
    const bool differs = own != BuiltText(rebuild.built);
    Rebuilt(std::move(rebuild), differs);
  }
  std::vector<std::uint64_t> due;
  for (const auto& [number, rebuild] : rebuilding_) {
    const bool now = rebuild.again_at > 0 && clock_.MonotonicSeconds() >= rebuild.again_at;
    if (now) due.push_back(number);
  }
  for (const std::uint64_t number : due) {
    StartRebuild(std::move(rebuilding_.extract(number).mapped()));
  }
}

void Dispatcher::EndUnconfirmed(const Status& why) {
  ended_ = why.WithContext(
      "the job ends here (its trials are stored, and the same command resumes it), because this "
      "machine cannot confirm artifacts from builders");
}

void Dispatcher::Rebuilt(Rebuild rebuild, bool differs) {
  if (differs) {
    ++counts_.unconfirmed;
    log_.Limited("rejected an artifact of " + rebuild.builder.ToString() + ": " + kDiffers);
    Distrust(rebuild.builder, std::string(kDiffers) + ": " + rebuild.candidate.template_key + " " +
                                  rebuild.candidate.config.ToString());
  }
  if (rebuild.sequence == 0) return RebuiltRacer(std::move(rebuild), differs);
  const std::string task = TaskKey(rebuild.candidate);
  FinishRebuiltTrial(std::move(rebuild), differs);
  ConfirmWaiting(task);
}

void Dispatcher::HandleRebuildFailure(Rebuild rebuild, const Executor::Event& event) {
  const bool refused = event.trials.empty() || !event.refusal.empty();
  const std::string why = refused ? event.refusal : event.trials.front().reason;
  log_.Limited("an artifact of " + rebuild.builder.ToString() +
               " is not confirmed yet: this machine cannot build it: " + why);
  rebuild.failures += refused ? 1 : kFailuresOfBuild;
  if (rebuild.failures < kMaxOwnFailures) {
    rebuild.again_at = clock_.MonotonicSeconds() + kAgainSeconds * rebuild.failures;
    rebuilding_.emplace(next_rebuild_++, std::move(rebuild));
    return;
  }
  // Neither accepted nor a failure of the candidate: retried as if its device were lost.
  const std::string reason = "not confirmed: this machine cannot build it: " + why;
  if (rebuild.sequence == 0) {
    rebuild.trial.outcome = Outcome::kDeviceLost;
    rebuild.trial.reason = reason;
    return RacerIsBuilt(rebuild.context, std::move(rebuild.trial), std::nullopt);
  }
  Trial trial;
  trial.outcome = Outcome::kDeviceLost;
  trial.reason = reason;
  trial.device = settings_.device;
  trial.finished_unix_seconds = clock_.UnixSeconds();
  const std::string task = TaskKey(rebuild.candidate);
  LeaseTable::Entry* entry = lease_table_.Find(rebuild.sequence);
  if (entry != nullptr) Finish(*entry, std::move(trial));
  ConfirmWaiting(task);
}

void Dispatcher::FinishRebuiltTrial(Rebuild rebuild, bool differs) {
  LeaseTable::Entry* entry = lease_table_.Find(rebuild.sequence);
  if (entry == nullptr) return;
  if (!differs) return KeepTrial(*entry, rebuild.device, std::move(rebuild.trial));
  if (++contexts_.at(rebuild.sequence).unconfirmed >= kMaxUnconfirmed) {
    Trial trial;
    trial.outcome = Outcome::kBuildFailed;
    trial.reason = std::string(kUnconfirmed) + kDiffers;
    trial.device = settings_.device;
    trial.finished_unix_seconds = clock_.UnixSeconds();
    return Finish(*entry, std::move(trial));
  }
  AcknowledgeHandle(entry->handle, AckType::kAck);
  entry->order.stage = Stage::kBuild;
  entry->order.built.clear();
  lease_table_.RevokeResult(*entry, clock_.MonotonicSeconds());
  Requeue(*entry);
}

void Dispatcher::RebuiltRacer(Rebuild rebuild, bool differs) {
  if (!differs) {
    return RacerIsBuilt(rebuild.context, std::move(rebuild.trial), std::move(rebuild.built));
  }
  if (++rebuild.context.unconfirmed >= kMaxUnconfirmed) {
    rebuild.trial.outcome = Outcome::kBuildFailed;
    rebuild.trial.reason = std::string(kUnconfirmed) + kDiffers;
    return RacerIsBuilt(rebuild.context, std::move(rebuild.trial), std::nullopt);
  }
  if (!racing_.contains(rebuild.context.race)) return;
  Order order = OrderFor(rebuild.candidate);
  order.stage = Stage::kBuild;
  Enqueue(std::move(order), rebuild.context, 0);
}

void Dispatcher::Distrust(const DeviceName& builder, const std::string& why) {
  if (!distrusted_.insert(builder.worker).second) return;
  std::erase_if(builders_, [&](const auto& one) { return one.first.worker == builder.worker; });
  std::erase_if(builder_last_seen_,
                [&](const auto& one) { return one.first.worker == builder.worker; });
  Log("builder " + builder.ToString() + " is no longer trusted: " + why +
      " (another version of Tilewright or LLVM, or a dishonest builder); other builders continue");
}

bool Dispatcher::KeepsDevice(const DeviceName& name) {
  const auto& devices = device_registry_.devices();
  if (devices.contains(name)) return true;
  std::size_t of_worker = 0;
  for (auto device = devices.lower_bound({name.worker, ""});
       device != devices.end() && device->first.worker == name.worker; ++device) {
    ++of_worker;
  }
  if (devices.size() < settings_.max_devices && of_worker < settings_.max_devices_of_worker) {
    return true;
  }
  log_.Limited("rejected a device of " + name.worker + ": " + std::to_string(of_worker) +
               " of its devices are registered, and " + std::to_string(devices.size()) + " in all");
  return false;
}

}  // namespace tilewright::measure::fleet
