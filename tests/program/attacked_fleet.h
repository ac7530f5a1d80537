#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "measure/fleet/dispatcher.h"
#include "measure/fleet/fake_executor.h"
#include "measure/fleet/keys.h"
#include "measure/fleet/memory_broker.h"
#include "measure/fleet/setup/fleet_folder.h"
#include "measure/fleet/worker_core.h"
#include "src/target/library.h"
#include "tests/fleet/fake_fleet.h"

// A fleet of honest members and two stolen keys, over an in-memory broker that enforces the
// permissions of `fleet keys`.

namespace tilewright::measure::fleet {

constexpr const char* kGpuTarget = "cuda -arch=sm_80";

inline DeviceFingerprint GpuDevice() {
  DeviceFingerprint device;
  device.kind = "cuda";
  device.model = "made up";
  return device;
}

/// A member's connection, limited by the server to the permissions of its key.
class KeyedBroker final : public Broker {
 public:
  KeyedBroker(std::unique_ptr<Broker> inner, FleetPermissions may)
      : inner_(std::move(inner)), may_(std::move(may)) {}

  bool revoked = false;
  int refused = 0;

  Status Subscribe(const std::string& pattern) override {
    if (!May(may_.subscribe, pattern)) return Refuse(pattern);
    return inner_->Subscribe(pattern);
  }
  Status Unsubscribe(const std::string& pattern) override { return inner_->Unsubscribe(pattern); }
  Status Publish(const std::string& subject, std::string_view payload) override {
    if (std::ssize(payload) > kMaxBytes) return Refuse("a message beyond max_payload");
    return MayPublish(subject) ? inner_->Publish(subject, payload) : Refuse(subject);
  }
  Status OpenQueue(const Queue& queue) override {
    const std::string subject =
        "$JS.API.CONSUMER.CREATE." + queue.stream + "." + queue.consumer + "." + queue.subject;
    return MayPublish(subject) ? inner_->OpenQueue(queue) : Refuse(subject);
  }
  void CloseQueue(const Queue& queue) override {
    const std::string subject = "$JS.API.CONSUMER.DELETE." + queue.stream + "." + queue.consumer;
    if (MayPublish(subject)) return inner_->CloseQueue(queue);
    (void)Refuse(subject);
  }
  Status Enqueue(const Queue& queue, std::string_view payload) override {
    if (std::ssize(payload) > kMaxBytes) return Refuse("a message beyond max_payload");
    return MayPublish(queue.subject) ? inner_->Enqueue(queue, payload) : Refuse(queue.subject);
  }
  Status Fetch(const Queue& queue, int count, double seconds) override {
    const std::string subject = "$JS.API.CONSUMER.MSG.NEXT." + queue.stream + "." + queue.consumer;
    return MayPublish(subject) ? inner_->Fetch(queue, count, seconds) : Refuse(subject);
  }
  void Acknowledge(const std::string& handle, AckType verdict) override {
    std::string words = handle;
    std::ranges::replace(words, '/', '.');
    const std::string subject = "$JS.ACK." + words;
    if (MayPublish(subject)) return inner_->Acknowledge(handle, verdict);
    (void)Refuse(subject);
  }
  void Count(const Queue& queue) override { inner_->Count(queue); }
  Status PutObject(const std::string& name, std::string_view bytes) override {
    if (std::ssize(bytes) > kMaxBytes) return Refuse("a message beyond max_payload");
    return MayPublish(name) ? inner_->PutObject(name, bytes) : Refuse(name);
  }
  Status GetObject(const std::string& name) override {
    const std::string subject = std::string("$JS.API.DIRECT.GET.") + kArtifactStream + "." + name;
    return MayPublish(subject) ? inner_->GetObject(name) : Refuse(subject);
  }
  std::optional<BrokerEvent> Next(double seconds) override {
    return revoked ? std::nullopt : inner_->Next(seconds);
  }
  void Wake() override {}
  bool IsOf(const std::string& handle, const Queue& queue) const override {
    return inner_->IsOf(handle, queue);
  }
  bool connected() const override { return !revoked && inner_->connected(); }
  std::int64_t connections() const override { return inner_->connections(); }
  Status Flush(double seconds) override { return inner_->Flush(seconds); }

 private:
  static bool May(const std::vector<std::string>& patterns, const std::string& subject) {
    return std::ranges::any_of(patterns,
                               [&](const std::string& one) { return Matches(one, subject); });
  }
  bool MayPublish(const std::string& subject) const {
    return !revoked && May(may_.publish, subject) && !May(may_.not_publish, subject);
  }
  Status Refuse(const std::string& subject) {
    ++refused;
    return Unavailable("Permissions Violation for \"" + subject + "\"");
  }

