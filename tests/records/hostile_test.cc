// Rows written by an attacker: the user's own records are not lost, no invalid record is served,
// and each one is rejected by name.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "records/front/front.h"
#include "records/maintenance.h"
#include "records/merge.h"
#include "records/package/build.h"
#include "records/row.h"
#include "records/validation/identity.h"
#include "records/validation/rules.h"
#include "records/validation/schedules.h"
#include "src/templates/text/text_template.h"
#include "tests/records/sample_trials.h"

namespace tilewright::records {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kInTheFuture = 9e9;  // 2255

class HostileTest : public SampleStores {
 protected:
  std::string StoreIdOfFile(const std::string& path) {
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    return **store->Fact("store_id");
  }
  Result<Answer> Ask(const std::string& path, const Target& target = SampleTarget(),
                     const DeviceFingerprint& device = SampleDevice()) {
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    TW_RETURN_IF_ERROR(store);
    return store->Query(BuiltInTemplates(), SampleConv(), target, device);
  }
  std::int64_t IndexOf(const Result<Answer>& answer) {
    return answer.ok() && answer->record ? answer->record->trial.candidate.config.index : -1;
  }
};

TEST_F(HostileTest, AnIdSaysWhatCameOfATrial) {
  const Trial trial = SampleTrial(3, 0.002);
  const std::string id = TrialId("store", "job", trial);
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(TrialId("store", "job", trial), id);
  const std::vector<std::function<void(Trial&)>> changes = {
      [](Trial& t) { t.value *= 1.0000001; },
      [](Trial& t) { t.samples[1] = 0.5; },
      [](Trial& t) { t.samples.pop_back(); },
      [](Trial& t) { t.noise = 0.5; },
      [](Trial& t) { t.reason = "x"; },
      [](Trial& t) { t.metric = "cycles"; },
      [](Trial& t) { t.verified = false; },
      [](Trial& t) { t.outcome = Outcome::kInvalid; },
      [](Trial& t) { t.max_abs_error = 1; },
      [](Trial& t) { t.build_seconds = 1; },
      [](Trial& t) { t.run_seconds = 1; },
      [](Trial& t) { t.attempt = 1; },
      [](Trial& t) { t.clean_fraction = 0.5; },
      [](Trial& t) { t.predicted = 0; },
      [](Trial& t) { t.others["joules"] = 1; },
      [](Trial& t) { t.codegen_version += 1; },
      [](Trial& t) { t.finished_unix_seconds++; },
      [](Trial& t) { t.candidate.template_version += 1; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Trial changed = trial;
    changes[i](changed);
    EXPECT_NE(TrialId("store", "job", changed), id) << i;
    EXPECT_FALSE(IsIdOf(id, "store", "job", changed)) << i;
  }
  EXPECT_NE(TrialId("stor", "ejob", trial), id);
  EXPECT_TRUE(IsIdOf(LegacyTrialId("store", "job", trial), "store", "job", trial));
}

// Rows with the predicted ids of a job's next trials must not replace them: otherwise those trials
// would be acknowledged but not stored.
TEST_F(HostileTest, NoRowTakesThePlaceOfATrialToCome) {
  Add(Path("own.db"), {SampleTrial(3, 0.002)});
  ASSERT_TRUE(VacuumStore(Path("own.db"), Path("evil.db")).ok());
  const std::string own = StoreIdOfFile(Path("own.db"));
  const Trial next = SampleTrial(4, 0.001);
  const std::string guessed = LegacyTrialId(own, "job", next);
  Sql(Path("evil.db"),
      "UPDATE trial SET id = '" + guessed +
          "', reason = 'planted', outcome = 4,"
          " verified = 0; UPDATE fact SET value = 'feedface' WHERE key = 'store_id';"
          "UPDATE job SET name = 'other@feedface'; DELETE FROM best");
  auto merged = MergeStores(BuiltInTemplates(), Path("own.db"), {Path("evil.db")});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->front().refused, 1);
  EXPECT_EQ(merged->front().added, 0);
  EXPECT_THAT(merged->front().reasons, testing::ElementsAre(HasSubstr(guessed)));
  // The same if the row was written into the store itself.
  Sql(Path("own.db"), "INSERT INTO trial SELECT '" + guessed +
                          "', job, workload, target, device, epilogue, template, template_version,"
                          " codegen_version, config_index, config, 4, 'planted', metric, value,"
                          " noise, samples, 0, 0, 0, 0, 0, finished, -1, NULL, '' FROM trial");
  Add(Path("own.db"), {next});
  EXPECT_EQ(CountIn(Path("own.db")), 3);
  EXPECT_EQ(IndexOf(Ask(Path("own.db"))), 4);
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("own.db")),
              testing::ElementsAre(HasSubstr("was changed")));
}

