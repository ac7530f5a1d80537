#include "search/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cost_model/xgboost_model.h"
#include "search/job_log.h"
#include "search/recorded/replay.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/target/device.h"
#include "tests/support/built_in.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

/// Returns a task by the key of its workload, for plain AVX2 code.
TuneTask TaskOf(const std::string& key, std::int64_t occurrences = 1) {
  TuneTask task;
  task.task.workload = *Workload::Parse(key);
  task.task.target = *Target::Parse("llvm -mcpu=core-avx2");
  task.occurrences = occurrences;
  return task;
}

TuneTask Dense(int features) {
  return TaskOf("dense(float32[16,256]MK,float32[" + std::to_string(features) +
                ",256]NK)->float32");
}

/// Returns the synthetic seconds of a candidate, smooth in the logarithms of the knobs.
double SecondsOfTuner(const Candidate& candidate) {
  double penalty = 0.2 * static_cast<double>(Fnv1a64(candidate.template_key) % 4);
  for (const auto& [name, value] : candidate.config.values) {
    const double center = static_cast<double>(Fnv1a64(name) % 5);
    double number = 0;
    if (const auto* factors = std::get_if<std::vector<std::int64_t>>(&value.value)) {
      number = std::log2(static_cast<double>(factors->back()));
    } else if (const auto* integer = std::get_if<std::int64_t>(&value.value)) {
      number = std::log2(1 + std::abs(static_cast<double>(*integer)));
    }
    penalty += 0.05 * (number - center) * (number - center);
  }
  return 1e-3 * (1 + penalty);
}

Trial TrialOf(const Candidate& candidate) {
  Trial trial;
  trial.codegen_version = DeviceTraitsOf(candidate.task.target).codegen_version;
  const std::uint64_t hash =
      Mix64(Fnv1a64(candidate.template_key) + static_cast<std::uint64_t>(candidate.config.index));
  trial.build_seconds = 0.02 + 0.001 * static_cast<double>(hash % 17);
  if (hash % 23 == 0) {
    trial.outcome = Outcome::kBuildFailed;
    trial.reason = "made to fail";
    return trial;
  }
  trial.run_seconds = 0.03 + 0.001 * static_cast<double>(hash % 11);
  if (hash % 29 == 0) {
    trial.outcome = Outcome::kWrongResult;
    trial.reason = "made wrong";
    return trial;
  }
  trial.outcome = Outcome::kOk;
  trial.verified = true;
  trial.value = SecondsOfTuner(candidate);
  trial.samples = {trial.value};
  trial.noise = 0.001;
  return trial;
}

/// Stops the job after this many trials of the current run.
class StopAfter final : public TuneObserver {
 public:
  explicit StopAfter(std::int64_t trials) : left_(trials) {}
  void Resumed(std::int64_t trials) override { resumed = trials; }
  void LogDiscarded(const std::string& reason) override { why = reason; }
  void StaleFirst(const TaskReport&, int, std::int64_t configs) override { stale += configs; }
  void TrialDone(const TaskReport& task, int, const Trial& trial, double) override {
    EXPECT_EQ(task.key, trial.candidate.task.workload.Key());
    if (--left_ == 0) stop = true;
  }
  void TaskFinished(const TaskReport& task, int) override {
    EXPECT_TRUE(task.finished);
    finished.push_back(task.finish_reason);
  }
  std::atomic<bool> stop{false};
  std::int64_t resumed = 0, stale = 0;
  std::vector<std::string> finished;
  std::string why;

 private:
  std::int64_t left_;
};

class TunerTest : public testing::Test {
 protected:
  void SetUp() override { NewStore(); }

  void NewStore() {
    store_.reset();
    folder_ = std::make_unique<ScopedTempDir>(*ScopedTempDir::Create("tw_tuner"));
    OpenStore();
  }
  void OpenStore() {
    store_.reset();
    auto store = records::Store::Open(folder_->path() + "/r.db", records::Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::make_unique<records::Store>(std::move(*store));
  }

  Result<TuneReport> Run(const std::vector<TuneTask>& tasks, const JobSettings& settings,
                         StopAfter* observer = nullptr,
                         const ReplayMeasurer::Outcomes& outcomes = TrialOf) {
    VirtualClock clock;
    ReplayOptions options;
    options.resolution = resolution_;
    ReplayMeasurer measurer(outcomes, clock, options);
    TuneContext context;
    context.templates = &BuiltInTemplates();
    context.strategies = &BuiltInStrategies();
    context.measurer = &measurer;
    context.store = store_.get();
    context.clock = &clock;
    context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
    context.threads = false;
    context.only_templates = only_templates_;
    context.observer = observer;
    if (observer != nullptr) context.stop = &observer->stop;
    auto report = Tune(tasks, settings, context);
    for (const Candidate& candidate : measurer.submitted()) {
      submitted_.emplace_back(candidate.task.workload.Key(), candidate.template_key,
                              candidate.config.index);
    }
    return report;
  }

  using Submitted = std::tuple<std::string, std::string, std::int64_t>;
  std::unique_ptr<ScopedTempDir> folder_;
  std::unique_ptr<records::Store> store_;
  std::vector<Submitted> submitted_;  // over all runs
  double resolution_ = 0.02;
  std::vector<std::string> only_templates_;
};

JobSettings Settings(const char* strategy, std::int64_t trials) {
  JobSettings settings;
  settings.strategy = strategy;
  settings.trials = trials;
  settings.finalists = 3;
  return settings;
}

TEST_F(TunerTest, FindsAFasterConfigAndStoresEveryTrial) {
  const auto report = Run({Dense(256)}, Settings("model", 60));
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->tasks.size(), 1u);
  const TaskReport& task = report->tasks[0];
  EXPECT_EQ(report->trials, 60);
  EXPECT_EQ(task.trials, 60);
  EXPECT_GT(task.default_seconds, 0);
  EXPECT_GT(task.best_seconds, 0);
  EXPECT_LE(task.best_seconds, task.default_seconds);
  EXPECT_EQ(task.finish_reason, "trials");
  EXPECT_EQ(std::set<Submitted>(submitted_.begin(), submitted_.end()).size(), 60u);
  // 60 trials and those of the race.
  records::TrialFilter filter;
  const auto stored = store_->Trials(filter);
  ASSERT_TRUE(stored.ok());
  std::int64_t searched = 0, failed = 0;
  for (const auto& record : *stored) {
    if (record.trial.attempt != 0) continue;
    ++searched;
    failed += record.trial.outcome != Outcome::kOk ? 1 : 0;
  }
  EXPECT_EQ(searched, 60);
  std::int64_t reported = 0;
  for (const auto& [reason, count] : task.failures) reported += count;
  EXPECT_EQ(reported, failed);
  EXPECT_FALSE(report->interrupted);
}

