// T4 files and cachefiles as records, and back.

#include "records/exchange/t4_import.h"

#include <gmock/gmock.h>

#include <cmath>

#include "records/devices/device_results.h"
#include "records/exchange/t4_export.h"
#include "records/exchange/t4_origin.h"
#include "records/merge.h"
#include "records/package/catalog.h"
#include "records/validation/schedules.h"
#include "src/base/files/file.h"
#include "src/space/exchange/cachefile.h"
#include "src/space/exchange/gzip.h"
#include "src/templates/open/environment.h"
#include "src/templates/open/open_template.h"
#include "tests/records/sample_trials.h"
#include "tests/records/shared_file.h"

namespace tilewright::records {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFile = R"({
 "metadata": {"timeunit": "miliseconds", "hardware": {"gpu": "A100"}},
 "results": [
  {"timestamp": "2023-12-22 10:54:05.5+01:00", "configuration": {"x": 16, "mode": "a"},
   "times": {"compilation": 900.5, "framework": 3.25, "runtimes": [4.5, 4.0, 5.0]},
   "invalidity": "correct", "correctness": 1,
   "measurements": [{"name": "time", "value": 4.5, "unit": ""},
                    {"name": "energy", "value": 0.25, "unit": "J", "sensor": "nvml"}],
   "objectives": ["time"], "note": {"by": "me"}},
  {"timestamp": "2023-12-22 09:54:06+00:00", "configuration": {"x": 32, "mode": "a"},
   "times": {"compilation": 1.5}, "invalidity": "compile", "correctness": 0,
   "measurements": [{"name": "time", "value": "CompilationFailedConfig", "unit": ""}],
   "objectives": ["time"]},
  {"configuration": {"x": 16, "mode": "b"}, "measurements": [{"name": "time", "value": 2, "unit": "ms"}],
   "invalidity": "correct", "correctness": 0.5, "objectives": ["time"]}
 ],
 "schema_version": "1.0.0"})";

constexpr const char* kT1 =
    R"({"General": {"BenchmarkName": "conv"}, "KernelSpecification": {"Language": "CUDA"},
  "ConfigurationSpace": {"TuningParameters": [
    {"Name": "x", "Type": "int", "Values": [16, 32, 64]},
    {"Name": "mode", "Type": "string", "Values": ["a", "b"]}],
  "Conditions": [{"Expression": "x < 64 or mode == 'a'"}]}})";

class T4ImportTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-t4-import");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(*std::move(folder));
    store_ = std::make_unique<Store>(Opened("records.db"));
  }
  Store Opened(const std::string& name) const {
    auto store = Store::Open(Path(name), Store::Mode::kReadWrite);
    EXPECT_TRUE(store.ok()) << store.status().message();
    store->SetDurability(Durability::kSystem);
    return *std::move(store);
  }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(WriteMaybeGzip(Path(name), text).ok());
    return Path(name);
  }
  T4Import Imported(const std::string& path, const T4ImportOptions& options = {}) {
    const auto done = ImportT4(*store_, path, options);
    EXPECT_TRUE(done.ok()) << done.status().message();
    return done.ok() ? *done : T4Import();
  }
  std::string Refusal(const std::string& text, const T4ImportOptions& options = {}) {
    return ImportT4(*store_, Write("conv.A100.T4.json", text), options).status().message();
  }
  static TemplateRegistry TemplatesOf(const Store& store) {
    TemplateRegistry templates = BuiltInTemplates();
    const auto texts = ScheduleTextsOf(store);
    EXPECT_TRUE(texts.ok());
    AddOpenTasks(*texts, store.path(), templates);
    return templates;
  }
  static T4Export Exported(const Store& store) {
    auto exported = ExportT4(TemplatesOf(store), store, {});
    EXPECT_TRUE(exported.ok()) << exported.status().message();
    return exported.ok() ? *std::move(exported) : T4Export();
  }
  std::unique_ptr<ScopedTempDir> folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(T4ImportTest, EveryMemberComesBack) {
  const T4Import done = Imported(Write("conv.A100.T4.json.gz", kFile));
  EXPECT_EQ(done.name, "conv");
  EXPECT_EQ(done.device, "device=A100");
  EXPECT_EQ(done.results, 3);
  EXPECT_EQ(done.failed, 1);
  EXPECT_EQ(done.imported, 3);
  const T4Export exported = Exported(*store_);
  ASSERT_EQ(exported.spaces.size(), 1u);
  EXPECT_EQ(exported.spaces[0].name, "conv.A100");
  EXPECT_EQ(exported.spaces[0].file, *T4File::Parse(kFile));
  EXPECT_EQ(exported.reduced, 0);
  // Again, under another name: nothing is added.
  EXPECT_EQ(Imported(Path("conv.A100.T4.json.gz")).imported, 0);
  EXPECT_EQ(Exported(*store_).trials, 3);
}