TEST_F(HostileTest, AnotherRowUnderTheVeryIdIsAnErrorAndNothingIsStored) {
  Add(Path("own.db"), {SampleTrial(3, 0.002)});
  const Trial next = SampleTrial(4, 0.001);
  Sql(Path("own.db"),
      "UPDATE trial SET id = '" + TrialId(StoreIdOfFile(Path("own.db")), "job", next) + "'");
  auto store = Store::Open(Path("own.db"), Store::Mode::kReadWrite);
  const std::int64_t job = store->OpenJob("job", "", 0)->id;
  const Status added = store->Append(job, {SampleTrial(5, 0.003), next}, {{"t", "tell", "{}"}});
  EXPECT_EQ(added.code(), StatusCode::kCorrupt);
  EXPECT_THAT(added.message(), HasSubstr("which is not stored"));
  EXPECT_EQ(*store->CountTrials({}), 1);
  EXPECT_THAT(*store->Log(job, "t"), IsEmpty());
  // Appending the same trial again is not an error.
  EXPECT_TRUE(store->Append(job, {SampleTrial(5, 0.003)}, {}).ok());
  EXPECT_TRUE(store->Append(job, {SampleTrial(5, 0.003)}, {}).ok());
  EXPECT_EQ(*store->CountTrials({}), 2);
}

// SQLite stores NaN as NULL; the trial must still be stored.
TEST_F(HostileTest, ATrialWithoutNumbersIsStored) {
  Trial wrong = SampleTrial(3, std::numeric_limits<double>::quiet_NaN());
  wrong.outcome = Outcome::kWrongResult;
  wrong.verified = false;
  wrong.samples.clear();
  wrong.noise = wrong.max_abs_error = std::nan("");
  Add(Path("r.db"), {wrong});
  EXPECT_EQ(CountIn(Path("r.db")), 1);
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("r.db")), IsEmpty());
}

// Values of other types, missing and additional knobs, and values outside of the space must not end
// the process that builds or explains such a row.
TEST_F(HostileTest, ConfigsOutsideTheirSpaceAreServedByNobody) {
  for (const char* change :
       {"json_set(config, '$.values.' || knob, 'rows')", "json_remove(config, '$.values.' || knob)",
        "json_set(config, '$.values.' || knob, json('[0]'))",
        "json_set(config, '$.values.' || knob, json('true'))",
        "json_set(config, '$.values.' || knob, 99999999)", "json_set(config, '$.values.more', 1)",
        "json_set(config, '$.index', 7)", "'[]'", "x'00'"}) {
    SCOPED_TRACE(change);
    const std::string path = Path("r.db");
    ::unlink(path.c_str());
    Add(path, {SampleTrial(3, 0.001), SampleTrial(4, 0.002)});
    Sql(path, "UPDATE trial SET config = (SELECT " + std::string(change) +
                  " FROM (SELECT key AS knob FROM json_each(config, '$.values') LIMIT 1)) WHERE"
                  " config_index = 3");
    const auto answer = Ask(path);
    EXPECT_EQ(IndexOf(answer), 4);
    if (answer.ok()) {
      EXPECT_THAT(answer->explanation, HasSubstr("left out: "));
    }
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    TrialFilter filter;
    filter.served = true;
    filter.valid_for = &BuiltInTemplates();
    std::vector<std::string> refused;
    filter.refused = [&refused](const std::string& why) { refused.push_back(why); };
    EXPECT_EQ(store->Trials(filter)->size(), 1U);
    EXPECT_THAT(refused, testing::SizeIs(1));
    EXPECT_THAT(*CheckStore(BuiltInTemplates(), path), testing::SizeIs(1));
    EXPECT_EQ(BestOfStore(BuiltInTemplates(), path, 0)->size(), 1U);
    PackageOptions options;
    options.license = "CC0-1.0";
    std::int64_t left_out = 0;
    options.refused = [&](const std::string&, std::int64_t count, const std::string&) {
      left_out += count;
    };
    const auto built = BuildPackages(BuiltInTemplates(), {path}, options);
    ASSERT_TRUE(built.ok()) << built.status().message();
    EXPECT_EQ(left_out, 1);
    EXPECT_EQ(built->front().manifest.trials, 1);
    ::unlink(Path("into.db").c_str());
    auto merged = MergeStores(BuiltInTemplates(), Path("into.db"), {path});
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    EXPECT_EQ(merged->front().refused, 1);
    EXPECT_EQ(merged->front().added, 1);
    EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("into.db")), IsEmpty());
  }
}