TEST_F(TunerTest, KeepsTheRunnerBusy) {
  const auto report = Run({Dense(256)}, Settings("random", 200));
  ASSERT_TRUE(report.ok());
  // Builds of 28 ms on two builders and runs of 35 ms on one runner: the runner is the bottleneck.
  EXPECT_GT(report->split.runner_busy_seconds, 0.9 * report->split.wall_seconds);
  EXPECT_LT(report->idle_share(), 0.02);
  EXPECT_GT(report->trials_per_second, 20);
}

TEST_F(TunerTest, SameSeedSameTrials) {
  for (const char* strategy : {"model", "genetic"}) {
    NewStore();
    submitted_.clear();
    ASSERT_TRUE(Run({Dense(256), Dense(512)}, Settings(strategy, 64)).ok());
    const auto first = std::exchange(submitted_, {});
    NewStore();
    ASSERT_TRUE(Run({Dense(256), Dense(512)}, Settings(strategy, 64)).ok());
    EXPECT_EQ(submitted_, first) << strategy;
  }
}

TEST_F(TunerTest, StoppedAnywhereItGoesOnAsIfItHadNot) {
  const std::vector<TuneTask> tasks = {Dense(256), Dense(512)};
  const JobSettings settings = Settings("model", 72);
  const auto whole = Run(tasks, settings);
  ASSERT_TRUE(whole.ok());
  const auto expected = std::exchange(submitted_, {});
  for (std::int64_t stop : {1, 5, 16, 17, 31, 40, 55, 71}) {
    NewStore();
    submitted_.clear();
    StopAfter observer(stop);
    const auto part = Run(tasks, settings, &observer);
    ASSERT_TRUE(part.ok());
    EXPECT_TRUE(part->interrupted);
    EXPECT_EQ(part->trials, stop);
    OpenStore();
    StopAfter again(-1);
    const auto rest = Run(tasks, settings, &again);
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_EQ(again.resumed, stop);
    EXPECT_EQ(rest->trials, 72);
    EXPECT_EQ(rest->trials_this_run, 72 - stop);
    EXPECT_EQ(std::set<Submitted>(submitted_.begin(), submitted_.end()),
              std::set<Submitted>(expected.begin(), expected.end()))
        << "stopped after " << stop;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      EXPECT_EQ(rest->tasks[i].best_seconds, whole->tasks[i].best_seconds);
      EXPECT_EQ(rest->tasks[i].failures, whole->tasks[i].failures);
    }
  }
}

TEST_F(TunerTest, StoppedManyTimesItGoesOnAsIfItHadNot) {
  const std::vector<TuneTask> tasks = {Dense(256)};
  const JobSettings settings = Settings("genetic", 80);
  ASSERT_TRUE(Run(tasks, settings).ok());
  const auto expected = std::exchange(submitted_, {});
  NewStore();
  for (int life = 0; life < 20; ++life) {
    StopAfter observer(7);
    const auto report = Run(tasks, settings, &observer);
    ASSERT_TRUE(report.ok()) << report.status().message();
    if (!report->interrupted) break;
    OpenStore();
  }
  EXPECT_EQ(std::set<Submitted>(submitted_.begin(), submitted_.end()),
            std::set<Submitted>(expected.begin(), expected.end()));
}