TEST_F(T4ImportTest, ResultsAreTrialsInTheUnitsOfRecords) {
  Imported(Write("conv.A100.T4.json", kFile));
  const TemplateRegistry templates = TemplatesOf(*store_);
  TrialFilter filter;
  filter.valid_for = &templates;
  filter.refused = [](const std::string& why) { ADD_FAILURE() << why; };
  const auto records = store_->Trials(filter);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 3u);
  const Trial& first = (*records)[0].trial;
  EXPECT_EQ(first.outcome, Outcome::kOk);
  EXPECT_TRUE(first.verified);
  EXPECT_EQ(first.metric, "seconds");
  EXPECT_DOUBLE_EQ(first.value, 0.0045);
  ASSERT_EQ(first.samples.size(), 3u);
  EXPECT_DOUBLE_EQ(first.samples[1], 0.004);
  EXPECT_GT(first.noise, 0.05);
  EXPECT_DOUBLE_EQ(first.build_seconds, 0.9005);
  EXPECT_DOUBLE_EQ(first.finished_unix_seconds, 1703238845.5);
  EXPECT_EQ(EnvironmentJson(first.device), R"({"match":{"device":"A100"},"differ":{}})");
  const Trial& failed = (*records)[1].trial;
  EXPECT_EQ(failed.outcome, Outcome::kBuildFailed);
  EXPECT_EQ(failed.reason, "compile: CompilationFailedConfig");
  EXPECT_DOUBLE_EQ((*records)[2].trial.value, 0.002);
  EXPECT_TRUE((*records)[2].trial.samples.empty());
}

TEST_F(T4ImportTest, ATaskMayHaveItsSpaceNameAndProblem) {
  T4ImportOptions options;
  options.space = Write("conv.T1.json", kT1);
  options.name = "other";
  options.problem = R"({"m": 512})";
  options.environment = R"({"match": {"gpu": "B"}, "differ": {"driver": "1"}})";
  EXPECT_EQ(Imported(Write("any.json", kFile), options).device, "driver=1 gpu=B");
  const TemplateRegistry templates = TemplatesOf(*store_);
  const OpenTask* task = nullptr;
  for (const TemplateEntry& entry : templates.all()) {
    if (entry.open != nullptr) task = entry.open;
  }
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->name, "other");
  EXPECT_EQ(ProblemText(task->problem), "m=512");
  EXPECT_EQ(task->space.size(), 5);
  const T4Export exported = Exported(*store_);
  ASSERT_EQ(exported.spaces.size(), 1u);
  EXPECT_EQ(exported.spaces[0].t1, kT1);
  EXPECT_EQ(exported.spaces[0].file, *T4File::Parse(kFile));
}

TEST_F(T4ImportTest, ASpaceGivenAsATextIsExportedAsT1) {
  T4ImportOptions options;
  options.space = Write("conv.txt",
                        "space conv\nknob x = {16, 32, 64}\nknob mode = {\"a\", \"b\"}\n"
                        "require x < 64 or mode == \"a\"\n");
  Imported(Write("conv.A100.T4.json", kFile), options);
  const T4Export exported = Exported(*store_);
  ASSERT_EQ(exported.spaces.size(), 1u);
  const auto space = OpenSpace::ParseT1(exported.spaces[0].t1);
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->name(), "conv");
  EXPECT_EQ(space->size(), 5);
  EXPECT_EQ(exported.spaces[0].file, *T4File::Parse(kFile));
  EXPECT_EQ(Imported(Path("conv.A100.T4.json"), options).imported, 0);
}

