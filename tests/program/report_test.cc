// Contents of `tilewright report` for stores and tables, as values and as text: statistics, seconds
// of a job, knobs, races, comparisons, device data. report_page_test.cc tests the page in a
// browser.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/json.h"
#include "src/optimize/journal.h"
#include "src/report/bench_table.h"
#include "src/report/code.h"
#include "src/report/compare.h"
#include "src/report/device_pages.h"
#include "src/report/document_text.h"
#include "src/report/page.h"
#include "src/report/statistics.h"
#include "src/report/tune/progress.h"
#include "tests/program/report_samples.h"
#include "tests/support/set_clock.h"

namespace tilewright::report {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(KendallTauTest, SaysHowFarTwoOrdersAgree) {
  EXPECT_EQ(KendallTau(std::vector<double>{1, 2, 3, 4}, std::vector<double>{1, 5, 6, 9}), 1);
  EXPECT_EQ(KendallTau(std::vector<double>{1, 2, 3, 4}, std::vector<double>{9, 6, 5, 1}), -1);
  // Of six pairs, five agree and one does not.
  EXPECT_NEAR(KendallTau(std::vector<double>{1, 2, 3, 4}, std::vector<double>{1, 3, 2, 4}), 4.0 / 6,
              1e-12);
  // A tie does not count: of three pairs two agree; tau-b divides by sqrt(3 * 2).
  EXPECT_NEAR(KendallTau(std::vector<double>{1, 2, 3}, std::vector<double>{1, 1, 2}),
              2 / std::sqrt(6.0), 1e-12);
  EXPECT_EQ(KendallTau(std::vector<double>{1, 1}, std::vector<double>{1, 2}), 0);
  EXPECT_EQ(KendallTau(std::vector<double>{}, std::vector<double>{}), 0);
}

TEST(ExplainedShareTest, IsOneForAKnobThatDecidesAllAndNothingForChance) {
  const std::vector<int> levels = {0, 0, 0, 1, 1, 1};
  EXPECT_NEAR(ExplainedShare(levels, 2, std::vector<double>{1, 1, 1, 5, 5, 5}), 1, 1e-12);
  EXPECT_EQ(ExplainedShare(levels, 2, std::vector<double>{1, 5, 3, 1, 5, 3}), 0);
  // A grouping with one group per row explains everything and is meaningless.
  EXPECT_EQ(ExplainedShare(std::vector<int>{0, 1, 2}, 3, std::vector<double>{1, 5, 3}), 0);
}

TEST(ThinTest, KeepsWhatItMustAndSpreadsTheRest) {
  EXPECT_THAT(Subsample(4, {}, 9), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Subsample(100, {99, 50}, 4), ElementsAre(0, 50, 99));  // 50 occurs twice
  EXPECT_EQ(Subsample(100'000, {7}, 2000).size(), 2000u);
}

TEST(RunningLineTest, ForgetsWhatIsLongPast) {
  SlidingRegression line(4, 3);
  EXPECT_EQ(line.At(1), std::nullopt);
  for (const double x : {0.0, 1.0, 2.0, 3.0}) line.Add(x, 100 - x);
  EXPECT_NEAR(*line.At(5), 95, 1e-9);
  for (const double x : {0.0, 1.0, 2.0, 3.0}) line.Add(x, 2 * x);
  EXPECT_NEAR(*line.At(5), 10, 1e-9);
}

TEST(HotLoopTest, IsTheInnermostOneThatMultipliesMost) {
  const std::string code =
      "kernel:\n"                             // 1
      "\txorl %eax, %eax\n"                   // 2
      ".LBB0_1:\n"                            // 3
      "\tvmovups (%rdi), %ymm0\n"             // 4
      ".LBB0_2:                # inner\n"     // 5
      "\tvfmadd231ps (%rsi), %ymm1, %ymm0\n"  // 6
      "\tvfmadd231ps (%rdx), %ymm1, %ymm2\n"  // 7
      "\tjne\t.LBB0_2\n"                      // 8
      ".LBB0_3:\n"                            // 9
      "\tvmulps %ymm0, %ymm0, %ymm0\n"        // 10
      "\tjb\t.LBB0_3\n"                       // 11
      "\tjne\t.LBB0_1\n"                      // 12
      "\tretq\n";
  EXPECT_EQ(HotLoop(code), std::pair(std::int64_t{5}, std::int64_t{8}));
  EXPECT_EQ(HotLoop("kernel:\n\tretq\n"), std::pair(std::int64_t{0}, std::int64_t{0}));
  EXPECT_EQ(HotLoop(""), std::pair(std::int64_t{0}, std::int64_t{0}));
}

TEST(JobSecondsTest, LeavesPausesOut) {
  std::vector<TrialSummary> trials(3);
  trials[0].finished = 1000, trials[0].duration_seconds = 2;
  trials[1].finished = 1005, trials[1].duration_seconds = 2;
  trials[2].finished = 9000,
  trials[2].duration_seconds = 2;  // the job slept, and then took two seconds
  std::vector<TrialSummary*> pointers = {&trials[0], &trials[1], &trials[2]};
  JobPage page;
  SetJobSeconds(pointers, page);
  EXPECT_EQ(trials[0].seconds, 2);
  EXPECT_EQ(trials[1].seconds, 7);
  EXPECT_EQ(trials[2].seconds, 9);
  EXPECT_EQ(page.pauses, 1);
  EXPECT_EQ(page.wall_seconds, 9);
}

TEST(TimePageTest, GoesOnInAnotherLife) {
  const std::vector<search::TimeEntry> notes = {
      {10, 10, 8, 6, 4, 2, 1, 5}, {20, 20, 16, 12, 8, 4, 2, 9}, {25, 5, 5, 1, 0, 0, 0, 2}};
  const TimePage page = TimeOf(notes);
  EXPECT_EQ(page.wall, 25);
  EXPECT_THAT(page.timing, ElementsAre(0.6, 0.6, 0.2));
  EXPECT_EQ(page.running_seconds, 21);
}

TEST(EscapeForScriptTest, LeavesNothingThatHtmlOrAScriptTakesForItsOwn) {
  const std::string json = DumpJson({{"a", kHostile}});
  const std::string escaped = EscapeForScript(json);
  for (const char* taboo : {"<", ">", "&", "\x1b", "\x07", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    EXPECT_THAT(escaped, Not(HasSubstr(taboo)));
  }
  EXPECT_EQ(*ParseJson(escaped), *ParseJson(json));
}

class ReportTest : public records::SampleStores {
 protected:
  Document Gather(const std::string& path, const std::string& job = "") {
    Document document;
    GatherOptions options;
    options.templates = &BuiltInTemplates();
    options.job = job;
    const Status gathered = GatherStore(path, options, document);
    EXPECT_TRUE(gathered.ok()) << gathered.message();
    return document;
  }
};

TEST_F(ReportTest, HasWhatChartsNeed) {
  AddSyntheticJob(Path("made.db"), SyntheticTrials(300, 200));
  const Document document = Gather(Path("made.db"));
  ASSERT_EQ(document.jobs.size(), 1u);
  EXPECT_TRUE(document.missing.empty());
  const JobPage& job = document.jobs.front();
  EXPECT_EQ(job.trials, 300);
  EXPECT_EQ(job.trials - job.ok, 27);
  EXPECT_NEAR(job.wall_seconds, 30, 0.2);
  EXPECT_EQ(job.time.seconds.size(), 20u);
  ASSERT_EQ(job.tasks.size(), 1u);
  const TaskPage& task = job.tasks.front();
  EXPECT_EQ(task.occurrences, 3);
  EXPECT_GT(task.default_value, task.best_value);
  EXPECT_GT(task.roofline.bound, 0);
  EXPECT_TRUE(std::ranges::is_sorted(task.best.value, std::greater()));
  EXPECT_EQ(task.best.value.back(), task.best_value);
  EXPECT_EQ(task.points.trial.size(), 300u);
  EXPECT_GT(task.ranking.tau, 0.1);
  EXPECT_FALSE(task.ranking.calibration.empty());
  ASSERT_EQ(task.knobs.size(), 1u);
  EXPECT_FALSE(task.knobs.front().importance.empty());
  EXPECT_EQ(task.finalists.size(), 6u);
  // Two kinds of failures, independent of the numbers in their reasons.
  ASSERT_EQ(job.failures.size(), 2u);
  EXPECT_EQ(job.failures[0].trials + job.failures[1].trials, 27);
  EXPECT_THAT(job.failures[0].reproduce, HasSubstr("tilewright measure"));
}

TEST_F(ReportTest, HasTheCommandOfTheJobWithoutPasswords) {
  AddSyntheticJob(Path("made.db"), SyntheticTrials(20, 10));
  const JobPage job = Gather(Path("made.db")).jobs.front();
  EXPECT_EQ(job.command, "tilewright tune net.onnx --fleet nats://host:4222 --budget 90");
  EXPECT_EQ(job.limits.trials, 640);
  EXPECT_EQ(job.limits.budget_seconds, 90);
  EXPECT_THAT(job.settings, Contains(Pair("strategy", "model")));
}

TEST_F(ReportTest, ListsEveryTrialWithItsConfig) {
  std::vector<Trial> trials = SyntheticTrials(60, 20);
  trials.back().attempt = 1;
  AddSyntheticJob(Path("made.db"), trials);
  const TaskPage task = Gather(Path("made.db")).jobs.front().tasks.front();
  const TrialTable& table = task.table;
  ASSERT_EQ(table.trial.size(), 60u);
  EXPECT_EQ(table.all, 60);
  EXPECT_EQ(table.trial.front(), 1);
  EXPECT_EQ(table.trial.back(), 0);
  EXPECT_EQ(table.attempt.back(), 1);
  const std::map<std::string, int> counts = [&table] {
    std::map<std::string, int> by_name;
    for (const int outcome : table.outcome) {
      ++by_name[table.outcomes[static_cast<std::size_t>(outcome)]];
    }
    return by_name;
  }();
  EXPECT_THAT(counts, Contains(Pair("ok", 55)));
  // Rows in the order of the trials: the config of each is that of its levels.
  const KnobTable& knobs = task.knobs[static_cast<std::size_t>(table.knobs[7])];
  const Config& config = trials[7].candidate.config;
  ASSERT_EQ(table.levels[7].size(), config.values.size());
  for (std::size_t k = 0; k < config.values.size(); ++k) {
    EXPECT_EQ(knobs.axes[k].name, config.values[k].first);
    EXPECT_EQ(knobs.axes[k].values[static_cast<std::size_t>(table.levels[7][k])],
              config.values[k].second.ToString());
  }
}

TEST_F(ReportTest, ProgressOfARunningJob) {
  class Counter final : public search::TuneObserver {
   public:
    void TrialDone(const search::TaskReport&, int, const Trial&, double) override { ++trials; }
    int trials = 0;
  };
  Counter next;
  SetClock clock;
  ProgressObserver observer(next, 2, 0, clock);
  observer.Opened("0123");
  observer.Resumed(40);
  EXPECT_EQ(observer.job(), "0123");
  EXPECT_FALSE(observer.Progress().has_value());
  clock.now = 10;
  const Trial trial = SyntheticTrials(1, 0).front();
  observer.TrialDone({}, 1, trial, 30);
  observer.TaskFinished({}, 1);
  clock.now = 20;
  auto progress = observer.Progress();
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(progress->share, 0.5);
  EXPECT_EQ(progress->eta_seconds, 20);
  EXPECT_EQ(progress->trials, 41);
  EXPECT_EQ(progress->trials_per_second, 0.1);
  EXPECT_EQ(progress->finished_tasks, 1);
  EXPECT_EQ(progress->task, records::SampleConv().Key());
  EXPECT_EQ(progress->config, trial.candidate.config.ToString());
  // Without a new forecast, the last one stays.
  observer.TrialDone({}, 0, trial, 0);
  clock.now = 60;
  progress = observer.Progress();
  EXPECT_EQ(progress->share, 1);
  EXPECT_EQ(progress->eta_seconds, 0);
  EXPECT_EQ(next.trials, 2);
}

TEST(NetworkBestTest, StartsWithDefaultsAndFallsWithEachTask) {
  std::vector<TaskPage> tasks(3);
  tasks[0].default_value = 10, tasks[0].best_value = 6, tasks[0].occurrences = 2;
  tasks[0].best = {{1, 2}, {1, 4}, {12, 6}};  // the first trial is slower than the default config
  tasks[1].default_value = 5, tasks[1].best_value = 4;
  tasks[1].best = {{1}, {2}, {4}};
  tasks[2].best_value = 1;  // without a default value: not counted
  tasks[2].best = {{1}, {3}, {1}};
  const BestSteps best = NetworkBestOf(tasks, {1, 2, 3, 4});
  EXPECT_THAT(best.seconds, ElementsAre(0, 2, 4));
  EXPECT_THAT(best.value, ElementsAre(25, 24, 16));
  EXPECT_THAT(best.trial, ElementsAre(0, 2, 4));
  EXPECT_TRUE(NetworkBestOf({}, {}).value.empty());
}

TEST_F(ReportTest, ManyTrialsAreThinnedButTheLineIsExact) {
  AddSyntheticJob(Path("made.db"), SyntheticTrials(2600, 2400));
  const Document document = Gather(Path("made.db"));
  const TaskPage& task = document.jobs.front().tasks.front();
  EXPECT_LE(task.points.trial.size(), kMaxPoints);
  EXPECT_LE(task.knobs.front().rows.size(), kMaxRows);
  auto store = records::Store::Open(Path("made.db"), records::Store::Mode::kReadOnly);
  ASSERT_TRUE(store.ok());
  const auto stored = store->Trials({});  // fewer if the space has fewer configs
  ASSERT_TRUE(stored.ok());
  double least = 1;
  std::size_t steps = 0;
  for (const records::Record& record : *stored) {
    if (record.trial.outcome != Outcome::kOk || record.trial.value >= least) continue;
    least = record.trial.value;
    ++steps;
  }
  EXPECT_EQ(task.best.value.size(), steps);
}

TEST_F(ReportTest, OlderStoresLackSomethingAndItIsSaid) {
  std::vector<Trial> trials = SyntheticTrials(40, 20);
  for (Trial& trial : trials) trial.predicted.reset();
  Add(Path("old.db"), trials);
  const Document document = Gather(Path("old.db"));
  EXPECT_THAT(document.missing, ElementsAre(HasSubstr("counts once"), HasSubstr("no predictions")));
  EXPECT_FALSE(document.jobs.front().time.known());
  EXPECT_THAT(document.jobs.front().tasks.front().roofline.peaks_of, HasSubstr("has no peaks"));
  EXPECT_THAT(ToText(document), HasSubstr("note: "));
}

TEST_F(ReportTest, TextsOfStoresStayText) {
  AddSyntheticJob(Path("made.db"), SyntheticTrials(60, 20));
  const std::string text = ToText(Gather(Path("made.db")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("again: tilewright measure"));
}

TEST_F(ReportTest, NamesTheJobsThereAre) {
  AddSyntheticJob(Path("made.db"), SyntheticTrials(20, 10));
  EXPECT_EQ(Gather(Path("made.db"), "0123").jobs.size(), 1u);
  Document document;
  GatherOptions options;
  options.templates = &BuiltInTemplates();
  options.job = "77";
  const Status gathered = GatherStore(Path("made.db"), options, document);
  EXPECT_EQ(gathered.code(), StatusCode::kNotFound);
  EXPECT_THAT(gathered.message(), HasSubstr("0123456789abcdef"));
}

TEST_F(ReportTest, ComparesByIntervals) {
  std::vector<Trial> trials = SyntheticTrials(60, 20);
  AddSyntheticJob(Path("now.db"), trials);
  for (Trial& trial : trials) {
    trial.value *= 1.5;
    for (double& sample : trial.samples) sample *= 1.5;
  }
  AddSyntheticJob(Path("then.db"), trials);
  const Document now = Gather(Path("now.db")), then = Gather(Path("then.db"));
  Comparison comparison = Compare(now, then, "now", "then");
  ASSERT_EQ(comparison.tasks.size(), 1u);
  EXPECT_NEAR(comparison.tasks[0].ratio, 1.5, 1e-9);
  EXPECT_EQ(comparison.tasks[0].verdict, "faster");
  EXPECT_NEAR(comparison.tasks[0].low, 1.5 * 0.99 / 1.01, 1e-9);
  comparison = Compare(then, now, "then", "now");
  EXPECT_EQ(comparison.tasks[0].verdict, "slower");
  EXPECT_EQ(Compare(now, now, "now", "now").tasks[0].verdict, "same");
}

TEST(BenchTableTest, SaysWhatBecameSlower) {
  const auto page = ParseBenchTable(SyntheticTable("net "), "now/table.json");
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_EQ(page->rows.size(), 3u);
  EXPECT_EQ(page->CountOf("slower"), 1);
  EXPECT_EQ(page->rows.back().change, std::nullopt);
  Document document;
  document.bench = *page;
  const std::string text = ToText(document);
  EXPECT_THAT(text, HasSubstr("compared with then/table.json (commit 0123456789): 1 slower"));
  EXPECT_THAT(text, HasSubstr("+10.0 %  slower"));
  EXPECT_EQ(ToJson(document)["bench"]["rows"].size(), 3u);
}

TEST(BenchTableTest, NamesThePlaceOfWhatIsWrong) {
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string text = SyntheticTable("net ");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return ParseBenchTable(text.replace(at, from.size(), to), "t.json").status();
  };
  EXPECT_EQ(refused("\"schema\":1", "\"schema\":2").code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused("\"value\":15.4", "\"value\":\"a\"").message(),
              HasSubstr("t.json: rows[0].value: expected a number of at least 0"));
  EXPECT_THAT(refused("\"verdict\":\"faster\"", "\"verdict\":\"bold\"").message(),
              HasSubstr("rows[1].verdict: expected one of \"slower\""));
  EXPECT_THAT(refused("\"gone\":[", "\"gone\":[7,").message(),
              HasSubstr("gone: expected a list of texts"));
  EXPECT_THAT(ParseBenchTable("[]", "t.json").status().message(), HasSubstr("expected an object"));
  EXPECT_THAT(ParseBenchTable("{", "t.json").status().message(), HasSubstr("line 1"));
}

/// A job of one task on a device whose trials can be analyzed without the device.
class DeviceReportTest : public ReportTest {
 protected:
  JobPage GatherOf(const char* key, const char* epilogue, const Target& target,
                   const std::string& metric, std::int64_t count) {
    const Workload workload = *Workload::Parse(key);
    std::vector<Trial> trials;
    const TemplateEntry* entry = BuiltInTemplates().For(workload, target).front();
    const ConfigSpace space = *entry->define_space(workload, target);
    const auto legal = [&](const Trial& trial) {
      const Candidate& c = trial.candidate;
      return metric == "seconds" ||
             BuildVtaStream(*entry, workload, c.epilogue, target, c.config).ok();
    };
    for (std::int64_t i = 0; std::ssize(trials) < count && i < 4000; ++i) {
      const std::int64_t index = i * 7919 % space.size();
      Trial trial =
          records::SampleTrial(index, 1e-3 * static_cast<double>(1 + i), workload, target);
      trial.candidate.epilogue = *Epilogue::Parse(epilogue);
      if (!legal(trial)) continue;
      trial.metric = metric;
      trial.attempt = 0;
      trial.verified = trials.empty();  // the others are analyzed too
      trials.push_back(std::move(trial));
    }
    Add(Path("device.db"), trials);
    Document document;
    GatherOptions options;
    options.templates = &BuiltInTemplates();
    options.finish = [](const TaskTrials& of, TaskPage& page) {
      FillDevicePages(BuiltInTemplates(), of.fastest(), of.spread(), page);
      return Status();
    };
    const Status gathered = GatherStore(Path("device.db"), options, document);
    EXPECT_TRUE(gathered.ok()) << gathered.message();
    return document.jobs.empty() ? JobPage() : document.jobs.front();
  }
};

TEST_F(DeviceReportTest, OfAVtaTheFrontIsAmongTrialsOfTheWholeSearch) {
  const JobPage job = GatherOf(
      "conv2d(int8[1,4,56,56,1,16]NCHW1n16c,int8[4,4,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)"
      "->int32",
      "shift_right(6);clip(-127,127);cast(int8)",
      *Target::Parse("vta -model=sim_1x16_i8w8a32_15_15_18_17"), "cycles", 24);
  ASSERT_EQ(job.tasks.size(), 1u);
  const TaskPage& task = job.tasks.front();
  ASSERT_TRUE(task.vta);
  EXPECT_GT(task.vta->points.size(), 8u);
  EXPECT_TRUE(std::ranges::any_of(task.vta->points, &VtaPoint::front));
  EXPECT_FALSE(std::ranges::all_of(task.vta->points, &VtaPoint::front));
  EXPECT_EQ(task.vta->timeline.size(), 3u);
  EXPECT_EQ(task.vta->memories.size(), 5u);
  EXPECT_EQ(task.roofline.per, "cycle");
  EXPECT_EQ(task.roofline.bound, 56 * 56 * 9 * 16);  // one tile product each
}

TEST_F(DeviceReportTest, OfAGpuSaysWhatConfigsAskFor) {
  const JobPage job = GatherOf(
      "conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32", "",
      *Target::Parse("cuda -arch=sm_80"), "seconds", 12);
  ASSERT_EQ(job.tasks.size(), 1u);
  const TaskPage& task = job.tasks.front();
  ASSERT_FALSE(task.gpu_points.empty());
  EXPECT_TRUE(task.gpu_points.front().best);
  EXPECT_THAT(task.gpu, Contains(Pair("occupancy", testing::AllOf(Gt(0), testing::Le(1)))));
  for (const GpuPoint& point : task.gpu_points) {
    EXPECT_GT(point.bank_ways, 0);
    EXPECT_LE(point.occupancy, 1);
  }
}

class FrontReportTest : public records::SampleStores {
 protected:
  Document GatherOf(std::vector<Trial> trials) {
    Add(Path("front.db"), trials);
    Document document;
    GatherOptions options;
    options.templates = &BuiltInTemplates();
    const Status gathered = GatherStore(Path("front.db"), options, document);
    EXPECT_TRUE(gathered.ok()) << gathered.message();
    return document;
  }
  static Trial WithCode(std::int64_t index, double seconds, double code_bytes) {
    Trial trial = records::SampleTrial(index, seconds);
    trial.others["code_bytes"] = code_bytes;
    return trial;
  }
};

TEST_F(FrontReportTest, OfSeveralMetricsShowsWhatNoOtherConfigBeats) {
  Trial unverified = WithCode(5, 1e-4, 10), again = WithCode(6, 5e-3, 9000);
  unverified.verified = false;
  again.attempt = 1;  // a race replaces the result of a single trial
  const Document document =
      GatherOf({WithCode(1, 1e-3, 9000), WithCode(2, 2e-3, 4000), WithCode(3, 3e-3, 5000),
                WithCode(4, 4e-3, 1000), unverified, WithCode(6, 1e-4, 9000), again});
  const TaskPage& task = document.jobs.front().tasks.front();
  EXPECT_THAT(task.metrics, ElementsAre("seconds", "code_bytes"));
  std::vector<std::vector<double>> values;
  for (const FrontRow& row : task.front) values.push_back(row.values);
  EXPECT_THAT(values, ElementsAre(ElementsAre(1e-3, 9000), ElementsAre(2e-3, 4000),
                                  ElementsAre(4e-3, 1000)));
  EXPECT_EQ(task.front[1].config, WithCode(2, 1, 1).candidate.config.ToString());
  const std::string text = ToText(document);
  EXPECT_THAT(text, HasSubstr("3 on the front\n"));
  EXPECT_THAT(text, HasSubstr("2.00 ms       4.000 kB  " + task.front[1].template_key + " {"));
  const Json json = ToJson(document)["jobs"][0]["tasks"][0];
  EXPECT_EQ(json["metrics"], Json({"seconds", "code_bytes"}));
  EXPECT_EQ(json["front"].size(), 3u);
  EXPECT_EQ(json["front"][1]["values"], Json({{"seconds", 2e-3}, {"code_bytes", 4000}}));
  EXPECT_EQ(json["front"][1]["config"], task.front[1].config);
}

TEST_F(FrontReportTest, OfOneMetricThereIsNone) {
  const Document document = GatherOf({records::SampleTrial(1, 1e-3)});
  EXPECT_TRUE(document.jobs.front().tasks.front().front.empty());
  EXPECT_THAT(ToText(document), Not(HasSubstr("front\n")));
}

TEST(ReportOfFormats, IsGatheredFromItsStoreAndWritten) {
  auto folder = LockedTempDir::Create("tilewright-formats-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/formats.db";
  {
    auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok());
    const auto unfinished = store->OpenJob("optimize-1-1", "{}", 0);
    ASSERT_TRUE(unfinished.ok());
    const auto job = store->OpenJob("optimize-1-2", R"({"graph":"net","target":"llvm"})", 0);
    ASSERT_TRUE(job.ok());
    auto earlier = optimize::SampleReport();
    earlier.reason = "earlier";
    for (const auto& report : {earlier, optimize::SampleReport()}) {
      ASSERT_TRUE(store
                      ->Append(job->id, {},
                               {{optimize::kResultStep, optimize::kStepKind,
                                 DumpJson(optimize::StoredReport(report))}})
                      .ok());
    }
  }
  Document document;
  GatherOptions options;
  options.templates = &BuiltInTemplates();
  const Status gathered = GatherStore(path, options, document);
  ASSERT_TRUE(gathered.ok()) << gathered.message();
  ASSERT_EQ(document.formats.size(), 1U) << "a job that is not complete has no page";
  EXPECT_EQ(document.formats[0].graph, "net");
  EXPECT_EQ(document.formats[0].search.reason, optimize::SampleReport().reason);
  const Json page = ToJson(document)["formats"][0];
  EXPECT_EQ(page["job"], "optimize-1-2");
  EXPECT_EQ(page["combinations"][1]["formats"], "ib");
  EXPECT_EQ(page["bounds"][0], Json::parse(R"({"bound":"sqnr>=20","combination":0,)"
                                           R"("time_ratio":0.4,"predicted_time_ratio":0.45})"));
  EXPECT_EQ(page["sites"][0]["formats"][0]["sqnr_db"], nullptr) << "no error";
  const std::string text = ToText(document, 100);
  EXPECT_THAT(text, HasSubstr("the fastest that keeps sqnr>=30"));
  EXPECT_THAT(text, HasSubstr("sqnr>=60"));
  options.job = "optimize-1-3";
  EXPECT_EQ(GatherStore(path, options, document).code(), StatusCode::kNotFound);
}

/// Stores the results of searches, a job for each: optimize-1-0, optimize-1-1, …
void StoreResults(const std::string& path, const std::vector<std::string>& payloads) {
  auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok());
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const auto job = store->OpenJob("optimize-1-" + std::to_string(i), R"({"graph":"net"})", 0);
    ASSERT_TRUE(job.ok());
    ASSERT_TRUE(
        store->Append(job->id, {}, {{optimize::kResultStep, optimize::kStepKind, payloads[i]}})
            .ok());
  }
}

TEST(ReportOfFormats, LeavesOutADamagedResultWithANote) {
  auto folder = LockedTempDir::Create("tilewright-formats-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/formats.db", only = folder->path() + "/only.db";
  const std::string good = DumpJson(optimize::StoredReport(optimize::SampleReport()));
  ASSERT_NO_FATAL_FAILURE(StoreResults(path, {good, "{\"chosen\":-1}"}));
  ASSERT_NO_FATAL_FAILURE(StoreResults(only, {"{}"}));
  GatherOptions options;
  options.templates = &BuiltInTemplates();
  for (const auto& [store, pages] : {std::pair(path, 1U), std::pair(only, 0U)}) {
    Document document;
    const Status gathered = GatherStore(store, options, document);
    ASSERT_TRUE(gathered.ok()) << gathered.message();
    EXPECT_EQ(document.formats.size(), pages);
    ASSERT_EQ(document.missing.size(), 1U);
    EXPECT_THAT(document.missing[0],
                HasSubstr(store + ": job optimize-1-" + std::to_string(pages) + ": "));
    EXPECT_THAT(ToText(document), HasSubstr("this search is left out"));
  }
}

TEST(ReportOfFormats, ShowsNoPasswords) {
  auto folder = LockedTempDir::Create("tilewright-formats-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/formats.db";
  auto search = optimize::SampleReport();
  search.score = "./score --labels https://me:secret@host/labels";
  search.combinations[0].refused = "exit code 1: no https://me:secret@host/labels";
  ASSERT_NO_FATAL_FAILURE(StoreResults(path, {DumpJson(optimize::StoredReport(search))}));
  GatherOptions options;
  options.templates = &BuiltInTemplates();
  Document document;
  ASSERT_TRUE(GatherStore(path, options, document).ok());
  ASSERT_EQ(document.formats.size(), 1U);
  EXPECT_EQ(document.formats[0].search.score, "./score --labels https://host/labels");
  EXPECT_THAT(DumpJson(ToJson(document)), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace tilewright::report
