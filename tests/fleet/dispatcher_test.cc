// Tuners and devices with an in-memory broker and a clock that the test moves.

#include "measure/fleet/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/fleet/fake_fleet.h"

namespace tilewright::measure::fleet {
namespace {

using testing::HasSubstr;

TEST(FleetTest, EachOrderHasOneResult) {
  FakeFleet fleet;
  for (const char* name : {"w1", "w2", "w3"}) fleet.AddWorker(name);
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 100);
  std::map<std::uint64_t, int> seen;
  fleet.Run(3);
  fleet.Collect(tuner, seen);
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(tuner.in_flight(), 0);
  EXPECT_EQ(tuner.counts().lost + tuner.counts().late + tuner.counts().duplicates, 0);
  for (const Trial& trial : fleet.trials) {
    EXPECT_EQ(trial.outcome, Outcome::kOk);
    EXPECT_EQ(trial.value, FakeExecutor::ValueOf(trial.candidate));
  }
  // 100 trials of 50 ms on three devices, which wait only for their first orders.
  double last = 0;
  for (const Trial& trial : fleet.trials) last = std::max(last, trial.finished_unix_seconds);
  EXPECT_LT(last - 1000, 1.15 * 100 * 0.05 / 3);
}

TEST(FleetTest, LostAndDoubledMessagesChangeNothing) {
  FakeFleet fleet;
  Random random(7);
  fleet.hub.copies = [&](const std::string& subject) {
    const std::uint64_t draw = random.Below(10);
    if (subject.starts_with("tw.job.")) return 1;
    return draw == 0 ? 0 : draw == 1 ? 2 : 1;
  };
  for (const char* name : {"w1", "w2", "w3"}) fleet.AddWorker(name);
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 200);
  std::map<std::uint64_t, int> seen;
  for (int i = 0; i < 120 && tuner.in_flight() > 0; ++i) {
    fleet.Run(1);
    fleet.Collect(tuner, seen);
  }
  EXPECT_EQ(seen.size(), 200u);
  for (const auto& [ticket, count] : seen) EXPECT_EQ(count, 1) << ticket;
  EXPECT_GT(tuner.counts().duplicates, 0);
  EXPECT_GT(tuner.counts().lost, 0);
}

TEST(FleetTest, DeathOfAWorkerCostsFiveSecondsAtMost) {
  FakeFleet fleet;
  FakeExecutor::Settings slow;
  slow.seconds = 1000;
  fleet.AddWorker("dies", slow);
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 2);
  fleet.Run(8);  // far beyond the broker's timeout: heartbeats keep the lease
  EXPECT_EQ(tuner.counts().lost, 0);
  fleet.AddWorker("lives");
  fleet.Run(1);
  fleet.workers["dies"].reset();
  const double died = fleet.clock.now;
  std::map<std::uint64_t, int> seen;
  while (seen.size() < 2 && fleet.clock.now < died + 20) {
    fleet.Step();
    fleet.Collect(tuner, seen);
  }
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_LT(fleet.clock.now - died, 5);
  EXPECT_GT(tuner.counts().longest_recovery_seconds, 3);
  EXPECT_LT(tuner.counts().longest_recovery_seconds, 5);
}

TEST(FleetTest, WhoSpeaksForItsOrdersIsThere) {
  FakeFleet fleet;
  FakeExecutor::Settings slow;
  slow.seconds = 20;
  fleet.AddWorker("w", slow);
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 2);
  fleet.Run(2);
  // All its state messages are lost, but not its heartbeats.
  fleet.hub.copies = [](const std::string& subject) {
    return subject.starts_with("tw.here.") ? 0 : 1;
  };
  fleet.Run(12);
  EXPECT_NE(tuner.device_registry().Find({"w", "d0"}), nullptr);
  EXPECT_EQ(tuner.counts().lost, 0);
  // Without heartbeats the worker counts as lost.
  fleet.workers["w"].reset();
  fleet.Run(8);
  EXPECT_EQ(tuner.device_registry().Find({"w", "d0"}), nullptr);
  EXPECT_EQ(tuner.counts().lost, 2);
}

