#include "records/autotvm/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "records/autotvm/export.h"
#include "records/autotvm/imported_summary.h"
#include "records/autotvm/match.h"
#include "records/autotvm/tuple.h"
#include "records/imported.h"
#include "records/maintenance.h"
#include "records/sqlite.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/target/device.h"
#include "src/templates/registry.h"
#include "tests/records/autotvm_lines.h"
#include "tests/records/sample_trials.h"
#include "tests/records/shared_file.h"
#include "tests/support/built_in.h"

namespace tilewright::records {
namespace {

using testing::HasSubstr;

class AutotvmImportTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-import-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(std::move(*folder));
  }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }
  std::string WriteLog(const std::string& name, const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    EXPECT_TRUE(WriteFile(Path(name), text).ok());
    return Path(name);
  }
  Store Open(const std::string& name = "records.db") const {
    auto store = Store::Open(Path(name), Store::Mode::kReadWrite);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return std::move(*store);
  }
  static std::vector<ImportedFile> Import(Store& store, const std::vector<std::string>& files,
                                          const ImportOptions& options = {}) {
    auto summaries = ImportAutotvm(store, files, options);
    EXPECT_TRUE(summaries.ok()) << summaries.status().message();
    return *summaries;
  }
  static int CountImported(const Store& store) {
    int count = 0;
    EXPECT_TRUE(ForEachImported(store, [&](const ImportedRecord&) {
                  ++count;
                  return Status();
                }).ok());
    return count;
  }
  static AutotvmAnswer Ask(const Store& store, const std::string& tuple, const std::string& target,
                           const std::string& package = {}) {
    auto task = AutotvmTask::Parse(tuple);
    EXPECT_TRUE(task.ok()) << task.status().message();
    auto asked = AutotvmTarget::Parse(target);
    EXPECT_TRUE(asked.ok()) << asked.status().message();
    auto answer = QueryAutotvm(store, *task, *asked, package);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return *answer;
  }
  static std::vector<std::string> Export(const Store& store, bool best) {
    std::vector<std::string> lines;
    auto exported =
        ExportAutotvm(BuiltInTemplates(), store, {.best = best}, [&lines](std::string_view line) {
          lines.emplace_back(line);
          return Status();
        });
    EXPECT_TRUE(exported.ok()) << exported.status().message();
    return lines;
  }
  /// Returns the contents of the records without where they were read from.
  static std::multiset<std::string> Contents(const Store& store) {
    std::multiset<std::string> all;
    EXPECT_TRUE(ForEachImported(store, [&all](const ImportedRecord& r) {
                  std::string text = r.canonical_target + r.tuple + r.entities + r.tvm_version;
                  for (double cost : r.costs) text += "," + std::to_string(cost * 1e12);
                  all.insert(text + "," + std::to_string(r.finished));
                  return Status();
                }).ok());
    return all;
  }
  std::unique_ptr<ScopedTempDir> folder_;
};

TEST_F(AutotvmImportTest, AnswersForEveryLine) {
  Store store = Open();
  const std::string good = ConvLine(16, 28, "0.001");
  const std::string path = WriteLog(
      "tuning.log", {"# a comment", good, "", good, ConvLine(32, 35, "0.002"), good.substr(0, 90),
                     "{}", ConvLine(16, 28, "0.003", "101.5"),
                     ConvLine(8, 21, "0.001", "100.5", "toaster -x=1"), ConvLine(4, 3, "0.004")});
  const ImportedFile file = Import(store, {path}).at(0);
  EXPECT_EQ(file.lines, 10);
  EXPECT_EQ(file.comments, 1);
  EXPECT_EQ(file.blank, 1);
  EXPECT_EQ(file.records, 5);
  EXPECT_EQ(file.imported, 4) << "a second measurement of a config is a record of its own";
  EXPECT_EQ(file.duplicates, 1);
  ASSERT_EQ(file.refused.size(), 3U);
  EXPECT_EQ(file.refused[0].line, 6);
  EXPECT_THAT(file.refused[0].reason, HasSubstr("the line is cut off"));
  EXPECT_EQ(file.refused[2].line, 9);
  EXPECT_THAT(file.refused[2].reason, HasSubstr("target kind 'toaster': unknown"));
  EXPECT_EQ(file.agreement[static_cast<std::size_t>(AutotvmAgreement::kExact)], 3);
  EXPECT_EQ(file.agreement[static_cast<std::size_t>(AutotvmAgreement::kEdited)], 1);
  EXPECT_EQ(CountImported(store), 4);
  const ImportedFile again = Import(store, {path}).at(0);
  EXPECT_EQ(again.imported, 0);
  EXPECT_EQ(again.duplicates, 5);
}

TEST_F(AutotvmImportTest, IndexAndSpellingTakeNoPartInWhatARecordIs) {
  Store store = Open();
  std::string first_factor = ConvLine(16, 28, "0.001");
  first_factor.replace(first_factor.find("[-1, 16]"), 8, "[4, 16]");
  const ImportedFile file =
      Import(store,
             {WriteLog("a.log", {ConvLine(16, 28, "0.001"), ConvLine(16, 5, "0.001"), first_factor,
                                 ConvLine(16, 28, "0.001", "100.5",
                                          "llvm -keys=cpu -link-params=0 "
                                          "-mcpu=core-avx2")})})
          .at(0);
  EXPECT_EQ(file.imported, 1);
  EXPECT_EQ(file.duplicates, 3);
}

