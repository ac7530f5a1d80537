// Build pool, runner pool and the health of the machine, with workers that are the test: what only
// happens when an order is lost, a connection breaks, or an answer comes too late.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "measure/evaluate/inputs.h"
#include "measure/kernel_message.h"
#include "measure/supervisor/build_pool.h"
#include "measure/supervisor/runner_pool.h"
#include "measure/worker/file_receiver.h"
#include "src/base/files/file.h"
#include "tests/measure/fake_transport.h"
#include "tests/measure/process_fixture.h"
#include "tests/support/set_clock.h"

namespace tilewright::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PoolsTest : public testing::Test {
 protected:
  void SetUp() override {
    settings_ = TestSettings();
    settings_.builders = 1;
    settings_.machine_backoff_seconds = 1;
    settings_.reconnect_limit_seconds = 10;
    settings_.reconnect_backoff_seconds = 30;
    settings_.on_lost = [this](const std::string& why, double seconds) {
      lost_.emplace_back(why, seconds);
    };
  }
  /// The pools, with the builders of the settings and so many runners.
  void Start(int runners = 1, bool remote = false) {
    settings_.remote = remote;
    const PoolContext context{settings_, jobs_, health_, clock_};
    builders_ = MakePool(build_, context, settings_.builders + 1);
    runners_ = MakePool(run_, context, runners, ProbeHostCpu());
    Dispatch();
    for (FakeTransport* runner : runners_) Greet(*runner);
  }
  template <typename Pool, typename... More>
  std::vector<FakeTransport*> MakePool(std::unique_ptr<Pool>& pool, const PoolContext& context,
                                       int workers, const More&... more) {
    std::vector<std::unique_ptr<Transport>> transports;
    std::vector<FakeTransport*> fakes;
    for (int i = 0; i < workers; ++i) {
      auto fake = std::make_unique<FakeTransport>();
      fakes.push_back(fake.get());
      transports.push_back(std::move(fake));
    }
    pool = std::make_unique<Pool>(context, std::move(transports), more...);
    return fakes;
  }
  FakeTransport& builder() { return *builders_.front(); }
  FakeTransport& runner() { return *runners_.front(); }

  void Dispatch() {
    build_->Dispatch();
    run_->Dispatch();
    build_->Dispatch();
  }
  /// What the worker says is heard, and it gets what is next.
  void Say(FakeTransport& worker, const Json& message) {
    worker.coming.push_back(message.dump());
    HearAll();
  }
  /// The connection breaks, or the process ends.
  void Break(FakeTransport& worker, const std::string& last_words) {
    worker.closed = true;
    worker.last_words = last_words;
    HearAll();
  }
  void HearAll() {
    for (WorkerPool* pool :
         {static_cast<WorkerPool*>(build_.get()), static_cast<WorkerPool*>(run_.get())}) {
      for (Worker& worker : pool->workers()) {
        if (worker.connected()) pool->HandleInput(worker);
      }
    }
    Dispatch();
  }
  void Pass(double seconds) {
    clock_.now += seconds;
    build_->CheckDeadlines();
    run_->CheckDeadlines();
    Dispatch();
  }