TEST(FleetTest, BuildersBuildForDevicesThatCannotAndMayDie) {
  FakeFleet fleet;
  for (const char* name : {"b1", "b2"}) fleet.AddWorker(name, {}, /*builds=*/true, false);
  for (const char* name : {"w1", "w2"}) fleet.AddWorker(name, {}, /*builds=*/false, true);
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  fleet.Run(0.5);
  SubmitFake(tuner, 0, 60);
  std::map<std::uint64_t, int> seen;
  fleet.Run(0.5);
  fleet.workers["b1"].reset();
  fleet.Run(0.5);
  fleet.hub.DropAllState();  // artifacts too
  for (int i = 0; i < 60 && tuner.in_flight() > 0; ++i) {
    fleet.Run(1);
    fleet.Collect(tuner, seen);
  }
  EXPECT_EQ(seen.size(), 60u);
  for (const Trial& trial : fleet.trials) {
    EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
    EXPECT_EQ(trial.value, FakeExecutor::ValueOf(trial.candidate));
  }
}

TEST(FleetTest, WhatBuildersMadeIsBuiltHereWhereItIsTheBest) {
  FakeFleet fleet;
  fleet.AddWorker("b1", {}, /*builds=*/true, false);
  FakeExecutor::Settings measures;
  measures.verified = true;
  for (const char* name : {"w1", "w2"}) fleet.AddWorker(name, measures, /*builds=*/false, true);
  DispatcherSettings job = FakeFleet::Job("j");
  job.make_local_executor = [&]() -> Result<std::unique_ptr<Executor>> {
    FakeExecutor::Settings own;
    own.seconds =
        0.3;  // longer than a trial takes: trials wait for it, and are not each built again
    own.device = FakeExecutor::Device();
    return std::unique_ptr<Executor>(std::make_unique<FakeExecutor>(own, fleet.clock));
  };
  Dispatcher& tuner = fleet.AddTuner(job);
  fleet.Run(0.5);
  SubmitFake(tuner, 0, 100);
  std::map<std::uint64_t, int> seen;
  for (int i = 0; i < 60 && tuner.in_flight() > 0; ++i) {
    fleet.Run(1);
    fleet.Collect(tuner, seen);
  }
  EXPECT_EQ(seen.size(), 100u);
  for (const Trial& trial : fleet.trials) EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_GE(tuner.counts().rebuilt, 1);
  EXPECT_LE(tuner.counts().rebuilt, 10);
  EXPECT_EQ(tuner.counts().unconfirmed, 0);
}

/// An executor whose first builds fail (negative: all of them), as on a machine that is too slow.
class FailingExecutor final : public Executor {
 public:
  FailingExecutor(int failures, Status status, Clock& clock)
      : failures_(failures), status_(std::move(status)), fake_(FakeWorker::WithDevice({}), clock) {}
  void Start(std::uint64_t number, const Order& order,
             const std::vector<std::string>& artifacts) override {
    if (failures_ == 0) return fake_.Start(number, order, artifacts);
    if (failures_ > 0) --failures_;
    Event event;
    event.number = number;
    event.trials.emplace_back();
    event.trials[0].outcome = Outcome::kBuildTimeout;
    event.trials[0].reason = "it took too long";
    failed_.push_back(std::move(event));
  }
  void Drop(std::uint64_t number) override { fake_.Drop(number); }
  std::vector<Event> Take() override {
    return failed_.empty() ? fake_.Take() : std::exchange(failed_, {});
  }
  double next_event() const override { return fake_.next_event(); }
  Status status() const override { return status_; }

 private:
  int failures_;
  const Status status_;
  FakeExecutor fake_;
  std::vector<Event> failed_;
};