TEST_F(AutotvmImportTest, DryRunSaysTheSameAndWritesNothing) {
  Store store = Open();
  const std::string path =
      WriteLog("a.log", {ConvLine(16, 28, "0.001"), ConvLine(16, 28, "0.001"), "x"});
  const ImportedFile file =
      Import(store, {path}, {.target = {}, .dry_run = true, .progress = {}}).at(0);
  EXPECT_EQ(file.imported, 1);
  EXPECT_EQ(file.duplicates, 1);
  EXPECT_EQ(file.refused_count, 1);
  EXPECT_EQ(CountImported(store), 0);
}

TEST_F(AutotvmImportTest, TargetChoosesLines) {
  Store store = Open();
  const std::string path =
      WriteLog("a.log", {ConvLine(16, 28, "0.001"), ConvLine(16, 28, "0.001", "1", "llvm"),
                         ConvLine(16, 28, "0.001", "2", "cuda -model=v100")});
  const auto with = [&](const char* target) {
    return Import(store, {path}, {.target = target, .dry_run = true, .progress = {}}).at(0);
  };
  EXPECT_EQ(with("llvm").imported, 2);
  EXPECT_EQ(with("llvm").other_targets, 1);
  EXPECT_EQ(with("llvm -mcpu=core-avx2").imported, 1);
  EXPECT_EQ(with("cuda -model=titanx").imported, 0);
  auto bad = ImportAutotvm(store, {path}, {.target = "x=", .dry_run = true, .progress = {}});
  EXPECT_THAT(bad.status().message(), HasSubstr("target: "));
}

TEST_F(AutotvmImportTest, AMissNamesOtherTasksAndTheTargetsOfTheTaskItself) {
  Store store = Open();
  Import(store, {WriteLog("a.log", {ConvLine(16, 28, "0.001"),
                                    ConvLine(16, 28, "0.001", "1", "llvm -mcpu=x", 32)})});
  const AutotvmAnswer miss = Ask(store, kConvTuple, "cuda -model=v100");
  ASSERT_FALSE(miss.record.has_value());
  EXPECT_EQ(miss.nearest.size(), 1U);
  for (const std::string& tuple : miss.nearest) EXPECT_NE(tuple, kConvTuple);
  EXPECT_THAT(miss.other_targets, testing::ElementsAre("llvm -mcpu=core-avx2"));
  EXPECT_EQ(miss.cause.reason, MissReason::kOtherTarget);
  EXPECT_THAT(miss.explanation, HasSubstr("its records are for 'llvm -mcpu=core-avx2'"));
  const Workload workload = *AutotvmTask::Parse(kConvTuple)->workload;
  const auto imported = ImportedTargetsOf(store, workload);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(imported->records, 1);
  EXPECT_THAT(imported->targets, testing::ElementsAre("llvm -mcpu=core-avx2"));
  EXPECT_EQ(Ask(Open("empty.db"), kConvTuple, "llvm").cause.reason, MissReason::kNothingImported);
}

TEST_F(AutotvmImportTest, ExportTakesTheSelectedRecords) {
  Store store = Open();
  Import(store, {WriteLog("a.log", {ConvLine(16, 28, "0.001"),
                                    ConvLine(16, 28, "0.001", "1", "llvm -mcpu=x"),
                                    ConvLine(16, 28, "0.001", "2", "llvm -mcpu=x", 32)})});
  const auto lines = [&](const std::string& target, const std::string& task, bool best = false) {
    AutotvmExportOptions options;
    options.best = best;
    auto selection = Selection::Parse(target, task);
    EXPECT_TRUE(selection.ok()) << selection.status().message();
    options.selection = *std::move(selection);
    const auto exported = ExportAutotvm(BuiltInTemplates(), store, options,
                                        [](std::string_view) { return Status(); });
    EXPECT_TRUE(exported.ok()) << exported.status().message();
    return exported->imported;
  };
  EXPECT_EQ(lines("", ""), 3);
  EXPECT_EQ(lines("llvm", ""), 3);
  EXPECT_EQ(lines("llvm -mcpu=x", ""), 2);
  EXPECT_EQ(lines("llvm -mcpu=x", "", /*best=*/true), 1) << "the other one was as fast, and first";
  EXPECT_EQ(lines("cuda", ""), 0);
  EXPECT_EQ(lines("", "conv2d"), 3);
  EXPECT_EQ(lines("", "conv2d_NCHWc.x86"), 3);
  EXPECT_EQ(lines("", "dense"), 0);
  EXPECT_EQ(lines("", kConvTuple), 2);
  EXPECT_EQ(lines("", AutotvmTask::Parse(kConvTuple)->workload->Key()), 2);
  // The list of a log, as one copies it.
  const std::string list = R"(["conv2d_NCHWc.x86", [["TENSOR", [1, 16, 56, 56], "float32"]]])";
  EXPECT_EQ(
      AutotvmTask::Parse(list)->tuple,
      AutotvmTask::Parse("('conv2d_NCHWc.x86', ('TENSOR', (1, 16, 56, 56), 'float32'))")->tuple);
  const std::string input = R"(["llvm -mcpu=x", "t", [["TENSOR", [2], "float32"], null], {}])";
  EXPECT_EQ(AutotvmTask::Parse(input)->tuple,
            AutotvmTask::Parse("('t', ('TENSOR', (2,), 'float32'), None)")->tuple);
  EXPECT_EQ(lines("", list), 0);
  EXPECT_THAT(Selection::Parse("x=", "").status().message(), HasSubstr("--target"));
  EXPECT_THAT(Selection::Parse("", "conv2d(").status().message(), HasSubstr("--task: 'conv2d('"));
}