TEST_F(HostileTest, TimesThatNoDeviceReachesAreServedByNobody) {
  Add(Path("r.db"), {SampleTrial(3, 1e-30), SampleTrial(4, 0.002)});
  EXPECT_EQ(IndexOf(Ask(Path("r.db"))), 4);
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("r.db")),
              testing::ElementsAre(HasSubstr("no device does it faster")));
  EXPECT_EQ(BestOfStore(BuiltInTemplates(), Path("r.db"), 1)->front().record.trial.value, 0.002);
}

// For one workload: many threads or a GPU can reach times that one thread cannot.
TEST_F(HostileTest, TheLeastTimeIsThatOfTheTarget) {
  const Target many = SampleTarget(" -num-threads=16"), gpu = *Target::Parse("cuda -arch=sm_80");
  Trial on_gpu = SampleTrial(6, 1e-8);
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d_nchw.cuda");
  on_gpu.candidate.task.target = gpu;
  on_gpu.candidate.template_key = entry.key;
  on_gpu.candidate.template_version = entry.version;
  on_gpu.candidate.config = entry.define_space(SampleConv(), gpu)->At(6);
  on_gpu.codegen_version = DeviceTraitsOf(gpu).codegen_version;
  const std::vector<Trial> trials = {SampleTrial(3, 5e-7), SampleTrial(4, 5e-7, SampleConv(), many),
                                     SampleTrial(5, 1e-8, SampleConv(), many), on_gpu};
  for (const bool reversed : {false, true}) {
    const std::string path = Path(reversed ? "reversed.db" : "r.db");
    Add(path, reversed ? std::vector<Trial>(trials.rbegin(), trials.rend()) : trials);
    EXPECT_THAT(
        *CheckStore(BuiltInTemplates(), path),
        testing::AllOf(testing::SizeIs(2), testing::Each(HasSubstr("no device does it faster"))));
    TrialFilter filter;
    filter.valid_for = &BuiltInTemplates();
    std::vector<std::int64_t> sound;
    filter.refused = [](const std::string& why) {
      EXPECT_THAT(why, HasSubstr("no device does it faster"));
    };
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    const auto used = store->Trials(filter);
    ASSERT_TRUE(used.ok()) << used.status().message();
    for (const Record& record : *used) sound.push_back(record.trial.candidate.config.index);
    EXPECT_THAT(sound, testing::UnorderedElementsAre(4, 6));
  }
}

TEST_F(HostileTest, SpacesThatAreMadeAgainAreTheSame) {
  SpaceCache spaces(2);
  std::vector<Trial> trials;
  for (const int channels : {16, 32, 64, 128}) {
    trials.push_back(SampleTrial(7, 0.001, SampleConv(channels)));
  }
  for (const std::size_t i : {0U, 1U, 0U, 2U, 0U, 1U, 3U, 2U, 2U, 0U}) {
    const auto config = spaces.Locate(BuiltInTemplates(), trials[i].candidate);
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config->ToString(), trials[i].candidate.config.ToString());
  }
}

