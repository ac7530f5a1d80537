// Networks in mixed formats, and whole searches on a small network on this machine.

#include "src/optimize/format_search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "records/store.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/json.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/quantize/quality.h"
#include "src/optimize/candidates.h"
#include "src/optimize/choice.h"
#include "src/optimize/job_key.h"
#include "src/optimize/journal.h"
#include "src/optimize/stored_search.h"
#include "src/session/target.h"
#include "src/target/device.h"
#include "src/templates/device.h"

namespace tilewright::optimize {
namespace {

using testing::HasSubstr;

/// A residual, a pool and a matrix product: four sites.
constexpr const char* kNetwork =
    "def @main(%x: Tensor[(1, 8, 12, 12), float32]) {\n"
    "%0 = nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(16, 8, 3, 3), float32] */, "
    "padding=[1, 1, 1, 1]);\n"
    "%1 = nn.relu(%0);\n"
    "%2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 3, 3), float32] */, "
    "padding=[1, 1, 1, 1]);\n"
    "%3 = add(%2, %1);\n"
    "%4 = nn.relu(%3);\n"
    "%5 = nn.conv2d(%4, meta[relay.Constant][2] /* ty=Tensor[(32, 16, 1, 1), float32] */, "
    "padding=[0, 0, 0, 0]);\n"
    "%6 = nn.global_avg_pool2d(%5);\n"
    "%7 = nn.batch_flatten(%6);\n"
    "nn.dense(%7, meta[relay.Constant][3] /* ty=Tensor[(10, 32), float32] */, units=10)\n}\n";

Graph SmallNetwork() {
  auto graph = ImportRelay(kNetwork, "small");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  return *std::move(graph);
}

class FormatSearchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto target = session::ParseTarget("native", 1);
    ASSERT_TRUE(target.ok()) << target.status().message();
    target_ = *target;
    auto folder = LockedTempDir::Create("tilewright-optimize-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }
  CompileOptions Options() const {
    CompileOptions options;
    options.templates = &templates_;
    options.target = target_;
    options.device = *DeviceFor(target_);
    return options;
  }
  session::CompileRequest Request() const {
    session::CompileRequest request;
    request.graph = SmallNetwork();
    request.options = Options();
    return request;
  }
  /// Settings with short races. Nothing here depends on which library is faster.
  SearchSettings Settings() const {
    SearchSettings settings;
    settings.store = folder_->path() + "/records.db";
    settings.reference_threads = 1;
    settings.times_seconds = settings.quick_seconds = settings.race_seconds = 0;
    return settings;
  }
  Result<SearchReport> Search(const SearchSettings& settings,
                              records::Catalog* catalog = nullptr) const {
    auto request = Request();
    request.options.catalog = catalog;
    CompiledModel compiled;
    return SearchFormats(std::move(request), quantize::SyntheticSamples(SmallNetwork(), 12),
                         settings, folder_->path() + "/out.so", compiled);
  }
  /// Returns a program with this body of a shell script.
  ScoreProgram Program(const std::string& body) const {
    const std::string path = folder_->path() + "/score.sh";
    EXPECT_TRUE(WriteFile(path, "#!/bin/sh\n" + body + "\n").ok());
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return {{path}, 60};
  }
  /// Returns the number of stored steps whose names begin so.
  std::int64_t Steps(const std::string& prefix) const {
    const auto store = records::Store::Open(Settings().store, records::Store::Mode::kReadOnly);
    EXPECT_TRUE(store.ok()) << store.status().message();
    const auto entries = store->LogOfKind(store->Jobs()->front().id, kStepKind);
    EXPECT_TRUE(entries.ok()) << entries.status().message();
    return std::ranges::count_if(*entries, [&prefix](const records::LogEntry& entry) {
      return entry.task_key.starts_with(prefix);
    });
  }
  /// Stores a record of the first convolution with another config than the default one.
  void AddRecord(const std::string& path) const {
    const auto tasks = ExtractTasks(SmallNetwork());
    ASSERT_TRUE(tasks.ok()) << tasks.status().message();
    const Workload& workload = (*tasks)[0].workload;
    const TemplateEntry* entry = templates_.Find("conv2d_NCHWc.x86");
    const auto space = entry->define_space(workload, target_);
    ASSERT_TRUE(space.ok()) << space.status().message();
    Config values = *entry->default_config(workload, target_);
    for (auto& [knob, value] : values.values) {
      if (knob == "tile_oc") value.value = std::vector<std::int64_t>{8, 2};
    }
    const auto config = space->Locate(values);
    ASSERT_TRUE(config.ok()) << config.status().message();
    Trial trial;
    trial.candidate = {{workload, target_},
                       (*tasks)[0].epilogue,
                       std::string(entry->key),
                       entry->version,
                       *config};
    trial.outcome = Outcome::kOk;
    trial.samples = {1e-7};
    trial.value = 1e-7;
    trial.verified = true;
    trial.device = *DeviceFor(target_);
    trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
    auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok()) << store.status().message();
    const auto job = store->OpenJob("tuning", "{}", 1);
    ASSERT_TRUE(job.ok());
    ASSERT_TRUE(store->Append(job->id, {trial}, {}).ok());
  }
  records::Catalog CatalogOf(const std::string& path) const {
    records::Catalog catalog;
    catalog.AddStore(*records::Store::Open(path, records::Store::Mode::kReadOnly));
    return catalog;
  }
  Result<NetworkFormats> Formats4() const {
    return NetworkFormats::Create(SmallNetwork(), target_,
                                  quantize::SyntheticSamples(SmallNetwork(), 4), 1);
  }