TEST_F(AutotvmImportTest, SummariesCountRecordsByFileAndTarget) {
  Store store = Open();
  std::string failed = ConvLine(8, 1, "1000000000.0");
  failed.replace(failed.find("], 0, 1.5"), 9, "], 4, 1.5");
  Import(store, {WriteLog("a.log", {ConvLine(16, 28, "0.002"), ConvLine(8, 3, "0.001"), failed,
                                    ConvLine(16, 28, "0.003", "1", "llvm -mcpu=x")})});
  const auto summary = SummarizeImported(store);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_EQ(summary->size(), 2U);
  EXPECT_EQ(summary->front().target, "llvm -mcpu=core-avx2");
  EXPECT_EQ(summary->front().records, 3);
  EXPECT_EQ(summary->front().tasks, 1);
  EXPECT_EQ(summary->front().failed, 1);
  const auto best = CheapestImported(store, 1);
  ASSERT_TRUE(best.ok()) << best.status().message();
  ASSERT_EQ(best->size(), 2U);
  EXPECT_EQ(best->front().cost, 0.001);
  EXPECT_EQ(CheapestImported(store, 5)->size(), 3U);
  EXPECT_EQ(AutotvmErrorName(0), "ok");
  EXPECT_EQ(AutotvmErrorName(7), "run_timeout");
  EXPECT_EQ(AutotvmErrorName(99), "error_99");
}

TEST_F(AutotvmImportTest, EveryFlagHasAText) {
  EXPECT_EQ(ImportedFlagNames(-1).size(), 9U);
  for (const std::string_view name : ImportedFlagNames(-1)) {
    EXPECT_FALSE(ImportedFlagText(name).empty()) << name;
  }
  EXPECT_EQ(ImportedFlagText("nothing"), "");
}

TEST_F(AutotvmImportTest, MissingFileIsAnError) {
  Store store = Open();
  auto summaries = ImportAutotvm(store, {Path("nothing.log")}, {});
  EXPECT_EQ(summaries.status().code(), StatusCode::kNotFound);
}

TEST_F(AutotvmImportTest, CopiedResultsAreFlaggedAndNotTrainedOn) {
  Store store = Open();
  // The index of the first is wrong, so it is the duplicate although it comes first.
  const ImportedFile file =
      Import(store, {WriteLog("a.log", {ConvLine(16, 5, "0.001", "7", "llvm", 32),
                                        ConvLine(16, 28, "0.001", "7", "llvm", 64),
                                        ConvLine(16, 28, "0.002", "8", "llvm", 64)})})
          .at(0);
  EXPECT_EQ(file.imported, 3);
  std::vector<std::int64_t> flags;
  std::vector<bool> trainable;
  ASSERT_TRUE(ForEachImported(store, [&](const ImportedRecord& record) {
                flags.push_back(record.flags);
                trainable.push_back(record.trainable());
                return Status();
              }).ok());
  EXPECT_EQ(flags, (std::vector<std::int64_t>{kImportedSharedResult | kImportedCopy,
                                              kImportedSharedResult, 0}));
  EXPECT_EQ(trainable, (std::vector<bool>{false, true, true}));
}

TEST_F(AutotvmImportTest, RuleTakesModelThenKeysThenLowestCost) {
  Store store = Open();
  Import(store, {WriteLog("a.log", {ConvLine(16, 28, "0.003", "1", "llvm -model=a"),
                                    ConvLine(8, 21, "0.001", "2", "llvm -model=b"),
                                    ConvLine(4, 14, "0.001", "3", "llvm -model=b"),
                                    ConvLine(2, 7, "0.0005", "4", "cuda -model=c"),
                                    ConvLine(32, 35, "NaN", "5", "llvm -model=a")})});
  EXPECT_EQ(Ask(store, kConvTuple, "llvm -model=a").record->line, 1);
  EXPECT_EQ(Ask(store, kConvTuple, "llvm -model=a").matched_by, "model");
  const AutotvmAnswer by_key = Ask(store, kConvTuple, "llvm -model=z");
  EXPECT_EQ(by_key.record->line, 2) << "the first of equals";
  EXPECT_EQ(by_key.matched_by, "key:cpu");
  EXPECT_THAT(by_key.explanation, HasSubstr("not verified here"));
  EXPECT_EQ(by_key.differs.at(0).ToString(), "model: measured 'b', asked 'z'");
  EXPECT_EQ(Ask(store, kConvTuple, "opencl").record->line, 4) << "through key gpu";
  EXPECT_FALSE(Ask(store, kConvTuple, "hexagon").record.has_value());
  const AutotvmAnswer miss = Ask(
      store, std::string(kConvTuple).replace(std::string(kConvTuple).find("64"), 2, "65"), "llvm");
  EXPECT_FALSE(miss.record.has_value());
  EXPECT_EQ(miss.nearest, std::vector<std::string>{kConvTuple});
  auto unknown =
      QueryAutotvm(store, *AutotvmTask::Parse(kConvTuple), *AutotvmTarget::Parse("llvm"), "cuda");
  EXPECT_EQ(unknown.status().code(), StatusCode::kNotFound);
}