/// A tuner, a builder and a device that only measures.
struct SplitFleet : FakeFleet {
  explicit SplitFleet(
      std::function<Result<std::unique_ptr<Executor>>(Clock&)> make_local_executor) {
    AddWorker("b1", {}, /*builds=*/true, /*measures=*/false);
    FakeExecutor::Settings measured;
    measured.verified = true;
    AddWorker("w1", measured, /*builds=*/false, /*measures=*/true);
    DispatcherSettings job = Job("j");
    job.make_local_executor = [this, make_local_executor] { return make_local_executor(clock); };
    AddTuner(std::move(job));
  }
  Dispatcher& tuner() { return *tuners.front(); }
};

TEST(FleetTest, WithoutABenchOfItsOwnATunerTakesNothingOfBuilders) {
  int made = 0;
  SplitFleet fleet([&made](Clock&) -> Result<std::unique_ptr<Executor>> {
    ++made;
    return Unavailable("no room for files");
  });
  SubmitFake(fleet.tuner(), 0, 10);
  fleet.Run(4);
  std::map<std::uint64_t, int> seen;
  fleet.Collect(fleet.tuner(), seen);
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(made, 1);
  EXPECT_FALSE(fleet.tuner().split());
  EXPECT_EQ(fleet.tuner().ended().code(), StatusCode::kUnavailable);
  EXPECT_THAT(fleet.tuner().ended().message(), HasSubstr("no room for files"));
  EXPECT_FALSE(fleet.tuner().Submit({}).ok());
}

TEST(FleetTest, ABuildThatFailsOnTheTunersMachineIsTriedAgain) {
  SplitFleet fleet([](Clock& clock) -> Result<std::unique_ptr<Executor>> {
    return std::unique_ptr<Executor>(std::make_unique<FailingExecutor>(2, Status(), clock));
  });
  SubmitFake(fleet.tuner(), 0, 10);
  fleet.Run(20);
  std::map<std::uint64_t, int> seen;
  fleet.Collect(fleet.tuner(), seen);
  EXPECT_EQ(seen.size(), 10u);
  for (const Trial& trial : fleet.trials) EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_EQ(fleet.tuner().counts().unconfirmed, 0);
  EXPECT_GE(fleet.tuner().counts().rebuilt, 1);
}

TEST(FleetTest, AFaultOfTheTunersMachineIsNoFailureOfACandidate) {
  SplitFleet fleet([](Clock& clock) -> Result<std::unique_ptr<Executor>> {
    return std::unique_ptr<Executor>(std::make_unique<FailingExecutor>(-1, Status(), clock));
  });
  SubmitFake(fleet.tuner(), 0, 1);
  fleet.Run(20);
  std::map<std::uint64_t, int> seen;
  fleet.Collect(fleet.tuner(), seen);
  ASSERT_EQ(fleet.trials.size(), 1u);
  EXPECT_EQ(fleet.trials[0].outcome, Outcome::kDeviceLost);
  EXPECT_THAT(fleet.trials[0].reason, HasSubstr("cannot build it: it took too long"));
  EXPECT_EQ(fleet.tuner().counts().unconfirmed, 0);
  EXPECT_TRUE(fleet.tuner().ended().ok()) << fleet.tuner().ended().message();
}

TEST(FleetTest, IfItsOwnBenchFailsTheJobEndsWithThatStatus) {
  SplitFleet fleet([](Clock& clock) -> Result<std::unique_ptr<Executor>> {
    return std::unique_ptr<Executor>(
        std::make_unique<FailingExecutor>(-1, Internal("its builders are gone"), clock));
  });
  SubmitFake(fleet.tuner(), 0, 10);
  fleet.Run(20);
  std::map<std::uint64_t, int> seen;
  fleet.Collect(fleet.tuner(), seen);
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(fleet.tuner().ended().code(), StatusCode::kInternal);
  EXPECT_THAT(fleet.tuner().ended().message(), HasSubstr("its builders are gone"));
}

