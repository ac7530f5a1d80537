// Jobs with several metrics: the contents of the front, which of its configs are verified, and how
// a stopped job resumes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cost_model/xgboost_model.h"
#include "search/recorded/replay.h"
#include "search/tuner.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/space/pareto_front.h"
#include "src/target/device.h"
#include "tests/support/built_in.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

using testing::HasSubstr;

/// A convolution of a VTA, whose trials are counted first and verified last.
TuneTask OfASimulator(const std::string& options = "") {
  TuneTask task;
  task.task.workload = *Workload::Parse(
      "conv2d(int8[1,2,6,6,1,16]NCHW1n16c,int8[2,2,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)"
      "->int32");
  task.task.target = *Target::Parse("vta -model=sim_1x16_i8w8a32_15_15_18_17" + options);
  task.epilogue = *Epilogue::Parse("add(channel:int32);shift_right(7);clip(-127,127);cast(int8)");
  return task;
}

std::string NameOf(const Candidate& candidate) {
  return candidate.template_key + " " + std::to_string(candidate.config.index);
}

/// Synthetic values whose front has some of the configs.
std::vector<double> ValuesOf(const Candidate& candidate) {
  const std::uint64_t hash = Mix64(Fnv1a64(NameOf(candidate)));
  const double angle = static_cast<double>(hash % 1000) / 1000;
  const double far = 1 + static_cast<double>(hash / 1000 % 100) / 50;
  return {1e5 * far * (1.1 - angle), 1e6 * far * (0.1 + angle)};
}

class FrontTunerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::make_unique<ScopedTempDir>(*ScopedTempDir::Create("tw_front"));
  }
  records::Store Open(const std::string& name) const {
    return *records::Store::Open(folder_->path() + "/" + name, records::Store::Mode::kReadWrite);
  }

  /// stop: after this many trials; 0: never. stop_verifying_: after this many executions at the
  /// end.
  Result<TuneReport> Run(records::Store& store, const JobSettings& settings,
                         const TuneTask& task = OfASimulator(), std::int64_t stop = 0) {
    class Observer final : public TuneObserver {
     public:
      explicit Observer(std::int64_t trials) : left(trials) {}
      void TrialDone(const TaskReport&, int, const Trial&, double) override {
        if (--left == 0) stop = true;
      }
      std::int64_t left;
      std::atomic<bool> stop{false};
    };
    VirtualClock clock;
    Observer observer(stop);
    verified_ = 0;
    ReplayMeasurer measurer(
        [this, &observer](const Candidate& one) {
          const Trial trial = TrialOf(one);
          const bool again = trial.verified || trial.outcome != Outcome::kOk;
          if (again && ++verified_ == stop_verifying_) observer.stop = true;
          return trial;
        },
        clock);
    TuneContext context;
    context.templates = &BuiltInTemplates();
    context.strategies = &BuiltInStrategies();
    context.measurer = &measurer;
    context.store = &store;
    context.clock = &clock;
    context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
    context.threads = false;
    context.observer = &observer;
    context.stop = &observer.stop;
    return Tune({task}, settings, context);
  }
  /// Returns an unverified trial first; an incorrect result shows only in the second run.
  Trial TrialOf(const Candidate& candidate) {
    const std::vector<double> values = ValuesOf(candidate);
    Trial trial;
    trial.metric = "cycles";
    trial.codegen_version = DeviceTraitsOf(candidate.task.target).codegen_version;
    trial.run_seconds = 1e-3;
    trial.value = values[0];
    trial.samples = {trial.value};
    if (!old_runner_) trial.others = {{"dram_bytes", values[1]}, {"nobody_asked", 7}};
    trial.verified = !measured_.emplace(NameOf(candidate), values).second;
    trial.outcome = Outcome::kOk;
    if (trial.verified && wrong_.contains(NameOf(candidate))) {
      trial.outcome = Outcome::kWrongResult;
      trial.verified = false;
    }
    return trial;
  }
  static std::vector<std::vector<double>> FrontValues(const TaskReport& task) {
    std::vector<std::vector<double>> values;
    for (const auto& one : task.front) values.push_back(one.values);
    return values;
  }
  /// Returns the front of the measured configs with correct results.
  std::vector<std::vector<double>> Expected() const {
    std::vector<std::vector<double>> rows, front;
    for (const auto& [name, values] : measured_) {
      if (!wrong_.contains(name)) rows.push_back(values);
    }
    for (const std::size_t i : ParetoFront(rows)) front.push_back(rows[i]);
    return front;
  }

  std::unique_ptr<ScopedTempDir> folder_;
  std::map<std::string, std::vector<double>> measured_;
  std::set<std::string> wrong_;
  int stop_verifying_ = 0, verified_ = 0;
  bool old_runner_ = false;
};

JobSettings TwoMetrics(const char* strategy = "evolve", std::int64_t trials = 96) {
  JobSettings settings;
  settings.strategy = strategy;
  settings.trials = trials;
  settings.metric = {"cycles", "dram_bytes"};
  return settings;
}