TEST_F(AutotvmImportTest, LogsComeBeforeThePackageOfTheTarget) {
  Store store = Open();
  const std::vector<std::string> files = {
      WriteLog("llvm_v0.04.log", {ConvLine(16, 28, "0.001", "1", "llvm")}),
      WriteLog("cuda_v0.10.log", {ConvLine(8, 21, "0.0001", "2", "cuda -device=cpu")})};
  Import(store, files);
  EXPECT_EQ(Ask(store, kConvTuple, "llvm").record->package, "llvm");
  EXPECT_EQ(Ask(store, kConvTuple, "llvm", "cuda").record->package, "cuda");
  Import(store, {WriteLog("mine.log", {ConvLine(4, 14, "0.002", "3", "llvm")})});
  EXPECT_EQ(Ask(store, kConvTuple, "llvm").record->package, "");
}

TEST_F(AutotvmImportTest, OwnRuleNeverServesImportedRecords) {
  Store store = Open();
  Import(store, {WriteLog("a.log", {ConvLine(16, 28, "0.001")})});
  auto task = AutotvmTask::Parse(kConvTuple);
  ASSERT_TRUE(task->workload.has_value());
  auto answer =
      store.Query(BuiltInTemplates(), *task->workload, *Target::Parse("llvm -mcpu=core-avx2"), {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->kind, AnswerKind::kMiss);
  EXPECT_EQ(*store.CountTrials({}), 0);
}

TEST_F(AutotvmImportTest, WorkloadIsAskedOfEveryTemplateOfTheTarget) {
  Store store = Open();
  Import(store, {WriteLog("a.log", {ConvLine(16, 28, "0.001")})});
  auto task = AutotvmTask::Parse(kConvTuple);
  std::optional<AutotvmTask> chosen;
  auto answer = QueryAutotvm(store, *task->workload, *AutotvmTarget::Parse("llvm"), {}, chosen);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_TRUE(answer->record.has_value());
  EXPECT_EQ(chosen->name, "conv2d_NCHWc.x86");
  EXPECT_THAT(AutotvmTaskNames(*task->workload, *AutotvmTarget::Parse("opencl -device=mali")),
              testing::ElementsAre("conv2d_nchw_spatial_pack.mali", "conv2d_nchw_winograd.mali"));
}

// AutoTVM's records of a layer do not state the range of its weights, so they also serve the layer
// with reduced-range weights. Trials of reduced-range weights are not exported as records of the
// layer.
TEST_F(AutotvmImportTest, NarrowWeightsAreNoMatterOfAutotvm) {
  const std::string tuple =
      "('conv2d_NCHWc_int8.x86', ('TENSOR', (1, 64, 28, 28), 'uint8'), ('TENSOR', (64, 64, 1, 1), "
      "'int8'), (1, 1), (0, 0, 0, 0), (1, 1), 'NCHW', 'NCHW', 'int32')";
  const Target target = *Target::Parse("llvm -mcpu=cascadelake");
  Workload narrow = *AutotvmTask::Parse(tuple)->workload;
  narrow.reduced_range_weights = true;
  EXPECT_EQ(AutotvmName(narrow, target), "conv2d_NCHWc_int8.x86");
  EXPECT_EQ(AutotvmTuplesOn(target)(narrow), tuple);
  EXPECT_THAT(AutotvmTaskNames(narrow, *AutotvmTarget::Parse("llvm")),
              testing::Contains("conv2d_NCHWc_int8.x86"));

  Trial trial = SampleTrial(0, 0.001, narrow);
  trial.candidate.task.target = target;
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d_NCHWc_int8.x86");
  trial.candidate.template_key = entry.key;
  trial.candidate.template_version = entry.version;
  trial.candidate.config = entry.define_space(narrow, target)->At(1);
  Trial wide = trial;
  wide.candidate.task.workload.reduced_range_weights = false;
  wide.value = 0.002;
  wide.samples = {0.002};
  Store store = Open();
  ASSERT_TRUE(store.Append(store.OpenJob("job", "{}", 1)->id, {trial, wide}, {}).ok());
  std::vector<std::string> lines;
  const auto exported =
      ExportAutotvm(BuiltInTemplates(), store, {.best = true}, [&](std::string_view line) {
        lines.emplace_back(line);
        return Status();
      });
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("[[0.002]"));
  ASSERT_EQ(exported->skipped_winners.size(), 1U);
  EXPECT_EQ(exported->skipped_winners[0].workload_key, narrow.Key());
  EXPECT_THAT(exported->skipped_winners[0].reason,
              HasSubstr("AutoTVM has no task of narrow weights"));

  Store imported = Open("imported.db");
  Import(imported, {WriteLog("a.log", lines)});
  std::optional<AutotvmTask> chosen;
  const auto answer =
      QueryAutotvm(imported, narrow, *AutotvmTarget::Parse(target.ToString()), {}, chosen);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_TRUE(answer->record.has_value());
  EXPECT_EQ(answer->record->cost, 0.002);
  EXPECT_EQ(chosen->name, "conv2d_NCHWc_int8.x86");
}

TEST_F(AutotvmImportTest, ExportWritesTheLineThatWasRead) {
  Store store = Open();
  const std::string line = ConvLine(16, 28, "0.001");
  Import(store, {WriteLog("a.log", {line, ConvLine(8, 3, "0.002")})});
  const std::vector<std::string> all = Export(store, false);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], line);
  EXPECT_EQ(all[1], ConvLine(8, 21, "0.002")) << "an edited record gets the index of its values";
  EXPECT_EQ(Export(store, true), std::vector<std::string>{line});
}

