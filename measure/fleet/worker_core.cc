// Orders arrive from queues, fetched job by job according to the shares, or directly. Each goes to
// the executor at once, which processes its orders one after the other; heartbeats renew the lease
// until it is finished. A fetch of an empty queue stays open while the worker fetches from the
// other queues. An idle device therefore waits on all queues, and a busy one takes its share.

#include "measure/fleet/worker_core.h"

#include <algorithm>
#include <utility>

#include "src/base/hash.h"

namespace tilewright::measure::fleet {
namespace {

constexpr double kWorkerTickSeconds = 0.1;
constexpr double kGraceSeconds = 1.5;  // after the broker's lease; then the broker has redelivered
                                       // the order

std::optional<Target> ParsedTarget(const std::string& text) {
  auto target = Target::Parse(text);
  return target.ok() ? std::optional(*std::move(target)) : std::nullopt;
}

/// Returns the job of an order by its queue or subject. Only members with that job's permissions
/// can reach these.
JobName JobOf(const BrokerEvent& incoming, bool direct, bool builds) {
  const int first = direct ? 5 : builds ? 2 : 3;
  return {std::string(SubjectToken(incoming.subject, first)),
          std::string(SubjectToken(incoming.subject, first + 1))};
}

}  // namespace

WorkerCore::WorkerCore(WorkerSettings settings, Executor& executor, Broker& broker, Clock& clock)
    : settings_(std::move(settings)),
      executor_(executor),
      broker_(broker),
      clock_(clock),
      log_(settings_.on_note, clock),
      began_at_(clock.MonotonicSeconds()),
      target_(ParsedTarget(settings_.announcement.target)) {
  measure_.slots = settings_.announcement.measures ? settings_.announcement.measure_slots : 0;
  measure_.shares = build_.shares = StrideScheduler(Fnv1a64(settings_.name.ToString()));
  build_.builds = true;
  build_.slots = settings_.builds_for_others ? settings_.announcement.build_slots : 0;
}

Status WorkerCore::Open() {
  const JobName all{"*", "*"};
  if (measure_.slots > 0) {
    TW_RETURN_IF_ERROR(broker_.Subscribe(JobSubject(settings_.device_class, all)));
    TW_RETURN_IF_ERROR(
        broker_.Subscribe(DirectSubject(settings_.device_class, settings_.name, all)));
  }
  if (build_.slots > 0) TW_RETURN_IF_ERROR(broker_.Subscribe(JobSubject(kBuilders, all)));
  TW_RETURN_IF_ERROR(broker_.Subscribe(DeviceControlSubject(settings_.name)));
  TW_RETURN_IF_ERROR(broker_.Subscribe(kDiscoverySubject));
  connections_ = broker_.connections();
  PublishAnnouncement(clock_.MonotonicSeconds());
  return broker_.Flush(5);
}

void WorkerCore::Drain() { state_ = DeviceState::kDraining; }

void WorkerCore::Close() {
  state_ = DeviceState::kDraining;
  for (const auto& [number, held] : held_) Refuse(held.order, held.lease, "the worker ends");
  held_.clear();
  PublishAnnouncement(clock_.MonotonicSeconds());
  (void)broker_.Flush(2);
}

void WorkerCore::Poll(double seconds) {
  constexpr int kMaxAtOnce = 1024;
  const double due = executor_.next_event() - clock_.MonotonicSeconds();
  double wait = std::max(0.0, std::min({seconds, kWorkerTickSeconds, due}));
  for (int i = 0; i < kMaxAtOnce; ++i) {
    const auto incoming = broker_.Next(wait);
    if (!incoming) break;
    wait = 0;
    Handle(*incoming);
  }
  TakeDone();
  const double now = clock_.MonotonicSeconds();
  if (ticked_at_ < 0 || now - ticked_at_ >= kWorkerTickSeconds) Tick();
  if (heartbeat_due_) PublishHeartbeats();
  Fetch(measure_, now);
  Fetch(build_, now);
}

void WorkerCore::Handle(const BrokerEvent& incoming) {
  if (incoming.kind == BrokerEvent::Kind::kFetchDone) return HandleFetchOver(incoming);
  if (incoming.kind == BrokerEvent::Kind::kRejected) {
    return log_.Limited("the broker rejected a request: " + incoming.payload);
  }
  if (incoming.kind == BrokerEvent::Kind::kObject) return HandleObject(incoming);
  if (!HasNames(incoming.subject)) {
    return log_.Limited("rejected a message: the subject has an invalid name: " + incoming.subject);
  }
  if (incoming.kind == BrokerEvent::Kind::kDelivered) {
    Lane* lane = LaneOf(incoming.queue.stream);
    if (lane != nullptr) HandleOrder(incoming, lane);
    return;
  }
  if (incoming.kind != BrokerEvent::Kind::kMessage) return;
  const std::string_view kind = SubjectToken(incoming.subject, 1);
  if (kind == "job")
    return HandleJobAnnouncement(incoming, SubjectToken(incoming.subject, 2) == kBuilders);
  if (kind == "direct") return HandleOrder(incoming, nullptr);
  if (kind == "control") return HandleControl(incoming);
  if (kind != "ask") return;
  // Many members may ask at once.
  constexpr double kMinSeconds = 0.2;
  announced_at_ =
      std::max(clock_.MonotonicSeconds(), announced_at_ + kMinSeconds) - settings_.announce_seconds;
}

void WorkerCore::HandleJobAnnouncement(const BrokerEvent& incoming, bool builds) {
  const JobName name{std::string(SubjectToken(incoming.subject, 3)),
                     std::string(SubjectToken(incoming.subject, 4))};
  auto state = DecodeJobAnnouncement(incoming.payload);
  if (!state.ok()) {
    return log_.Limited("job " + name.job + " of " + name.user + ": " + state.status().message());
  }
  Lane& lane = builds ? build_ : measure_;
  auto& jobs = builds ? build_jobs_ : jobs_;
  // Ignores an earlier run of the tuner that is still active.
  const auto known = jobs.find(name);
  if (known != jobs.end() && state->epoch < known->second.state.epoch) return;
  if (state->ended) {
    DropJob(name);
    jobs.erase(name);
    lane.shares.Remove(name);
    lane.fetching.erase(name);
    return;
  }
  if (known == jobs.end() && !TracksJob(name, builds)) return;
  Job& job = jobs[name];
  const bool another = job.state.epoch != state->epoch;
  job.state = *std::move(state);
  job.last_seen_at = clock_.MonotonicSeconds();
  job.excluded =
      std::ranges::find(job.state.excluded, settings_.name.ToString()) != job.state.excluded.end();
  // The lists of many jobs would take much memory, and are not needed.
  job.state.excluded.clear();
  job.state.what.clear();
  lane.shares.Set(name, job.state.weight);
  if (another) lane.fetching.erase(name);
}

void WorkerCore::HandleControl(const BrokerEvent& incoming) {
  const auto control = DecodeControl(incoming.payload);
  if (!control.ok()) return;
  if (control->action == "drain") state_ = DeviceState::kDraining;
  if (control->action == "quarantine") state_ = DeviceState::kQuarantined;
  if (control->action == "resume" && state_ == DeviceState::kQuarantined) {
    state_ = DeviceState::kReady;
  }
  announced_at_ = -1e9;
  log_.Limited("received the command to " + control->action +
               (control->why.empty() ? "" : ": " + control->why));
}

WorkerCore::Lane* WorkerCore::LaneOf(const std::string& stream) {
  if (stream.starts_with(kBuildStreams)) return &build_;
  return stream.starts_with(MeasureStream(settings_.device_class, "")) ? &measure_ : nullptr;
}

void WorkerCore::HandleOrder(const BrokerEvent& incoming, Lane* lane) {
  auto order = DecodeOrder(incoming.payload);
  const bool builds = lane != nullptr && lane->builds;
  const JobName from = JobOf(incoming, lane == nullptr, builds);
  const std::string who = from.user + "." + from.job;
  if (lane != nullptr) {
    const auto fetching = lane->fetching.find(from);
    if (fetching != lane->fetching.end()) {
      fetching->second.left = std::max(0, fetching->second.left - 1);
      fetching->second.empty = false;
    }
  }
  if (!order.ok()) {
    const auto told = DecodeControl(incoming.payload);
    const bool refused = lane == nullptr && told.ok() && told->action == "refuse";
    return log_.Limited(refused ? "the tuner of " + who + " rejects this worker: " + told->why
                                : "rejected a message of " + who +
                                      ", which is not an order: " + order.status().message());
  }
  if (order->job != from) {
    // The result would go to a job that did not send the order.
    return log_.Limited("rejected an order of " + who + ", which claims to be of " +
                        order->job.user + "." + order->job.job);
  }
  HeldOrder held;
  held.lease.sequence = order->sequence;
  held.lease.fence = {order->generation, incoming.deliveries};
  held.lease.handle = incoming.handle;
  held.lease.token = order->token;
  held.lane = lane;
  held.taken_at = clock_.MonotonicSeconds();
  std::string why = PermanentRefusalReason(*order, builds);
  if (why.empty()) why = OverLimitReason(*order, lane);
  if (!why.empty()) {
    log_.Limited("rejected an order of " + who + ": " + why);
    return Refuse(*order, held.lease, why);
  }
  why = RefusalReason(*order, lane);
  if (!why.empty()) {
    // The worker lacks a later announcement of the job, and takes no order of the job until it
    // arrives.
    auto& jobs = builds ? build_jobs_ : jobs_;
    const auto job = jobs.find(order->job);
    if (job != jobs.end() && order->epoch > job->second.state.epoch) {
      job->second.last_seen_at = std::min(job->second.last_seen_at,
                                          clock_.MonotonicSeconds() - settings_.silent_seconds - 1);
    }
    if (why != kNoBuilder) log_.Limited("rejected an order of " + who + ": " + why);
    return Refuse(*order, held.lease, why);
  }
  const std::uint64_t number = next_++;
  if (lane != nullptr) {
    ++lane->held;
    held.charged = lane->shares.Charge(order->job);
  }
  held.order = *std::move(order);
  HeldOrder& mine = held_.emplace(number, std::move(held)).first->second;
  heartbeat_due_ = true;
  if (mine.order.built.empty()) return StartOrder(number, mine);
  GetArtifacts(number, mine);
}

void WorkerCore::TakeDone() {
  for (Executor::Event& event : executor_.Take()) {
    const auto found = held_.find(event.number);
    if (found == held_.end()) continue;  // its job has ended
    HeldOrder& held = found->second;
    if (!event.over) {
      held.lease.started = true;
      continue;
    }
    PublishResult(held, std::move(event));
    held_.erase(found);
  }
  StartAlone();
}

void WorkerCore::PublishResult(HeldOrder& held, Executor::Event event) {
  OrderResult result;
  result.epoch = held.order.epoch;
  result.instance = settings_.announcement.instance;
  result.lease = held.lease;
  result.refusal = std::move(event.refusal);
  if (event.built && !PutArtifact(held.order, event)) result.refusal = "its artifact is too large";
  if (result.refusal.empty()) {
    result.trials = std::move(event.trials);
    result.built = std::move(event.built);
  }
  (void)broker_.Publish(ResultSubject(held.order.job, settings_.name), Encode(result));
  busy_seconds_ += event.seconds;
  ++done_;
  if (held.lane == nullptr) return;
  --held.lane->held;
  held.lane->shares.Settle(held.order.job, held.charged, event.seconds);
}

void WorkerCore::Tick() {
  const double now = clock_.MonotonicSeconds();
  ticked_at_ = now;
  if (broker_.connections() != connections_) {
    // Requests of the old connection are lost.
    connections_ = broker_.connections();
    for (Lane* lane : {&measure_, &build_}) lane->fetching.clear();
    heartbeat_due_ = true;
    announced_at_ = -1e9;
  }
  if (!broker_.connected()) return;
  if (now - announced_at_ >= settings_.announce_seconds) PublishAnnouncement(now);
  if (now - heartbeat_at_ >= settings_.heartbeat_seconds) heartbeat_due_ = true;
  ForgetJobs(now);
  GiveUpArtifacts(now);
}

void WorkerCore::ForgetJobs(double now) {
  for (Lane* lane : {&measure_, &build_}) {
    auto& jobs = lane->builds ? build_jobs_ : jobs_;
    std::vector<JobName> gone;
    for (const auto& [name, job] : jobs) {
      if (now - job.last_seen_at > settings_.forget_seconds) gone.push_back(name);
    }
    for (const JobName& name : gone) {
      DropJob(name);
      jobs.erase(name);
      lane->shares.Remove(name);
      lane->fetching.erase(name);
    }
  }
}

void WorkerCore::DropJob(const JobName& name) {
  for (auto held = held_.begin(); held != held_.end();) {
    if (held->second.order.job != name) {
      ++held;
      continue;
    }
    executor_.Drop(held->first);
    ForgetWanted(held->first);
    if (held->second.lane != nullptr) --held->second.lane->held;
    held = held_.erase(held);
  }
}

void WorkerCore::PublishAnnouncement(double now) {
  announced_at_ = now;
  Announcement announcement = settings_.announcement;
  announcement.state = state_;
  announcement.probe_seconds = executor_.probe_seconds();
  announcement.held = std::ssize(held_);
  announcement.done = done_;
  announcement.busy_seconds = busy_seconds_;
  announcement.up_seconds = now - began_at_;
  const std::string text = Encode(announcement);
  if (measure_.slots > 0) {
    (void)broker_.Publish(AnnouncementSubject(settings_.device_class, settings_.name), text);
  }
  if (build_.slots > 0) (void)broker_.Publish(AnnouncementSubject(kBuilders, settings_.name), text);
}

void WorkerCore::PublishHeartbeats() {
  heartbeat_due_ = false;
  heartbeat_at_ = clock_.MonotonicSeconds();
  std::map<std::pair<JobName, std::uint64_t>, Heartbeat> beats;
  for (const auto& [number, held] : held_) {
    Heartbeat& heartbeat = beats[{held.order.job, held.order.epoch}];
    heartbeat.epoch = held.order.epoch;
    heartbeat.instance = settings_.announcement.instance;
    heartbeat.leases.push_back(held.lease);
  }
  for (const auto& [key, heartbeat] : beats) {
    (void)broker_.Publish(HeartbeatSubject(key.first, settings_.name), Encode(heartbeat));
  }
}

Queue WorkerCore::QueueOf(const Lane& lane, const JobName& job) const {
  return lane.builds ? BuildQueue(job) : MeasureQueue(settings_.device_class, job);
}

bool WorkerCore::MayFetch(const Lane& lane, const JobName& name, double now) const {
  const auto& jobs = lane.builds ? build_jobs_ : jobs_;
  const auto found = jobs.find(name);
  if (found == jobs.end()) return false;
  const Job& job = found->second;
  if (job.excluded || now - job.last_seen_at > settings_.silent_seconds) return false;
  const auto fetching = lane.fetching.find(name);
  return fetching == lane.fetching.end() || fetching->second.left == 0;
}

void WorkerCore::Fetch(Lane& lane, double now) {
  if (state_ != DeviceState::kReady || lane.slots == 0 || !broker_.connected()) return;
  const bool alone =
      std::ranges::any_of(held_, [](const auto& held) { return held.second.order.alone; });
  if (alone) return;
  int jobs = 0, asked = 0;
  for (auto& [name, fetching] : lane.fetching) {
    if (fetching.left > 0 && now > fetching.until) fetching.left = 0;
    if (fetching.left > 0 && !fetching.waits) asked += fetching.left;
  }
  for (const auto& [name, job] : lane.builds ? build_jobs_ : jobs_) {
    if (!job.excluded && now - job.last_seen_at <= settings_.silent_seconds) ++jobs;
  }
  const auto may = [&](const JobName& name) { return MayFetch(lane, name, now); };
  while (lane.held + asked < lane.slots) {
    const auto job = lane.shares.Choose(may);
    if (!job) return;
    const int free = lane.slots - lane.held - asked;
    if (jobs == 1 || lane.fetching[*job].empty) {
      // An empty queue may deliver an order at any time, in addition to the other queues.
      const int count = jobs == 1 ? free : 1;
      RequestMessages(lane, *job, count, settings_.fetch_seconds, now);
      if (jobs == 1) return;
      continue;
    }
    // One job at a time: the next choice depends on the result for this one.
    if (asked > 0) return;
    constexpr int kMax = 4;
    RequestMessages(lane, *job, std::clamp(free / 2, 1, kMax), 0, now);
    return;
  }
}

void WorkerCore::RequestMessages(Lane& lane, const JobName& job, int count, double seconds,
                                 double now) {
  Fetching& fetching = lane.fetching[job];
  fetching.left = count;
  fetching.waits = seconds > 0;
  fetching.until = now + seconds + kGraceSeconds;
  (void)broker_.Fetch(QueueOf(lane, job), count, seconds);
}

void WorkerCore::HandleFetchOver(const BrokerEvent& incoming) {
  Lane* lane = LaneOf(incoming.queue.stream);
  if (lane == nullptr) return;
  for (auto& [name, fetching] : lane->fetching) {
    const Queue queue = QueueOf(*lane, name);
    const bool same =
        queue.stream == incoming.queue.stream && queue.consumer == incoming.queue.consumer;
    if (!same) continue;
    fetching.empty = fetching.left > 0;
    fetching.left = 0;
    lane->shares.Idle(name);
  }
}

}  // namespace tilewright::measure::fleet