  void Greet(FakeTransport& runner) {
    RunnerHandshake handshake;
    handshake.device = ProbeHostCpu().ToString();
    Say(runner, ToJson(handshake));
  }
  static Json Probed(const std::string& problem = "") { return ToJson(ProbeReply{problem}); }
  /// Builder and runner say that the probe went well, and the reference results are made.
  void BecomeReady() {
    Say(builder(), Probed());
    if (!settings_.remote) Say(runner(), Probed());
    MakeReference();
  }
  void MakeReference() {
    const std::string path = builders_.back()->Last("prepare").value("path", "");
    ASSERT_TRUE(WriteFile(path, "results").ok());
    BuildReply reply;
    reply.reference = path;
    Say(*builders_.back(), ToJson(reply));
  }
  /// A job for a builder.
  JobId AddJob(std::uint64_t ticket) {
    Job job;
    job.request = RequestFor(ticket, DenseCandidate());
    const JobId id = jobs_.Add(std::move(job));
    Dispatch();
    return id;
  }
  /// A job that needs no builder.
  JobId AddBuilt(std::uint64_t ticket) {
    Job job;
    job.request = RequestFor(ticket, DenseCandidate());
    job.fault = ArtifactFault("good");
    const JobId id = jobs_.Add(std::move(job));
    Dispatch();
    return id;
  }
  /// The answer to the builder's last order.
  void AnswerBuild(FakeTransport& worker, Outcome outcome = Outcome::kOk,
                   FaultDomain fault_domain = FaultDomain::kCandidate, double seconds = 0) {
    const Json order = worker.Last("build");
    ASSERT_TRUE(order.is_object()) << "no build under way";
    BuildReply reply;
    reply.ticket = order["ticket"].get<std::uint64_t>();
    reply.outcome = outcome;
    reply.reason = outcome == Outcome::kOk ? "" : "No space left on device";
    reply.fault_domain = fault_domain;
    reply.seconds = seconds;
    const Workload workload = DenseCandidate().task.workload;
    reply.kernel.task = order["task"].get<std::uint64_t>();
    reply.kernel.artifact = order["path"].get<std::string>();
    ASSERT_TRUE(WriteFile(reply.kernel.artifact, "code").ok());
    const std::vector<TensorType> types = {workload.data, workload.weight,
                                           *ResultType(workload, {})};
    reply.kernel.signature = *SignatureOf(workload, {}, {}, types);
    Say(worker, ToJson(reply));
  }
  static std::vector<JobId> TicketsOf(const Json& run) {
    std::vector<JobId> tickets;
    if (!run.is_object()) return tickets;
    for (const Json& item : run["items"]) tickets.push_back(item["ticket"].get<JobId>());
    return tickets;
  }
  /// What the runner works on: the items of its last order.
  static std::vector<JobId> RunBy(const FakeTransport& runner) {
    return TicketsOf(runner.Last("run"));
  }
  void AnswerRun(FakeTransport& worker, JobId job, int capacity = 1) {
    RunReply reply;
    reply.ticket = job;
    reply.value = 1e-3;
    reply.verified = true;
    reply.capacity = capacity;
    reply.device = ProbeHostCpu().ToString();
    Say(worker, ToJson(reply));
  }
  /// Tickets and outcomes of what was finished since this was last asked.
  std::vector<std::pair<std::uint64_t, Outcome>> Finished() {
    std::vector<std::pair<std::uint64_t, Outcome>> all;
    for (const Reply& reply : jobs_.TakeFinished()) {
      all.emplace_back(reply.ticket, reply.trial.outcome);
      reason_ = reply.trial.reason;
    }
    return all;
  }
  static std::pair<std::uint64_t, Outcome> Is(std::uint64_t ticket, Outcome outcome) {
    return {ticket, outcome};
  }
  void AddRace() {
    std::vector<Job> racers(2);
    for (Job& racer : racers) {
      racer.request = RequestFor(0, DenseCandidate());
      racer.fault = ArtifactFault("good");
      racer.racing = true;
    }
    jobs_.AddRace(std::move(racers), {});
    Dispatch();
  }

  Result<ScopedTempDir> folder_ = ScopedTempDir::Create("tilewright-test");
  SetClock clock_{100};
  ProcessMeasurerSettings settings_;
  JobTable jobs_{ProbeHostCpu(), clock_};
  MachineHealth health_{settings_, folder_->path(), jobs_, clock_};
  std::unique_ptr<BuildPool> build_;
  std::unique_ptr<RunnerPool> run_;
  std::vector<FakeTransport*> builders_, runners_;  // the last builder makes references
  std::vector<std::pair<std::string, double>> lost_;
  std::string reason_;  // of the last one that was finished
};