TEST_F(TunerTest, ConfigsThatAnotherVersionFoundFastAreMeasuredFirst) {
  const auto made_by = [](int codegen_version) {
    return [codegen_version](const Candidate& candidate) {
      Trial trial = TrialOf(candidate);
      trial.codegen_version = codegen_version;
      return trial;
    };
  };
  const int today = DeviceTraitsOf(Dense(256).task.target).codegen_version;
  ASSERT_TRUE(Run({Dense(256)}, Settings("random", 40), nullptr, made_by(today + 1)).ok());
  std::vector<std::pair<double, std::int64_t>> known;
  const auto stored = store_->Trials({});
  ASSERT_TRUE(stored.ok());
  for (const auto& record : *stored) {
    const Trial& trial = record.trial;
    if (trial.attempt == 0 && trial.outcome == Outcome::kOk) {
      known.emplace_back(trial.value, trial.candidate.config.index);
    }
  }
  std::ranges::sort(known);
  ASSERT_GT(known.size(), 8u);

  const auto begins = [&](std::uint64_t seed, StopAfter& observer) {
    JobSettings settings = Settings("random", 16);
    settings.seed = seed;
    submitted_.clear();
    EXPECT_TRUE(Run({Dense(256)}, settings, &observer, made_by(today)).ok());
    std::vector<std::int64_t> first;
    for (std::size_t i = 0; i < 8 && i < submitted_.size(); ++i) {
      first.push_back(std::get<2>(submitted_[i]));
    }
    return first;
  };
  std::vector<std::int64_t> fastest;
  for (std::size_t i = 0; i < 8; ++i) fastest.push_back(known[i].second);
  // Stopped within the first batch, the job resumes with the rest of it.
  StopAfter stopped(3), resumed(-1), later(-1);
  EXPECT_EQ(begins(2, stopped), fastest);
  EXPECT_EQ(stopped.stale, 8);
  begins(2, resumed);
  EXPECT_EQ(resumed.stale, 0) << "its log says which";
  // Configs measured since then are not stale.
  const std::vector<std::int64_t> next = begins(3, later);
  for (std::int64_t index : fastest) EXPECT_THAT(next, testing::Not(testing::Contains(index)));
}

TEST_F(TunerTest, AFinishedJobTellsWhatItFoundAndMoreTrialsGoOn) {
  const auto first = Run({Dense(256)}, Settings("random", 24));
  ASSERT_TRUE(first.ok());
  submitted_.clear();
  const auto again = Run({Dense(256)}, Settings("random", 24));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(submitted_.empty());
  EXPECT_EQ(again->tasks[0].best_seconds, first->tasks[0].best_seconds);
  EXPECT_EQ(again->tasks[0].best_config, first->tasks[0].best_config);
  const auto more = Run({Dense(256)}, Settings("random", 40));
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(submitted_.size(), 16u);
  EXPECT_EQ(more->trials, 40);
}

// A stopped job has proposed more points than it has results.
TEST_F(TunerTest, LimitsCountWhatTheLogHas) {
  const std::vector<TuneTask> tasks = {Dense(256), Dense(512)};
  struct Case {
    std::int64_t stop, limit, trials;
  };
  for (const Case& c : {Case{9, 12, 12}, Case{9, 10, 10}, Case{9, 9, 9}, Case{9, 3, 9},
                        Case{20, 21, 21}, Case{9, 100, 100}, Case{1, 40, 40}}) {
    NewStore();
    StopAfter observer(c.stop);
    ASSERT_TRUE(Run(tasks, Settings("random", 400), &observer).ok());
    OpenStore();
    const auto rest = Run(tasks, Settings("random", c.limit));
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_EQ(rest->trials, c.trials) << c.stop << " then " << c.limit;
    EXPECT_EQ(rest->trials_this_run, c.trials - c.stop);
    EXPECT_FALSE(rest->interrupted);
  }
}

// With any limits in between, the search equals one that was not stopped.
TEST_F(TunerTest, StoppedUnderOtherLimitsItGoesOnAsIfItHadNot) {
  const std::vector<TuneTask> tasks = {Dense(256)};
  ASSERT_TRUE(Run(tasks, Settings("grid", 80)).ok());
  const auto expected = std::exchange(submitted_, {});
  NewStore();
  std::int64_t done = 0;
  const std::int64_t stops[] = {9, 3, -1, 5, 7, -1, 2, -1, 11, -1};
  const std::int64_t limits[] = {400, 13, 13, 30, 22, 24, 26, 30, 80, 80};
  for (std::size_t life = 0; life < std::size(stops); ++life) {
    StopAfter observer(stops[life]);
    // Some strategies would propose other points if a limit shortened a batch.
    const auto report = Run(tasks, Settings("grid", limits[life]), &observer);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(observer.resumed, done);
    EXPECT_LE(report->trials, std::max(done, limits[life])) << life;
    EXPECT_GE(report->trials, done);
    done = report->trials;
    OpenStore();
  }
  EXPECT_EQ(done, 80);
  EXPECT_EQ(std::set<Submitted>(submitted_.begin(), submitted_.end()),
            std::set<Submitted>(expected.begin(), expected.end()));
}

// Points that a race did not include are raced, even if no new ones were proposed since.
TEST_F(TunerTest, TrialsAfterARaceAreRacedToo) {
  StopAfter observer(9);
  ASSERT_TRUE(Run({Dense(256)}, Settings("random", 400), &observer).ok());
  const auto first = Run({Dense(256)}, Settings("random", 10));
  ASSERT_TRUE(first.ok());
  const auto more = Run({Dense(256)}, Settings("random", 16));
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->trials, 16);
  EXPECT_EQ(more->tasks[0].earlier_best_seconds, first->tasks[0].best_seconds);
  EXPECT_FALSE(IsWorse(more->tasks[0]));
  records::TrialFilter filter;
  double fastest = 1;
  const auto records = store_->Trials(filter);
  ASSERT_TRUE(records.ok());
  for (const auto& record : *records) {
    if (record.trial.verified) fastest = std::min(fastest, record.trial.value);
  }
  EXPECT_EQ(more->tasks[0].best_seconds, fastest);
}