TEST_F(AutotvmImportTest, OwnTrialsBecomeLinesThatComeBackExact) {
  Store store = Open();
  const Workload workload = *AutotvmTask::Parse(kConvTuple)->workload;
  const Target target = *Target::Parse("llvm -mcpu=haswell -num-threads=2");
  Trial trial;
  trial.candidate.task = {workload, target};
  trial.candidate.template_key = "conv2d_NCHWc.x86";
  const TemplateEntry* entry = BuiltInTemplates().Find("conv2d_NCHWc.x86");
  ASSERT_NE(entry, nullptr);
  trial.candidate.template_version = entry->version;
  trial.candidate.config = entry->define_space(workload, target)->At(188);
  trial.outcome = Outcome::kOk;
  trial.value = 0.000123;
  trial.verified = true;
  trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
  trial.finished_unix_seconds = 1.75e9;
  Trial slower = trial;
  slower.candidate.config = entry->define_space(workload, target)->At(3);
  slower.value = 1;
  const std::int64_t job = store.OpenJob("job", "{}", 1)->id;
  ASSERT_TRUE(store.Append(job, {slower, trial}, {}).ok());
  EXPECT_EQ(Export(store, false).size(), 2U);
  const std::vector<std::string> best = Export(store, true);
  ASSERT_EQ(best.size(), 1U);
  EXPECT_THAT(best[0], HasSubstr("{\"input\": [\"llvm -mcpu=haswell\", \"conv2d_NCHWc.x86\""));
  EXPECT_THAT(best[0], HasSubstr("[[0.000123], 0, 0.0, 1750000000.0]"));
  Store other = Open("other.db");
  const ImportedFile file = Import(other, {WriteLog("out.log", best)}).at(0);
  EXPECT_EQ(file.imported, 1);
  EXPECT_EQ(file.agreement[static_cast<std::size_t>(AutotvmAgreement::kExact)], 1);
  ASSERT_TRUE(ForEachImported(other, [&trial](const ImportedRecord& record) {
                auto config = ConfigOfImported(record);
                EXPECT_TRUE(config.ok());
                EXPECT_EQ(config->values, trial.candidate.config.values);
                return Status();
              }).ok());
}

// The best record of a task is the one that a query is served. If AutoTVM has no template for it,
// the export reports that and does not call a slower record the best.
TEST_F(AutotvmImportTest, BestOwnTrialsAreTheServedOnesAndWinnersLeftOutAreNamed) {
  const Workload conv = SampleConv(), other = SampleConv(32);
  const auto trial = [](const Workload& workload, const char* key, std::int64_t index,
                        double seconds) {
    const TemplateEntry& entry = *BuiltInTemplates().Find(key);
    Trial made = SampleTrial(0, seconds, workload);
    made.candidate.template_key = key;
    made.candidate.template_version = entry.version;
    made.candidate.config = entry.define_space(workload, SampleTarget())->At(index);
    return made;
  };
  const char* kOurs = "conv2d_direct.cpu";
  const char* kTvms = "conv2d_NCHWc.x86";
  Trial outdated = trial(conv, kTvms, 1, 0.0001);
  ++outdated.codegen_version;
  const Trial winner = trial(conv, kTvms, 4, 0.002);
  Store store = Open();
  const std::int64_t job = store.OpenJob("job", "{}", 1)->id;
  ASSERT_TRUE(
      store
          .Append(job,
                  {outdated, trial(conv, kTvms, 3, 0.001), winner, trial(other, kOurs, 5, 0.001),
                   trial(other, kTvms, 6, 0.003), trial(SampleConv(16), kOurs, 7, 0.001)},
                  {})
          .ok());
  ASSERT_TRUE(store.StoreBest(job, winner, {}).ok());  // raced: the single trial was fast by chance
  std::vector<std::string> lines;
  const auto exported =
      ExportAutotvm(BuiltInTemplates(), store, {.best = true}, [&](std::string_view line) {
        lines.emplace_back(line);
        return Status();
      });
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("[[0.002]"));
  EXPECT_THAT(lines[1], HasSubstr("[[0.003]"));
  EXPECT_EQ(exported->trials, 2);
  ASSERT_EQ(exported->skipped_winners.size(), 2U);
  const AutotvmSkippedWinner& left = exported->skipped_winners[0];
  EXPECT_EQ(left.workload_key, other.Key());
  EXPECT_EQ(left.template_key, kOurs);
  EXPECT_EQ(left.seconds, 0.001);
  EXPECT_EQ(left.written_seconds, 0.003);
  EXPECT_THAT(left.reason, HasSubstr("none of AutoTVM's"));
  EXPECT_EQ(exported->skipped_winners[1].written_seconds, 0);
}