// If the last measurement counts, a row with a date in the future must not win.
TEST_F(HostileTest, ADateInTheFutureComesBeforeAllOthers) {
  EXPECT_EQ(EffectiveDate(kInTheFuture), 0);
  EXPECT_EQ(EffectiveDate(1.75e9), 1.75e9);
  EXPECT_TRUE(Supersedes(0, 1.75e9, 0, kInTheFuture));
  EXPECT_FALSE(Supersedes(0, kInTheFuture, 0, 1.75e9));
  EXPECT_TRUE(Supersedes(1, kInTheFuture, 0, 1.75e9)) << "a race is one whenever it was";
  const Trial noisy = SampleTrialAt(3, 1e-3, 0.1, 1.751e9);
  EXPECT_TRUE(ReplacesNoisy(SampleTrialAt(4, 1.1e-3, 1, 1.752e9), noisy));
  EXPECT_FALSE(ReplacesNoisy(SampleTrialAt(4, 1.1e-3, 1, kInTheFuture), noisy));
  Add(Path("r.db"), {SampleTrialAt(3, 2e-3, 1, 1.751e9)});
  Add(Path("r.db"), {SampleTrialAt(3, 1e-3, 1, kInTheFuture)}, {}, true, "other");
  TrialFilter filter;
  filter.served = true;
  auto store = Store::Open(Path("r.db"), Store::Mode::kReadOnly);
  const auto served = store->Trials(filter);
  ASSERT_TRUE(served.ok() && served->size() == 1);
  EXPECT_EQ(served->front().trial.value, 2e-3);
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("r.db")),
              testing::ElementsAre(HasSubstr("in the future")));
  auto merged = MergeStores(BuiltInTemplates(), Path("into.db"), {Path("r.db")});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->front().refused, 1);
  EXPECT_EQ(merged->front().added, 1);
}

// A machine may have instruction sets that the requested target does not permit.
TEST_F(HostileTest, NearHitsNeedNoMoreThanTheTargetAskedFor) {
  Add(Path("r.db"), {SampleTrial(3, 0.001)});  // for AVX2
  DeviceFingerprint here = SampleDevice("Other CPU");
  here.isa = {"avx2", "avx512f", "fma"};
  EXPECT_EQ(Ask(Path("r.db"), *Target::Parse("llvm -mcpu=x86-64"), here)->kind, AnswerKind::kMiss);
  EXPECT_EQ(Ask(Path("r.db"), *Target::Parse("llvm -mcpu=haswell -mattr=-avx2"), here)->kind,
            AnswerKind::kMiss);
  const auto near = Ask(Path("r.db"), *Target::Parse("llvm -mcpu=skylake"), here);
  ASSERT_TRUE(near.ok());
  EXPECT_EQ(near->kind, AnswerKind::kNearMatch);
  // The values belong to the requested space, or there are none.
  const Candidate& candidate = near->record->trial.candidate;
  const TemplateEntry* entry = BuiltInTemplates().Find(candidate.template_key);
  const auto space = entry->define_space(SampleConv(), *Target::Parse("llvm -mcpu=skylake"));
  EXPECT_EQ(*space->Locate(candidate.config), candidate.config);
}

// A row that names a trial as winner of a race of another target must not make it a hit there.
TEST_F(HostileTest, AWinnerIsATrialOfItsTask) {
  const Trial wide = SampleTrial(3, 0.001, SampleConv(), *Target::Parse("llvm -mcpu=znver4"));
  Add(Path("r.db"), {wide, SampleTrial(4, 0.002)});
  {
    auto store = Store::Open(Path("r.db"), Store::Mode::kReadWrite);
    ASSERT_TRUE(store->StoreBest(store->OpenJob("job", "", 0)->id, wide, {}).ok());
  }
  Sql(Path("r.db"), "UPDATE best SET target = (SELECT id FROM target WHERE text LIKE '%haswell')");
  const auto answer = Ask(Path("r.db"));
  ASSERT_TRUE(answer.ok() && answer->record.has_value());
  EXPECT_EQ(answer->record->trial.candidate.task.target, SampleTarget());
  EXPECT_EQ(IndexOf(answer), 4);
}