// A winner with a slow single trial stays among the finalists, and a time that increased is printed
// together with the earlier one.
TEST_F(TunerTest, TheWinnerOfAnEarlierRaceIsRacedAgain) {
  double load = 1;
  std::map<std::pair<std::string, std::int64_t>, int> seen;
  std::pair<std::string, std::int64_t> favourite;
  // The favorite is slow in its trial of the search, but the fastest in races.
  const auto outcome = [&](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    if (trial.outcome != Outcome::kOk) return trial;
    const std::pair key(candidate.template_key, candidate.config.index);
    if (favourite.first.empty()) favourite = key;
    const bool race = seen[key]++ > 0;
    trial.value = trial.samples[0] = load * (key == favourite ? (race ? 1e-4 : 1e-3) : 1e-3);
    return trial;
  };
  const auto first = Run({Dense(256)}, Settings("random", 8), nullptr, outcome);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_EQ(first->tasks[0].best_seconds, 1e-4);
  load = 1.5;
  const auto more = Run({Dense(256)}, Settings("random", 60), nullptr, outcome);
  ASSERT_TRUE(more.ok()) << more.status().message();
  EXPECT_EQ(more->tasks[0].best_config, first->tasks[0].best_config);
  EXPECT_DOUBLE_EQ(more->tasks[0].best_seconds, 1.5e-4);
  EXPECT_EQ(more->tasks[0].earlier_best_seconds, 1e-4);
  EXPECT_TRUE(IsWorse(more->tasks[0]));
  // A job that is stopped before its race reports the served config.
  StopAfter observer(1);
  const auto stopped = Run({Dense(256)}, Settings("random", 90), &observer, outcome);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  ASSERT_TRUE(stopped->interrupted);
  EXPECT_DOUBLE_EQ(stopped->tasks[0].best_seconds, 1.5e-4);
}

// A job is killed repeatedly during measurements: each run gets the rest of the budget.
TEST_F(TunerTest, ABudgetCountsTheTimeOfAllLives) {
  const auto slow = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    trial.run_seconds = 1;
    return trial;
  };
  JobSettings settings = Settings("random", 0);
  settings.budget_seconds = 20;
  double wall = 0;
  int lives = 0;
  for (bool over = false; !over && lives < 40; ++lives) {
    StopAfter observer(2);
    const auto report = Run({Dense(256)}, settings, &observer, slow);
    ASSERT_TRUE(report.ok()) << report.status().message();
    wall += report->wall_seconds;
    over = !report->interrupted;
    OpenStore();
  }
  EXPECT_LT(lives, 40);
  EXPECT_LT(wall, 24);
}

// Races use the budget, too: a run after one that ended in time has nothing left to do.
TEST_F(TunerTest, ABudgetCountsTheTimeOfRaces) {
  JobSettings settings = Settings("random", 0);
  settings.budget_seconds = 10;
  double wall = 0;
  for (int run = 0; run < 3; ++run) {
    const auto report = Run({Dense(128), Dense(256)}, settings);
    ASSERT_TRUE(report.ok()) << report.status().message();
    wall += report->wall_seconds;
    EXPECT_GE(report->elapsed_seconds, wall - 1e-6) << "run " << run;
    OpenStore();
  }
  EXPECT_LT(wall, settings.budget_seconds + 1);
}

TEST_F(TunerTest, WithFewTrialsEveryTaskGetsItsDefaultConfig) {
  const auto report = Run({Dense(128), Dense(256), Dense(512)}, Settings("random", 4));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->trials, 4);
  for (const TaskReport& task : report->tasks) EXPECT_GT(task.trials, 0) << task.key;
}

TEST_F(TunerTest, RespectsTheBudget) {
  JobSettings settings = Settings("random", 0);
  settings.budget_seconds = 2;
  const auto report = Run({Dense(256)}, settings);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tasks[0].finish_reason, "budget");
  EXPECT_GT(report->trials, 40);
  EXPECT_LT(report->trials, 80);
}

TEST_F(TunerTest, EndsByItsDeadlineRacesAndAll) {
  JobSettings settings = Settings("random", 0);
  settings.deadline = "2s";
  const auto report = Run({Dense(256)}, settings);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tasks[0].finish_reason, "deadline");
  EXPECT_GT(report->trials, 40);
  EXPECT_LT(report->trials, 80);
  EXPECT_GT(report->tasks[0].default_seconds, 0);
  // The earlier of the two limits decides; the clock of these jobs starts at 0.
  settings.budget_seconds = 1;
  settings.deadline = "1970-01-01T00:00:03Z";
  EXPECT_EQ(Run({Dense(128)}, settings)->tasks[0].finish_reason, "budget");
  settings.budget_seconds = 9;
  EXPECT_EQ(Run({Dense(64)}, settings)->tasks[0].finish_reason, "deadline");
  settings.deadline = "1970-01-01T00:00:00Z";
  EXPECT_EQ(Run({Dense(64)}, settings).status().code(), StatusCode::kInvalidArgument);
}

