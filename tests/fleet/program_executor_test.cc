// Programs of a worker's user as orders of a fleet: whatever an order says, only the commands of
// the worker's own configuration run, with values of its own space.

#include "measure/fleet/open/program_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/fleet/dispatcher.h"
#include "measure/fleet/memory_broker.h"
#include "measure/fleet/worker_core.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/target/device.h"

namespace tilewright::measure::fleet {
namespace {

using testing::HasSubstr;

class ProgramExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(*std::move(folder));
    log_ = folder_->path() + "/log";
    task_ = TaskOf("own");
    programs_.push_back({task_, Quick()});
  }
  /// Task whose command appends its values to a file.
  OpenTask TaskOf(const std::string& name) const {
    Parameter n, text;
    n.name = "n";
    for (std::int64_t i = 1; i <= 4; ++i) n.values.emplace_back(i);
    text.name = "text";
    text.type = ParameterType::kText;
    text.values = {std::string("x"), std::string("y z")};
    OpenTaskParts parts;
    parts.name = name;
    parts.space = *OpenSpace::Create(name, {n, text}, {"n < 4 or text == 'x'"});
    parts.command = {
        "/bin/sh", "-c",  "echo \"$1,$2\" >> " + log_ + "; echo '{{\"seconds\": '\"$1\"'}}'",
        "sh",      "{n}", "{text}"};
    return *MakeOpenTask(std::move(parts));
  }
  static ProgramMeasurerSettings Quick() {
    ProgramMeasurerSettings settings;
    settings.run.seconds = 10;
    settings.sampling_seconds = 0;
    settings.min_samples = 1;
    return settings;
  }
  std::unique_ptr<ProgramExecutor> Executor() const {
    auto executor = ProgramExecutor::Create(programs_, [] {});
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    return *std::move(executor);
  }
  Order OrderOf(const OpenTask& task, std::int64_t index) const {
    Order order;
    order.job = {"mallory", "job"};
    order.candidates = {
        {{task.workload, task.target()}, {}, task.key, kOpenTaskVersion, task.knobs.At(index)}};
    return order;
  }
  /// Returns the events of an executor until `count` orders are over.
  static std::vector<Executor::Event> Wait(ProgramExecutor& executor, std::size_t count) {
    std::vector<Executor::Event> events;
    SystemClock clock;
    for (const double until = clock.MonotonicSeconds() + 30;
         events.size() < count && clock.MonotonicSeconds() < until;) {
      for (Executor::Event& event : executor.Take()) events.push_back(std::move(event));
      ::usleep(1000);
    }
    EXPECT_EQ(events.size(), count);
    events.resize(count);
    return events;
  }
  std::string Log() const {
    const auto log = ReadFile(log_);
    return log.ok() ? *log : "";
  }

  std::unique_ptr<ScopedTempDir> folder_;
  std::string log_;
  OpenTask task_;
  std::vector<ProgramExecutor::Program> programs_;
};

TEST_F(ProgramExecutorTest, RunsTheProgramsOfItsConfiguration) {
  const auto executor = Executor();
  for (const std::int64_t index : {0, 2, 5}) {
    executor->Start(static_cast<std::uint64_t>(index) + 1, OrderOf(task_, index), {});
  }
  for (const Executor::Event& event : Wait(*executor, 3)) {
    ASSERT_EQ(event.refusal, "");
    ASSERT_EQ(event.trials.size(), 1u);
    const Trial& trial = event.trials[0];
    EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
    EXPECT_EQ(trial.value, static_cast<double>(trial.candidate.config.Integer("n")));
    EXPECT_EQ(trial.device, executor->device());
    EXPECT_TRUE(trial.verified);
  }
  for (const char* line : {"1,x\n", "3,x\n", "2,y z\n"}) EXPECT_THAT(Log(), HasSubstr(line));
  EXPECT_TRUE(executor->status().ok());
}