TEST_F(T4ImportTest, DevicesOfFilesAreComparedByTheirNames) {
  Imported(Write("conv.A100.T4.json", kFile));
  std::string other = kFile;
  other.replace(other.find("4.5, \"unit\""), 3, "1.5");  // x = 16, mode a
  other.replace(other.find("[4.5, 4.0, 5.0]"), 15, "[1.5]");
  Imported(Write("conv.A4000.T4.json", other));
  Catalog catalog;
  catalog.AddStore(Opened("records.db"));
  const TemplateRegistry templates = TemplatesOf(*store_);
  const Workload workload = [&] {
    for (const TemplateEntry& entry : templates.all()) {
      if (entry.open != nullptr) return entry.open->workload;
    }
    return Workload();
  }();
  const auto read = TaskResults::Read(catalog, templates, workload, "seconds");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const std::vector<std::string> names = {"A100,device=A4000"};
  const auto results = read->OnAll(names);
  ASSERT_TRUE(results.ok()) << results.status().message();
  const ShareTable table(*results);
  EXPECT_EQ(table.MeasuredOnAll(), 3u);
  const auto best = ChooseShared(table, ShareScore::kWorst, 1);
  EXPECT_THAT(table.configs()[best.measured.at(0).config], HasSubstr(R"("mode":"b")"));
}

TEST_F(T4ImportTest, AMergedStoreHasTheWholeFile) {
  Imported(Write("conv.A100.T4.json", kFile));
  { Store target = Opened("merged.db"); }
  const std::vector<std::string> sources = {store_->path()};
  const auto merged = MergeStores(BuiltInTemplates(), Path("merged.db"), sources);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  const T4Export exported = Exported(Opened("merged.db"));
  ASSERT_EQ(exported.spaces.size(), 1u);
  EXPECT_EQ(exported.spaces[0].file, *T4File::Parse(kFile));
}

TEST_F(T4ImportTest, TrialsWithoutTheirLogAreExportedAndCounted) {
  Imported(Write("conv.A100.T4.json", kFile));
  const auto jobs = store_->Jobs();
  ASSERT_TRUE(jobs.ok());
  const auto records = store_->Trials({});
  ASSERT_TRUE(records.ok());
  std::vector<Trial> trials;
  for (const Record& record : *records) trials.push_back(record.trial);
  Store copy = Opened("copy.db");
  ASSERT_TRUE(StoreScheduleTexts(copy, TemplatesOf(*store_)).ok());
  const auto job = copy.OpenJob(jobs->front().name, "{}", 1);
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(copy.Append(job->id, trials, {}).ok());
  const T4Export exported = Exported(copy);
  EXPECT_EQ(exported.trials, 3);
  EXPECT_EQ(exported.reduced, 3);
}

TEST_F(T4ImportTest, AnImportThatWasStoppedContinues) {
  const std::string path = Write("conv.A100.T4.json", kFile);
  Imported(path);
  const auto jobs = store_->Jobs();
  ASSERT_TRUE(jobs.ok());
  const auto records = store_->Trials({});
  ASSERT_TRUE(records.ok());
  // A store as after the first transaction of an import, with one result in it.
  *store_ = Opened("stopped.db");
  const auto job = store_->OpenJob(jobs->front().name, "{}", 1);
  ASSERT_TRUE(job.ok());
  const T4File file = *T4File::Parse(kFile);
  const Trial& first = (*records)[0].trial;
  ASSERT_TRUE(store_
                  ->Append(job->id, {first},
                           {T4FileEntry(file, ""),
                            T4ResultEntry(file.results[0], first.candidate.config.index)})
                  .ok());
  EXPECT_EQ(Imported(path).imported, 2);
  const T4Export exported = Exported(*store_);
  ASSERT_EQ(exported.spaces.size(), 1u);
  EXPECT_EQ(exported.spaces[0].file, file);
}

TEST_F(T4ImportTest, ACachefileComesBack) {
  const std::string text =
      R"({"device_name": "RTX", "kernel_name": "conv", "tune_params_keys": ["x"],
    "tune_params": {"x": [16, 32]}, "objective": "time", "cache": {
    "16": {"x": 16, "time": 4.5, "times": [4.5, 4.5], "compile_time": 9.5, "timestamp": "2023-12-22 09:54:05+00:00"},
    "32": {"x": 32, "time": "RuntimeFailedConfig", "compile_time": 1}}})";
  EXPECT_EQ(Imported(Write("conv.cachefile.json", text)).device, "device=RTX");
  const T4Export exported = Exported(*store_);
  ASSERT_EQ(exported.spaces.size(), 1u);
  const auto back = ToCacheFile(exported.spaces[0].file);
  ASSERT_TRUE(back.ok()) << back.status().message();
  const auto before = CacheFile::Parse(text);
  ASSERT_TRUE(before.ok()) << before.status().message();
  EXPECT_EQ(back->ToString(), ToCacheFile(*ToT4(*before))->ToString());
}