// With trials of a second, as for large layers, a budget of ten seconds ends after ten seconds.
TEST_F(TunerTest, ABudgetEndsInTimeAndEveryTaskGetsItsShareFirst) {
  const auto slow = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    trial.build_seconds = 0.5;
    trial.run_seconds = 1;
    if (trial.outcome == Outcome::kOk)
      trial.value = trial.samples[0] = 0.05 + SecondsOfTuner(candidate);
    return trial;
  };
  std::vector<TuneTask> tasks;
  for (int i = 1; i <= 13; ++i) tasks.push_back(Dense(64 * i));
  for (const double budget : {10.0, 40.0}) {
    NewStore();
    JobSettings settings = Settings("random", 0);
    settings.budget_seconds = budget;
    const auto report = Run(tasks, settings, nullptr, slow);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_LE(report->wall_seconds, budget + 1) << "one trial";
    std::int64_t touched = 0, most = 0;
    for (const TaskReport& task : report->tasks) {
      touched += task.trials > 0 ? 1 : 0;
      most = std::max(most, task.trials);
      EXPECT_EQ(task.finish_reason, "budget");
    }
    if (budget < 13) {
      EXPECT_GE(touched, 6);
      EXPECT_EQ(most, 1);
    } else {
      EXPECT_EQ(touched, 13);
    }
  }
}

TEST_F(TunerTest, WhatABudgetDroppedIsAskedForAgainWithALargerOne) {
  const auto slow = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    trial.run_seconds = 0.2;
    return trial;
  };
  JobSettings settings = Settings("random", 0);
  settings.budget_seconds = 3;
  const auto first = Run({Dense(256)}, settings, nullptr, slow);
  ASSERT_TRUE(first.ok()) << first.status().message();
  settings.budget_seconds = 9;
  const auto more = Run({Dense(256)}, settings, nullptr, slow);
  ASSERT_TRUE(more.ok()) << more.status().message();
  EXPECT_GT(more->trials, first->trials + 10);
  // The dropped configs come first; no config is measured twice.
  records::TrialFilter filter;
  std::set<std::int64_t> configs;
  const auto trials = store_->Trials(filter);
  ASSERT_TRUE(trials.ok()) << trials.status().message();
  for (const auto& record : *trials) {
    if (record.trial.attempt == 0) configs.insert(record.trial.candidate.config.index);
  }
  const auto asked = std::set<Submitted>(submitted_.begin(), submitted_.end()).size();
  EXPECT_GE(asked, configs.size());
  EXPECT_LT(asked, static_cast<std::size_t>(more->trials) + 24) << "dropped at the end only";
}

// Every other trial of the search falls into a burst of noise; races are clean.
TEST_F(TunerTest, AFastConfigMeasuredInNoiseIsRacedAllTheSame) {
  double fastest = 1;
  std::set<Submitted> seen;
  const auto noisy = [&](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    if (trial.outcome != Outcome::kOk) return trial;
    trial.clean_fraction = 1;
    trial.samples.assign(8, trial.value);
    fastest = std::min(fastest, trial.value);
    const bool first =
        seen.emplace(candidate.task.workload.Key(), candidate.template_key, candidate.config.index)
            .second;
    if (first && candidate.config.index % 2 == 0) {
      trial.value *= 1.6;
      trial.samples.assign(8, trial.value);
      trial.clean_fraction = 0;
    }
    return trial;
  };
  const JobSettings settings = Settings("model", 48);
  StopAfter observer(20);
  ASSERT_TRUE(Run({Dense(256)}, settings, &observer, noisy).ok());
  const auto report = Run({Dense(256)}, settings, nullptr, noisy);
  ASSERT_TRUE(report.ok()) << report.status().message();
  const TaskReport& task = report->tasks[0];
  EXPECT_NEAR(task.best_seconds, fastest, 0.005 * fastest);
  EXPECT_FALSE(task.noisy);
  EXPECT_GT(task.disturbed_trials, 8);
  EXPECT_LT(task.disturbed_trials, 40);
}

TEST_F(TunerTest, AWinnerMeasuredInNoiseIsSaidToBe) {
  const auto noisy = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    trial.samples.assign(trial.outcome == Outcome::kOk ? 8 : 0, trial.value);
    trial.clean_fraction = 0.2;
    return trial;
  };
  for (int life = 0; life < 2; ++life) {  // also after reading it back
    const auto report = Run({Dense(256)}, Settings("random", 24), nullptr, noisy);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->tasks[0].noisy);
    EXPECT_THAT(ToJson(*report), testing::HasSubstr("\"disturbed\":true"));
  }
}

// A noisy calibration cannot distinguish configs; a clearly slower one must not win because of its
// index.
TEST_F(TunerTest, ACoarseDeviceMakesNoSlowWinner) {
  const auto report = Run({Dense(256)}, Settings("random", 40));
  ASSERT_TRUE(report.ok());
  resolution_ = 0.73;
  NewStore();
  const auto coarse = Run({Dense(256)}, Settings("random", 40));
  ASSERT_TRUE(coarse.ok());
  EXPECT_LE(coarse->tasks[0].best_seconds, 1.005 * report->tasks[0].best_seconds);
}

TEST_F(TunerTest, StopsTasksThatDoNotImprove) {
  JobSettings settings = Settings("random", 1000);
  settings.early_stop_trials = 24;
  const auto flat = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    if (trial.outcome == Outcome::kOk) trial.value = 1e-3;
    return trial;
  };
  StopAfter observer(-1);
  const auto report = Run({Dense(256)}, settings, &observer, flat);
  ASSERT_TRUE(report.ok());
  EXPECT_LT(report->trials, 64);
  EXPECT_EQ(report->tasks[0].finish_reason, "no improvement");
  EXPECT_THAT(observer.finished, testing::ElementsAre("no improvement"));
}