TEST(FleetTest, ALateResultOfAnOldLeaseIsRefused) {
  FakeFleet fleet;
  FakeExecutor::Settings settings;
  settings.seconds = 8;
  FakeWorker& stopped = fleet.AddWorker("stopped", settings);
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 1);
  fleet.Run(1);
  // It is stopped with its order, while another worker gets that order.
  std::unique_ptr<FakeWorker> excluded = std::move(fleet.workers["stopped"]);
  fleet.AddWorker("other");
  std::map<std::uint64_t, int> seen;
  fleet.Run(7);
  excluded->core->Poll(0);
  fleet.Collect(tuner, seen);
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(&stopped, excluded.get());
  fleet.workers["stopped"] = std::move(excluded);
  fleet.Run(10);
  fleet.Collect(tuner, seen);
  EXPECT_EQ(seen[0], 1);
  EXPECT_EQ(tuner.counts().lost, 1);
  EXPECT_EQ(tuner.counts().late + tuner.counts().duplicates, 1);
}

TEST(FleetTest, WhatTakesThreeWorkersDownIsRecordedAndSentNoMore) {
  FakeFleet fleet;
  FakeExecutor::Settings poison;
  poison.takes = [](const Candidate& candidate) {
    return candidate.config.index == 3 ? 1e6 : 0.05;
  };
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 6);
  std::map<std::uint64_t, int> seen;
  for (int i = 0; i < 10 && seen.size() < 6; ++i) {
    fleet.AddWorker("w" + std::to_string(i), poison);
    fleet.Run(1);
    // A worker that runs it forever is killed.
    fleet.workers.clear();
    fleet.Run(6);
    fleet.Collect(tuner, seen);
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(tuner.counts().poisoned, 1);
  for (const Trial& trial : fleet.trials) {
    if (trial.candidate.config.index == 3) {
      EXPECT_EQ(trial.outcome, Outcome::kRunFailed);
      EXPECT_THAT(trial.reason, HasSubstr("it took 3 workers down: w0.d0, w1.d0, w2.d0"));
    }
  }
}

TEST(FleetTest, TheBrokerMayLoseEverything) {
  FakeFleet fleet;
  fleet.AddWorker("w1");
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 100);
  std::map<std::uint64_t, int> seen;
  for (int i = 0; i < 3; ++i) {
    fleet.Run(0.8);
    fleet.hub.DropAllState();
  }
  fleet.Run(20);
  fleet.Collect(tuner, seen);
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_THAT(fleet.notes, testing::Contains(HasSubstr("the broker had lost the queue")));
}

TEST(FleetTest, WhoWasNotGivenAnOrderCannotAnswerIt) {
  FakeFleet fleet;
  fleet.AddWorker("w1");
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 10);
  fleet.Run(0.1);
  const auto hostile = fleet.hub.Connect();
  OrderResult forged;
  forged.epoch = 1;
  forged.instance = "h";
  forged.trials.resize(1);
  forged.trials[0].outcome = Outcome::kOk;
  forged.trials[0].metric = "seconds";
  forged.trials[0].value = 1e-9;
  forged.trials[0].device = FakeExecutor::Device();
  for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) {
    // Later than any delivery if it were accepted.
    forged.lease = {sequence, {0, 1000}, "", true, "?"};
    ASSERT_TRUE(hostile->Publish(ResultSubject({"alice", "j"}, {"h", "d0"}), Encode(forged)).ok());
  }
  std::map<std::uint64_t, int> seen;
  fleet.Run(3);
  fleet.Collect(tuner, seen);
  EXPECT_EQ(seen.size(), 10u);
  for (const Trial& trial : fleet.trials) {
    EXPECT_EQ(trial.value, FakeExecutor::ValueOf(trial.candidate));
  }
  EXPECT_GE(tuner.counts().late + tuner.counts().duplicates, 10);
  EXPECT_EQ(tuner.counts().lost, 0);
}

TEST(FleetTest, ResultsOfAnEarlierLifeAreNotTaken) {
  FakeFleet fleet;
  fleet.AddWorker("w1");
  Dispatcher& first = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(first, 0, 50);
  fleet.Run(0.5);
  fleet.tuners.clear();  // killed
  DispatcherSettings again = FakeFleet::Job("j");
  again.epoch = 2;
  Dispatcher& second = fleet.AddTuner(again);
  SubmitFake(second, 100, 110);
  std::map<std::uint64_t, int> seen;
  fleet.Run(5);
  fleet.Collect(second, seen);
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(seen.begin()->first, 100u);
}