  std::unique_ptr<Broker> inner_;
  const FleetPermissions may_;
};

/// A device that logs the orders it runs. An artifact that does not belong to its candidate acts as
/// a very fast kernel that seems correct.
class SpyBench final : public Executor {
 public:
  SpyBench(const std::string& target, const DeviceFingerprint& device, Clock& clock)
      : target_(*Target::Parse(target)), fake_(Settings(device), clock) {}

  std::vector<std::string> violations;
  int started = 0;

  void Start(std::uint64_t number, const Order& order,
             const std::vector<std::string>& artifacts) override {
    ++started;
    const auto bad = [&](const std::string& what) { violations.push_back(what); };
    if (order.stage == Stage::kBuild) return fake_.Start(number, order, artifacts);
    for (const Candidate& candidate : order.candidates) {
      if (candidate.task.target.device() != target_.device()) bad("a kernel of another device");
      if (candidate.task.workload.data.bytes() > std::int64_t{4} << 30) bad("a task beyond memory");
    }
    for (std::size_t i = 0; i < order.built.size(); ++i) {
      const KernelSpec& kernel = order.built[i].kernel;
      if (!kernel.artifact.empty()) bad("a file of this machine: " + kernel.artifact);
      if (Sha256(artifacts[i]) != order.built[i].hash) bad("an artifact of another hash");
      if (kernel.symbol.size() > 256) bad("a long symbol");
      for (const GridLaunch& launch : kernel.launches) {
        const std::string& file = launch.library.file;
        if (!file.empty() && LibraryOfFile(file, "cuda") == nullptr) bad("a library: " + file);
        if (!file.empty() && target_.Option("libs").empty()) bad("no library was named");
      }
      const Candidate& candidate = order.candidates[i];
      if (artifacts[i] != candidate.template_key + " " + candidate.config.ToString()) {
        fast_.insert(number);
      }
    }
    if (order.best_seconds > 1e8 || order.race_seconds > 1e5) bad("time without end");
    fake_.Start(number, order, artifacts);
  }
  void Drop(std::uint64_t number) override { fake_.Drop(number); }
  std::vector<Event> Take() override {
    std::vector<Event> events = fake_.Take();
    for (Event& event : events) {
      if (!fast_.contains(event.number)) continue;
      for (Trial& trial : event.trials) {
        trial.value = 1e-6;
        trial.samples = {1e-6};
      }
    }
    return events;
  }
  double next_event() const override { return fake_.next_event(); }

 private:
  static FakeExecutor::Settings Settings(const DeviceFingerprint& device) {
    FakeExecutor::Settings settings;
    settings.seconds = 0.02;
    settings.verified = true;
    settings.device = device;
    return settings;
  }
  const Target target_;
  FakeExecutor fake_;
  std::set<std::uint64_t> fast_;
};

/// A worker with a spy device.
struct SpiedWorker {
  SpiedWorker(const std::string& name, const std::string& target, const DeviceFingerprint& device,
              bool builds, KeyedBroker& with, Clock& clock)
      : broker(with), executor(target, device, clock) {
    WorkerSettings settings;
    settings.name = {name, "d0"};
    settings.device_class = ClassOf(device);
    settings.announcement.instance = "i-" + name;
    settings.announcement.version = "test";
    settings.announcement.fingerprint = device.ToString();
    settings.announcement.target = target;
    settings.announcement.builds = settings.builds_for_others = builds;
    settings.announcement.measures = !builds;
    settings.announcement.measure_slots = settings.announcement.build_slots = 2;
    settings.on_note = [this](const std::string& text) { notes.push_back(text); };
    core = std::make_unique<WorkerCore>(settings, executor, broker, clock);
    TW_CHECK(core->Open().ok());
  }
  KeyedBroker& broker;
  SpyBench executor;
  std::vector<std::string> notes;
  std::unique_ptr<WorkerCore> core;
};

class AttackedFleet {
 public:
  explicit AttackedFleet(double meet_seconds = 0.5) {
    users = {{"alice", "tuner", "", ""}, {"w1", "worker", "", ""},  {"w2", "worker", "", ""},
             {"g1", "worker", "", ""},   {"b1", "builder", "", ""}, {"mallory", "tuner", "", ""},
             {"evil", "builder", "", ""}};
    for (const auto& user : users) {
      brokers[user.name] = std::make_unique<KeyedBroker>(
          hub.Connect(), PermissionsOf(user, users, {device_class, gpu_class}));
    }
    brokers["nobody"] = std::make_unique<KeyedBroker>(hub.Connect(), FleetPermissions());
    auto admin = hub.Connect();
    for (const Queue& queue : {MeasureQueue(device_class, {"mallory", "m"}),
                               MeasureQueue(gpu_class, {"mallory", "m"})}) {
      (void)admin->OpenQueue(queue);
    }
    for (const char* name : {"w1", "w2"}) AddWorker(name, "llvm", FakeExecutor::Device(), false);
    AddWorker("g1", kGpuTarget, GpuDevice(), false);
    AddWorker("b1", "llvm", FakeExecutor::Device(), true);
    DispatcherSettings settings = FakeFleet::Job("j");
    settings.check_share = 0.25;
    settings.make_local_executor = [this]() -> Result<std::unique_ptr<Executor>> {
      FakeExecutor::Settings fake;
      fake.seconds = 0.02;
      fake.device = FakeExecutor::Device();
      return std::unique_ptr<Executor>(std::make_unique<FakeExecutor>(fake, clock));
    };
    settings.on_note = [this](const std::string& text) { notes.push_back(text); };
    tuner = std::make_unique<Dispatcher>(settings, *brokers["alice"], clock);
    TW_CHECK(tuner->Open().ok());
    listener = hub.Connect();
    (void)listener->Subscribe("tw.result.mallory.>");
    SayMallory();
    Run(meet_seconds);
  }

