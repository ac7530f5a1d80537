// Records with several metrics: the front of a task, the preferred record on it, and a limit that
// the tasks of a network share.

#include "records/front/front.h"

#include <gmock/gmock.h>

#include "records/maintenance.h"
#include "records/package/build.h"
#include "records/package/catalog.h"
#include "tests/records/sample_trials.h"

namespace tilewright::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kTimeAndCode = {"seconds", "code_bytes"};

Trial WithCode(std::int64_t index, double seconds, double code_bytes,
               const Workload& workload = SampleConv()) {
  Trial trial = SampleTrial(index, seconds, workload);
  trial.samples = {seconds};
  trial.others["code_bytes"] = code_bytes;
  return trial;
}

std::vector<double> SecondsOf(const std::vector<Record>& records) {
  std::vector<double> seconds;
  for (const Record& record : records) seconds.push_back(record.trial.value);
  return seconds;
}

Preference Parsed(std::string_view text) {
  auto prefer = Preference::Parse(text, SampleTarget());
  EXPECT_TRUE(prefer.ok()) << prefer.status().message();
  return prefer.ok() ? *std::move(prefer) : Preference();
}

class FrontOfRecords : public SampleStores {
 protected:
  std::vector<Record> Front(const std::string& store,
                            const std::vector<std::string>& metrics = kTimeAndCode) const {
    auto opened = Store::Open(Path(store), Store::Mode::kReadOnly);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    auto front =
        opened->Front(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice(), metrics);
    EXPECT_TRUE(front.ok()) << front.status().message();
    return front.ok() ? std::move(front->records) : std::vector<Record>();
  }
  /// Queries with a preference.
  CatalogAnswer Ask(const std::string& store, const Preference& prefer) const {
    return AskAll({store}, prefer);
  }
  CatalogAnswer AskAll(const std::vector<std::string>& stores, const Preference& prefer) const {
    Catalog catalog;
    for (const std::string& store : stores) {
      catalog.AddStore(*Store::Open(Path(store), Store::Mode::kReadOnly));
    }
    const Workload workload = SampleConv();
    const Target target = SampleTarget();
    const DeviceFingerprint device = SampleDevice();
    LookupRequest request;
    request.templates = &BuiltInTemplates();
    request.workload = &workload;
    request.target = &target;
    request.device = &device;
    request.prefer = &prefer;
    auto answer = catalog.Query(request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return *std::move(answer);
  }
  /// Returns the seconds on the front of a package of the store, which has three trials.
  std::vector<double> PackagedFront(const std::string& store, const PackageOptions& options) const {
    auto packages = BuildPackages(BuiltInTemplates(), {Path(store)}, options);
    EXPECT_TRUE(packages.ok()) << packages.status().message();
    if (!packages.ok()) return {};
    EXPECT_EQ(packages->front().manifest.trials, 3);
    EXPECT_TRUE(WriteFile(Path("p.twpkg"), packages->front().bytes).ok());
    Catalog catalog;
    EXPECT_TRUE(catalog.AddPackageFile(Path("p.twpkg"), {{}, true}).ok());
    const Workload workload = SampleConv();
    const Target target = SampleTarget();
    const DeviceFingerprint device = SampleDevice();
    LookupRequest request;
    request.templates = &BuiltInTemplates();
    request.workload = &workload;
    request.target = &target;
    request.device = &device;
    const auto front = catalog.Front(request, kTimeAndCode);
    EXPECT_TRUE(front.ok()) << front.status().message();
    return front.ok() ? SecondsOf(*front) : std::vector<double>();
  }
  void AddFront(const std::string& store) {
    Add(Path(store), {WithCode(1, 1e-3, 9000), WithCode(2, 2e-3, 4000), WithCode(3, 3e-3, 5000),
                      WithCode(4, 4e-3, 1000)});
  }
};

TEST_F(FrontOfRecords, AreThoseThatNoOtherOneBeats) {
  AddFront("r.db");
  const auto front = Front("r.db");
  EXPECT_THAT(SecondsOf(front), ElementsAre(1e-3, 2e-3, 4e-3));
  EXPECT_EQ(front[1].trial.ValueOf("code_bytes"), 4000);
  EXPECT_EQ(front[1].trial.ValueOf("seconds"), 2e-3);
  EXPECT_FALSE(front[1].trial.ValueOf("joules").has_value());
  EXPECT_THAT(SecondsOf(Front("r.db", {"code_bytes"})), ElementsAre(4e-3));
}

// The front of a task uses the metrics of that task, even if other tasks lack them.
TEST_F(FrontOfRecords, GoByTheMetricsOfEachTask) {
  const Workload dense = *Workload::Parse("dense(float32[4,16]MK,float32[32,16]NK)->float32"),
                 nobodys = *Workload::Parse("dense(float32[4,8]MK,float32[32,8]NK)->float32");
  Trial all = WithCode(1, 1e-3, 9000, dense), energy = SampleTrial(1, 1e-3);
  all.samples = energy.samples = {1e-3};
  all.others["joules"] = energy.others["joules"] = 0.5;
  AddFront("r.db");
  Add(Path("all.db"), {all});
  Add(Path("energy.db"), {energy});
  const auto metrics = [this](const std::vector<std::string>& stores, const Workload& workload) {
    Catalog catalog;
    for (const std::string& store : stores) {
      catalog.AddStore(*Store::Open(Path(store), Store::Mode::kReadOnly));
    }
    const Target target = SampleTarget();
    const DeviceFingerprint device = SampleDevice();
    LookupRequest request;
    request.templates = &BuiltInTemplates();
    request.workload = &workload;
    request.target = &target;
    request.device = &device;
    const auto front = catalog.TaskFront(request);
    EXPECT_TRUE(front.ok()) << front.status().message();
    EXPECT_EQ(front->metrics.empty(), front->records.empty());
    return front->metrics;
  };
  EXPECT_THAT(metrics({"r.db", "all.db"}, dense), ElementsAre("seconds", "code_bytes", "joules"));
  EXPECT_THAT(metrics({"r.db", "all.db"}, SampleConv()), ElementsAre("seconds", "code_bytes"));
  EXPECT_THAT(metrics({"energy.db"}, SampleConv()), ElementsAre("seconds", "joules"));
  EXPECT_THAT(metrics({"r.db", "all.db"}, nobodys), ElementsAre());
}

TEST_F(FrontOfRecords, LeaveOutWhatMayNotBeServed) {
  Trial unverified = WithCode(1, 1e-3, 10), unknown = SampleTrial(2, 1e-3),
        noisy = WithCode(3, 1e-4, 10), elsewhere = WithCode(5, 1e-4, 10);
  unverified.verified = false;
  noisy.clean_fraction = 0;
  elsewhere.device = SampleDevice("Another CPU");
  Add(Path("r.db"), {unverified, unknown, noisy, elsewhere, WithCode(4, 2e-3, 4000)});
  EXPECT_THAT(SecondsOf(Front("r.db")), ElementsAre(2e-3));
}

// The fastest single trial of many is fast partly by chance, so the result of its race counts.
TEST_F(FrontOfRecords, GoByTheLastRaceOfAConfig) {
  Trial raced = WithCode(1, 3e-3, 9000);
  raced.attempt = 1;
  Add(Path("r.db"), {WithCode(1, 1e-3, 9000), raced, WithCode(2, 2e-3, 9000)});
  EXPECT_THAT(SecondsOf(Front("r.db")), ElementsAre(2e-3));
}

// The repeated measurement after a device drifted has a smaller attempt number.
TEST_F(FrontOfRecords, GoByWhatWasMeasuredAgain) {
  Trial again = WithCode(1, 3e-3, 9000);
  again.attempt = -2;
  Add(Path("r.db"), {WithCode(1, 1e-3, 9000), again, WithCode(2, 4e-3, 4000)});
  EXPECT_THAT(SecondsOf(Front("r.db")), ElementsAre(3e-3, 4e-3));
  // Pruning follows the same rule: if the replaced trial counted, config 1 would beat config 3.
  Add(Path("r.db"), {WithCode(3, 2e-3, 8000), WithCode(4, 1e-4, 99000)});
  PruneOptions prune;
  prune.best = 1;
  prune.training = 0;
  ASSERT_TRUE(PruneStore(BuiltInTemplates(), Path("r.db"), prune).ok());
  EXPECT_THAT(SecondsOf(Front("r.db")), ElementsAre(1e-4, 2e-3, 4e-3));
}

TEST(TakesPlaceTest, RacesThenWhatWasMeasuredAgainThenWhatIsLater) {
  EXPECT_TRUE(Supersedes(1, 10, -2, 20));
  EXPECT_TRUE(Supersedes(-2, 10, 0, 20));
  EXPECT_FALSE(Supersedes(0, 20, -2, 10));
  EXPECT_TRUE(Supersedes(0, 20, 0, 10));
  // Race numbers are compared only within a job.
  EXPECT_TRUE(Supersedes(1, 20, 2, 10));
  EXPECT_FALSE(Supersedes(2, 10, 1, 20));
}

// A single trial of many that is slightly faster than the winner of a race is so by chance.
TEST_F(FrontOfRecords, ASingleTrialBeatsARaceOnlyOutsideItsNoise) {
  Trial raced = WithCode(1, 1e-3, 9000);
  raced.attempt = 1;
  Add(Path("r.db"), {raced, WithCode(2, 0.995e-3, 9000), WithCode(3, 0.995e-3, 8000)});
  EXPECT_THAT(SecondsOf(Front("r.db")), ElementsAre(1e-3, 0.995e-3));
  EXPECT_EQ(Ask("r.db", Parsed("seconds,code_bytes<=9kB")).candidate()->config.index, 1);
  Add(Path("r.db"), {WithCode(4, 0.9e-3, 8000)});
  EXPECT_THAT(SecondsOf(Front("r.db")), ElementsAre(0.9e-3));
}

// By the measured values, config 2 beats the winner of the race, and config 4 beats config 3.
// Within their noise they do not. Packing and pruning keep the records that a query returns.
TEST_F(FrontOfRecords, ArePackedAndPrunedAsTheyAreCompared) {
  Trial raced = WithCode(1, 1e-3, 9000), noisy = WithCode(4, 1.9e-3, 7000);
  raced.attempt = 1;
  noisy.noise = 0.2;
  Add(Path("r.db"), {raced, WithCode(2, 0.995e-3, 9000), WithCode(3, 2e-3, 7000), noisy,
                     WithCode(5, 0.5e-3, 99000)});
  const std::vector<double> front = SecondsOf(Front("r.db"));
  ASSERT_THAT(front, ElementsAre(0.5e-3, 1e-3, 2e-3));
  PackageOptions options;
  options.best = 1;
  options.license = "CC0-1.0";
  EXPECT_EQ(PackagedFront("r.db", options), front);
  PruneOptions prune;
  prune.best = 1;
  prune.training = 0;
  ASSERT_TRUE(PruneStore(BuiltInTemplates(), Path("r.db"), prune).ok());
  EXPECT_EQ(SecondsOf(Front("r.db")), front);
}

TEST_F(FrontOfRecords, TheOwnMetricAloneIsWhatIsServedAnyway) {
  Trial raced = WithCode(1, 1e-3, 9000);
  raced.attempt = 1;
  Add(Path("r.db"), {WithCode(2, 0.5e-3, 9000), raced});
  auto store = Store::Open(Path("r.db"), Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(store->StoreBest(store->Jobs()->front().id, raced, {}).ok());
  const CatalogAnswer answer = Ask("r.db", Parsed("seconds"));
  EXPECT_EQ(answer.candidate()->config.index, 1);
  EXPECT_THAT(answer.answer.explanation, HasSubstr("winner of the task's final race"));
}

// A network's limit is shared by the front of a package. An older record of the user without
// code_bytes must not be returned instead.
TEST_F(FrontOfRecords, OfALaterStoreAnswersBeforeAHitWithoutTheMetric) {
  Add(Path("own.db"), {SampleTrial(9, 1e-4)});
  AddFront("r.db");
  const CatalogAnswer answer = AskAll({"own.db", "r.db"}, Parsed("seconds,code_bytes<=4kB"));
  EXPECT_EQ(answer.candidate()->config.index, 2);
  EXPECT_THAT(answer.source, HasSubstr("r.db"));
  EXPECT_EQ(AskAll({"own.db", "r.db"}, Parsed("seconds")).candidate()->config.index, 9);
}

TEST_F(FrontOfRecords, AnswerByWhatIsPreferred) {
  AddFront("r.db");
  const auto config = [&](std::string_view prefer) {
    return Ask("r.db", Parsed(prefer)).candidate()->config.index;
  };
  EXPECT_EQ(config("seconds"), 1);
  EXPECT_EQ(config("code_bytes"), 4);
  EXPECT_EQ(config("seconds,code_bytes<=4kB"), 2);
  EXPECT_EQ(config("seconds,code_bytes<=3999"), 4);
  EXPECT_EQ(config("code_bytes,seconds<=2.5ms"), 2);
  const CatalogAnswer lean = Ask("r.db", Parsed("seconds,code_bytes<=1KiB"));
  EXPECT_EQ(lean.level, AnswerLevel::kHit);
  EXPECT_THAT(lean.answer.explanation,
              HasSubstr("the least seconds with code_bytes <= 1024, on a front of 3;"));
  // A record above a limit is never returned without a note.
  const CatalogAnswer above = Ask("r.db", Parsed("seconds,code_bytes<=500"));
  EXPECT_EQ(above.candidate()->config.index, 4);
  EXPECT_THAT(above.answer.explanation, HasSubstr("none is within the limit"));
}

// Fronts report skipped records as hits do.
TEST_F(FrontOfRecords, SayWhatWasPassedOver) {
  AddFront("r.db");
  Trial call = SampleCall(5e-4), slow = SampleCall(5e-3), plugin = WithCode(6, 1e-4, 10);
  call.others["code_bytes"] = 9000;
  slow.others["code_bytes"] = 9000;
  plugin.candidate.template_key = "nobody/conv2d";
  Add(Path("r.db"), {plugin});
  Add(Path("slow.db"), {WithCode(1, 1e-3, 9000), slow});
  const CatalogAnswer before = Ask("r.db", Parsed("code_bytes"));
  EXPECT_EQ(before.answer.skipped_record, "");
  EXPECT_THAT(before.answer.explanation, HasSubstr("so its records are left out"));
  Add(Path("r.db"), {call});
  const CatalogAnswer answer = Ask("r.db", Parsed("seconds,code_bytes<=9kB"));
  EXPECT_EQ(answer.candidate()->config.index, 1);
  EXPECT_THAT(answer.answer.skipped_record, HasSubstr("conv2d.dnnl in 5e-04 seconds"));
  EXPECT_THAT(answer.answer.explanation,
              HasSubstr("; passed over: " + answer.answer.skipped_record));
  // A record that the front beats would not have been selected.
  EXPECT_EQ(Ask("slow.db", Parsed("code_bytes")).answer.skipped_record, "");
}

TEST_F(FrontOfRecords, WithoutTheMetricTheFastestAnswersAndSaysSo) {
  Add(Path("r.db"), {SampleTrial(1, 1e-3)});
  const CatalogAnswer answer = Ask("r.db", Parsed("code_bytes"));
  EXPECT_EQ(answer.level, AnswerLevel::kHit);
  EXPECT_EQ(answer.candidate()->config.index, 1);
  EXPECT_THAT(answer.answer.explanation,
              HasSubstr("no record that may be served says what --prefer asks for"));
}

TEST_F(FrontOfRecords, GoIntoPackagesAndArePruned) {
  std::vector<Trial> trials = {WithCode(1, 9e-3, 1000)};  // the smallest, and the slowest
  for (int i = 2; i < 12; ++i) trials.push_back(WithCode(i, 1e-3 * i / 2, 9000));
  Add(Path("r.db"), trials);
  PackageOptions options;
  options.best = 2;
  options.license = "CC0-1.0";
  EXPECT_THAT(PackagedFront("r.db", options), ElementsAre(1e-3, 9e-3));

  PruneOptions prune;
  prune.best = 1;
  prune.training = 0;
  const auto pruned = PruneStore(BuiltInTemplates(), Path("r.db"), prune);
  ASSERT_TRUE(pruned.ok()) << pruned.status().message();
  EXPECT_EQ(pruned->trials - pruned->removed, 2);
  EXPECT_THAT(SecondsOf(Front("r.db")), ElementsAre(1e-3, 9e-3));
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("r.db")), ElementsAre());
}