TEST_F(PoolsTest, ACandidateIsBuiltThenRun) {
  Start();
  const JobId id = AddJob(7);
  EXPECT_EQ(builder().Count("build"), 0U) << "the probe goes first";
  BecomeReady();
  EXPECT_EQ(builder().Count("task"), 1U);
  AnswerBuild(builder());
  EXPECT_THAT(RunBy(runner()), ElementsAre(id));
  AnswerRun(runner(), id);
  EXPECT_THAT(Finished(), ElementsAre(Is(7, Outcome::kOk)));
  (void)AddJob(8);
  EXPECT_EQ(builder().Count("build"), 2U);
  EXPECT_EQ(builder().Count("task"), 1U) << "it is told once";
}

TEST_F(PoolsTest, AnOrderThatWasLostIsGivenAgain) {
  Start();
  const JobId id = AddJob(7);
  BecomeReady();
  Break(builder(), "signal 9 (SIGKILL)");
  EXPECT_THAT(Finished(), IsEmpty());
  EXPECT_EQ(builder().connections, 1) << "not at once";
  Pass(0.1);
  EXPECT_EQ(builder().connections, 2);
  EXPECT_EQ(builder().Count("build"), 0U) << "a probe decides";
  Say(builder(), Probed());
  Say(runner(), Probed());
  EXPECT_EQ(builder().Last("build")["ticket"], id);
  EXPECT_EQ(builder().Count("task"), 1U) << "a new worker is told again";
  AnswerBuild(builder());
  AnswerRun(runner(), id);
  EXPECT_THAT(Finished(), ElementsAre(Is(7, Outcome::kOk)));
}

TEST_F(PoolsTest, ACompilerThatCrashesIsTheCandidatesFaultWhereAProbeGoesWell) {
  Start();
  (void)AddJob(7);
  BecomeReady();
  Break(builder(), "signal 11 (SIGSEGV)");
  Pass(0.1);
  Say(builder(), Probed());
  EXPECT_THAT(Finished(), IsEmpty());
  Say(runner(), Probed());
  EXPECT_THAT(Finished(), ElementsAre(Is(7, Outcome::kBuildFailed)));
  EXPECT_EQ(reason_, "compiler crashed: signal 11 (SIGSEGV)");
}

TEST_F(PoolsTest, ABuildThatTheMachineFailedWaitsForTheProbe) {
  Start();
  const JobId id = AddJob(7);
  BecomeReady();
  (void)AddJob(8);
  AnswerBuild(builder(), Outcome::kBuildFailed, FaultDomain::kMachine);
  EXPECT_EQ(builder().Count("build"), 1U);
  EXPECT_EQ(builder().Count("probe"), 2U);
  Say(builder(), Probed("No space left on device"));
  EXPECT_TRUE(health_.halted());
  EXPECT_EQ(builder().Count("build"), 1U) << "nothing is built meanwhile";
  EXPECT_EQ(builder().Count("probe"), 2U) << "it is not asked at once";
  Pass(1.1);
  EXPECT_EQ(builder().Count("probe"), 3U);
  Say(builder(), Probed());
  EXPECT_EQ(builder().Count("build"), 1U) << "the runner has not loaded it";
  Say(runner(), Probed());
  EXPECT_FALSE(health_.halted());
  EXPECT_EQ(builder().Last("build")["ticket"], id) << "before the others";
  EXPECT_THAT(Finished(), IsEmpty());
}

TEST_F(PoolsTest, AMachineThatStaysUnfitEndsMeasuringWithoutATrial) {
  Start();
  (void)AddJob(7);
  for (int i = 0; i < 4; ++i) {
    Say(builder(), Probed("No space left on device"));
    EXPECT_TRUE(jobs_.broken().ok());
    Pass(100);
  }
  Say(builder(), Probed("No space left on device"));
  EXPECT_THAT(jobs_.broken().message(), HasSubstr("make room there"));
  EXPECT_THAT(Finished(), IsEmpty());
}