TEST_F(AutotvmImportTest, BestThatAutotvmCanTakeIsTheQuietOneOfLater) {
  const Workload conv = SampleConv();
  const auto trial = [&](const char* key, std::int64_t index, double seconds, double clean_fraction,
                         double finished) {
    const TemplateEntry& entry = *BuiltInTemplates().Find(key);
    Trial made = SampleTrial(0, seconds, conv);
    made.candidate.template_key = key;
    made.candidate.template_version = entry.version;
    made.candidate.config = entry.define_space(conv, SampleTarget())->At(index);
    made.clean_fraction = clean_fraction;
    made.finished_unix_seconds = finished;
    return made;
  };
  Store store = Open();
  const std::int64_t job = store.OpenJob("job", "{}", 1)->id;
  const char* kTvms = "conv2d_NCHWc.x86";
  ASSERT_TRUE(store
                  .Append(job,
                          {trial("conv2d_direct.cpu", 5, 0.001, 1, 100),
                           trial(kTvms, 3, 0.002, 0, 100), trial(kTvms, 4, 0.003, 1, 50),
                           trial(kTvms, 6, 0.0024, 1, 200), trial(kTvms, 7, 0.005, 1, 200)},
                          {})
                  .ok());
  std::string lines;
  const auto exported =
      ExportAutotvm(BuiltInTemplates(), store, {.best = true}, [&](std::string_view line) {
        lines += line;
        return Status();
      });
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_THAT(lines, HasSubstr("[[0.0024]"));
  ASSERT_EQ(exported->skipped_winners.size(), 1U);
  EXPECT_EQ(exported->skipped_winners[0].written_seconds, 0.0024);
}

TEST_F(AutotvmImportTest, StoreOfTheFirstSchemaIsMigratedWhenItIsRead) {
  const std::string first = TILEWRIGHT_SOURCE_DIR "/tests/fuzz/corpus/store/small_store";
  auto bytes = ReadFile(first);
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(WriteFile(Path("old.db"), *bytes).ok());
  auto store = Store::Open(Path("old.db"), Store::Mode::kReadOnly);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(CountImported(*store), 0);
  EXPECT_TRUE(store->Trials({}).ok());
}

// A log that an earlier version of Tilewright exported.
TEST_F(AutotvmImportTest, ALogOfOurOwnSurvivesExportAndImport) {
  const std::string path = TILEWRIGHT_SOURCE_DIR "/tests/fixtures/2026-11-23/autotvm.log";
  Store store = Open();
  const ImportedFile file = Import(store, {path}).at(0);
  EXPECT_EQ(file.records, 4);
  EXPECT_EQ(file.imported, file.records);
  EXPECT_TRUE(file.refused.empty());
  EXPECT_EQ(file.agreement[static_cast<std::size_t>(AutotvmAgreement::kExact)], 2);
  // AutoTVM's own spaces of dense layers are unknown to Tilewright; their values are kept
  // unchanged.
  EXPECT_EQ(file.agreement[static_cast<std::size_t>(AutotvmAgreement::kUnknown)], 2);
  Store other = Open("other.db");
  Import(other, {WriteLog("out.log", Export(store, false))});
  EXPECT_EQ(Contents(other), Contents(store));
}

// ---- The public packages

TEST_F(AutotvmImportTest, CountsOfThePackagesAreThoseExpected) {
  const std::string expected_path = SharedFile("expected/tophub_counts.json");
  TW_NEEDS_SHARED(expected_path);
  auto expected = ParseJson(*ReadFile(expected_path));
  ASSERT_TRUE(expected.ok());
  Store store = Open();
  std::int64_t records = 0, duplicates = 0;
  for (const char* name : kTophubFiles) {
    SCOPED_TRACE(name);
    const Json& row = (*expected)["files"][name];
    const ImportedFile file = Import(store, {SharedFile(std::string("tophub/") + name)}).at(0);
    EXPECT_EQ(file.lines, row["lines"].get<std::int64_t>());
    EXPECT_EQ(file.comments, row["comment_lines"].get<std::int64_t>());
    EXPECT_EQ(file.records, row["format_0_2_records"].get<std::int64_t>());
    EXPECT_EQ(file.duplicates, row["duplicate_lines"].get<std::int64_t>());
    EXPECT_EQ(file.imported, file.records - file.duplicates);
    EXPECT_TRUE(file.refused.empty());
    std::vector<std::int64_t> unreachable, malformed, shared;
    std::set<std::string> pairs, canonical_pairs, tasks, targets;
    ASSERT_TRUE(ForEachImported(store, [&](const ImportedRecord& record) {
                  if (record.package != file.package) return Status();
                  pairs.insert(record.target + "\n" + record.tuple);
                  canonical_pairs.insert(record.canonical_target + "\n" + record.tuple);
                  tasks.insert(record.task);
                  targets.insert(record.target);
                  const auto add = [&record](std::int64_t flag, std::vector<std::int64_t>& list) {
                    if ((record.flags & flag) != 0) list.push_back(record.line);
                  };
                  add(kImportedUnreachable, unreachable);
                  add(kImportedMalformedTensor, malformed);
                  add(kImportedSharedResult, shared);
                  return Status();
                }).ok());
    const auto lines = [&row](const char* key) {
      return row[key].get<std::vector<std::int64_t>>();
    };
    EXPECT_EQ(unreachable, lines("unreachable_by_compiler_query_lines"));
    EXPECT_EQ(malformed, lines("malformed_tensor_lines"));
    EXPECT_EQ(shared, lines("lines_sharing_a_result_with_another_workload"));
    EXPECT_EQ(pairs.size(), row["distinct_target_workload_pairs"].get<std::size_t>());
    EXPECT_EQ(canonical_pairs.size(),
              row["distinct_target_workload_pairs_canonical"].get<std::size_t>());
    EXPECT_EQ(tasks.size(), row["distinct_task_names"].get<std::size_t>());
    EXPECT_EQ(targets.size(), row["distinct_target_strings"].get<std::size_t>());
    records += file.records;
    duplicates += file.duplicates;
  }
  EXPECT_EQ(records, 3734);
  EXPECT_EQ(duplicates, 31);
  EXPECT_EQ(Export(store, true).size(),
            (*expected)["total"]["pick_best_records"].get<std::size_t>());
}

