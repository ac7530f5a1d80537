// Handles messages of devices: trials of the search, baselines, checks of other devices' results,
// and races.

#include <algorithm>
#include <cstdio>
#include <utility>

#include "measure/fleet/dispatcher.h"
#include "src/base/hash.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"
#include "src/tensor/open_workload.h"
#include "src/tensor/work.h"

namespace tilewright::measure::fleet {
namespace {

// A device that claims less than this share of another device's time, kMaxAccused times, is no
// longer trusted.
constexpr double kBelievable = 0.8;
constexpr int kMaxAccused = 2;
// One claim below this share is checked at once.
constexpr double kLeap = 0.5;
constexpr int kMaxChecks = 4;     // in progress at once
constexpr int kMaxRefusals = 50;  // of one order, at intervals of at least a second
// Slower kernels would take too much of the devices' time.
constexpr double kMaxBaselineSeconds = 0.25;

// Far below the duration of a call or a launch.
constexpr double kMinCallSeconds = 2e-9, kMinLaunchSeconds = 2e-7;

/// Returns a lower bound of the time of one run on any device, in seconds.
double MinSecondsOfRun(const Task& task) {
  return std::max(DeviceTraitsOf(task.target).launches_grids ? kMinLaunchSeconds : kMinCallSeconds,
                  MinSeconds(task.workload, task.target));
}

/// Returns why a builder's reply does not match its order; empty if it matches.
std::string NotBuiltReason(const Order& order, const Trial& trial, const Built& built) {
  const Candidate& candidate = order.candidates.front();
  const KernelSpec& kernel = built.kernel;
  const Target& target = candidate.task.target;
  if (kernel.workload != candidate.task.workload || kernel.epilogue != candidate.epilogue ||
      kernel.target != target) {
    return "it built another task: " + kernel.workload.Key() + " for " + kernel.target.ToString();
  }
  if (trial.codegen_version != DeviceTraitsOf(target).codegen_version) {
    return "its code generator is another version";
  }
  if (DeviceTraitsOf(target).loops && kernel.symbol != kCandidateSymbol) {
    return "it built another kernel: " + kernel.symbol;
  }
  for (const GridLaunch& launch : kernel.launches) {
    if (!launch.kernel.starts_with(kCandidateSymbol)) {
      return "it launches another kernel: " + launch.kernel;
    }
    const KernelLibrary* library = LibraryOfTemplate(candidate.template_key);
    if (!launch.library.file.empty() &&
        (library == nullptr || LibraryOfFile(launch.library.file, target.kind_name()) != library)) {
      return "its template calls no " + launch.library.file;
    }
  }
  if (kernel.threads != target.num_threads()) {
    return "its kernel has " + std::to_string(kernel.threads) + " threads, expected " +
           std::to_string(target.num_threads());
  }
  return built.size > 0 ? std::string() : "its artifact is empty";
}

/// Returns why no device can have measured these trials; empty if they are plausible.
std::string WhyUnbelievable(const std::vector<Trial>& trials,
                            const std::vector<Candidate>& candidates) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].outcome != Outcome::kOk || trials[i].metric != "seconds") continue;
    const double least = MinSecondsOfRun(candidates[i].task);
    double seen = trials[i].value;
    for (const double sample : trials[i].samples) seen = std::min(seen, sample);
    if (seen >= least) continue;
    char text[120];
    std::snprintf(text, sizeof(text),
                  "it claims %.3g s, less than the %.3g s that any device takes", seen, least);
    return text;
  }
  return {};
}

void Scale(Trial& trial, double factor) {
  if (factor == 1 || trial.metric != "seconds") return;
  trial.value /= factor;
  for (double& sample : trial.samples) sample /= factor;
}

}  // namespace