  const TemplateRegistry templates_ = TemplateRegistry::BuiltIn();
  Target target_;
  std::optional<LockedTempDir> folder_;
};

TEST_F(FormatSearchTest, FindsTheSitesAndTheirFormats) {
  const auto network = Formats4();
  ASSERT_TRUE(network.ok()) << network.status().message();
  ASSERT_EQ(network->sites().size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const Site& site = network->sites()[i];
    EXPECT_EQ(site.formats, (std::vector<Format>(std::begin(kFormats), std::end(kFormats))));
    EXPECT_EQ(site.before, static_cast<int>(i) - 1);
  }
  EXPECT_EQ(network->sites()[0].elements, 8 * 12 * 12);
  EXPECT_EQ(network->sites()[3].op, "dense");
  EXPECT_EQ(CodeOf(network->Uniform(Format::kInt8)), "iiii");
}

// Every combination compiles, and its library computes what the reference evaluator does.
TEST_F(FormatSearchTest, EveryCombinationComputesWhatItsGraphSays) {
  auto network = Formats4();
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto samples = quantize::SyntheticSamples(SmallNetwork(), 2);
  const auto exact = quantize::OutputsFor(SmallNetwork(), samples, 1);
  ASSERT_TRUE(exact.ok());
  for (int number = 0; number < 81; number += 4) {  // 21 of them, each pair of neighbours in one
    Formats formats;
    for (int i = 0, rest = number; i < 4; ++i, rest /= 3) {
      formats.push_back(kFormats[(rest + number / 4) % 3]);
    }
    const std::string code = CodeOf(formats);
    auto graph = network->Build(formats);
    ASSERT_TRUE(graph.ok()) << code << ": " << graph.status().message();
    const std::string path = folder_->path() + "/" + code + ".so";
    const auto compiled = Compile(*std::move(graph), Options(), path);
    ASSERT_TRUE(compiled.ok()) << code << ": " << compiled.status().message();
    const auto library = ModelLibrary::Open(path);
    ASSERT_TRUE(library.ok()) << code << ": " << library.status().message();
    const auto evaluated = network->BuildToEvaluate(formats);
    ASSERT_TRUE(evaluated.ok()) << code << ": " << evaluated.status().message();
    const auto expected = quantize::OutputsFor(*evaluated, samples, 1);
    ASSERT_TRUE(expected.ok()) << code << ": " << expected.status().message();
    OutputErrorSum between, from_exact;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto outputs = library->Run(samples[i]);
      ASSERT_TRUE(outputs.ok()) << code << ": " << outputs.status().message();
      between.Add((*expected)[i], *outputs);
      from_exact.Add((*exact)[i], *outputs);
    }
    EXPECT_GT(between.Get().SqnrDb(), 55) << code;
    EXPECT_GT(from_exact.Get().SqnrDb(), 20) << code;
  }
}