constexpr const char* kRows =
    "schedule rows for conv2d on llvm\n"
    "knob tile = {1, 2, 4}\n"
    "s = stage(\"reduce\")\n"
    "h, w = split(axis(s, 2), tile)\n";

class HostileTextTest : public HostileTest {
 protected:
  void SetUp() override {
    HostileTest::SetUp();
    text_ = *ParseScheduleText(kRows);
    ASSERT_TRUE(AddScheduleText(templates_, text_).ok());
    Trial trial = SampleTrial(0, 0.001);
    trial.candidate.template_key = text_.key;
    trial.candidate.template_version = kScheduleTextVersion;
    trial.candidate.config =
        templates_.Find(text_.key)->define_space(SampleConv(), SampleTarget())->At(2);
    Add(Path("mine.db"), {trial});
    auto store = Store::Open(Path("mine.db"), Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok() && StoreScheduleTexts(*store, templates_).ok());
  }
  std::string TextIn(const std::string& path, const std::string& key) {
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    const auto fact = store->Fact(key);
    return fact.ok() && fact->has_value() ? **fact : std::string();
  }
  ScheduleText text_;
  TemplateRegistry templates_ = TemplateRegistry::BuiltIn();
};

// A merge must not replace a schedule text of the user's records by that of another store.
TEST_F(HostileTextTest, AMergeReplacesNoText) {
  ASSERT_TRUE(VacuumStore(Path("mine.db"), Path("foreign.db")).ok());
  Sql(Path("foreign.db"),
      "DELETE FROM trial; UPDATE fact SET value = 'feedface' WHERE key = 'store_id';"
      "UPDATE fact SET value = 'schedule x for dense on llvm\nknob a = {1}\n' WHERE key LIKE"
      " 'schedule/%'");
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("foreign.db")),
              testing::Contains(HasSubstr("is that of another one")));
  auto merged = MergeStores(templates_, Path("mine.db"), {Path("foreign.db")});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->front().refused, 1);
  EXPECT_EQ(TextIn(Path("mine.db"), text_.key), text_.text);
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("mine.db")), IsEmpty());
}

// For the former kind of names, an attacker can construct a second text with the same name. The
// test simulates that by storing the existing text under the name of the other.
TEST_F(HostileTextTest, AnotherTextUnderAFormerNameIsRefusedWithItsRecords) {
  const std::string former = LegacyScheduleKey(text_);
  for (const char* name : {"one.db", "two.db"}) {
    ASSERT_TRUE(VacuumStore(Path("mine.db"), Path(name)).ok());
    Sql(Path(name), "UPDATE fact SET key = '" + former +
                        "' WHERE key LIKE 'schedule/%';"
                        "UPDATE trial SET template = '" +
                        former + "'");
    Trial trial = SampleTrial(0, 0.001);
    trial.candidate.template_key = former;
    trial.candidate.template_version = kScheduleTextVersion;
    trial.candidate.config =
        templates_.Find(text_.key)->define_space(SampleConv(), SampleTarget())->At(2);
    Sql(Path(name),
        "UPDATE trial SET id = '" + LegacyTrialId(StoreIdOfFile(Path(name)), "job", trial) + "'");
    EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path(name)), IsEmpty()) << "it is still served";
  }
  Sql(Path("one.db"), "UPDATE fact SET value = 'schedule rows for conv2d on llvm' WHERE key = '" +
                          former + "'; DELETE FROM trial");
  auto merged = MergeStores(BuiltInTemplates(), Path("two.db"), {Path("one.db")});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->front().refused, 1);
  EXPECT_EQ(TextIn(Path("two.db"), former), text_.text);
  // A store whose text differs from the known text of that name: nothing of it is used.
  ScheduleText other = text_;
  other.key = former;
  other.text += "# another one\n";
  TemplateRegistry known = TemplateRegistry::BuiltIn();
  ASSERT_TRUE(AddScheduleText(known, other).ok());
  auto store = Store::Open(Path("two.db"), Store::Mode::kReadOnly);
  const auto answer = store->Query(known, SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->record.has_value());
  EXPECT_THAT(answer->explanation, HasSubstr("another text of its schedule"));
}

}  // namespace
}  // namespace tilewright::records