TEST_F(TunerTest, TiesGoToTheLowestIndex) {
  const auto flat = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    // Within the resolution of 2 %, larger indices are slightly faster.
    if (trial.outcome == Outcome::kOk) {
      trial.value = 1e-3 - 1e-9 * static_cast<double>(candidate.config.index % 1000);
    }
    return trial;
  };
  const auto report = Run({Dense(256)}, Settings("random", 40), nullptr, flat);
  ASSERT_TRUE(report.ok());
  const TaskReport& task = report->tasks[0];
  EXPECT_FALSE(task.ties.empty());
  for (std::int64_t tie : task.ties) EXPECT_LE(task.best_config.index, tie);
}

TEST_F(TunerTest, AJobOfWhichEverythingFailsEndsAndSaysSo) {
  const auto broken = [](const Candidate&) {
    Trial trial;
    trial.outcome = Outcome::kRunFailed;
    trial.build_seconds = trial.run_seconds = 0.01;
    return trial;
  };
  JobSettings settings = Settings("model", 40);
  const auto report = Run({Dense(256)}, settings, nullptr, broken);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->tasks[0].best_seconds, 0);
  EXPECT_EQ(report->tasks[0].failures.at("run_failed"), 40);
}

class LostDeviceTest : public TunerTest {
 protected:
  /// Like TrialOf, but every fifth candidate loses the device in its first `times` attempts.
  ReplayMeasurer::Outcomes Losing(int times) {
    return [this, times](const Candidate& candidate) {
      Trial trial = TrialOf(candidate);
      if (candidate.config.index % 5 != 0) return trial;
      if (tried_[{candidate.template_key, candidate.config.index}]++ >= times) return trial;
      Trial lost;
      lost.outcome = Outcome::kDeviceLost;
      lost.reason = "the runner was lost";
      lost.build_seconds = lost.run_seconds = 0.01;
      return lost;
    };
  }

  /// Returns the number of stored lost-device trials with this attempt number.
  std::int64_t CountLost(std::int64_t attempt) {
    const auto stored = store_->Trials({});
    TW_CHECK(stored.ok(), stored.status().message());
    return std::ranges::count_if(*stored, [attempt](const auto& record) {
      return record.trial.outcome == Outcome::kDeviceLost && record.trial.attempt == attempt;
    });
  }

  std::map<std::pair<std::string, std::int64_t>, int> tried_;
};

TEST_F(LostDeviceTest, ACandidateIsTriedAgainAndTheLossKept) {
  const auto expected = Run({Dense(256)}, Settings("random", 40));
  ASSERT_TRUE(expected.ok());
  const auto calm = std::exchange(submitted_, {});
  NewStore();
  const auto report = Run({Dense(256)}, Settings("random", 40), nullptr, Losing(1));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->trials, 40);
  EXPECT_EQ(report->tasks[0].failures, expected->tasks[0].failures);
  EXPECT_EQ(report->tasks[0].best_seconds, expected->tasks[0].best_seconds);
  EXPECT_EQ(CountLost(0), 0);
  EXPECT_GT(CountLost(kDeviceLostAttempt), 0);
  EXPECT_EQ(std::ssize(submitted_), std::ssize(calm) + CountLost(kDeviceLostAttempt));
  EXPECT_EQ(std::set<Submitted>(submitted_.begin(), submitted_.end()),
            std::set<Submitted>(calm.begin(), calm.end()));
}

TEST_F(LostDeviceTest, ACandidateIsTriedAgainOnlyOnce) {
  const auto report = Run({Dense(256)}, Settings("random", 40), nullptr, Losing(1000));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->trials, 40);
  EXPECT_GT(CountLost(0), 0);
  EXPECT_EQ(CountLost(kDeviceLostAttempt), CountLost(0));
  EXPECT_EQ(report->tasks[0].failures.at("device_lost"), CountLost(0));
}

// The job ends between the loss and the second attempt: the next run repeats the point.
TEST_F(LostDeviceTest, StoppedAnywhereItGoesOnAsIfItHadNot) {
  const auto whole = Run({Dense(256)}, Settings("random", 40), nullptr, Losing(1));
  ASSERT_TRUE(whole.ok());
  for (std::int64_t stop : {1, 5, 9, 16, 23, 39}) {
    NewStore();
    tried_.clear();
    StopAfter observer(stop);
    ASSERT_TRUE(Run({Dense(256)}, Settings("random", 40), &observer, Losing(1)).ok());
    OpenStore();
    const auto rest = Run({Dense(256)}, Settings("random", 40), nullptr, Losing(1));
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_EQ(rest->trials, 40);
    EXPECT_EQ(rest->tasks[0].best_seconds, whole->tasks[0].best_seconds) << stop;
    EXPECT_EQ(CountLost(0), 0) << stop;
  }
}

TEST_F(TunerTest, UnverifiedResultsNeverWin) {
  const auto unverified = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    trial.verified = false;
    return trial;
  };
  const auto report = Run({Dense(256)}, Settings("random", 24), nullptr, unverified);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tasks[0].best_seconds, 0);
}

/// A convolution of a VTA, whose trials are counted first and verified last.
TuneTask OfAVta() {
  TuneTask task = TaskOf(
      "conv2d(int8[1,2,6,6,1,16]NCHW1n16c,int8[2,2,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)"
      "->int32");
  task.task.target = *Target::Parse("vta -model=sim_1x16_i8w8a32_15_15_18_17");
  task.epilogue = *Epilogue::Parse("add(channel:int32);shift_right(7);clip(-127,127);cast(int8)");
  return task;
}