TEST_F(ProgramExecutorTest, RefusesEverythingThatItsConfigurationDoesNotHave) {
  const std::string marker = folder_->path() + "/marker";
  const OpenTask other = TaskOf("other");
  const auto changed = [&](auto change) {
    Order order = OrderOf(task_, 0);
    change(order.candidates[0]);
    return order;
  };
  const auto with_value = [&](const char* knob, const char* json) {
    return changed([&](Candidate& candidate) {
      auto config = Config::Parse(std::string(R"({"index":0,"values":{"n":1,"text":"x"}})"));
      for (auto& [name, value] : config->values) {
        if (name != knob) continue;
        value = Config::Parse(std::string(R"({"index":0,"values":{"k":)") + json + "}}")
                    ->values[0]
                    .second;
      }
      candidate.config = *config;
    });
  };
  const std::string touch = "\"$(touch " + marker + ")\"",
                    quoted = "\"x'; touch " + marker + "; '\"";
  Order build = OrderOf(task_, 0), run = OrderOf(task_, 0), race = OrderOf(task_, 0);
  build.stage = Stage::kBuild;
  run.stage = Stage::kRun;
  race.stage = Stage::kRace;
  race.candidates.push_back(OrderOf(other, 0).candidates[0]);
  const std::vector<std::pair<Order, std::string>> orders = {
      {OrderOf(other, 0), "does not list the program"},
      {changed([](Candidate& c) { c.template_key = "/bin/sh"; }), "does not list the program"},
      {changed([](Candidate& c) { c.template_key = "open/../../../bin/sh"; }),
       "does not list the program"},
      {changed([](Candidate& c) { c.template_key.clear(); }), "does not list the program"},
      {changed([&](Candidate& c) { c.task.workload = other.workload; }), "another task"},
      {changed([](Candidate& c) { c.template_version = 2; }), "another task"},
      {changed([](Candidate& c) { c.epilogue = *Epilogue::Parse("relu"); }), "another task"},
      {changed([](Candidate& c) { c.task.target = *Target::Parse("llvm"); }), "another task"},
      {changed([](Candidate& c) { c.config.values.clear(); }), "other parameters"},
      {changed([](Candidate& c) { c.config.values.push_back(c.config.values[0]); }),
       "other parameters"},
      {changed([](Candidate& c) { c.config.values[0].first = "m"; }), "no value for it"},
      {with_value("text", touch.c_str()), "the space has no value"},
      {with_value("text", quoted.c_str()), "the space has no value"},
      {with_value("n", touch.c_str()), "the space has no value"},
      {with_value("n", "5"), "the space has no value"},
      {OrderOf(task_, 7), "violates the condition"},
      {build, "built where it runs"},
      {run, "built where it runs"},
      {race, "does not list the program"},
  };
  const auto executor = Executor();
  std::uint64_t number = 0;
  for (const auto& [order, why] : orders) {
    executor->Start(++number, order, {});
    const auto events = Wait(*executor, 1);
    EXPECT_EQ(events[0].number, number);
    EXPECT_THAT(events[0].refusal, HasSubstr(why)) << number;
    EXPECT_TRUE(events[0].trials.empty());
  }
  Order built = OrderOf(task_, 0);
  built.built.resize(1);
  executor->Start(++number, built, {"#!/bin/sh\ntouch " + marker});
  EXPECT_THAT(Wait(*executor, 1)[0].refusal, HasSubstr("brings a built program"));
  EXPECT_EQ(Log(), "");
  EXPECT_FALSE(FileExists(marker));
  EXPECT_TRUE(executor->status().ok());
}

// An order as text may have any members: those that an order does not have are never read.
TEST_F(ProgramExecutorTest, OrdersCannotBringCommands) {
  const std::string marker = folder_->path() + "/marker";
  Json json = *ParseJson(Encode(OrderOf(task_, 0)));
  for (const char* name : {"command", "build", "check", "shell", "environment", "programs"}) {
    for (const char* place : {"", "/task", "/candidates/0"}) {
      json[Json::json_pointer(place)][name] = Json::array({"/bin/sh", "-c", "touch " + marker});
    }
  }
  const auto executor = Executor();
  const auto order = DecodeOrder(DumpJson(json));
  ASSERT_TRUE(order.ok()) << order.status().message();
  executor->Start(1, *order, {});
  EXPECT_EQ(Wait(*executor, 1)[0].refusal, "");
  EXPECT_EQ(Log(), "1,x\n");
  EXPECT_FALSE(FileExists(marker));
}

TEST_F(ProgramExecutorTest, RacesFinalists) {
  const auto executor = Executor();
  Order order = OrderOf(task_, 0);
  order.stage = Stage::kRace;
  order.candidates.push_back(OrderOf(task_, 1).candidates[0]);
  order.race_seconds = 0.05;
  executor->Start(1, order, {});
  const auto events = Wait(*executor, 1);
  ASSERT_EQ(events[0].trials.size(), 2u) << events[0].refusal;
  EXPECT_EQ(events[0].trials[0].value, 1);
  EXPECT_EQ(events[0].trials[1].value, 2);
}