void Dispatcher::Handle(const BrokerEvent& incoming) {
  switch (incoming.kind) {
    case BrokerEvent::Kind::kQueueInfo:
      return HandleCount(incoming);
    case BrokerEvent::Kind::kRejected:
      return HandleRefused(incoming);
    case BrokerEvent::Kind::kMessage:
      break;
    default:
      return;
  }
  if (!HasNames(incoming.subject)) {
    ++counts_.foreign;
    return log_.Limited("rejected a message: the subject has an invalid name: " + incoming.subject);
  }
  const std::string_view kind = SubjectToken(incoming.subject, 1);
  if (kind == "result") return HandleResult(incoming);
  if (kind == "beat") return HandleHeartbeat(incoming);
  if (kind == "here") return HandleAnnouncement(incoming);
  if (kind == "control") return HandleControl(incoming);
  if (kind == "job") return HandleJobAnnouncement(incoming);
}

void Dispatcher::HandleAnnouncement(const BrokerEvent& incoming) {
  const DeviceName name = SenderOf(incoming.subject);
  auto announcement = DecodeAnnouncement(incoming.payload);
  if (!announcement.ok()) {
    ++counts_.foreign;
    if (announcement.status().code() != StatusCode::kUnsupported) {
      return log_.Limited("rejected the announcement of " + name.ToString() + ": " +
                          announcement.status().message());
    }
    const std::string version = "version/" + name.ToString();
    if (failed_checks_.size() > settings_.max_devices || ++failed_checks_[version] > 1) return;
    Control refused{"refuse", announcement.status().message()};
    (void)broker_.Publish(DirectSubject(settings_.device_class, name, settings_.job),
                          Encode(refused));
    return Log("worker " + name.ToString() + ": " + announcement.status().message());
  }
  const double now = clock_.MonotonicSeconds();
  if (SubjectToken(incoming.subject, 2) == kBuilders) {
    const bool more = builders_.contains(name) || builders_.size() < settings_.max_builders;
    if (!more)
      return log_.Limited("rejected the builder " + name.ToString() + ": too many builders");
    if (distrusted_.contains(name.worker)) return;
    builder_last_seen_[name] = now;
    const bool added = builders_.emplace(name, *announcement).second;
    if (added) published_at_ = 0;
    return;
  }
  // The class is a hash of the fingerprint, so a device with another fingerprint is not of the
  // class.
  if (announcement->fingerprint != settings_.device.ToString()) {
    ++counts_.foreign;
    return log_.Limited("rejected the device " + name.ToString() +
                        ": its fingerprint is not that of " + "its class");
  }
  if (!KeepsDevice(name)) return;
  const bool cannot_build = announcement->measures && !announcement->builds;
  const std::string instance = announcement->instance;
  if (device_registry_.Refresh(name, *std::move(announcement), now)) {
    for (const std::uint64_t sequence : lease_table_.Lose(name, instance, now))
      HandleLoss(sequence);
    trials_since_baseline_.erase(name);
    published_at_ = 0;  // announces the job to the device at once
  }
  if (cannot_build) Split();
}

void Dispatcher::HandleControl(const BrokerEvent& incoming) {
  auto control = DecodeControl(incoming.payload);
  if (!control.ok() || control->action != "cancel" || !ended_.ok()) return;
  ended_ = Unavailable("the job was cancelled" + (control->why.empty() ? "" : ": " + control->why));
}

void Dispatcher::HandleJobAnnouncement(const BrokerEvent& incoming) {
  const auto state = DecodeJobAnnouncement(incoming.payload);
  if (!state.ok() || state->epoch <= settings_.epoch || !ended_.ok()) return;
  superseded_ = true;
  ended_ = Unavailable("the same job was started again elsewhere, and continues there");
}