TEST(FleetTest, OfTwoTunersOfOneJobTheLaterOneGoesOn) {
  FakeFleet fleet;
  fleet.AddWorker("w1");
  Dispatcher& first = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(first, 0, 50);
  fleet.Run(0.5);
  DispatcherSettings again = FakeFleet::Job("j");
  again.epoch = 2;
  Dispatcher& second = fleet.AddTuner(again);
  SubmitFake(second, 100, 120);
  fleet.Run(0.5);
  EXPECT_THAT(first.ended().message(), HasSubstr("started again elsewhere"));
  first.Close();
  fleet.tuners.front().reset();
  fleet.tuners.erase(fleet.tuners.begin());
  std::map<std::uint64_t, int> seen;
  fleet.Run(4);
  fleet.Collect(second, seen);
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_EQ(second.counts().lost, 0);
  for (const Trial& trial : fleet.trials) EXPECT_EQ(trial.outcome, Outcome::kOk);
}

TEST(FleetTest, WhatIsDroppedDoesNotComeBack) {
  FakeFleet fleet;
  fleet.AddWorker("w1");
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 50);
  fleet.Run(1);
  const std::size_t dropped = tuner.CancelPending().size();
  std::map<std::uint64_t, int> seen;
  fleet.Run(1);
  SubmitFake(tuner, 100, 110);
  fleet.Run(3);
  fleet.Collect(tuner, seen);
  EXPECT_EQ(seen.size() + dropped, 60u);
  EXPECT_EQ(tuner.in_flight(), 0);
  EXPECT_GT(dropped, 20u);
}

TEST(FleetTest, ACancelledJobEndsAndItsWorkStops) {
  FakeFleet fleet;
  FakeExecutor::Settings slow;
  slow.seconds = 60;
  fleet.AddWorker("w1", slow);
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 4);
  fleet.Run(2);
  auto admin = fleet.hub.Connect();
  (void)admin->Publish(JobControlSubject({"alice", "j"}), Encode(Control{"cancel", "by bob"}));
  fleet.Run(0.5);
  EXPECT_THAT(tuner.ended().message(), HasSubstr("cancelled: by bob"));
  tuner.Close();
  fleet.Run(0.5);
  EXPECT_EQ(fleet.workers["w1"]->executor.next_event(), std::numeric_limits<double>::infinity());
}

TEST(FleetTest, ADeadlineMakesAJobUrgent) {
  FakeFleet fleet;
  DispatcherSettings settings = FakeFleet::Job("j", 2);
  settings.deadline_unix_seconds = fleet.clock.now + 100;
  auto listener = fleet.hub.Connect();
  (void)listener->Subscribe(JobSubject(settings.device_class, settings.job));
  fleet.AddTuner(settings);
  const auto heard = [&] {
    std::optional<JobAnnouncement> last;
    while (const auto incoming = listener->Next(0))
      last = *DecodeJobAnnouncement(incoming->payload);
    return *last;
  };
  fleet.Run(50);
  const JobAnnouncement middle = heard();
  EXPECT_NEAR(middle.remaining_seconds.value_or(0), 50, 1.5);
  EXPECT_NEAR(middle.weight, 2, 0.1);
  fleet.Run(25);
  EXPECT_NEAR(heard().weight, 5, 0.2);
  fleet.Run(30);
  const JobAnnouncement over = heard();
  EXPECT_EQ(over.remaining_seconds, 0);
  EXPECT_EQ(over.weight, 2 * DispatcherSettings::kUrgency);
}