TEST_F(FormatSearchTest, TheChosenLibraryKeepsTheBoundAndASecondRunFindsEveryStep) {
  SearchSettings settings = Settings();
  std::vector<std::string> notes;
  settings.note = [&notes](const std::string& text) { notes.push_back(text); };
  const auto samples = [] { return quantize::SyntheticSamples(SmallNetwork(), 12); };
  CompiledModel compiled;
  const std::string path = folder_->path() + "/out.so";
  const auto report = SearchFormats(Request(), samples(), settings, path, compiled);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->steps_found, 0U);
  EXPECT_EQ(report->sites.size(), 4U);
  ASSERT_LT(report->chosen, report->combinations.size());
  const Combination& chosen = report->combinations[report->chosen];
  if (chosen.held_out) {
    EXPECT_GE(chosen.held_out->SqnrDb(), 30);
  }
  std::set<std::string> codes;
  for (const Combination& one : report->combinations) {
    EXPECT_TRUE(codes.insert(CodeOf(one.formats)).second);
  }
  for (const char* code : {"ffff", "bbbb", "iiii"}) EXPECT_TRUE(codes.contains(code)) << code;
  EXPECT_EQ(report->predicted_front.front(), std::pair(1.0, 0.0));
  EXPECT_TRUE(ModelLibrary::Open(path).ok());

  const auto again = SearchFormats(Request(), samples(), settings, path, compiled);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_GT(again->steps_found, 10U);
  EXPECT_THAT(notes, testing::Contains(HasSubstr("resumes: ")));
  EXPECT_EQ(again->chosen, report->chosen);
  ASSERT_EQ(again->combinations.size(), report->combinations.size());
  for (std::size_t i = 0; i < report->combinations.size(); ++i) {
    EXPECT_EQ(again->combinations[i].formats, report->combinations[i].formats);
    EXPECT_EQ(again->combinations[i].ratio, report->combinations[i].ratio);
  }
}

// A search after tuning must not find times of the kernels that it no longer has.
TEST_F(FormatSearchTest, OtherRecordsMeasureTimesAgainAndKeepTheNoise) {
  const auto before = Search(Settings());
  ASSERT_TRUE(before.ok()) << before.status().message();
  const std::int64_t noise = Steps("noise/"), times = Steps("times"), races = Steps("time/");
  EXPECT_EQ(times, 1);
  ASSERT_NO_FATAL_FAILURE(AddRecord(Settings().store));
  records::Catalog catalog = CatalogOf(Settings().store);
  const auto after = Search(Settings(), &catalog);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_GT(after->steps_found, 0U) << "it is the same job";
  EXPECT_EQ(Steps("noise/"), noise) << "the reference evaluator has no kernels";
  EXPECT_EQ(Steps("times"), 2);
  EXPECT_GE(Steps("time/"), races + 2) << "bfloat16 and int8 at least";
  const auto kernels = [](const SearchReport& report) {
    std::set<std::string> tags;
    for (const Combination& one : report.combinations) tags.insert(one.kernels);
    return tags;
  };
  for (const std::string& tag : kernels(*after)) EXPECT_FALSE(kernels(*before).contains(tag));
}

TEST_F(FormatSearchTest, ThePreviousCombinationsStayOnTheFrontOfAnotherBound) {
  SearchSettings settings = Settings();
  const auto first = Search(settings);
  ASSERT_TRUE(first.ok()) << first.status().message();
  settings.bound = *ParseBound("cosine>=0.5");
  const auto second = Search(settings);
  ASSERT_TRUE(second.ok()) << second.status().message();
  for (const Combination& one : first->combinations) {
    EXPECT_NE(std::ranges::find(second->combinations, one.formats, &Combination::formats),
              second->combinations.end());
  }
  for (const Combination& one : second->combinations) EXPECT_TRUE(one.held_out.has_value());
}

TEST_F(FormatSearchTest, TheScoreDecides) {
  SearchSettings settings = Settings();
  settings.bound = *ParseBound("score>=0.8");
  settings.score = Program("case $TILEWRIGHT_FORMATS in *i*) echo 0.5;; *) echo 0.9;; esac");
  const auto report = Search(settings);
  ASSERT_TRUE(report.ok()) << report.status().message();
  for (const Combination& one : report->combinations) {
    const bool int8 = CodeOf(one.formats).find('i') != std::string::npos;
    EXPECT_EQ(one.search.score, int8 ? 0.5 : 0.9);
  }
  const Combination& chosen = report->combinations[report->chosen];
  EXPECT_EQ(CodeOf(chosen.formats).find('i'), std::string::npos);
  EXPECT_EQ(chosen.held_out->score, 0.9);
  // Scores are steps: the second run calls no program. Another program is another step.
  const std::int64_t scores = Steps("score/");
  settings.score = Program("case $TILEWRIGHT_FORMATS in *i*) echo 0.5;; *) echo 0.9;; esac");
  ASSERT_TRUE(Search(settings).ok());
  EXPECT_EQ(Steps("score/"), scores);
}

TEST_F(FormatSearchTest, TheHeldOutScoreRefusesWhatTheSearchTook) {
  SearchSettings settings = Settings();
  settings.bound = *ParseBound("score>=0.8");
  settings.score = Program(
      "case $TILEWRIGHT_PART$TILEWRIGHT_FORMATS in held_outffff) echo 0.9;; held_out*) echo 0.1;; "
      "*) echo 0.9;; esac");
  const auto report = Search(settings);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(CodeOf(report->combinations[report->chosen].formats), "ffff");
}