TEST_F(AutotvmImportTest, CopiesOfThePackagesAreThoseOfTheReference) {
  TW_NEEDS_SHARED(SharedFile("tophub/vta_v0.10.log"));
  for (const char* name : {"arm_cpu_v0.08.log", "vta_v0.10.log", "cuda_v0.10.log"}) {
    Store store = Open(std::string(name) + ".db");
    const ImportedFile file = Import(store, {SharedFile(std::string("tophub/") + name)}).at(0);
    std::vector<std::int64_t> copies;
    ASSERT_TRUE(ForEachImported(store, [&copies](const ImportedRecord& record) {
                  if ((record.flags & kImportedCopy) != 0) copies.push_back(record.line);
                  return Status();
                }).ok());
    EXPECT_EQ(copies.size(), file.package == "cuda" ? 0U : 12U) << name;
    EXPECT_EQ(file.flags[2], static_cast<std::int64_t>(copies.size())) << "as the summary says";
    if (file.package != "vta") continue;
    EXPECT_THAT(copies, testing::ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14));
  }
}

TEST_F(AutotvmImportTest, All74LookUpsAreAnsweredAsAutotvmWould) {
  const std::string expected_path = SharedFile("expected/tophub_queries.json");
  TW_NEEDS_SHARED(expected_path);
  auto queries = ParseJson(*ReadFile(expected_path));
  ASSERT_TRUE(queries.ok());
  Store all = Open();
  std::map<std::string, Store> single;
  for (const char* name : kTophubFiles) {
    const std::string path = SharedFile(std::string("tophub/") + name);
    Import(all, {path});
    Store store = Open(std::string(name) + ".db");
    Import(store, {path});
    single.emplace(name, std::move(store));
  }
  std::size_t asked = 0;
  for (const Json& query : *queries) {
    SCOPED_TRACE(query.dump());
    const std::string package = query["package"].get<std::string>();
    auto args = ParseAutotvmValue(query["args"].dump());
    ASSERT_TRUE(args.ok()) << args.status().message();
    const AutotvmTask task = AutotvmTask::Make(query["task"].get<std::string>(), args->items);
    const std::string target = query["target"].get<std::string>();
    for (const AutotvmAnswer& answer : {Ask(single.at(package), task.tuple, target),
                                        Ask(all, task.tuple, target, TophubPackageOf(package))}) {
      EXPECT_FALSE(answer.explanation.empty());
      ASSERT_EQ(answer.record.has_value(), !query["line"].is_null()) << answer.explanation;
      if (!answer.record.has_value()) continue;
      EXPECT_EQ(answer.record->line, query["line"].get<std::int64_t>());
      EXPECT_EQ(answer.matched_by, query["matched_by"].get<std::string>());
      EXPECT_DOUBLE_EQ(answer.record->cost, query["mean_cost"].get<double>());
      EXPECT_EQ(answer.record->target, query["record_target"].get<std::string>());
      EXPECT_EQ(answer.record->index, query["index"].get<std::int64_t>());
    }
    ++asked;
  }
  EXPECT_EQ(asked, 74U);
}

TEST_F(AutotvmImportTest, PackagesSurviveExportAndImport) {
  TW_NEEDS_SHARED(SharedFile("tophub/vta_v0.10.log"));
  Store store = Open();
  std::vector<std::string> paths;
  for (const char* name : kTophubFiles) paths.push_back(SharedFile(std::string("tophub/") + name));
  Import(store, paths);
  Store other = Open("other.db");
  const ImportedFile file = Import(other, {WriteLog("out.log", Export(store, false))}).at(0);
  EXPECT_EQ(file.imported, 3734 - 31);
  EXPECT_EQ(file.duplicates, 0);
  EXPECT_EQ(file.agreement[static_cast<std::size_t>(AutotvmAgreement::kEdited)], 0);
  EXPECT_EQ(Contents(other), Contents(store));
}

// Records with impossible costs would win against every other one.
TEST_F(AutotvmImportTest, CostsThatNobodyCanHaveMeasuredAreRefused) {
  Store store = Open("r.db");
  const auto failed = [](std::string line) {  // with an error number, the cost has no meaning
    return line.replace(line.find("], 0, 1.5"), 5, "], 4,");
  };
  const std::string path = WriteLog(
      "a.log", {ConvLine(8, 3, "0.002"), ConvLine(8, 3, "-1", "101.5"),
                ConvLine(8, 3, "0", "102.5"), ConvLine(8, 3, "1e-30", "103.5"),
                ConvLine(8, 3, "0.5, -1", "104.5"), failed(ConvLine(8, 3, "-1", "105.5"))});
  const auto files = ImportAutotvm(store, {path}, {});
  ASSERT_TRUE(files.ok()) << files.status().message();
  const ImportedFile& file = files->front();
  EXPECT_EQ(file.imported, 2);
  EXPECT_EQ(file.records, 2);
  ASSERT_EQ(file.refused_count, 4);
  EXPECT_EQ(file.refused[0].line, 2);
  EXPECT_THAT(file.refused[0].reason, HasSubstr("a cost of -1 s, expected a positive one"));
  EXPECT_THAT(file.refused[1].reason, HasSubstr("a cost of 0 s"));
  EXPECT_THAT(file.refused[2].reason, HasSubstr("no device does it faster"));
  EXPECT_THAT(file.refused[3].reason, HasSubstr("a cost of -1 s"));
  // Rows that an earlier version imported, or that were written into the store, are not served and
  // are found.
  const Database& db = Store::DatabaseOf(store);
  ASSERT_TRUE(db.Execute("UPDATE imported SET costs = x'000000000000F0BF', cost = -1,"
                         " digest = x'00' WHERE error = 0")
                  .ok());
  const auto answer = QueryAutotvm(store, *AutotvmTask::Parse(kConvTuple),
                                   *AutotvmTarget::Parse("llvm -mcpu=core-avx2"), "");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_FALSE(answer->record.has_value());
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("r.db")),
              testing::ElementsAre(HasSubstr("a cost of -1 s")));
}