void Dispatcher::HandleHeartbeat(const BrokerEvent& incoming) {
  const DeviceName device = SenderOf(incoming.subject);
  const auto heartbeat = DecodeHeartbeat(incoming.payload);
  if (!heartbeat.ok()) {
    ++counts_.foreign;
    return log_.Limited("rejected a heartbeat of " + device.ToString() + ": " +
                        heartbeat.status().message());
  }
  const double now = clock_.MonotonicSeconds();
  device_registry_.RefreshByHeartbeat(device, heartbeat->instance, now);
  for (const Lease& lease : heartbeat->leases) {
    const auto heard = heartbeat->epoch == settings_.epoch
                           ? lease_table_.Refresh(device, heartbeat->instance, lease, now)
                           : LeaseTable::LeaseStatus::kFinished;
    if (heard == LeaseTable::LeaseStatus::kFinished) {
      // Acknowledges another delivery of a finished order. The delivery of an order that is
      // finished and not stored yet is kept until it is stored.
      const LeaseTable::Entry* entry =
          heartbeat->epoch == settings_.epoch ? lease_table_.Find(lease.sequence) : nullptr;
      if (entry == nullptr) AcknowledgeHandle(lease.handle, AckType::kAck);
    }
  }
}

void Dispatcher::HandleResult(const BrokerEvent& incoming) {
  const DeviceName device = SenderOf(incoming.subject);
  auto result = DecodeResult(incoming.payload);
  if (!result.ok()) {
    ++counts_.foreign;
    return log_.Limited("rejected a result of " + device.ToString() + ": " +
                        result.status().message());
  }
  ++counts_.results;
  const double now = clock_.MonotonicSeconds();
  if (result->epoch != settings_.epoch) {
    DoubtRecentTrials(device);
    log_.Limited("rejected a result of " + device.ToString() +
                 ": it is of an earlier run of this job");
    return AcknowledgeHandle(result->lease.handle, AckType::kAck);
  }
  const std::uint64_t sequence = result->lease.sequence;
  switch (lease_table_.ClassifyResult(device, result->instance, result->lease, now)) {
    case LeaseTable::ResultStatus::kStale:
      DoubtRecentTrials(device);
      return log_.Limited("rejected a result of " + device.ToString() +
                          ": it does not hold the order, or no longer holds it");
    case LeaseTable::ResultStatus::kDuplicate:
      log_.Limited("rejected a result of " + device.ToString() + ": its order is finished already");
      if (lease_table_.Find(sequence) == nullptr)
        AcknowledgeHandle(result->lease.handle, AckType::kAck);
      return;
    case LeaseTable::ResultStatus::kAccepted:
      return Accept(*lease_table_.Find(sequence), device, *std::move(result));
  }
}

std::string Dispatcher::RejectionReason(const LeaseTable::Entry& entry, const DeviceName& device,
                                        const OrderResult& result) const {
  if (!result.refusal.empty()) return result.refusal;
  const Order& order = entry.order;
  if (result.trials.size() != order.candidates.size()) return "it has another number of trials";
  const OrderContext& context = contexts_.at(order.sequence);
  if (entry.direct && device != context.device) return "another device was asked";
  const bool build = order.stage == Stage::kBuild;
  const Candidate& candidate = order.candidates.front();
  for (const Trial& trial : result.trials) {
    if (build) break;
    // The fingerprint of a device with an additional library still begins with the device's own.
    DeviceFingerprint seen = trial.device;
    const bool adds = LibraryOfTemplate(candidate.template_key) != nullptr &&
                      seen.extra.starts_with(settings_.device.extra);
    if (adds) seen.extra = settings_.device.extra;
    if (seen != settings_.device) return "another device answered: " + trial.device.ToString();
    if (trial.metric != MetricOf(candidate.task.target)) return "it has another metric";
    if (trial.codegen_version != DeviceTraitsOf(candidate.task.target).codegen_version) {
      return "its code generator is another version";
    }
  }
  const DeviceRegistry::Device* known = device_registry_.Find(device);
  const bool times = context.purpose == Purpose::kSearch || context.purpose == Purpose::kRevise;
  if (!build && times && known != nullptr && !known->excluded.empty()) return "it is set aside";
  if (build != result.built.has_value() && result.trials[0].outcome == Outcome::kOk)
    return "nothing was built";
  if (build && distrusted_.contains(device.worker)) {
    return "what it builds is not what this machine builds";
  }
  if (build && result.trials[0].outcome == Outcome::kOk) {
    return NotBuiltReason(order, result.trials[0], *result.built);
  }
  return {};
}