/// Returns outcomes that are correct during the search; the first `wrong` verified ones are
/// incorrect.
ReplayMeasurer::Outcomes WrongAtFirst(std::map<std::string, double>& values, int& wrong) {
  return [&values, &wrong](const Candidate& candidate) {
    Trial trial;
    trial.codegen_version = DeviceTraitsOf(candidate.task.target).codegen_version;
    trial.outcome = Outcome::kOk;
    trial.run_seconds = 1e-3;
    trial.value = SecondsOfTuner(candidate);
    const std::string name = candidate.template_key + " " + std::to_string(candidate.config.index);
    trial.verified = !values.emplace(name, trial.value).second;
    if (trial.verified && wrong-- > 0) {
      trial.outcome = Outcome::kWrongResult;
      trial.verified = false;
    }
    return trial;
  };
}

TEST_F(TunerTest, OfWhatIsCountedTheFastestThatIsRightWins) {
  std::map<std::string, double> values;
  int wrong = 1;
  const auto report = Run({OfAVta()}, Settings("random", 24), nullptr, WrongAtFirst(values, wrong));
  ASSERT_TRUE(report.ok()) << report.status().message();
  std::vector<double> sorted;
  for (const auto& [name, value] : values) sorted.push_back(value);
  std::ranges::sort(sorted);
  ASSERT_GE(sorted.size(), 2U);
  EXPECT_EQ(report->tasks[0].best_seconds, sorted[1]);
}

// The failed trial is stored and does not affect a repetition of the same command.
TEST_F(TunerTest, OfWhatIsCountedNothingWinsThatWasNotVerified) {
  std::map<std::string, double> values;
  int wrong = 1000;
  const auto none = Run({OfAVta()}, Settings("random", 24), nullptr, WrongAtFirst(values, wrong));
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_EQ(none->tasks[0].best_seconds, 0);
  EXPECT_EQ(none->tasks[0].best_template, "");
  wrong = 0;
  const auto again = Run({OfAVta()}, Settings("random", 24), nullptr, WrongAtFirst(values, wrong));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_GT(again->tasks[0].best_seconds, 0);
  const auto stored = store_->Trials({});
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(std::ranges::count_if(*stored,
                                  [](const records::Record& record) {
                                    return record.trial.outcome == Outcome::kOk &&
                                           record.trial.verified;
                                  }),
            1);
}

// Points of a log refer to the templates of a task by number: with fewer templates it is another
// job.
TEST_F(TunerTest, SomeTemplatesAreAnotherJob) {
  ASSERT_TRUE(Run({Dense(256)}, Settings("random", 4)).ok());
  only_templates_ = {"dense.cpu"};
  ASSERT_TRUE(Run({Dense(256)}, Settings("random", 4)).ok());
  EXPECT_EQ(store_->Jobs()->size(), 2U);
}

TEST_F(TunerTest, LearnsFromTheTrialsOfOlderJobs) {
  ASSERT_TRUE(Run({Dense(256)}, Settings("random", 64)).ok());
  ASSERT_TRUE(Run({Dense(512)}, Settings("model", 16)).ok());
  auto job = store_->Trials({});
  ASSERT_TRUE(job.ok());
  std::int64_t newest = 0;
  for (const auto& record : *job) newest = std::max(newest, record.job);
  const auto log = store_->Log(newest, Dense(512).task.workload.Key());
  ASSERT_TRUE(log.ok());
  ASSERT_FALSE(log->empty());
  EXPECT_EQ((*log)[0].kind, "begin");
  EXPECT_EQ((*log)[0].payload,
            "{\"warm\":[[\"store:" + Dense(256).task.workload.Key() + "\",64]]}");
}

TEST_F(TunerTest, AJobOfAnotherVersionBeginsAnewWithItsFastest) {
  const auto earlier = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    trial.codegen_version -= 1;
    return trial;
  };
  ASSERT_TRUE(Run({Dense(256)}, Settings("random", 24), nullptr, earlier).ok());
  submitted_.clear();
  StopAfter observer(-1);
  const auto again = Run({Dense(256)}, Settings("random", 24), &observer);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(submitted_.size(), 24U) << "nothing of then counts";
  EXPECT_EQ(observer.stale, 8);
  EXPECT_EQ(observer.resumed, 0);
  EXPECT_EQ(store_->Jobs()->size(), 2U);
  submitted_.clear();
  ASSERT_TRUE(Run({Dense(256)}, Settings("random", 24)).ok());
  EXPECT_TRUE(submitted_.empty()) << "this one is done";
}

TEST_F(TunerTest, LearnsNothingFromTimesOfAnotherVersion) {
  const auto earlier = [](const Candidate& candidate) {
    Trial trial = TrialOf(candidate);
    trial.codegen_version -= 1;
    return trial;
  };
  ASSERT_TRUE(Run({Dense(256)}, Settings("random", 64), nullptr, earlier).ok());
  ASSERT_TRUE(Run({Dense(512)}, Settings("model", 16)).ok());
  const auto jobs = store_->Jobs();
  ASSERT_TRUE(jobs.ok());
  const auto log = store_->Log(jobs->back().id, Dense(512).task.workload.Key());
  ASSERT_TRUE(log.ok());
  ASSERT_FALSE(log->empty());
  EXPECT_EQ((*log)[0].kind, "begin");
  EXPECT_EQ((*log)[0].payload, "{\"warm\":[]}");
}