// A digest covers each field of a served row. Otherwise a lower cost next to the measured costs
// would win, and changed values would give another schedule.
TEST_F(AutotvmImportTest, RowsThatWereChangedAreNeitherServedNorExported) {
  for (const char* change :
       {"cost = 3e-12", "costs = x'fca9f1d24d62503f', cost = 0.001",
        "entities = '[[\"tile_ic\",\"sp\",[-1,1]],[\"tile_oc\",\"sp\",[-1,4]]]'"}) {
    SCOPED_TRACE(change);
    std::filesystem::remove(Path("r.db"));
    Store store = Open("r.db");
    Import(store,
           {WriteLog("a.log", {ConvLine(8, 3, "0.002"), ConvLine(16, 3, "0.003", "101.5")})});
    const Database& db = Store::DatabaseOf(store);
    const std::string update = std::string("UPDATE imported SET ") + change + " WHERE id = 2";
    ASSERT_TRUE(db.Execute(update.c_str()).ok());
    const auto answer = QueryAutotvm(store, *AutotvmTask::Parse(kConvTuple),
                                     *AutotvmTarget::Parse("llvm -mcpu=core-avx2"), "");
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    ASSERT_TRUE(answer->record.has_value());
    EXPECT_EQ(answer->record->cost, 0.002);
    const auto exported = ExportAutotvm(BuiltInTemplates(), store, {.best = false},
                                        [](std::string_view) -> Status { return {}; });
    ASSERT_FALSE(exported.ok());
    EXPECT_THAT(exported.status().message(), HasSubstr("imported record 2: its"));
  }
}

TEST_F(AutotvmImportTest, LogsOfOtherFormatsAreRefusedByName) {
  Store store = Open("r.db");
  const auto of_format = [](const std::string& version) {
    std::string line = ConvLine(8, 3, "0.002", "100.5");
    return line.replace(line.find("0.2, \"tvm"), 3, version);
  };
  const std::string path =
      WriteLog("a.log", {of_format("0.3"), of_format("2"), of_format("\"x\""), of_format("0.2")});
  const auto files = ImportAutotvm(store, {path}, {});
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files->front().imported, 1);
  ASSERT_EQ(files->front().refused_count, 3);
  EXPECT_THAT(files->front().refused[0].reason, HasSubstr("format 0.3, expected 0.2 or 0.1"));
}

TEST_F(AutotvmImportTest, AFileWithoutALineOfAnyFormatIsNoLog) {
  Store store = Open();
  const auto is_no_log = [&](const std::vector<std::string>& lines) {
    const auto files = ImportAutotvm(store, {WriteLog("a.log", lines)}, {});
    EXPECT_TRUE(files.ok()) << files.status().message();
    return files->front().IsNoLog();
  };
  EXPECT_TRUE(is_no_log({"# Title", "", "some text", "{\"name\": 1}"}));
  EXPECT_FALSE(is_no_log({}));
  EXPECT_FALSE(is_no_log({"some text", ConvLine(8, 3, "0.002")}));
  EXPECT_FALSE(is_no_log({ConvLine(8, 3, "0.002").substr(0, 80)})) << "a line that is cut off";
}

TEST_F(AutotvmImportTest, TheMatchedPartOfATargetIsNeverShortened) {
  EXPECT_EQ(MatchedTargetText("llvm -device=arm_cpu -model=rk3399 -target=arm64 -mattr=+neon"),
            "llvm -device=arm_cpu -model=rk3399");
  EXPECT_EQ(MatchedTargetText("cuda -keys=cuda,gpu -max_num_threads=1024 -model=v100"),
            "cuda -model=v100 -keys=cuda,gpu");
  EXPECT_EQ(MatchedTargetText("no target="), "no target=");
}

// A row with the digest of a future line would make that line a duplicate.
TEST_F(AutotvmImportTest, NoRowTakesThePlaceOfALine) {
  Store store = Open("r.db");
  const std::string path = WriteLog("a.log", {ConvLine(8, 3, "0.002")});
  ASSERT_TRUE(ImportAutotvm(store, {path}, {}).ok());
  ASSERT_TRUE(Store::DatabaseOf(store).Execute("UPDATE imported SET error = 4").ok());
  const auto files = ImportAutotvm(store, {path}, {});
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files->front().duplicates, 0);
  ASSERT_EQ(files->front().refused_count, 1);
  EXPECT_THAT(files->front().refused[0].reason, HasSubstr("has its digest"));
}

}  // namespace
}  // namespace tilewright::records