TEST_F(ProgramExecutorTest, DroppedOrdersDoNotRun) {
  const auto executor = Executor();
  Order slow = OrderOf(task_, 0);
  slow.stage = Stage::kRace;
  slow.race_seconds = 0.2;
  executor->Start(1, slow, {});
  executor->Start(2, OrderOf(task_, 2), {});
  executor->Drop(2);
  executor->Start(3, OrderOf(task_, 1), {});
  const auto events = Wait(*executor, 2);
  EXPECT_EQ(events[0].number, 1u);
  EXPECT_EQ(events[1].number, 3u);
  EXPECT_THAT(Log(), testing::Not(HasSubstr("3,x")));
}

TEST_F(ProgramExecutorTest, WorkersWithOtherProgramsAreAnotherClass) {
  const auto one = Executor();
  EXPECT_THAT(one->keys(), testing::ElementsAre(task_.key));
  programs_.push_back({TaskOf("other"), Quick()});
  const auto two = Executor();
  EXPECT_EQ(two->keys().size(), 2u);
  EXPECT_NE(ClassOf(one->device()), ClassOf(two->device()));
  EXPECT_EQ(one->device().model, two->device().model);
  programs_.push_back(programs_[0]);
  EXPECT_FALSE(ProgramExecutor::Create(programs_, [] {}).ok());
}

// The whole path: a tuner's orders, a worker, and results, also of an order for kernels.
TEST_F(ProgramExecutorTest, AWorkerServesATuner) {
  SystemClock clock;
  InMemoryBroker hub(clock);
  const auto executor = Executor();
  const std::string device_class = ClassOf(executor->device());
  WorkerSettings worker;
  worker.name = {"w", "d0"};
  worker.device_class = device_class;
  worker.announcement.instance = "i";
  worker.announcement.fingerprint = executor->device().ToString();
  worker.announcement.target = "program";
  worker.announcement.builds = worker.announcement.measures = true;
  worker.announcement.measure_slots = executor->capacity();
  worker.announcement.programs = executor->keys();
  std::vector<std::string> notes;
  worker.on_note = [&](const std::string& note) { notes.push_back(note); };
  const auto worker_broker = hub.Connect(), tuner_broker = hub.Connect();
  WorkerCore core(worker, *executor, *worker_broker, clock);
  ASSERT_TRUE(core.Open().ok());
  DispatcherSettings settings;
  settings.job = {"alice", "j"};
  settings.device_class = device_class;
  settings.device = executor->device();
  settings.check_share = 0;
  settings.baseline_kernels = 0;
  Dispatcher tuner(settings, *tuner_broker, clock);
  ASSERT_TRUE(tuner.Open().ok());
  std::map<std::uint64_t, Trial> trials;
  for (std::uint64_t ticket = 0; ticket < 4; ++ticket) {
    Request request;
    request.ticket = ticket;
    request.candidate = OrderOf(task_, static_cast<std::int64_t>(ticket)).candidates[0];
    ASSERT_TRUE(tuner.Submit(std::move(request)).ok());
  }
  Request kernel;
  kernel.ticket = 9;
  kernel.candidate = OrderOf(task_, 0).candidates[0];
  kernel.candidate.task = {*Workload::Parse("dense(float32[4,16]MK,float32[32,16]NK)->float32"),
                           *Target::Parse("llvm")};
  ASSERT_TRUE(tuner.Submit(std::move(kernel)).ok());
  for (const double until = clock.MonotonicSeconds() + 30;
       trials.size() < 4 && clock.MonotonicSeconds() < until;) {
    tuner.Poll(0.001);
    core.Poll(0.001);
    while (auto reply = tuner.Take()) {
      tuner.MarkStored(reply->ticket);
      trials[reply->ticket] = reply->trial;
    }
  }
  ASSERT_EQ(trials.size(), 4u);
  for (std::uint64_t ticket = 0; ticket < 4; ++ticket) {
    EXPECT_EQ(trials.at(ticket).value, static_cast<double>(ticket + 1));
    EXPECT_TRUE(trials.at(ticket).verified);
  }
  EXPECT_THAT(notes, testing::Contains(HasSubstr("this worker measures on program")));
}

}  // namespace
}  // namespace tilewright::measure::fleet
