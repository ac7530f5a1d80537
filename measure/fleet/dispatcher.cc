// Orders leave by Enqueue (into a queue) or PublishOrder (to one device). They return as results,
// or are lost: Tick handles expired leases, lost devices and queues that lost messages.
// dispatcher_results.cc interprets results. The lease table decides which result counts.

#include "measure/fleet/dispatcher.h"

#include <algorithm>

#include "measure/fleet/keys.h"
#include "src/base/hash.h"

namespace tilewright::measure::fleet {
namespace {

constexpr double kTickSeconds = 0.1;
// Interval between scans of all devices and leases; a scan of thousands of them is not free.
constexpr double kLookSeconds = 0.4;
constexpr double kExtendSeconds = 1.2;  // minimum interval between two lease renewals at the broker
constexpr double kLastSeenSeconds = 3;  // a device confirms a direct order within this time
constexpr int kMaxUnclaimedAudits = 2;  // after this many, an order is sent to a device directly
constexpr double kYoungSeconds = 2;     // an order may be on its way to the queue for this long
// After a dispatcher stall of this length, missed heartbeats do not count against devices.
constexpr double kAbsentSeconds = 1;

}  // namespace

Dispatcher::Dispatcher(DispatcherSettings settings, Broker& broker, Clock& clock)
    : settings_(std::move(settings)),
      broker_(broker),
      clock_(clock),
      log_(settings_.on_note, clock),
      measure_queue_(MeasureQueue(settings_.device_class, settings_.job)),
      build_queue_(BuildQueue(settings_.job)),
      device_registry_(settings_.device_registry) {
  began_at_ = ticked_at_ = clock_.MonotonicSeconds();
  if (settings_.deadline_unix_seconds > 0) {
    deadline_at_ = began_at_ + settings_.deadline_unix_seconds - clock_.UnixSeconds();
  }
}

std::optional<double> Dispatcher::remaining_seconds() const {
  if (settings_.deadline_unix_seconds <= 0) return std::nullopt;
  return deadline_at_ - clock_.MonotonicSeconds();
}

double Dispatcher::WeightNow(double now) const {
  if (settings_.deadline_unix_seconds <= 0) return settings_.weight;
  constexpr double kMaxWeight = 1e3;  // limit of the message format
  const double all = std::max(1.0, deadline_at_ - began_at_);
  const double late = std::clamp(2 * (now - began_at_) / all - 1, 0.0, 1.0);
  const double urgency = 1 + (DispatcherSettings::kUrgency - 1) * late;
  return std::min(settings_.weight * urgency, kMaxWeight);
}

void Dispatcher::WatchBroker(double absent) {
  // A stall of this process is not an outage of the broker.
  silent_seconds_ += std::min(absent, kAbsentSeconds);
  constexpr double kLateSeconds = 5;
  if (ended_.ok() && !broker_.connected() && deadline_at_ > 0 &&
      clock_.MonotonicSeconds() > deadline_at_ + kLateSeconds) {
    ended_ = Unavailable(
        "the deadline is over, and the broker is unreachable: the job ends here; its trials are "
        "stored");
    return;
  }
  if (silent_seconds_ < settings_.broker_timeout_seconds || !ended_.ok()) return;
  ended_ = Unavailable(
      "the broker has not replied for " +
      std::to_string(static_cast<std::int64_t>(silent_seconds_)) +
      " s, or replies without its queues (a full disk? its log says) (--broker-timeout): the job "
      "ends here; its trials are stored, and the same command "
      "resumes it once a broker is reachable");
}

Status Dispatcher::Open() {
  const JobName& job = settings_.job;
  const DeviceName all{"*", "*"};
  TW_RETURN_IF_ERROR(broker_.Subscribe(HeartbeatSubject(job, all)));
  TW_RETURN_IF_ERROR(broker_.Subscribe(ResultSubject(job, all)));
  TW_RETURN_IF_ERROR(broker_.Subscribe(AnnouncementSubject(settings_.device_class, all)));
  TW_RETURN_IF_ERROR(broker_.Subscribe(AnnouncementSubject(kBuilders, all)));
  TW_RETURN_IF_ERROR(broker_.Subscribe(JobControlSubject(job)));
  TW_RETURN_IF_ERROR(broker_.Subscribe(JobSubject(settings_.device_class, job)));
  TW_RETURN_IF_ERROR(broker_.OpenQueue(measure_queue_));
  connections_ = broker_.connections();
  PublishJob(clock_.MonotonicSeconds());
  return broker_.Publish(kDiscoverySubject, "");
}

void Dispatcher::Split() {
  if (split_ || !ended_.ok()) return;
  if (settings_.make_local_executor && local_executor_ == nullptr) {
    auto made = settings_.make_local_executor();
    if (!made.ok()) return EndUnconfirmed(made.status());
    local_executor_ = *std::move(made);
  }
  const Status opened = broker_.OpenQueue(build_queue_);
  if (!opened.ok()) return Log("no queue for builders: " + opened.message());
  split_ = true;
  PublishJob(clock_.MonotonicSeconds());
}

void Dispatcher::Close() {
  if (superseded_) return;  // a later run owns the queue
  JobAnnouncement state;
  state.epoch = settings_.epoch;
  state.ended = true;
  const std::string text = Encode(state);
  (void)broker_.Publish(JobSubject(settings_.device_class, settings_.job), text);
  if (split_) (void)broker_.Publish(JobSubject(kBuilders, settings_.job), text);
  broker_.CloseQueue(measure_queue_);
  if (split_) broker_.CloseQueue(build_queue_);
  (void)broker_.Flush(2);
}

Order Dispatcher::OrderFor(const Candidate& candidate) const {
  Order order;
  order.job = settings_.job;
  order.epoch = settings_.epoch;
  order.candidates = {candidate};
  return order;
}

Queue Dispatcher::QueueOf(const Order& order) const {
  return order.stage == Stage::kBuild ? build_queue_ : measure_queue_;
}

std::uint64_t Dispatcher::Enqueue(Order order, OrderContext context, std::uint64_t ticket) {
  const double now = clock_.MonotonicSeconds();
  order.token = MakeToken();
  const std::uint64_t sequence = lease_table_.Add(std::move(order), ticket, /*direct=*/false, now);
  contexts_[sequence] = std::move(context);
  const Order& put = lease_table_.Find(sequence)->order;
  // The next audit detects an order that does not arrive.
  (void)broker_.Enqueue(QueueOf(put), Encode(put));
  return sequence;
}

std::uint64_t Dispatcher::PublishOrder(const DeviceName& device, Order order,
                                       OrderContext context) {
  const double now = clock_.MonotonicSeconds();
  context.device = device;
  order.token = MakeToken();
  const std::uint64_t sequence = lease_table_.Add(std::move(order), 0, /*direct=*/true, now);
  contexts_[sequence] = std::move(context);
  const Order& said = lease_table_.Find(sequence)->order;
  (void)broker_.Publish(DirectSubject(settings_.device_class, device, settings_.job), Encode(said));
  return sequence;
}

void Dispatcher::Requeue(LeaseTable::Entry& entry) {
  ++counts_.resent;
  const double now = clock_.MonotonicSeconds();
  if (entry.order.sequence >= floor_) {
    lease_table_.Resend(entry, now);
    entry.order.token = MakeToken();
    (void)broker_.Enqueue(QueueOf(entry.order), Encode(entry.order));
    return;
  }
  // Workers ignore orders below the floor, so the order needs a new number.
  const std::uint64_t old = entry.order.sequence;
  Order order = std::move(entry.order);
  const std::uint64_t ticket = entry.ticket;
  OrderContext context = std::move(contexts_[old]);
  lease_table_.Remove(old);
  contexts_.erase(old);
  Enqueue(std::move(order), std::move(context), ticket);
}

/// Sends an order to one device directly. A queue delivers it to any device that fetches, including
/// one that never confirms orders.
void Dispatcher::BypassQueue(LeaseTable::Entry& entry) {
  const auto device = ChooseTrustedDevice(entry.order);
  // An order below the floor gets a new number first.
  if (!device || entry.order.sequence < floor_) return Requeue(entry);
  ++counts_.resent;
  lease_table_.MoveToDevice(entry, clock_.MonotonicSeconds());
  entry.order.token = MakeToken();
  contexts_.at(entry.order.sequence).device = *device;
  log_.Limited("a device takes orders without confirming them: one order is sent directly to " +
               device->ToString());
  (void)broker_.Publish(DirectSubject(settings_.device_class, *device, settings_.job),
                        Encode(entry.order));
}

/// Returns the most trusted device of those that can execute the order.
std::optional<DeviceName> Dispatcher::ChooseTrustedDevice(const Order& order) const {
  std::optional<DeviceName> best;
  int least = 0;
  for (const auto& [name, device] : device_registry_.devices()) {
    const bool able = device.announcement.measures &&
                      (order.stage != Stage::kWhole || device.announcement.builds);
    if (!able || !DeviceRegistry::IsUsable(device)) continue;
    const auto found = protocol_violations_.find(name.worker);
    const int doubts = found == protocol_violations_.end() ? 0 : found->second;
    if (best && doubts >= least) continue;
    best = name;
    least = doubts;
  }
  return best;
}

void Dispatcher::DoubtRecentTrials(const DeviceName& device) {
  if (protocol_violations_.size() < settings_.max_devices ||
      protocol_violations_.contains(device.worker)) {
    ++protocol_violations_[device.worker];
  }
}

Status Dispatcher::Submit(Request request) {
  TW_RETURN_IF_ERROR(ended_);
  Order order = OrderFor(request.candidate);
  order.stage = split_ ? Stage::kBuild : Stage::kWhole;
  order.best_seconds = request.best_seconds;
  const std::uint64_t ticket = request.ticket;
  OrderContext context;
  context.request = std::move(request);
  Enqueue(std::move(order), std::move(context), ticket);
  ++in_flight_;
  return {};
}

std::optional<Reply> Dispatcher::Take() {
  if (replies_.empty()) return std::nullopt;
  auto [sequence, reply] = std::move(replies_.front());
  replies_.pop_front();
  if (!reply.again) --in_flight_;
  if (sequence != 0) taken_[reply.ticket] = sequence;
  return std::move(reply);
}

void Dispatcher::MarkStored(std::uint64_t ticket) {
  const auto found = taken_.find(ticket);
  if (found == taken_.end()) return;
  Drop(found->second, /*acknowledge=*/true);
  taken_.erase(found);
}

void Dispatcher::Drop(std::uint64_t sequence, bool acknowledge) {
  if (const LeaseTable::Entry* entry = lease_table_.Find(sequence)) {
    if (acknowledge) AcknowledgeHandle(entry->handle, AckType::kAck);
  }
  lease_table_.Remove(sequence);
  contexts_.erase(sequence);
}

void Dispatcher::AcknowledgeHandle(const std::string& handle, AckType verdict) {
  // Workers send the handle: accept it only if it belongs to one of our queues.
  const bool ours = broker_.IsOf(handle, measure_queue_) || broker_.IsOf(handle, build_queue_);
  if (ours) broker_.Acknowledge(handle, verdict);
}

std::vector<std::uint64_t> Dispatcher::CancelPending() {
  std::vector<std::uint64_t> tickets;
  std::vector<std::uint64_t> sequences;
  for (const auto& [sequence, entry] : lease_table_.entries()) {
    if (entry.direct || entry.leased || entry.done) continue;
    sequences.push_back(sequence);
    if (contexts_.at(sequence).purpose == Purpose::kSearch) tickets.push_back(entry.ticket);
  }
  for (const std::uint64_t sequence : sequences) Drop(sequence, /*acknowledge=*/false);
  floor_ = lease_table_.next();
  in_flight_ -= static_cast<int>(tickets.size());
  PublishJob(clock_.MonotonicSeconds());
  return tickets;
}

void Dispatcher::Poll(double seconds) {
  // Handles all waiting messages before any lease expires.
  constexpr int kMaxAtOnce = 4096;
  double wait = std::min(seconds, kTickSeconds);
  for (int i = 0; i < kMaxAtOnce; ++i) {
    const auto incoming = broker_.Next(wait);
    if (!incoming) break;
    wait = 0;
    Handle(*incoming);
  }
  TakeRebuilt();
  if (clock_.MonotonicSeconds() - ticked_at_ >= kTickSeconds) Tick();
}

void Dispatcher::Tick() {
  const double now = clock_.MonotonicSeconds();
  const double absent = now - ticked_at_;
  ticked_at_ = now;
  if (absent > kAbsentSeconds || !broker_.connected()) {
    lease_table_.ExtendDeadlines(absent);
    device_registry_.ExtendDeadlines(absent);
    for (auto& [name, heard] : builder_last_seen_) heard += absent;
  }
  WatchBroker(absent);
  if (!broker_.connected()) return;
  if (now - published_at_ >= settings_.publish_seconds) PublishJob(now);
  ExpireLeases(now);
  if (now - polled_at_ >= kLookSeconds) {
    polled_at_ = now;
    ForgetDevices(now);
    ExtendLeases(now);
    Baselines(now);
  }
  Audit(now);
}

void Dispatcher::PublishJob(double now) {
  published_at_ = now;
  JobAnnouncement state;
  state.epoch = settings_.epoch;
  state.weight = WeightNow(now);
  state.remaining_seconds = remaining_seconds();
  state.split = split_;
  state.floor = floor_;
  state.open = std::ssize(lease_table_.entries());
  state.done = done_;
  state.what = settings_.what;
  for (const auto& [sequence, entry] : lease_table_.entries()) {
    const bool waits = !entry.leased && !entry.done && !entry.direct;
    if (waits) state.oldest_seconds = std::max(state.oldest_seconds, now - entry.queued_at);
  }
  constexpr std::size_t kMaxExcluded = 500;
  for (const auto& [name, device] : device_registry_.devices()) {
    const bool excluded = !device.excluded.empty() && state.excluded.size() < kMaxExcluded;
    if (excluded) state.excluded.push_back(name.ToString());
  }
  const std::string text = Encode(state);
  (void)broker_.Publish(JobSubject(settings_.device_class, settings_.job), text);
  if (split_) (void)broker_.Publish(JobSubject(kBuilders, settings_.job), text);
}

void Dispatcher::ForgetDevices(double now) {
  for (const DeviceName& gone : device_registry_.Forget(now)) {
    for (const std::uint64_t sequence : lease_table_.Lose(gone, "", now)) HandleLoss(sequence);
    trials_since_baseline_.erase(gone);
  }
  std::erase_if(builder_last_seen_, [&](const auto& heard) {
    return now - heard.second > settings_.device_registry.offline_seconds;
  });
  std::erase_if(builders_,
                [&](const auto& one) { return !builder_last_seen_.contains(one.first); });
}

void Dispatcher::ExpireLeases(double now) {
  for (const std::uint64_t sequence : lease_table_.Expire(now, settings_.lease_seconds))
    HandleLoss(sequence);
  // A direct order without a confirmation did not arrive.
  std::vector<std::uint64_t> lost_orders;
  for (const std::uint64_t sequence : lease_table_.direct()) {
    const LeaseTable::Entry& entry = *lease_table_.Find(sequence);
    const bool late = now - entry.queued_at > kLastSeenSeconds;
    const bool over = contexts_.at(sequence).limit_at > 0 && now > contexts_.at(sequence).limit_at;
    if (!entry.done && ((!entry.leased && late) || over)) lost_orders.push_back(sequence);
  }
  for (const std::uint64_t sequence : lost_orders) HandleLoss(sequence);
}

void Dispatcher::ExtendLeases(double now) {
  for (const std::uint64_t sequence : lease_table_.leased()) {
    LeaseTable::Entry& entry = *lease_table_.Find(sequence);
    if (entry.direct || now - entry.extended_at < kExtendSeconds) continue;
    // A finished order has no heartbeats while it waits for the store.
    if (!entry.done && now - entry.last_seen_at > settings_.lease_seconds) continue;
    entry.extended_at = now;
    AcknowledgeHandle(entry.handle, AckType::kInProgress);
  }
}

void Dispatcher::HandleLoss(std::uint64_t sequence) {
  LeaseTable::Entry* entry = lease_table_.Find(sequence);
  if (entry == nullptr) return;
  const OrderContext context = contexts_.at(sequence);
  if (entry->moved) {
    DoubtRecentTrials(context.device);
    lease_table_.MoveToQueue(*entry);
    if (std::ssize(entry->lost_with) < settings_.max_lost_workers) return Requeue(*entry);
  }
  if (entry->direct) {
    if (context.purpose == Purpose::kBaseline)
      device_registry_.RetryBaseline(context.device, context.kernel);
    if (context.purpose == Purpose::kRace && racing_.erase(context.race) > 0) {
      races_[context.race] = {context.device, {}};
    }
    return Drop(sequence, /*acknowledge=*/false);
  }
  if (std::ssize(entry->lost_with) >= settings_.max_lost_workers) {
    std::string workers;
    for (const std::string& who : entry->lost_with) {
      workers += (workers.empty() ? "" : ", ") + who.substr(0, who.find('/'));
    }
    ++counts_.poisoned;
    Trial trial;
    trial.outcome = Outcome::kRunFailed;
    trial.reason =
        "it took " + std::to_string(entry->lost_with.size()) + " workers down: " + workers;
    trial.device = settings_.device;
    trial.finished_unix_seconds = clock_.UnixSeconds();
    entry->done = true;
    return Finish(*entry, std::move(trial));
  }
  entry->queued_at = clock_.MonotonicSeconds();
  if (std::ssize(entry->lost_with) < settings_.max_lost_workers - 1 || entry->order.alone) {
    return AcknowledgeHandle(entry->handle, AckType::kNak);
  }
  // The last attempt runs alone, so that its fault domain is certain.
  entry->order.alone = true;
  AcknowledgeHandle(entry->handle, AckType::kAck);
  Requeue(*entry);
}

void Dispatcher::Baselines(double now) {
  if (kernels_.empty()) return;
  const bool built =
      std::ranges::none_of(kernels_, [](const Kernel& kernel) { return kernel.built.empty(); });
  for (const auto& [name, kernel] : device_registry_.TakeBaselines(now, built)) {
    const Kernel& which = kernels_[kernel];
    Order order = OrderFor(which.candidate);
    order.best_seconds = which.seconds;
    order.built = which.built;
    order.stage = which.built.empty() ? Stage::kWhole : Stage::kRun;
    OrderContext context;
    context.purpose = Purpose::kBaseline;
    context.kernel = kernel;
    PublishOrder(name, std::move(order), context);
    ++counts_.baselines;
  }
}

void Dispatcher::Audit(double now) {
  const bool anew = broker_.connections() != connections_;
  if (!anew && !queue_broken_ && now - audited_at_ < settings_.audit_seconds) return;
  if (queue_broken_ && now - audited_at_ < 1) return;
  connections_ = broker_.connections();
  audited_at_ = now;
  broker_.Count(measure_queue_);
  if (split_) broker_.Count(build_queue_);
}

void Dispatcher::HandleCount(const BrokerEvent& incoming) {
  const double now = clock_.MonotonicSeconds();
  const bool builds = incoming.queue.stream == build_queue_.stream;
  int& short_audits = audits_short_[builds ? 1 : 0];
  std::vector<LeaseTable::Entry*> waiting;
  for (auto& [sequence, entry] : lease_table_.entries()) {
    const bool in_queue = (entry.order.stage == Stage::kBuild) == builds;
    if (entry.direct || entry.done || !in_queue) continue;
    if (!entry.leased && now - entry.queued_at > kYoungSeconds) waiting.push_back(&entry);
  }
  const bool gone = incoming.out < 0;
  queue_broken_ = gone;
  if (!gone) silent_seconds_ = 0;
  if (gone) {
    const Status opened = broker_.OpenQueue(builds ? build_queue_ : measure_queue_);
    if (!opened.ok()) return Log("the broker has lost the queue: " + opened.message());
    queue_broken_ = false;
    silent_seconds_ = 0;
    // The queue's messages are lost with it.
    waiting.clear();
    for (auto& [sequence, entry] : lease_table_.entries()) {
      const bool in_queue = (entry.order.stage == Stage::kBuild) == builds;
      if (!entry.direct && !entry.done && !entry.leased && in_queue) waiting.push_back(&entry);
    }
    Log("the broker had lost the queue: " + std::to_string(waiting.size()) +
        " orders are enqueued again");
  } else if (incoming.waiting + incoming.out >= std::ssize(waiting)) {
    short_audits = 0;
    for (LeaseTable::Entry* entry : waiting) {
      entry->unclaimed_audits = incoming.waiting == 0 ? entry->unclaimed_audits + 1 : 0;
      if (!builds && entry->unclaimed_audits >= kMaxUnclaimedAudits) BypassQueue(*entry);
    }
    return;
  } else if (++short_audits < 2) {
    audited_at_ = now - settings_.audit_seconds + 1;  // audits again soon
    return;
  }
  short_audits = 0;
  std::vector<std::uint64_t> sequences;
  for (const LeaseTable::Entry* entry : waiting) sequences.push_back(entry->order.sequence);
  for (const std::uint64_t sequence : sequences) {
    LeaseTable::Entry& entry = *lease_table_.Find(sequence);
    const bool direct = !gone && !builds && ++entry.unclaimed_audits >= kMaxUnclaimedAudits;
    direct ? BypassQueue(entry) : Requeue(entry);
  }
}

void Dispatcher::HandleRefused(const BrokerEvent& incoming) {
  const double now = clock_.MonotonicSeconds();
  constexpr double kQuietSeconds = 10;
  ++counts_.refused;
  if (refused_at_ > 0 && now - refused_at_ < kQuietSeconds) return;
  refused_at_ = now;
  Log("the broker rejected a request: " + incoming.payload);
}

DispatcherCounts Dispatcher::counts() const {
  DispatcherCounts counts = counts_;
  counts.late = lease_table_.late();
  counts.duplicates = lease_table_.duplicates();
  counts.lost = lease_table_.lost();
  counts.longest_recovery_seconds = lease_table_.longest_recovery();
  return counts;
}

}  // namespace tilewright::measure::fleet