TEST_F(PoolsTest, ABuilderThatHangsIsEnded) {
  Start();
  (void)AddJob(7);
  BecomeReady();
  const double limit = settings_.build_limit_seconds;
  builder().processor_seconds = 0.5 * limit;
  Pass(1.1 * limit);
  EXPECT_THAT(Finished(), IsEmpty()) << "it waits for its turn";
  builder().processor_seconds = 0.8 * limit;
  Pass(limit);
  EXPECT_THAT(Finished(), ElementsAre(Is(7, Outcome::kBuildTimeout)));
  EXPECT_THAT(reason_, HasSubstr("compiling took more than 20 s"));
  EXPECT_FALSE(builder().connected());
}

TEST_F(PoolsTest, BuildersStandStillWhileARaceIsRun) {
  settings_.builders = 2;
  Start();
  (void)AddJob(7);
  FakeTransport& busy = *builders_[1];  // while the first one probes
  ASSERT_EQ(busy.Count("build"), 1U);
  BecomeReady();
  AddRace();
  ASSERT_EQ(RunBy(runner()).size(), 2U);
  EXPECT_TRUE(run_->blocks_builders());
  build_->Pause(run_->blocks_builders(), run_->busy());
  EXPECT_TRUE(busy.paused);
  Pass(10 * settings_.build_limit_seconds);
  EXPECT_THAT(Finished(), IsEmpty()) << "its time stands still, too";
  for (const JobId racer : RunBy(runner())) AnswerRun(runner(), racer);
  build_->Pause(run_->blocks_builders(), run_->busy());
  EXPECT_FALSE(busy.paused);
  EXPECT_FALSE(jobs_.HasRace());
  busy.processor_seconds = settings_.build_limit_seconds;  // busy all the time it had
  Pass(0.5 * settings_.build_limit_seconds);
  EXPECT_THAT(Finished(), IsEmpty());
  Pass(settings_.build_limit_seconds);
  EXPECT_THAT(Finished(), ElementsAre(Is(7, Outcome::kBuildTimeout)));
}

TEST_F(PoolsTest, AGuestBuildsWhileTheRunnerHasNothingToDo) {
  settings_.builders = 2;
  settings_.opportunistic_builder = true;
  Start();
  const auto pause = [this] { build_->Pause(run_->blocks_builders(), run_->busy()); };
  FakeTransport& opportunistic_builder = *builders_[1];
  (void)AddJob(1);  // while the other builder probes
  EXPECT_EQ(opportunistic_builder.Count("build"), 0U) << "builds do not hold the runner up";
  BecomeReady();
  AnswerBuild(builder(), Outcome::kBuildFailed, FaultDomain::kCandidate, 0.5);
  const JobId second = AddJob(2);
  const JobId first = AddJob(3);
  ASSERT_EQ(opportunistic_builder.Count("build"), 1U);
  AnswerBuild(builder());
  ASSERT_THAT(RunBy(runner()), ElementsAre(second));
  pause();
  EXPECT_TRUE(opportunistic_builder.paused);
  EXPECT_FALSE(builder().paused) << "one thread, on another core";
  EXPECT_FALSE(build_->OpportunisticBuilderIsStarved());
  clock_.now += 5;
  EXPECT_TRUE(build_->OpportunisticBuilderIsStarved()) << "it had no turn for five seconds";
  AnswerBuild(opportunistic_builder, Outcome::kOk, FaultDomain::kCandidate, 5.5);
  EXPECT_NEAR(jobs_.At(first).trial.build_seconds, 0.5, 1e-9) << "it stood still for five";
  (void)AddJob(4);
  (void)AddJob(5);
  EXPECT_EQ(builder().Count("build"), 3U);
  EXPECT_EQ(opportunistic_builder.Count("build"), 1U) << "the first candidate waits to be run";
  AnswerRun(runner(), second);
  ASSERT_THAT(RunBy(runner()), ElementsAre(first));
  EXPECT_EQ(opportunistic_builder.Count("build"), 2U);
  AnswerRun(runner(), first);
  pause();
  EXPECT_FALSE(opportunistic_builder.paused);
}

