// What builders of the fleet made is built here once more where it matters: before a trial becomes
// the best of its task, and before a finalist races. Building is deterministic, so both are the
// same to the byte; a builder whose artifact is another one is of another version, or not honest.
// Either way nothing of it counts: its order goes out again, and builders whose artifacts differ
// are not believed any more.

#include <algorithm>
#include <utility>

#include "measure/fleet/dispatcher.h"
#include "measure/kernel_message.h"

namespace tilewright::measure::fleet {
namespace {

constexpr int kMostUnconfirmed = 3;  // of one candidate, by other builders
constexpr std::size_t kMostOwnBuilt = 4096;
constexpr const char* kDiffers = "its artifact is not what this machine builds";

std::string TaskText(const Candidate& candidate) {
  return candidate.task.workload.Key() + candidate.epilogue.ToString();
}

std::string CandidateText(const Candidate& candidate) {
  return TaskText(candidate) + "\n" + candidate.task.target.ToString() + "\n" +
         candidate.template_key + "\n" + std::to_string(candidate.template_version) + "\n" +
         candidate.config.ToString();
}

/// Artifact and description of a kernel, without where it lies and what it is called on a machine.
std::string BuiltText(const Built& built) {
  KernelSpec kernel = built.kernel;
  kernel.task = 0;
  kernel.artifact.clear();
  kernel.artifact_name.clear();
  return built.hash + " " + std::to_string(built.size) + " " + DumpJson(ToJson(kernel));
}

}  // namespace

bool Dispatcher::MustConfirm(const OrderBook::Entry& entry, const DeviceName& device,
                             const Trial& trial) const {
  if (own_bench_ == nullptr || entry.order.built.empty()) return false;
  if (trial.outcome != Outcome::kOk || !trial.verified) return false;
  const auto best = best_.find(TaskText(entry.order.candidates.front()));
  const double scale = trial.metric == "seconds" ? roster_.ScaleOf(device) : 1;
  return best == best_.end() || best->second <= 0 || trial.value / scale <= best->second;
}

void Dispatcher::ConfirmTrial(Rebuild rebuild) {
  const auto [found, first] = unconfirmed_.try_emplace(TaskText(rebuild.candidate));
  if (first) return ConfirmBuilt(std::move(rebuild));
  found->second.push_back(std::move(rebuild));
}

void Dispatcher::ConfirmWaiting(const std::string& task) {
  auto node = unconfirmed_.extract(task);
  if (node.empty()) return;
  std::vector<Rebuild>& waiting = node.mapped();
  std::ranges::stable_sort(waiting, {}, [](const Rebuild& one) { return one.trial.value; });
  for (Rebuild& one : waiting) {
    OrderBook::Entry* entry = book_.Find(one.sequence);
    if (entry == nullptr) continue;
    if (MustConfirm(*entry, one.device, one.trial)) {
      ConfirmTrial(std::move(one));
    } else {
      KeepTrial(*entry, one.device, std::move(one.trial));
    }
  }
}

void Dispatcher::ConfirmBuilt(Rebuild rebuild) {
  const auto known = own_built_.find(CandidateText(rebuild.candidate));
  if (known != own_built_.end()) {
    const bool same = known->second == BuiltText(rebuild.built);
    return Rebuilt(std::move(rebuild), same ? "" : kDiffers, !same);
  }
  ++counts_.rebuilt;
  Order order = OrderFor(rebuild.candidate);
  order.stage = Stage::kBuild;
  const std::uint64_t number = next_rebuild_++;
  rebuilding_.emplace(number, std::move(rebuild));
  own_bench_->Start(number, order, {});
}

void Dispatcher::TakeRebuilt() {
  if (own_bench_ == nullptr || rebuilding_.empty()) return;
  for (Bench::Event& event : own_bench_->Take()) {
    const auto found = rebuilding_.find(event.number);
    if (!event.over || found == rebuilding_.end()) continue;
    Rebuild rebuild = std::move(found->second);
    rebuilding_.erase(found);
    std::string why;
    if (!event.built) {
      why = "this machine cannot build it: " +
            (event.trials.empty() ? event.refusal : event.trials.front().reason);
    } else {
      if (own_built_.size() >= kMostOwnBuilt) own_built_.clear();
      const std::string own = BuiltText(*event.built);
      own_built_[CandidateText(rebuild.candidate)] = own;
      if (own != BuiltText(rebuild.built)) why = kDiffers;
    }
    Rebuilt(std::move(rebuild), why, event.built && !why.empty());
  }
  if (own_bench_->status().ok()) return;
  const std::string why = own_bench_->status().message();
  for (auto& [number, rebuild] : std::exchange(rebuilding_, {})) {
    Rebuilt(std::move(rebuild), "this machine cannot build: " + why, false);
  }
}

void Dispatcher::Rebuilt(Rebuild rebuild, const std::string& why, bool differs) {
  if (!why.empty()) {
    ++counts_.unconfirmed;
    notes_.Limited("refused an artifact of " + rebuild.builder.ToString() + ": " + why);
  }
  if (differs) {
    Distrust(rebuild.builder, why + ": " + rebuild.candidate.template_key + " " +
                                  rebuild.candidate.config.ToString());
  }
  if (rebuild.sequence == 0) return RebuiltRacer(std::move(rebuild), why);
  const std::string task = TaskText(rebuild.candidate);
  RebuiltSearch(std::move(rebuild), why);
  ConfirmWaiting(task);
}

void Dispatcher::RebuiltSearch(Rebuild rebuild, const std::string& why) {
  OrderBook::Entry* entry = book_.Find(rebuild.sequence);
  if (entry == nullptr) return;
  if (why.empty()) return KeepTrial(*entry, rebuild.device, std::move(rebuild.trial));
  if (++aims_.at(rebuild.sequence).unconfirmed >= kMostUnconfirmed) {
    Trial trial;
    trial.outcome = Outcome::kBuildFailed;
    trial.reason = "what builders made of it was not confirmed: " + why;
    trial.device = settings_.device;
    trial.finished_unix_seconds = clock_.UnixSeconds();
    return Finish(*entry, std::move(trial));
  }
  AcknowledgeHandle(entry->handle, Verdict::kDone);
  entry->order.stage = Stage::kBuild;
  entry->order.built.clear();
  book_.TakeBack(*entry, clock_.MonotonicSeconds());
  PutAgain(*entry);
}

void Dispatcher::RebuiltRacer(Rebuild rebuild, const std::string& why) {
  if (why.empty()) {
    return RacerIsBuilt(rebuild.aim, std::move(rebuild.trial), std::move(rebuild.built));
  }
  if (++rebuild.aim.unconfirmed >= kMostUnconfirmed) {
    rebuild.trial.outcome = Outcome::kBuildFailed;
    rebuild.trial.reason = "what builders made of it was not confirmed: " + why;
    return RacerIsBuilt(rebuild.aim, std::move(rebuild.trial), std::nullopt);
  }
  if (!racing_.contains(rebuild.aim.race)) return;
  Order order = OrderFor(rebuild.candidate);
  order.stage = Stage::kBuild;
  Put(std::move(order), rebuild.aim, 0);
}

void Dispatcher::Distrust(const DeviceName& builder, const std::string& why) {
  if (!distrusted_.insert(builder.worker).second) return;
  std::erase_if(builders_, [&](const auto& one) { return one.first.worker == builder.worker; });
  std::erase_if(builder_heard_,
                [&](const auto& one) { return one.first.worker == builder.worker; });
  Note("builder " + builder.ToString() + " is not believed any more: " + why +
       " (another version of Tilewright or LLVM, or it is not honest); others build on");
}

bool Dispatcher::KeepsDevice(const DeviceName& name) {
  const auto& devices = roster_.devices();
  if (devices.contains(name)) return true;
  std::size_t of_worker = 0;
  for (auto device = devices.lower_bound({name.worker, ""});
       device != devices.end() && device->first.worker == name.worker; ++device) {
    ++of_worker;
  }
  if (devices.size() < settings_.most_devices && of_worker < settings_.most_devices_of_worker) {
    return true;
  }
  notes_.Limited("refused a device of " + name.worker + ": " + std::to_string(of_worker) +
                 " of it are here, and " + std::to_string(devices.size()) + " in all");
  return false;
}

}  // namespace tilewright::measure::fleet