void Dispatcher::Accept(LeaseTable::Entry& entry, const DeviceName& device, OrderResult result) {
  const double now = clock_.MonotonicSeconds();
  const std::uint64_t sequence = entry.order.sequence;
  const OrderContext& context = contexts_.at(sequence);
  std::string why = RejectionReason(entry, device, result);
  if (why.empty() && entry.order.stage != Stage::kBuild) {
    why = WhyUnbelievable(result.trials, entry.order.candidates);
    // No device can measure such a value: the sender fabricates results.
    if (!why.empty() && device_registry_.Find(device) != nullptr) Exclude(device, why);
  }
  if (!why.empty()) {
    ++counts_.refused;
    if (result.built) Distrust(device, why);
    if (entry.direct) {
      log_.Limited("rejected a result of " + device.ToString() + ": " + why);
      entry.done = false;
      return HandleLoss(sequence);
    }
    // Ends the delivery; the order is sent again under a new number.
    AcknowledgeHandle(entry.handle, AckType::kAck);
    log_.Limited("an order is sent again: " + device.ToString() + ": " + why);
    constexpr double kMoment = 1;
    if (now - entry.refused_at >= kMoment) {
      ++entry.refusals;
      entry.refused_at = now;
    }
    if (entry.refusals >= kMaxRefusals) {
      Trial trial;
      trial.outcome = Outcome::kDeviceLost;
      trial.reason = "no worker takes it: " + why;
      trial.device = settings_.device;
      trial.finished_unix_seconds = clock_.UnixSeconds();
      return Finish(entry, std::move(trial));
    }
    const bool program = IsOpen(entry.order.candidates.front().task.workload);
    if (entry.order.stage == Stage::kWhole && why == kNoBuilder && !program) {
      Split();
      if (split_) entry.order.stage = Stage::kBuild;
    }
    // An artifact that the broker lost is built again.
    if (entry.order.stage == Stage::kRun && why.starts_with(kArtifactUnavailable)) {
      entry.order.stage = Stage::kBuild;
      entry.order.built.clear();
    }
    lease_table_.RevokeResult(entry, now);
    return Requeue(entry);
  }
  for (std::size_t i = 0; i < result.trials.size(); ++i) {
    Trial& trial = result.trials[i];
    trial.candidate = entry.order.candidates[i];
    trial.attempt = context.request.attempt;
    trial.codegen_version = DeviceTraitsOf(trial.candidate.task.target).codegen_version;
    trial.metric = MetricOf(trial.candidate.task.target);
    // A later time would give the trial precedence over trials measured after it.
    trial.finished_unix_seconds = std::min(trial.finished_unix_seconds, clock_.UnixSeconds());
  }
  switch (context.purpose) {
    case Purpose::kRace:
      AcceptRace(context.race, device, std::move(result.trials));
      return Drop(sequence, true);
    case Purpose::kBaseline:
      AcceptBaseline(OrderContext(context), device, result.trials[0]);
      return Drop(sequence, true);
    case Purpose::kCheck:
      AcceptCheck(OrderContext(context), device, result.trials[0]);
      return Drop(sequence, true);
    default:
      break;
  }
  if (entry.order.stage == Stage::kBuild) return AcceptBuilt(entry, device, result);
  AcceptTrial(entry, device, std::move(result.trials[0]));
}

