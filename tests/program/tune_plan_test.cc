#include "src/report/tune/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "search/job_log.h"
#include "search/space.h"
#include "search/tune/job_name.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/base/text/text_columns.h"
#include "src/target/device.h"
#include "src/templates/device.h"
#include "tests/support/built_in.h"

namespace tilewright::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

search::TuneTask DenseTask(int rows, std::int64_t uses) {
  search::TuneTask task;
  task.task.workload = *Workload::Parse("dense(float32[" + std::to_string(rows) +
                                        ",256]MK,float32[512,256]NK)->float32");
  task.task.target = *Target::Parse("llvm -mcpu=core-avx2");
  task.occurrences = uses;
  return task;
}

/// A core of 100 GFLOP/s.
MachinePeaks Peaks() { return {1e11, 4e11, 1e11, 5e10}; }

struct Job {
  std::vector<search::TuneTask> tasks = {DenseTask(64, 1), DenseTask(256, 3)};
  std::vector<std::string> names = {"small", "large"};
  search::JobSettings settings;
  const TemplateRegistry& templates = BuiltInTemplates();
  PlanSources sources;
  Job() {
    sources.templates = &templates;
    sources.device = *DeviceFor(tasks[0].task.target);
    sources.peaks = Peaks();
    const auto bounds = BoundsOf(tasks, tasks[0].task.target, Peaks());
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].bound = bounds[i];
  }
  TunePlan Make() {
    auto plan = MakeTunePlan(tasks, names, settings, sources);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? *plan : TunePlan();
  }
};

TEST(TunePlanTest, EstimatesDefaultConfigsWithoutRecords) {
  Job job;
  const TunePlan plan = job.Make();
  ASSERT_EQ(plan.tasks.size(), 2U);
  for (const PlannedTask& task : plan.tasks) {
    EXPECT_TRUE(task.estimated);
    EXPECT_GT(task.configs, 100);
    EXPECT_GT(task.bound, 0);
    EXPECT_GE(task.now, task.bound);
    EXPECT_LE(task.now, 10 * task.bound);
    EXPECT_LE(task.expected, task.now);
    EXPECT_GE(task.expected, task.bound);
  }
  EXPECT_GE(plan.ByHeadroom().front()->Headroom(), plan.ByHeadroom().back()->Headroom());
  const PlanTotals totals = plan.Totals();
  EXPECT_EQ(totals.with, 2);
  EXPECT_EQ(totals.estimated, 2);
  EXPECT_DOUBLE_EQ(totals.now, plan.tasks[0].now + 3 * plan.tasks[1].now);
}

TEST(TunePlanTest, RecordsReplaceEstimates) {
  Job job;
  const auto folder = LockedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  auto store = records::Store::Open(folder->path() + "/r.db", records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok());
  Trial trial;
  const auto space = search::MakeSearchSpace(job.templates, job.tasks[0].task, {});
  ASSERT_TRUE(space.ok());
  trial.candidate = search::ToCandidate(*space, search::DefaultPoints(*space).front());
  trial.outcome = Outcome::kOk;
  trial.verified = true;
  trial.value = 1e-3;
  trial.samples = {1e-3};
  trial.build_seconds = 0.25;
  trial.run_seconds = 0.5;
  trial.device = job.sources.device;
  trial.codegen_version = DeviceTraitsOf(job.tasks[0].task.target).codegen_version;
  const auto opened = store->OpenJob("job", "{}", 1);
  ASSERT_TRUE(opened.ok());
  ASSERT_TRUE(store->Append(opened->id, {trial}, {}).ok());
  job.sources.store = &*store;
  const TunePlan plan = job.Make();
  EXPECT_FALSE(plan.tasks[0].estimated);
  EXPECT_EQ(plan.tasks[0].now, 1e-3);
  EXPECT_TRUE(plan.tasks[1].estimated);
  EXPECT_EQ(plan.rate, TunePlan::Rate::kOfTrials);
  EXPECT_EQ(plan.seconds_per_trial, 0.5) << "the runner is busy for longer than the builder";
}