TEST_F(PoolsTest, DroppingEndsBuildsAndNoRun) {
  Start();
  const JobId run = AddBuilt(1);
  BecomeReady();
  ASSERT_THAT(RunBy(runner()), ElementsAre(run));
  (void)AddBuilt(2);
  (void)AddJob(3);
  (void)AddJob(4);
  ASSERT_EQ(builder().Count("build"), 1U);
  EXPECT_THAT(jobs_.CancelPending(), ElementsAre(2U, 3U, 4U));
  build_->EndCancelled();
  EXPECT_FALSE(builder().connected());
  AnswerRun(runner(), run);
  EXPECT_THAT(Finished(), ElementsAre(Is(1, Outcome::kOk)));
  EXPECT_EQ(runner().Count("run"), 1U);
}

TEST_F(PoolsTest, AnAnswerAboutAJobThatIsGoneIsNoHarm) {
  Start();
  const JobId run = AddBuilt(1);
  BecomeReady();
  (void)AddJob(2);
  ASSERT_EQ(builder().Count("build"), 1U);
  EXPECT_THAT(jobs_.CancelPending(), ElementsAre(2U));
  AnswerBuild(builder());  // before anybody ended it
  EXPECT_TRUE(builder().connected());
  jobs_.AbandonAll(Unavailable("no room"));
  AnswerRun(runner(), run);
  EXPECT_TRUE(runner().connected());
  EXPECT_THAT(Finished(), IsEmpty());
}

TEST_F(PoolsTest, AnAnswerThatNobodyAskedForLosesTheWorker) {
  Start();
  (void)AddBuilt(1);
  BecomeReady();
  AnswerRun(runner(), 77);
  EXPECT_FALSE(runner().connected());
  Pass(0.1);  // a probe decides whose fault it was
  Greet(runner());
  Say(builder(), Probed());
  Say(runner(), Probed());
  EXPECT_THAT(Finished(), ElementsAre(Is(1, Outcome::kDeviceLost)));
  EXPECT_THAT(reason_, HasSubstr("a result of candidate 77, which it does not have"));
}

TEST_F(PoolsTest, ARunnerTakesAsManyOrdersAsItSays) {
  Start(1, /*remote=*/true);
  std::vector<JobId> ids;
  for (std::uint64_t i = 0; i < 4; ++i) ids.push_back(AddBuilt(i));
  BecomeReady();
  EXPECT_EQ(runner().Count("run"), 1U);
  AnswerRun(runner(), ids[0], /*capacity=*/2);
  EXPECT_EQ(runner().Count("run"), 3U);
  EXPECT_THAT(RunBy(runner()), ElementsAre(ids[2]));
  AnswerRun(runner(), ids[2], /*capacity=*/2);  // in any order
  EXPECT_EQ(runner().Count("run"), 4U);
  Break(runner(), "exit code 255");
  EXPECT_THAT(Finished(), ElementsAre(Is(0, Outcome::kOk), Is(2, Outcome::kOk),
                                      Is(1, Outcome::kDeviceLost), Is(3, Outcome::kDeviceLost)));
}