TEST_F(FrontTunerTest, AllOfTheFrontIsVerifiedAndServed) {
  records::Store store = Open("r.db");
  const auto report = Run(store, TwoMetrics());
  ASSERT_TRUE(report.ok()) << report.status().message();
  const TaskReport& task = report->tasks[0];
  ASSERT_GE(task.front.size(), 3U);
  EXPECT_EQ(FrontValues(task), Expected());
  EXPECT_EQ(task.best_seconds, task.front.front().values[0]);
  // The store has the same values, and no metric that was not requested.
  const auto trials = store.Trials({});
  ASSERT_TRUE(trials.ok());
  for (const records::Record& record : *trials) {
    EXPECT_EQ(record.trial.others.size(), 1U);
  }
  const TuneTask asked = OfASimulator();
  const auto front = store.Front(BuiltInTemplates(), asked.task.workload, asked.task.target,
                                 trials->front().trial.device, {"cycles", "dram_bytes"});
  ASSERT_TRUE(front.ok()) << front.status().message();
  std::vector<std::vector<double>> served;
  for (const records::Record& record : front->records) {
    served.push_back({record.trial.value, *record.trial.ValueOf("dram_bytes")});
  }
  EXPECT_EQ(served, Expected());
}

TEST_F(FrontTunerTest, WhatIsWrongGivesItsPlaceToTheNext) {
  records::Store first = Open("first.db"), second = Open("second.db");
  const auto right = Run(first, TwoMetrics());
  ASSERT_TRUE(right.ok());
  ASSERT_GE(right->tasks[0].front.size(), 3U);
  for (const std::size_t i : {0U, 2U}) {
    const auto& one = right->tasks[0].front[i];
    wrong_.insert(one.template_key + " " + std::to_string(one.config));
  }
  measured_.clear();
  const auto report = Run(second, TwoMetrics());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(FrontValues(report->tasks[0]), Expected());
  EXPECT_NE(FrontValues(report->tasks[0]), FrontValues(right->tasks[0]));
  const auto verified = second.Trials({});
  std::int64_t failed = 0;
  for (const records::Record& record : *verified) {
    failed += record.trial.outcome == Outcome::kWrongResult ? 1 : 0;
  }
  EXPECT_EQ(failed, 2);
}

TEST_F(FrontTunerTest, StoppedItGoesOnAsIfItHadNot) {
  for (const char* strategy : {"evolve", "model", "random"}) {
    records::Store whole = Open(std::string(strategy) + ".db");
    measured_.clear();
    const auto uninterrupted = Run(whole, TwoMetrics(strategy, 64));
    ASSERT_TRUE(uninterrupted.ok());
    const auto all = measured_;
    records::Store stopped = Open(std::string(strategy) + "2.db");
    measured_.clear();
    for (const std::int64_t stop : {7, 16, 1}) {
      ASSERT_TRUE(Run(stopped, TwoMetrics(strategy, 64), OfASimulator(), stop).ok());
    }
    const auto rest = Run(stopped, TwoMetrics(strategy, 64));
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_EQ(rest->trials, 64);
    // The training state of a model at a stop depends on timing.
    if (std::string(strategy) != "model") {
      EXPECT_EQ(measured_, all) << strategy;
    }
    EXPECT_EQ(FrontValues(rest->tasks[0]), Expected()) << strategy;
  }
}

// The first executed config is the winner of the task; the rest of the front is still unverified.
TEST_F(FrontTunerTest, StoppedWhileItIsVerifiedItGoesOnWithTheRest) {
  records::Store store = Open("r.db");
  stop_verifying_ = 1;
  const auto stopped = Run(store, TwoMetrics());
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_TRUE(stopped->interrupted);
  EXPECT_EQ(stopped->tasks[0].front.size(), 1U);  // shows no unverified config
  EXPECT_FALSE(store.Jobs()->front().finished);
  stop_verifying_ = 0;
  const auto rest = Run(store, TwoMetrics());
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_FALSE(rest->interrupted);
  EXPECT_EQ(rest->trials_this_run, 0);
  ASSERT_GE(rest->tasks[0].front.size(), 3U);
  EXPECT_EQ(FrontValues(rest->tasks[0]), Expected());
  const TuneTask asked = OfASimulator();
  const auto front = store.Front(BuiltInTemplates(), asked.task.workload, asked.task.target,
                                 store.Trials({})->front().trial.device, {"cycles", "dram_bytes"});
  ASSERT_TRUE(front.ok()) << front.status().message();
  EXPECT_EQ(front->records.size(), Expected().size());
  EXPECT_TRUE(store.Jobs()->front().finished);
}

TEST_F(FrontTunerTest, WhatWasWrongIsKnownWhenTheJobIsOpenedAgain) {
  records::Store store = Open("r.db"), other = Open("other.db");
  const auto right = Run(other, TwoMetrics());
  ASSERT_TRUE(right.ok());
  const auto& one = right->tasks[0].front[1];
  wrong_.insert(one.template_key + " " + std::to_string(one.config));
  measured_.clear();
  const auto first = Run(store, TwoMetrics());
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_GT(verified_, 0);
  const auto again = Run(store, TwoMetrics());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(verified_, 0);
  EXPECT_EQ(FrontValues(again->tasks[0]), FrontValues(first->tasks[0]));
  EXPECT_EQ(FrontValues(again->tasks[0]), Expected());
}