TEST_F(FormatSearchTest, ACandidateWithoutAScoreIsRefusedWithTheReason) {
  SearchSettings settings = Settings();
  settings.bound = *ParseBound("score>=0.8");
  settings.score = Program(
      "case $TILEWRIGHT_FORMATS in *i*) echo 'no such layer' >&2; exit 4;; *b*) echo soso;; "
      "*) echo 0.9;; esac");
  const auto report = Search(settings);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(CodeOf(report->combinations[report->chosen].formats), "ffff");
  for (const Combination& one : report->combinations) {
    const std::string code = CodeOf(one.formats);
    if (code == "iiii") {
      EXPECT_THAT(one.refused, HasSubstr("no such layer"));
    }
    if (code == "bbbb") {
      EXPECT_EQ(one.refused, "it printed 'soso', expected one number");
    }
    if (code == "ffff") {
      EXPECT_EQ(one.refused, "");
    }
  }
  EXPECT_EQ(Steps("score/"), Steps("score/search/ffff") + Steps("score/held_out/ffff"))
      << "a refusal is not stored: its cause may pass";
}

TEST_F(FormatSearchTest, AScoreNeedsAFloat32LibraryThatKeepsTheBound) {
  SearchSettings settings = Settings();
  settings.bound = *ParseBound("score>=0.8");
  const auto problem = [&] {
    const auto report = Search(settings);
    EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
    return report.status().message();
  };
  EXPECT_THAT(problem(), HasSubstr("expected --score"));
  settings.score = Program("echo 0.7");
  EXPECT_THAT(problem(), HasSubstr("float32 library has a score of 0.7"));
  settings.score = Program("exit 1");
  EXPECT_THAT(problem(), HasSubstr("the float32 library: exit code 1"));
  EXPECT_EQ(Steps("score/search/ffff"), 1) << "a failure on float32 is not stored";
  settings.bound = *ParseBound("sqnr>=30");
  EXPECT_THAT(problem(), HasSubstr("expected --bound 'score>="));
}

TEST_F(FormatSearchTest, Float32IsScoredBeforeAnythingElse) {
  SearchSettings settings = Settings();
  settings.bound = *ParseBound("score>=0.8");
  settings.score = Program("echo $TILEWRIGHT_PART$TILEWRIGHT_FORMATS >>" + folder_->path() +
                           "/calls; [ $TILEWRIGHT_PART = search ] && echo 0.9 || echo 0.7");
  const auto report = Search(settings);
  EXPECT_THAT(report.status().message(), HasSubstr("a score of 0.7 (held-out part)"));
  EXPECT_EQ(*ReadFile(folder_->path() + "/calls"), "searchffff\nheld_outffff\n");
  EXPECT_EQ(Steps("calibration/") + Steps("time/"), 0);
}

// The held-out outputs decide nothing before the end.
TEST_F(FormatSearchTest, TheLimitOfTheNoiseIsThatOfTheSearchPart) {
  const Bound bound = *ParseBound("max_error<=0.01");
  const auto limit = [&](float factor) {
    auto samples = quantize::SyntheticSamples(SmallNetwork(), 12);
    const auto split = SplitSamples(samples.size(), bound, 1);
    for (const std::size_t i : split->held_out) {
      auto* values = reinterpret_cast<float*>(samples[i][0].data());
      for (std::int64_t k = 0; k < samples[i][0].elements(); ++k) values[k] *= factor;
    }
    const auto candidates =
        Candidates::Create(Request(), std::move(samples), *split, {}, Journal(), 1);
    EXPECT_TRUE(candidates.ok()) << candidates.status().message();
    return candidates.ok() ? candidates->NoiseLimit(bound) : 0;
  };
  const double unscaled = limit(1);
  EXPECT_GT(unscaled, 0);
  EXPECT_EQ(limit(100), unscaled);
}

TEST_F(FormatSearchTest, AnotherQuantizerIsAnotherJob) {
  const auto request = Request();
  EXPECT_EQ(NetworkKeyOf(request), NetworkKeyOf(request, quantize::kQuantizerVersion));
  EXPECT_NE(NetworkKeyOf(request), NetworkKeyOf(request, quantize::kQuantizerVersion + 1));
  EXPECT_TRUE(JobKeyOf(request, {}).starts_with(NetworkKeyOf(request)));
}