TEST_F(PoolsTest, ARunnerIsGivenUpWhileOthersGoOn) {
  Start(2, /*remote=*/true);
  runners_[0]->refusal = Unavailable("no route to board");
  Break(*runners_[0], "exit code 255");
  for (int i = 0; i < 10; ++i) Pass(3);
  ASSERT_FALSE(lost_.empty());
  EXPECT_EQ(lost_[0].second, 0.1) << "called again soon";
  EXPECT_EQ(lost_[1].second, 0.2) << "then later";
  EXPECT_THAT(lost_.back().first, HasSubstr("no route to board"));
  EXPECT_EQ(lost_.back().second, kNoReconnect);
  const std::size_t calls = lost_.size();
  const JobId id = AddBuilt(7);
  BecomeReady();
  EXPECT_THAT(RunBy(*runners_[1]), ElementsAre(id));
  AnswerRun(*runners_[1], id);
  EXPECT_THAT(Finished(), ElementsAre(Is(7, Outcome::kOk)));
  EXPECT_EQ(lost_.size(), calls);
  EXPECT_TRUE(jobs_.broken().ok());
  // With the last one it is over, and what waits is lost with it.
  (void)AddJob(8);
  runners_[1]->refusal = runners_[0]->refusal;
  Break(*runners_[1], "exit code 255");
  for (int i = 0; i < 10; ++i) Pass(3);
  EXPECT_THAT(jobs_.broken().message(), HasSubstr("no connection to the runner any more"));
  EXPECT_THAT(Finished(), ElementsAre(Is(8, Outcome::kDeviceLost)));
}

TEST_F(PoolsTest, ARaceMovesToAnotherRunnerOnce) {
  Start(2, /*remote=*/true);
  AddRace();
  BecomeReady();
  ASSERT_THAT(RunBy(*runners_[0]), ElementsAre(1U, 2U));
  EXPECT_THAT(RunBy(*runners_[1]), IsEmpty()) << "a race is one's";
  Break(*runners_[0], "exit code 255");
  EXPECT_THAT(RunBy(*runners_[1]), ElementsAre(1U, 2U));
  EXPECT_FALSE(jobs_.TakeRaceResult());
  AnswerRun(*runners_[1], 1);
  AnswerRun(*runners_[1], 2);
  const auto trials = jobs_.TakeRaceResult();
  ASSERT_TRUE(trials);
  for (const Trial& trial : *trials) EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  // Its second runner was the last try.
  AddRace();
  ASSERT_THAT(RunBy(*runners_[1]), ElementsAre(3U, 4U));
  Pass(1);
  Greet(*runners_[0]);
  Break(*runners_[1], "exit code 255");
  ASSERT_THAT(RunBy(*runners_[0]), ElementsAre(3U, 4U));
  Pass(1);
  Greet(*runners_[1]);
  Break(*runners_[0], "exit code 255");
  const auto lost = jobs_.TakeRaceResult();
  ASSERT_TRUE(lost);
  for (const Trial& trial : *lost) EXPECT_EQ(trial.outcome, Outcome::kDeviceLost);
}

TEST_F(PoolsTest, FilesThatAreGoneAreTheMachinesFault) {
  Start(1, /*remote=*/true);
  (void)AddJob(1);
  Say(builder(), Probed());
  const std::string artifact = builder().Last("build").value("path", "");
  AnswerBuild(builder());
  ASSERT_EQ(::unlink(artifact.c_str()), 0);
  MakeReference();
  EXPECT_THAT(RunBy(runner()), IsEmpty());
  EXPECT_EQ(builders_.back()->Count("prepare"), 2U) << "what it is compared with may be gone, too";
  Say(builder(), Probed());
  EXPECT_EQ(builder().Count("build"), 2U);
  EXPECT_THAT(Finished(), IsEmpty());
  AnswerBuild(builder());
  MakeReference();
  ASSERT_EQ(RunBy(runner()).size(), 1U);
  AnswerRun(runner(), RunBy(runner()).front());
  EXPECT_THAT(Finished(), ElementsAre(Is(1, Outcome::kOk)));
}