void Dispatcher::AcceptBuilt(LeaseTable::Entry& entry, const DeviceName& device,
                             OrderResult& result) {
  Trial& trial = result.trials[0];
  if (trial.outcome != Outcome::kOk) return Finish(entry, std::move(trial));
  if (contexts_.at(entry.order.sequence).purpose == Purpose::kRaceBuild) {
    return AcceptRaceBuild(entry, device, std::move(trial), std::move(result.built));
  }
  Order order = OrderFor(entry.order.candidates.front());
  order.stage = Stage::kRun;
  order.best_seconds = entry.order.best_seconds;
  order.built = {*std::move(result.built)};
  OrderContext context = contexts_.at(entry.order.sequence);
  context.build_seconds = trial.build_seconds;
  context.builder = device;
  const std::uint64_t ticket = entry.ticket;
  const std::uint64_t sequence = entry.order.sequence;
  Enqueue(std::move(order), std::move(context), ticket);
  Drop(sequence, /*acknowledge=*/true);
}

void Dispatcher::AcceptTrial(LeaseTable::Entry& entry, const DeviceName& device, Trial trial) {
  if (!MustConfirm(entry, device, trial)) return KeepTrial(entry, device, std::move(trial));
  const OrderContext& context = contexts_.at(entry.order.sequence);
  ConfirmTrial({entry.order.candidates.front(),
                entry.order.built.front(),
                context.builder,
                entry.order.sequence,
                device,
                std::move(trial),
                {}});
}

void Dispatcher::KeepTrial(LeaseTable::Entry& entry, const DeviceName& device, Trial trial) {
  const OrderContext& context = contexts_.at(entry.order.sequence);
  if (context.build_seconds > 0) trial.build_seconds = context.build_seconds;
  const Candidate candidate = trial.candidate;
  const std::vector<Built> built = entry.order.built;
  Scale(trial, device_registry_.ScaleOf(device));
  std::vector<TrialSinceBaseline>& given = trials_since_baseline_[device];
  constexpr std::size_t kMaxGiven = 4096;
  if (given.size() < kMaxGiven) given.push_back({entry.ticket, context.request});
  const Trial seen = trial;
  Finish(entry, std::move(trial));
  if (seen.outcome != Outcome::kOk) return;
  ConsiderBaselineKernel(candidate, seen, built);
  ConsiderCheck(candidate, device, seen, built);
}

void Dispatcher::Finish(LeaseTable::Entry& entry, Trial trial) {
  const OrderContext& context = contexts_.at(entry.order.sequence);
  trial.candidate = entry.order.candidates.front();
  trial.attempt = context.request.attempt;
  trial.codegen_version = DeviceTraitsOf(trial.candidate.task.target).codegen_version;
  trial.metric = MetricOf(trial.candidate.task.target);
  if (entry.order.stage == Stage::kBuild) trial.device = settings_.device;
  if (context.purpose == Purpose::kRaceBuild) {
    return AcceptRaceBuild(entry, {}, std::move(trial), std::nullopt);
  }
  Reply reply{entry.ticket, std::move(trial), context.purpose == Purpose::kRevise};
  ++done_;
  if (reply.again) {
    ++counts_.revised;
    const std::uint64_t sequence = entry.order.sequence;
    replies_.emplace_back(0, std::move(reply));
    return Drop(sequence, /*acknowledge=*/true);
  }
  replies_.emplace_back(entry.order.sequence, std::move(reply));
}

void Dispatcher::ConsiderBaselineKernel(const Candidate& candidate, const Trial& trial,
                                        const std::vector<Built>& built) {
  if (std::ssize(kernels_) >= settings_.baseline_kernels) return;
  if (trial.metric != "seconds" || trial.value > kMaxBaselineSeconds) return;
  for (const Kernel& kernel : kernels_) {
    if (TaskKey(kernel.candidate) == TaskKey(candidate)) return;
  }
  kernels_.push_back({candidate, built, trial.value});
  device_registry_.AddKernel();
}