// All expressions are one operator; those with spaces from the same rules share training data.
TEST_F(TunerTest, LearnsFirstFromExpressionsOfOneStructure) {
  const auto product = [](int columns) {
    const std::string n = std::to_string(columns);
    return TaskOf("expression(input x0:float32[64," + n + "];input x1:float32[16,64];t0[i0:16,i1:" +
                  n + "]=sum(r0:64)x0[r0,i1]*x1[i0,r0])");
  };
  const TuneTask doubled = TaskOf("expression(input x0:float32[64];t0[i0:64]=x0[i0]*2.0)");
  ASSERT_TRUE(Run({doubled}, Settings("random", 16)).ok());
  ASSERT_TRUE(Run({product(48)}, Settings("random", 16)).ok());
  ASSERT_TRUE(Run({product(32)}, Settings("model", 8)).ok());
  const auto trials = store_->Trials({});
  ASSERT_TRUE(trials.ok());
  std::int64_t newest = 0;
  for (const auto& record : *trials) newest = std::max(newest, record.job);
  const auto log = store_->Log(newest, product(32).task.workload.Key());
  ASSERT_TRUE(log.ok());
  ASSERT_FALSE(log->empty());
  EXPECT_EQ((*log)[0].payload, "{\"warm\":[[\"store:" + product(48).task.workload.Key() +
                                   "\",16],[\"store:" + doubled.task.workload.Key() + "\",16]]}");
}

TEST_F(TunerTest, RefusesBadJobs) {
  EXPECT_EQ(Run({}, Settings("random", 8)).status().message(), "nothing to tune: no task");
  EXPECT_EQ(Run({Dense(256), Dense(256)}, Settings("random", 8)).status().message(),
            "task given twice: dense(float32[16,256]MK,float32[256,256]NK)->float32");
  EXPECT_FALSE(Run({Dense(256)}, Settings("magic", 8)).ok());
  TuneTask other = Dense(256);
  other.task.target = *Target::Parse("metal");
  const auto unserved = Run({other}, Settings("random", 8));
  EXPECT_EQ(unserved.status().code(), StatusCode::kUnsupported);
}

TEST_F(TunerTest, AForeignLogIsRefused) {
  const std::vector<TuneTask> tasks = {Dense(256)};
  StopAfter observer(10);
  ASSERT_TRUE(Run(tasks, Settings("random", 40), &observer).ok());
  const auto trials = store_->Trials({});
  ASSERT_TRUE(
      store_
          ->Append((*trials)[0].job, {}, {{tasks[0].task.workload.Key(), "ask", "{\"batch\":77}"}})
          .ok());
  const auto report = Run(tasks, Settings("random", 40));
  EXPECT_EQ(report.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(report.status().message(), testing::HasSubstr("search log: ask entry"));
}

// As after a change of a space or a strategy: the file is valid.
TEST_F(TunerTest, ALogThatNoLongerReplaysKeepsItsTrials) {
  const std::vector<TuneTask> tasks = {Dense(256)};
  StopAfter stopped(10);
  ASSERT_TRUE(Run(tasks, Settings("random", 40), &stopped).ok());
  const auto before = store_->Trials({});
  ASSERT_TRUE(before.ok());
  ASSERT_FALSE(before->empty());
  AskEntry ask;
  ask.batch = 77;
  ask.strategy_state = "{}";
  const std::int64_t job = (*before)[0].job;
  ASSERT_TRUE(store_->Append(job, {}, {Encode(tasks[0].task.workload.Key(), ask)}).ok());
  for (int run = 0; run < 2; ++run) {  // the second run resumes with the new log
    StopAfter left(20);
    const auto report = Run(tasks, Settings("random", 40), &left);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_THAT(left.why, testing::HasSubstr("batch 77, expected batch"));
    EXPECT_EQ(left.resumed > 0, run == 1);
    const auto after = store_->Trials({});
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(std::ranges::count_if(*after, [&](const auto& r) { return r.job == job; }),
              std::ssize(*before));
    EXPECT_GT(after->size(), before->size());
  }
}

TEST_F(TunerTest, WithThreadsItComesToAnEndToo) {
  VirtualClock clock;
  ReplayMeasurer measurer(TrialOf, clock);
  TuneContext context;
  context.templates = &BuiltInTemplates();
  context.strategies = &BuiltInStrategies();
  context.measurer = &measurer;
  context.store = store_.get();
  context.clock = &clock;
  context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  const auto report = Tune({Dense(256), Dense(512)}, Settings("model", 96), context);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->trials, 96);
  EXPECT_GT(report->tasks[0].best_seconds, 0);
  EXPECT_GT(report->tasks[1].best_seconds, 0);
}

TEST(TuneReportTest, PrintsTheKeysProgramsRelyOn) {
  TuneReport report;
  report.trials = 3;
  report.wall_seconds = 2;
  report.split.wall_seconds = 2;
  report.split.idle_seconds = 0.5;
  TaskReport task;
  task.key = "k";
  task.best_seconds = 0.5;
  task.trials = 3;
  task.failures["run_failed"] = 2;
  report.tasks.push_back(task);
  const std::string json = ToJson(report);
  for (const char* part : {"\"trials\":3", "\"wall_seconds\":2.0", "\"idle_share\":0.25",
                           "\"trials_per_second\":", "\"key\":\"k\"", "\"default_seconds\":null",
                           "\"best_seconds\":0.5", "\"failures\":{\"run_failed\":2}"}) {
    EXPECT_THAT(json, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace tilewright::search