TEST_F(FrontTunerTest, WithEverythingWrongTheReportHasNoFront) {
  records::Store store = Open("r.db"), other = Open("other.db");
  ASSERT_TRUE(Run(other, TwoMetrics()).ok());
  for (const auto& [name, values] : measured_) wrong_.insert(name);
  measured_.clear();
  const auto report = Run(store, TwoMetrics());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->tasks[0].front.empty());
  EXPECT_TRUE(report->tasks[0].best_template.empty());
}

// A row with fewer values must not be compared beyond its end.
TEST_F(FrontTunerTest, ALogWithTooFewValuesIsLeft) {
  records::Store store = Open("r.db");
  ASSERT_TRUE(Run(store, TwoMetrics("random", 16)).ok());
  const std::int64_t job = store.Jobs()->front().id;
  const auto log = store.Log(job, OfASimulator().task.workload.Key());
  ASSERT_TRUE(log.ok());
  const auto tell = std::ranges::find_if(*log, [](const records::LogEntry& entry) {
    return entry.payload.find("\"values\":[") != std::string::npos;
  });
  ASSERT_NE(tell, log->end());
  records::LogEntry forged = *tell;
  const std::size_t begin = forged.payload.find("\"values\":[") + 9;
  forged.payload.replace(begin, forged.payload.find(']', begin) + 1 - begin, "[1]");
  ASSERT_TRUE(store.Append(job, {}, {forged}).ok());
  const auto report = Run(store, TwoMetrics("random", 16));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->trials_this_run, 16);
  EXPECT_EQ(store.Jobs()->size(), 2U);
}

TEST_F(FrontTunerTest, ADeviceThatDoesNotSayAllMetricsEndsTheJob) {
  records::Store store = Open("r.db");
  old_runner_ = true;
  const auto report = Run(store, TwoMetrics());
  EXPECT_EQ(report.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(report.status().message(), HasSubstr("does not say dram_bytes"));
}

TEST_F(FrontTunerTest, AnotherJobThanThatOfOneMetric) {
  records::Store store = Open("r.db");
  JobSettings one = TwoMetrics("random", 8);
  one.metric.clear();
  const auto alone = Run(store, one);
  ASSERT_TRUE(alone.ok());
  EXPECT_TRUE(alone->tasks[0].front.empty());
  ASSERT_TRUE(Run(store, TwoMetrics("random", 8)).ok());
  EXPECT_EQ(store.Jobs()->size(), 2U);
}

// The joules of a CPU are supported, but not by a measurer on another machine.
TEST_F(FrontTunerTest, RefusesJoulesOfMeasurersThatDoNotCountThem) {
  records::Store store = Open("r.db");
  TuneTask task;
  task.task.workload = *Workload::Parse("dense(float32[4,16]MK,float32[32,16]NK)->float32");
  task.task.target = *Target::Parse("llvm -mcpu=core-avx2");
  JobSettings settings = TwoMetrics("random", 8);
  settings.metric = {"seconds", "joules"};
  const auto report = Run(store, settings, task);
  EXPECT_EQ(report.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(report.status().message(),
              HasSubstr("on this machine only, not by boards or fleets"));
  EXPECT_TRUE(store.Jobs()->empty());
}

TEST_F(FrontTunerTest, RefusesMetricsThatTheTargetDoesNotSay) {
  records::Store store = Open("r.db");
  const auto refused = [&](std::vector<std::string> metric, const TuneTask& task = OfASimulator()) {
    JobSettings settings = TwoMetrics("random", 8);
    settings.metric = std::move(metric);
    const auto report = Run(store, settings, task);
    EXPECT_FALSE(report.ok());
    return report.status().message();
  };
  EXPECT_THAT(refused({"cycles", "code_bytes"}),
              HasSubstr("metric: code_bytes, expected cycles,dram_bytes for the target"));
  EXPECT_THAT(refused({"dram_bytes", "cycles"}), HasSubstr("metric: dram_bytes, expected cycles"));
  EXPECT_THAT(refused({"cycles", "cycles"}), HasSubstr("metric: cycles twice"));
  EXPECT_THAT(refused({"cycles"}), HasSubstr("alone is not a front"));
  // A simulator does not count joules.
  EXPECT_THAT(refused({"cycles", "joules"}), HasSubstr("metric: joules, expected cycles,dram"));
  EXPECT_THAT(refused({"cycles", "dram_bytes"}, OfASimulator(" -metric=dram_bytes")),
              HasSubstr("expected dram_bytes,cycles"));
  JobSettings settings = TwoMetrics();
  settings.finalists = 0;
  EXPECT_THAT(Run(store, settings).status().message(), HasSubstr("finalists: 0"));
}

}  // namespace
}  // namespace tilewright::search