TEST_F(FormatSearchTest, OfSeveralSearchesTheOneThatCompletedLastCounts) {
  const auto report = Search(Settings());
  ASSERT_TRUE(report.ok()) << report.status().message();
  const auto complete = [&](const std::string& samples) {
    auto journal = Journal::Open(Settings().store, NetworkKeyOf(Request()) + samples, "{}");
    ASSERT_TRUE(journal.ok()) << journal.status().message();
    ASSERT_TRUE(journal->Put(kResultStep, StoredReport(*report)).ok());
    ASSERT_TRUE(journal->Finish().ok());
  };
  const auto chosen_job = [&] {
    auto request = Request();
    const auto choice = ChooseStored(request, {Settings().store}, "seconds,sqnr>=1");
    EXPECT_TRUE(choice.ok()) << choice.status().message();
    if (!choice.ok()) return std::string();
    EXPECT_EQ(choice->other_jobs, 2);
    return choice->job.substr(NetworkKeyOf(Request()).size());
  };
  complete("a");
  complete("b");
  EXPECT_EQ(chosen_job(), "b");
  complete("a");  // finds its result stored
  EXPECT_EQ(chosen_job(), "a");
}

TEST_F(FormatSearchTest, AStoredSearchIsChosenFromWithoutMeasuring) {
  const std::vector<std::string> stores = {Settings().store};
  {
    auto request = Request();
    ASSERT_TRUE(records::Store::Open(stores[0], records::Store::Mode::kReadWrite).ok());
    const auto none = ChooseStored(request, stores, "seconds,sqnr>=20");
    EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
    EXPECT_THAT(none.status().message(), HasSubstr("no search of this network"));
  }
  const auto report = Search(Settings());
  ASSERT_TRUE(report.ok()) << report.status().message();
  const auto samples = quantize::SyntheticSamples(SmallNetwork(), 12);
  const auto exact = quantize::OutputsFor(SmallNetwork(), samples, 1);
  ASSERT_TRUE(exact.ok());
  for (const Combination& one : report->combinations) {
    // The bound that this combination just keeps is kept by what is chosen.
    const double decibels = std::min(one.held_out->SqnrDb(), 150.0) - 0.01;
    auto request = Request();
    auto choice = ChooseStored(request, stores, fmt::format("seconds,sqnr>={}", decibels));
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_THAT(choice->ToString(), HasSubstr("of job optimize-"));
    EXPECT_GE(choice->combination().held_out->SqnrDb(), decibels);
    EXPECT_LE(choice->combination().ratio, one.ratio);
    const std::string path = folder_->path() + "/chosen.so";
    const auto compiled = Compile(std::move(choice->graph), request.options, path);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    const auto library = ModelLibrary::Open(path);
    ASSERT_TRUE(library.ok()) << library.status().message();
    OutputErrorSum sum;
    for (const std::size_t i : report->split.held_out) {
      sum.Add((*exact)[i], *library->Run(samples[i]));
    }
    EXPECT_GE(sum.Get().SqnrDb(), std::min(decibels, 90.0) - 0.1);
  }
  // Other records: other kernels than those that were measured.
  ASSERT_NO_FATAL_FAILURE(AddRecord(folder_->path() + "/tuned.db"));
  records::Catalog catalog = CatalogOf(folder_->path() + "/tuned.db");
  auto request = Request();
  request.options.catalog = &catalog;
  const auto stale = ChooseStored(request, stores, "seconds,sqnr>=20");
  EXPECT_EQ(stale.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(stale.status().message(), HasSubstr("other kernels"));
}

TEST_F(FormatSearchTest, TheCalibrationWithTheLeastErrorIsTaken) {
  const auto report = Search(Settings());
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->calibrations.size(), 5U);
  double least = report->calibrations[0].noise, chosen = -1;
  for (const CalibrationError& one : report->calibrations) {
    least = std::min(least, one.noise);
    if (one.calibration == report->calibration && chosen < 0) chosen = one.noise;
  }
  EXPECT_EQ(chosen, least);
  std::set<std::string> names;
  for (const CalibrationError& one : report->calibrations) {
    EXPECT_TRUE(names.insert(one.calibration.ToString()).second);
  }
}

TEST_F(FormatSearchTest, RefusesANetworkWithoutProducts) {
  auto graph = ImportRelay("def @main(%x: Tensor[(4), float32]) {\nnn.relu(%x)\n}\n", "plain");
  ASSERT_TRUE(graph.ok());
  const auto network = NetworkFormats::Create(*std::move(graph), target_, {}, 1);
  EXPECT_EQ(network.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilewright::optimize