TEST_F(FrontOfRecords, WhatIsNoNumberIsRefused) {
  AddFront("r.db");
  for (const char* text : {"{", "[1]", "{\"code_bytes\":-1}", "{\"code_bytes\":\"x\"}", "7"}) {
    Sql(Path("r.db"), std::string("UPDATE trial SET others = '") + text + "'");
    const auto store = Store::Open(Path("r.db"), Store::Mode::kReadOnly);
    ASSERT_TRUE(store.ok());
    const auto trials = store->Trials({});
    EXPECT_EQ(trials.status().code(), StatusCode::kCorrupt) << text;
    EXPECT_THAT(trials.status().message(), HasSubstr("expected an object of positive numbers"));
  }
}

TEST(PreferenceTest, SaysWhatIsWrong) {
  const auto refused = [](std::string_view text) {
    return Preference::Parse(text, SampleTarget()).status().message();
  };
  EXPECT_THAT(refused("cycles"), HasSubstr("metric 'cycles', expected seconds or code_bytes"));
  EXPECT_THAT(refused(""), HasSubstr("metric ''"));
  EXPECT_THAT(refused("seconds,code_bytes"), HasSubstr("METRIC,METRIC<=AMOUNT"));
  EXPECT_THAT(refused("seconds,code_bytes<="), HasSubstr("METRIC,METRIC<=AMOUNT"));
  EXPECT_THAT(refused("seconds,code_bytes<=4 pints"),
              HasSubstr("an amount of code_bytes such as 15.3MB"));
  EXPECT_THAT(refused("seconds,code_bytes<=-4"),
              HasSubstr("an amount of code_bytes such as 15.3MB"));
  EXPECT_THAT(refused("seconds,code_bytes<=MB"),
              HasSubstr("an amount of code_bytes such as 15.3MB"));
  EXPECT_THAT(refused("seconds,code_bytes<=15ms"), HasSubstr("an amount of code_bytes such as"));
  EXPECT_THAT(refused("code_bytes,seconds<=15MB"), HasSubstr("an amount of seconds such as 2.5ms"));
  EXPECT_THAT(refused("seconds,code_bytes<=1e308GB"), HasSubstr("an amount of code_bytes such as"));
  EXPECT_THAT(refused("code_bytes,seconds<=1e-323us"), HasSubstr("an amount of seconds such as"));
  EXPECT_THAT(refused("seconds,seconds<=1s"), HasSubstr("twice"));
  EXPECT_EQ(Parsed("seconds,code_bytes<=15.3MB").limit, 15.3e6);
  EXPECT_DOUBLE_EQ(Parsed("code_bytes,seconds<=15us").limit, 15e-6);
  EXPECT_DOUBLE_EQ(Parsed("code_bytes,seconds<=15µs").limit, 15e-6);
  EXPECT_EQ(Parsed("code_bytes,seconds<=2s").limit, 2);
  EXPECT_DOUBLE_EQ(Parsed("seconds,joules<=1.5mJ").limit, 1.5e-3);
  EXPECT_THAT(refused("seconds,joules<=2ms"), HasSubstr("an amount of joules such as 1.5mJ"));
  EXPECT_EQ(Parsed("joules,seconds<=2.5s").ToString(2.5), "the least joules with seconds <= 2.5");
}