TEST(FleetTest, WithoutABrokerForLongTheJobEnds) {
  FakeFleet fleet;
  fleet.AddWorker("w");
  DispatcherSettings settings = FakeFleet::Job("j");
  settings.broker_timeout_seconds = 60;
  Dispatcher& tuner = fleet.AddTuner(settings);
  SubmitFake(tuner, 0, 1000);
  fleet.Run(10);
  fleet.hub.away = true;
  fleet.Run(45);
  fleet.hub.away = false;
  fleet.Run(10);
  EXPECT_TRUE(tuner.ended().ok());
  std::map<std::uint64_t, int> seen;
  fleet.Collect(tuner, seen);
  fleet.hub.away = true;
  // This process was stopped for an hour, which does not mean that the broker is unreachable.
  fleet.clock.now += 3600;
  fleet.Run(30);
  EXPECT_TRUE(tuner.ended().ok());
  fleet.Run(40);
  EXPECT_EQ(tuner.ended().code(), StatusCode::kUnavailable);
  EXPECT_THAT(tuner.ended().message(), HasSubstr("--broker-timeout"));
  EXPECT_FALSE(tuner.Submit({}).ok());
}

TEST(FleetTest, ADrainedWorkerEndsWhatItHas) {
  FakeFleet fleet;
  FakeWorker& worker = fleet.AddWorker("w1");
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  SubmitFake(tuner, 0, 50);
  fleet.Run(0.5);
  auto admin = fleet.hub.Connect();
  (void)admin->Publish(DeviceControlSubject({"w1", "d0"}), Encode(Control{"drain", ""}));
  fleet.Run(0.5);
  EXPECT_TRUE(worker.core->drained());
  fleet.workers.clear();
  fleet.AddWorker("w2");
  std::map<std::uint64_t, int> seen;
  fleet.Run(3);
  fleet.Collect(tuner, seen);
  EXPECT_EQ(seen.size(), 50u);
  EXPECT_EQ(tuner.counts().lost, 0);
}

TEST(FleetTest, JobsShareDevicesByTheirWeights) {
  FakeFleet fleet;
  for (int i = 0; i < 4; ++i) fleet.AddWorker("w" + std::to_string(i));
  const std::vector<double> weights = {1, 1, 2, 4, 4, 8};
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    SubmitFake(fleet.AddTuner(FakeFleet::Job("j" + std::to_string(i), weights[i])), 0, 1200);
    sum += weights[i];
  }
  fleet.Run(30);
  std::vector<double> done;
  double all = 0;
  for (const auto& tuner : fleet.tuners) {
    done.push_back(static_cast<double>(tuner->done()));
    all += done.back();
  }
  EXPECT_GT(all, 0.95 * 30 * 4 / 0.05);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(done[i] / all, weights[i] / sum, 0.05 * weights[i] / sum) << i;
  }
}

TEST(FleetTest, ADeviceThatDriftsIsSetAsideAndItsTrialsAreMeasuredAgain) {
  FakeFleet fleet;
  FakeExecutor::Settings drifts;
  drifts.slowness = [](double now) { return now > 1040 ? 1.08 : 1.0; };
  fleet.AddWorker("drifts", drifts);
  fleet.AddWorker("steady");
  fleet.AddWorker("other");
  DispatcherSettings settings = FakeFleet::Job("j");
  settings.baseline_kernels = 2;
  settings.device_registry.baseline_seconds = 15;
  Dispatcher& tuner = fleet.AddTuner(settings);
  std::uint64_t ticket = 0;
  double excluded_at = 0;
  int again = 0;
  std::map<std::uint64_t, double> last;
  while (fleet.clock.now < 1080) {
    if (tuner.in_flight() < 20) SubmitFake(tuner, ticket, ticket + 1), ++ticket;
    fleet.Step();
    while (auto reply = tuner.Take()) {
      again += reply->again ? 1 : 0;
      last[reply->ticket] = reply->trial.value / FakeExecutor::ValueOf(reply->trial.candidate);
      tuner.MarkStored(reply->ticket);
    }
    const auto* device = tuner.device_registry().Find({"drifts", "d0"});
    if (excluded_at == 0 && device != nullptr && !device->excluded.empty())
      excluded_at = fleet.clock.now;
  }
  EXPECT_GT(excluded_at, 1040);
  EXPECT_LT(excluded_at, 1040 + 30);
  EXPECT_GT(again, 50);
  EXPECT_GT(tuner.device_registry().Find({"steady", "d0"})->good_at, 1040);
  int wrong = 0;
  for (const auto& [one, ratio] : last) wrong += std::abs(ratio - 1) > 1e-6 ? 1 : 0;
  EXPECT_EQ(wrong, 0) << "of " << last.size();
}