TEST(TunePlanTest, KnowsWhatEndsTheJob) {
  Job job;
  job.settings.early_stop_trials = 100;
  job.settings.finalists = 0;
  EXPECT_EQ(job.Make().ends_by, "no improvement");
  EXPECT_EQ(job.Make().trials, 200);
  job.settings.trials = 40;
  EXPECT_EQ(job.Make().ends_by, "trials");
  EXPECT_EQ(job.Make().trials, 40);
  job.settings.budget_seconds = 1;
  EXPECT_EQ(job.Make().ends_by, "budget");
  EXPECT_EQ(job.Make().seconds, 1);
  EXPECT_LT(job.Make().trials, 40);
  job.settings.budget_seconds = 8 * 3600;
  EXPECT_EQ(job.Make().ends_by, "trials") << "a forecast, not the budget";
}

TEST(TunePlanTest, EarlierRunsHaveUsedTheirPartOfTheLimits) {
  Job job;
  const auto folder = LockedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  auto store = records::Store::Open(folder->path() + "/r.db", records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok());
  job.settings.budget_seconds = 30;
  job.settings.finalists = 0;
  job.settings.early_stop_trials = 1000;
  job.sources.store = &*store;
  const std::int64_t whole = job.Make().trials;
  // Limits are no part of the job's name; two runs, the second of which raced for 4 s.
  search::JobSettings other = job.settings;
  other.budget_seconds = 10;
  const auto opened = store->OpenJob(search::JobName(job.tasks, other, {}, 0), "{}", 1);
  ASSERT_TRUE(opened.ok());
  search::TimeEntry time;
  std::vector<records::LogEntry> log;
  for (const auto& [elapsed, wall, trials] :
       {std::tuple(6.0, 6.0, 100), std::tuple(9.0, 3.0, 40), std::tuple(13.0, 3.0, 40)}) {
    time.elapsed_seconds = elapsed;
    time.wall_seconds = wall;
    time.trials = trials;
    log.push_back(search::Encode(time));
  }
  ASSERT_TRUE(store->Append(opened->id, {}, log).ok());
  TunePlan plan = job.Make();
  EXPECT_EQ(plan.earlier_trials, 140);
  EXPECT_EQ(plan.earlier_seconds, 13);
  EXPECT_EQ(plan.seconds, 17);
  EXPECT_LT(plan.trials, whole);
  EXPECT_THAT(HeadroomText(plan), HasSubstr("140 trials in 13s)"));
  job.settings.budget_seconds = 13;
  plan = job.Make();
  EXPECT_EQ(plan.trials, 0);
  EXPECT_THAT(PlanText(plan), HasSubstr("no trial; --budget is used up"));
  job.settings.budget_seconds = 0;
  job.settings.trials = 150;
  EXPECT_EQ(job.Make().trials, 10);
}

TEST(TunePlanTest, BuildsTellTheRateOfAFirstJob) {
  Job job;
  EXPECT_EQ(job.Make().rate, TunePlan::Rate::kUsual);
  job.tasks.resize(1);
  job.names.resize(1);
  job.sources.times_builds = true;
  const TunePlan plan = job.Make();
  EXPECT_EQ(plan.rate, TunePlan::Rate::kOfBuilds);
  EXPECT_GT(plan.seconds_per_trial, 0);
  EXPECT_THAT(PlanText(plan), HasSubstr("by the time to build some default configs"));
}

TEST(TunePlanTest, NamesAreWholeInAPipe) {
  Job job;
  job.names[0] = std::string(100, 'x');
  EXPECT_THAT(PlanText(job.Make(), 0), HasSubstr(job.names[0]));
}

TEST(TunePlanTest, TextsFit80Columns) {
  Job job;
  job.names[0] = std::string(100, 'x');
  const TunePlan plan = job.Make();
  for (const std::string& text : {PlanText(plan), HeadroomText(plan)}) {
    for (const std::string& line : Split(text, '\n')) EXPECT_LE(Columns(line), 80) << line;
    EXPECT_THAT(text, HasSubstr("xpected"));
  }
  for (const std::string& line : Split(PlanText(plan, 50), '\n')) {
    if (line.starts_with("xx") || line.starts_with("task")) {
      EXPECT_LE(Columns(line), 50) << line;
    }
  }
  EXPECT_THAT(PlanText(plan, 50), AllOf(HasSubstr("at most"), Not(HasSubstr("share"))));
  EXPECT_THAT(PlanText(plan), HasSubstr("Nothing was measured."));
  const Json json = PlanJson(plan);
  EXPECT_EQ(json["tasks"].size(), 2U);
  EXPECT_TRUE(json["tasks"][0]["estimated"]);
  EXPECT_EQ(json["metric"], "seconds");
  EXPECT_EQ(HeadroomText(TunePlan()), "");
}

}  // namespace
}  // namespace tilewright::report
