#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "measure/fleet/dispatcher.h"
#include "measure/fleet/fake_executor.h"
#include "measure/fleet/memory_broker.h"
#include "measure/fleet/worker_core.h"
#include "tests/support/set_clock.h"

namespace tilewright::measure::fleet {

/// Returns candidate number `index` of a task; the sizes of the task follow from `task`.
inline Candidate FakeCandidate(std::int64_t index, int task = 1) {
  Candidate candidate;
  const std::string size = std::to_string(16 * task);
  candidate.task = {
      *Workload::Parse("dense(float32[4," + size + "]MK,float32[32," + size + "]NK)->float32"),
      *Target::Parse("llvm")};
  candidate.template_key = "dense_packed.cpu";
  candidate.template_version = 1;
  candidate.config.index = index;
  return candidate;
}

/// A worker of a fake fleet.
struct FakeWorker {
  FakeWorker(const DeviceName& name, FakeExecutor::Settings settings, InMemoryBroker& hub,
             Clock& clock, const std::string& instance, bool builds, bool measures)
      : broker(hub.Connect()), executor(WithDevice(std::move(settings)), clock) {
    WorkerSettings worker;
    worker.name = name;
    worker.device_class = ClassOf(FakeExecutor::Device());
    worker.announcement.instance = instance;
    worker.announcement.version = "test";
    worker.announcement.fingerprint = FakeExecutor::Device().ToString();
    worker.announcement.target = "llvm";
    worker.announcement.builds = builds;
    worker.announcement.measures = measures;
    worker.announcement.measure_slots = worker.announcement.build_slots = 2;
    worker.builds_for_others = !measures;
    core = std::make_unique<WorkerCore>(worker, executor, *broker, clock);
    TW_CHECK(core->Open().ok());
  }
  static FakeExecutor::Settings WithDevice(FakeExecutor::Settings settings) {
    settings.device = FakeExecutor::Device();
    return settings;
  }

  std::unique_ptr<Broker> broker;
  FakeExecutor executor;
  std::unique_ptr<WorkerCore> core;
};

/// Tuners, devices and a broker in one process, with a common clock.
class FakeFleet {
 public:
  static constexpr double kStep = 0.005;

  FakeWorker& AddWorker(const std::string& name, FakeExecutor::Settings settings = {},
                        bool builds = true, bool measures = true) {
    auto& worker = workers[name];
    worker.reset();  // another process with the same name
    worker = std::make_unique<FakeWorker>(DeviceName{name, "d0"}, std::move(settings), hub, clock,
                                          "i" + std::to_string(++instances), builds, measures);
    return *worker;
  }
  static DispatcherSettings Job(const std::string& job, double weight = 1) {
    DispatcherSettings settings;
    settings.job = {"alice", job};
    settings.device_class = ClassOf(FakeExecutor::Device());
    settings.device = FakeExecutor::Device();
    settings.weight = weight;
    settings.check_share = 0;
    settings.baseline_kernels = 0;
    return settings;
  }
  Dispatcher& AddTuner(DispatcherSettings settings) {
    brokers.push_back(hub.Connect());
    settings.on_note = [this](const std::string& text) { notes.push_back(text); };
    tuners.push_back(std::make_unique<Dispatcher>(std::move(settings), *brokers.back(), clock));
    TW_CHECK(tuners.back()->Open().ok());
    return *tuners.back();
  }
  /// Lets all members do their pending work and advances the clock.
  void Step() {
    for (auto& tuner : tuners) tuner->Poll(0);
    for (auto& [name, worker] : workers) {
      if (worker) worker->core->Poll(0);
    }
    clock.now += kStep;
  }
  void Run(double seconds) {
    for (const double until = clock.now + seconds; clock.now < until;) Step();
  }
  /// Counts the results of a tuner by ticket, and stores each at once.
  void Collect(Dispatcher& tuner, std::map<std::uint64_t, int>& seen) {
    while (auto reply = tuner.Take()) {
      ++seen[reply->ticket];
      trials.push_back(reply->trial);
      tuner.MarkStored(reply->ticket);
    }
  }

  SetClock clock{1000};
  InMemoryBroker hub{clock};
  std::map<std::string, std::unique_ptr<FakeWorker>> workers;
  std::vector<std::unique_ptr<Broker>> brokers;
  std::vector<std::unique_ptr<Dispatcher>> tuners;
  std::vector<std::string> notes;
  std::vector<Trial> trials;
  int instances = 0;
};

inline void SubmitFake(Dispatcher& tuner, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t ticket = from; ticket < to; ++ticket) {
    Request request;
    request.ticket = ticket;
    request.candidate = FakeCandidate(static_cast<std::int64_t>(ticket));
    TW_CHECK(tuner.Submit(std::move(request)).ok());
  }
}

}  // namespace tilewright::measure::fleet