TEST(FleetTest, AProbeTellsOfADriftLongBeforeTheNextBaseline) {
  for (const bool probe : {true, false}) {
    FakeFleet fleet;
    FakeExecutor::Settings drifts;
    drifts.probe = probe;
    drifts.slowness = [](double now) { return now > 1040 ? 1.08 : 1.0; };
    fleet.AddWorker("drifts", drifts);
    fleet.AddWorker("steady");
    DispatcherSettings settings = FakeFleet::Job("j");
    settings.baseline_kernels = 1;
    settings.device_registry.baseline_seconds = 200;
    Dispatcher& tuner = fleet.AddTuner(settings);
    std::uint64_t ticket = 0;
    std::map<std::uint64_t, int> seen;
    const auto excluded = [&] {
      const auto* device = tuner.device_registry().Find({"drifts", "d0"});
      return device != nullptr && !device->excluded.empty();
    };
    while (fleet.clock.now < 1060 && !excluded()) {
      if (tuner.in_flight() < 10) SubmitFake(tuner, ticket, ticket + 1), ++ticket;
      fleet.Step();
      fleet.Collect(tuner, seen);
    }
    EXPECT_EQ(excluded(), probe);
  }
}

TEST(FleetTest, DevicesOfOneClassAreComparedByTheirBaselines) {
  FakeFleet fleet;
  FakeExecutor::Settings slower;
  slower.slowness = [](double) { return 1.2; };
  fleet.AddWorker("a");
  fleet.AddWorker("b", slower);
  DispatcherSettings settings = FakeFleet::Job("j");
  settings.baseline_kernels = 1;
  Dispatcher& tuner = fleet.AddTuner(settings);
  SubmitFake(tuner, 0, 2);
  fleet.Run(2);
  SubmitFake(tuner, 2, 60);
  fleet.Run(4);
  double least = 1e9, most = 0;
  while (auto reply = tuner.Take()) {
    if (reply->ticket < 2) continue;
    const double ratio = reply->trial.value / FakeExecutor::ValueOf(reply->trial.candidate);
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  EXPECT_NEAR(most / least, 1, 1e-6);
}

TEST(FleetTest, InventedTimesAreFoundOut) {
  FakeFleet fleet;
  FakeExecutor::Settings lies;
  lies.slowness = [](double) { return 0.5; };
  fleet.AddWorker("liar", lies);
  fleet.AddWorker("b");
  fleet.AddWorker("c");
  DispatcherSettings settings = FakeFleet::Job("j");
  settings.check_share = 1;
  Dispatcher& tuner = fleet.AddTuner(settings);
  fleet.Run(1);
  SubmitFake(tuner, 0, 300);
  fleet.Run(10);
  EXPECT_GT(tuner.counts().checks_failed, 0);
  EXPECT_FALSE(tuner.device_registry().Find({"liar", "d0"})->excluded.empty());
  EXPECT_TRUE(tuner.device_registry().Find({"b", "d0"})->excluded.empty());
}

TEST(FleetTest, AWorkerOfAnotherVersionIsToldSo) {
  FakeFleet fleet;
  Dispatcher& tuner = fleet.AddTuner(FakeFleet::Job("j"));
  auto old = fleet.hub.Connect();
  const DeviceName name{"old", "d0"};
  const std::string device_class = ClassOf(FakeExecutor::Device());
  (void)old->Subscribe(DirectSubject(device_class, name, {"*", "*"}));
  (void)old->Publish(AnnouncementSubject(device_class, name), R"({"type":"here","v":0})");
  tuner.Poll(0);
  const auto told = old->Next(0);
  ASSERT_TRUE(told.has_value());
  EXPECT_THAT(told->payload, HasSubstr("version 0 of a fleet's messages, expected 6"));
  EXPECT_EQ(tuner.device_registry().Find(name), nullptr);
}

}  // namespace
}  // namespace tilewright::measure::fleet