void Dispatcher::ConsiderCheck(const Candidate& candidate, const DeviceName& device,
                               const Trial& trial, const std::vector<Built>& built) {
  double& best = best_[TaskKey(candidate)];
  if (best > 0 && trial.value >= best) return;
  const double before = std::exchange(best, trial.value);
  constexpr std::uint64_t kParts = 1000;
  // A result far better than all earlier ones is always checked.
  const bool leap = settings_.check_share > 0 && before > 0 && trial.value < kLeap * before;
  const bool drawn = leap || Mix64(++checks_seen_ + settings_.epoch) % kParts <
                                 static_cast<std::uint64_t>(settings_.check_share * kParts);
  if (!drawn || trial.metric != "seconds") return;
  const auto under_way = std::ranges::count_if(
      contexts_, [](const auto& context) { return context.second.purpose == Purpose::kCheck; });
  if (under_way >= kMaxChecks) return;
  for (const auto& [name, other] : device_registry_.devices()) {
    const bool can = other.announcement.builds || !built.empty();
    if (name.worker == device.worker || !DeviceRegistry::IsUsable(other) || !can) continue;
    Order order = OrderFor(candidate);
    order.stage = built.empty() ? Stage::kWhole : Stage::kRun;
    order.built = built;
    order.best_seconds = trial.value;
    OrderContext context;
    context.purpose = Purpose::kCheck;
    context.value = trial.value;
    context.checked = device;
    PublishOrder(name, std::move(order), context);
    ++counts_.checks;
    return;
  }
}

void Dispatcher::AcceptCheck(const OrderContext& context, const DeviceName& device,
                             const Trial& trial) {
  const double found = trial.value / device_registry_.ScaleOf(device);
  const bool measured = trial.outcome == Outcome::kOk && trial.value > 0;
  if (!measured && trial.outcome != Outcome::kWrongResult) return;
  if (measured && (trial.noisy() || context.value >= kBelievable * found)) return;
  ++counts_.checks_failed;
  log_.Limited("a time reported by " + context.checked.ToString() + " was not confirmed by " +
               device.ToString());
  const bool grossly = measured && context.value < kLeap * found;
  if (++failed_checks_[context.checked.ToString()] < kMaxAccused && !grossly) return;
  Exclude(context.checked, "it claims times that other devices do not find");
}

void Dispatcher::AcceptBaseline(const OrderContext& context, const DeviceName& device,
                                const Trial& trial) {
  const double now = clock_.MonotonicSeconds();
  if (trial.outcome != Outcome::kOk) return device_registry_.RetryBaseline(device, context.kernel);
  const double cost = trial.build_seconds + trial.run_seconds;
  switch (device_registry_.AddBaseline(device, context.kernel, trial.value, cost, now)) {
    case DeviceRegistry::BaselineResult::kGood:
      trials_since_baseline_[device].clear();
      return;
    case DeviceRegistry::BaselineResult::kDrifted:
      return Exclude(device, device_registry_.Find(device)->excluded);
    case DeviceRegistry::BaselineResult::kRecovered:
      PublishJob(now);
      return Log("device " + device.ToString() + " has recovered, and measures again");
    default:
      return;
  }
}

void Dispatcher::Exclude(const DeviceName& device, const std::string& why) {
  const bool others = std::ranges::any_of(device_registry_.devices(), [&](const auto& one) {
    return one.first != device && DeviceRegistry::IsUsable(one.second);
  });
  if (!others) {
    device_registry_.Exclude(device, "");
    return Log("device " + device.ToString() + ": " + why + "; it is the only one, and continues");
  }
  device_registry_.Exclude(device, why);
  const std::vector<TrialSinceBaseline> given = std::exchange(trials_since_baseline_[device], {});
  Log("device " + device.ToString() + " is set aside: " + why + "; " +
      std::to_string(given.size()) + " of its trials are measured again");
  for (const TrialSinceBaseline& one : given) {
    Order order = OrderFor(one.request.candidate);
    order.stage = split_ ? Stage::kBuild : Stage::kWhole;
    order.best_seconds = one.request.best_seconds;
    OrderContext context;
    context.purpose = Purpose::kRevise;
    context.request = one.request;
    Enqueue(std::move(order), std::move(context), one.ticket);
  }
  PublishJob(clock_.MonotonicSeconds());
}

}  // namespace tilewright::measure::fleet