  void AddWorker(const std::string& name, const std::string& target,
                 const DeviceFingerprint& device, bool builds) {
    workers[name] =
        std::make_unique<SpiedWorker>(name, target, device, builds, *brokers[name], clock);
  }
  KeyedBroker& As(const std::string& name) { return *brokers.at(name); }
  /// Publishes the jobs of the tuner's stolen key.
  void SayMallory() {
    JobAnnouncement state;
    state.epoch = 1;
    for (const std::string& one : {device_class, gpu_class, std::string(kBuilders)}) {
      (void)As("mallory").Publish(JobSubject(one, {"mallory", "m"}), Encode(state));
    }
  }
  void Run(double seconds) {
    constexpr double kStep = 0.02;
    for (const double until = clock.now + seconds; clock.now < until; clock.now += kStep) {
      tuner->Poll(0);
      for (auto& [name, worker] : workers) worker->core->Poll(0);
      if (each_step) each_step();
      Collect();
    }
  }
  void Collect() {
    while (auto reply = tuner->Take()) {
      trials.push_back(reply->trial);
      tuner->MarkStored(reply->ticket);
    }
  }
  /// Runs Alice's job to its end.
  void Finish(double most_seconds = 30) {
    constexpr double kPart = 0.1;
    for (double spent = 0; tuner->in_flight() > 0 && spent < most_seconds; spent += kPart) {
      Run(kPart);
    }
  }
  std::vector<std::string> AllNotes() const {
    std::vector<std::string> all = notes;
    for (const auto& [name, worker] : workers) {
      all.insert(all.end(), worker->notes.begin(), worker->notes.end());
    }
    return all;
  }
  /// Returns the number of workers' answers to mallory.
  int AnswersToMallory() {
    int answers = 0;
    while (listener->Next(0)) ++answers;
    return answers;
  }
  int refused() const {
    int all = 0;
    for (const char* name : {"mallory", "evil", "nobody"}) all += brokers.at(name)->refused;
    return all;
  }
  int started() const {
    int all = 0;
    for (const auto& [name, worker] : workers) all += worker->executor.started;
    return all;
  }
  /// Returns the fastest verified trial of a task, which is the one that queries return.
  const Trial* Served() const {
    const Trial* best = nullptr;
    for (const Trial& trial : trials) {
      if (trial.outcome != Outcome::kOk || !trial.verified) continue;
      if (best == nullptr || trial.value < best->value) best = &trial;
    }
    return best;
  }

  SetClock clock{1000};
  InMemoryBroker hub{clock};
  const std::string device_class = ClassOf(FakeExecutor::Device()),
                    gpu_class = ClassOf(GpuDevice());
  std::vector<FleetUser> users;
  std::map<std::string, std::unique_ptr<KeyedBroker>> brokers;
  std::map<std::string, std::unique_ptr<SpiedWorker>> workers;
  std::vector<std::string> notes;
  std::vector<Trial> trials;
  std::unique_ptr<Dispatcher> tuner;
  std::function<void()> each_step;
  std::unique_ptr<Broker> listener;
};

/// Returns the input of an order: its artifact as the honest builder compiles it.
inline Built HonestBuilt(const Candidate& candidate, std::string* artifact) {
  SetClock clock{1};
  FakeExecutor::Settings settings;
  settings.seconds = 0;
  settings.device = FakeExecutor::Device();
  FakeExecutor executor(settings, clock);
  Order order;
  order.stage = Stage::kBuild;
  order.candidates = {candidate};
  executor.Start(1, order, {});
  const auto events = executor.Take();
  *artifact = events.at(0).artifact;
  return *events.at(0).built;
}

inline Order MallorysOrder(Stage stage, std::string* artifact) {
  Order order;
  order.job = {"mallory", "m"};
  order.epoch = 1;
  order.sequence = 1;
  order.token = "T";
  order.stage = stage;
  order.candidates = {FakeCandidate(3)};
  order.best_seconds = 1e-3;
  if (stage == Stage::kRun) order.built = {HonestBuilt(order.candidates[0], artifact)};
  return order;
}

}  // namespace tilewright::measure::fleet