TEST_F(T4ImportTest, OwnFilesKeepTheirTaskAndDevice) {
  Imported(Write("conv.A100.T4.json", kFile));
  auto records = store_->Trials({});
  ASSERT_TRUE(records.ok());
  Trial own = (*records)[0].trial;  // as of a job of the program
  own.value = own.samples[0];
  Store other = Opened("own.db");
  ASSERT_TRUE(StoreScheduleTexts(other, TemplatesOf(*store_)).ok());
  const auto job = other.OpenJob("job", "{}", 1);
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(other.Append(job->id, {own}, {}).ok());
  const T4Export exported = Exported(other);
  *store_ = Opened("again.db");
  Imported(Write("anything.json", exported.spaces.at(0).file.ToString()));
  records = store_->Trials({});
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ((*records)[0].trial.candidate.template_key, own.candidate.template_key);
  EXPECT_EQ((*records)[0].trial.device, own.device);
  EXPECT_EQ((*records)[0].trial.value, own.value);
  EXPECT_EQ(Exported(*store_).spaces.at(0).file, exported.spaces.at(0).file);
}

TEST_F(T4ImportTest, WhatNoRecordMayHaveIsRefusedAndNothingIsStored) {
  const auto with = [](const std::string& old, const std::string& text) {
    std::string file = kFile;
    return file.replace(file.find(old), old.size(), text);
  };
  EXPECT_THAT(Refusal("{}"), HasSubstr("\"results\""));
  EXPECT_THAT(Refusal(R"({"results": []})"), HasSubstr("no results"));
  EXPECT_THAT(Refusal(with("\"value\": 2", "\"value\": -2")), HasSubstr("result 3: "));
  EXPECT_THAT(Refusal(with("\"unit\": \"ms\"", "\"unit\": \"weeks\"")), HasSubstr("unit weeks"));
  EXPECT_THAT(Refusal(with("{\"x\": 32, \"mode\": \"a\"}", "{\"x\": 32}")),
              HasSubstr("result 2: expected the parameters"));
  EXPECT_THAT(Refusal(with("\"objectives\": [\"time\"]}\n", "\"objectives\": [\"energy\"]}\n")),
              HasSubstr("expected the objective time"));
  T4ImportOptions options;
  options.space = Write("small.T1.json", R"({"ConfigurationSpace": {"TuningParameters": [
    {"Name": "x", "Type": "int", "Values": [16]}, {"Name": "mode", "Type": "string", "Values": ["a", "b"]}]}})");
  EXPECT_THAT(Refusal(kFile, options), HasSubstr("result 2: parameter x has no value 32"));
  EXPECT_THAT(ImportT4(*store_, Write("conv.json", kFile), {}).status().message(),
              HasSubstr("does not state its device"));
  const std::string cut = Path("cut.A100.T4.json.gz");
  ASSERT_TRUE(WriteFile(cut, Gzip(kFile).substr(0, 40)).ok());
  EXPECT_EQ(ImportT4(*store_, cut, {}).status().message(), cut + ": truncated gzip file");
  EXPECT_EQ(*store_->CountTrials({}), 0);
}

TEST_F(T4ImportTest, LogsAreToldFromT4Files) {
  EXPECT_TRUE(LooksLikeT4(Write("a.json", kFile)));
  EXPECT_TRUE(LooksLikeT4(Write("a.json.gz", kFile)));
  EXPECT_FALSE(LooksLikeT4(Write(
      "b.json",
      R"({"input": ["llvm", "t", []], "config": {"index": 1}, "result": [[1], 0, 1, 1], "version": 0.2})")));
  EXPECT_FALSE(LooksLikeT4(Path("missing")));
}

TEST_F(T4ImportTest, AMeasuredSpaceOfTheHubRoundTrips) {
  const std::string path = SharedFile("t4/convolution_milo.A100.T4.json.gz");
  TW_NEEDS_SHARED(path);
  EXPECT_EQ(Imported(path).imported, 4362);
  const T4Export exported = Exported(*store_);
  ASSERT_EQ(exported.spaces.size(), 1u);
  EXPECT_EQ(exported.spaces[0].name, "convolution_milo.A100");
  const auto file = T4File::Parse(*ReadMaybeGzip(path));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(exported.spaces[0].file == *file);
}

}  // namespace
}  // namespace tilewright::records