TEST_F(PoolsTest, NothingRunsBesideARace) {
  Start(1, /*remote=*/true);
  const JobId first = AddBuilt(1);
  BecomeReady();
  (void)AddBuilt(2);
  AddRace();
  AnswerRun(runner(), first, /*capacity=*/8);
  const std::vector<JobId> racers = RunBy(runner());
  ASSERT_EQ(racers.size(), 2U) << "the other one waits";
  (void)AddBuilt(3);
  EXPECT_EQ(RunBy(runner()), racers);
}

TEST_F(PoolsTest, ARaceOfTheOnlyRunnerIsLostWithIt) {
  Start();
  AddRace();
  BecomeReady();
  ASSERT_EQ(RunBy(runner()).size(), 2U);
  Break(runner(), "signal 9 (SIGKILL)");
  Pass(1);
  EXPECT_FALSE(run_->blocks_builders()) << "builders go on while it is started";
  const auto trials = jobs_.TakeRaceResult();
  ASSERT_TRUE(trials);
  for (const Trial& trial : *trials) EXPECT_EQ(trial.outcome, Outcome::kDeviceLost);
}

TEST_F(PoolsTest, AnArtifactDamagedOnTheWayCostsOneCandidate) {
  Start(1, /*remote=*/true);
  // The other end is a runner's: it keeps the files, and ends at an order for one that is damaged.
  auto files = std::make_unique<FileReceiver>();
  int damaged = 1;
  std::string refused;
  runner().on_line = [&](const Json& message) {
    if (MessageType(message) == "file") {
      FileChunk part = *FileChunkFrom(message);
      const bool artifact = part.name.starts_with("artifact.");
      if (artifact && damaged-- > 0) part.bytes[part.bytes.size() / 2] ^= 1;
      ASSERT_TRUE(files->Receive(part).ok());
    }
    if (MessageType(message) != "run") return;
    const Json& kernel = message["items"][0]["kernel"];
    EXPECT_EQ(kernel["artifact"], "") << "of this machine";
    const std::string name = kernel["artifact_name"].get<std::string>();
    refused = CheckArtifact(files->PathOf(name), name).message();
  };
  const JobId first = AddBuilt(1), second = AddBuilt(2);
  BecomeReady();
  ASSERT_THAT(RunBy(runner()), ElementsAre(first));
  ASSERT_THAT(refused, HasSubstr("arrived damaged"));
  files = std::make_unique<FileReceiver>();  // a new runner has none
  Break(runner(), "exit code 1: worker: " + refused);
  EXPECT_THAT(Finished(), ElementsAre(Is(1, Outcome::kDeviceLost)));
  EXPECT_THAT(reason_, HasSubstr("arrived damaged"));
  Pass(1);
  Greet(runner());
  ASSERT_THAT(RunBy(runner()), ElementsAre(second));
  EXPECT_EQ(refused, "");
  EXPECT_EQ(runner().Count("file"), 2U) << "the artifact, and the reference again";
  AnswerRun(runner(), second);
  EXPECT_THAT(Finished(), ElementsAre(Is(2, Outcome::kOk)));
}

TEST_F(PoolsTest, AnotherDeviceIsNoRunner) {
  Start(2, /*remote=*/true);
  Break(runner(), "exit code 255");
  Pass(0.1);
  RunnerHandshake other;
  other.device = "another";
  Say(runner(), ToJson(other));
  EXPECT_FALSE(runner().connected());
  EXPECT_THAT(lost_.back().first, HasSubstr("another device answered"));
}

TEST_F(PoolsTest, ARunnerThatSaysItEndsIsStartedForTheNextOrder) {
  Start();
  const JobId id = AddBuilt(1);
  BecomeReady();
  RunReply reply;
  reply.ticket = id;
  reply.runner_ends = true;
  runner().coming.push_back(ToJson(reply).dump());
  runner().closed = true;
  HearAll();
  EXPECT_THAT(Finished(), ElementsAre(Is(1, Outcome::kOk)));
  EXPECT_EQ(runner().connections, 2) << "at once: it did not fail";
}

}  // namespace
}  // namespace tilewright::measure