Record Costs(double seconds, double code_bytes) {
  return {"", WithCode(0, seconds, code_bytes), 0};
}

// Compares the selection with all possible selections for a small network.
TEST(ShareLimitTest, ChoosesTheLeastOfAllChoicesWithinTheLimit) {
  std::vector<FrontTask> tasks = {
      {"a", 1, {Costs(1, 100), Costs(2, 60), Costs(8, 50)}},
      {"b", 3, {Costs(1, 90), Costs(3, 40)}},
      {"nothing is known of it", 5, {}},
      {"c", 2, {Costs(5, 30), Costs(6, 20), Costs(9, 10)}},
  };
  for (double limit = 190; limit <= 440; limit += 10) {
    double least = 1e9;
    for (const Record& a : tasks[0].front) {
      for (const Record& b : tasks[1].front) {
        for (const Record& c : tasks[3].front) {
          const auto sum = [&](const char* metric) {
            return *a.trial.ValueOf(metric) + 3 * *b.trial.ValueOf(metric) +
                   2 * *c.trial.ValueOf(metric);
          };
          if (sum("code_bytes") <= limit) least = std::min(least, sum("seconds"));
        }
      }
    }
    Preference prefer = Parsed("seconds,code_bytes<=1");
    prefer.limit = limit;
    ASSERT_TRUE(ShareLimit(tasks, prefer).ok());
    double seconds = 0, bytes = 0;
    for (const FrontTask& task : tasks) {
      if (task.front.empty()) continue;
      const Trial& trial = ChooseFrom(task.front, prefer, prefer.LimitFor(task.workload_key)).trial;
      seconds += static_cast<double>(task.uses) * trial.value;
      bytes += static_cast<double>(task.uses) * *trial.ValueOf("code_bytes");
    }
    EXPECT_LE(bytes, limit);
    EXPECT_DOUBLE_EQ(seconds, least) << limit;
  }
}

TEST(ShareLimitTest, SaysWhatTheLeanestTakes) {
  Preference prefer = Parsed("seconds,code_bytes<=40");
  const std::vector<FrontTask> tasks = {{"a", 2, {Costs(1, 100), Costs(2, 60)}}};
  const Status status = ShareLimit(tasks, prefer);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("the least total is 120"));
}

}  // namespace
}  // namespace tilewright::records
