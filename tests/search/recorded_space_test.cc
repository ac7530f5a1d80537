#include "search/recorded/recorded_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cost_model/cost_model.h"
#include "search/recorded/replay.h"
#include "search/space.h"
#include "src/base/files/file.h"
#include "tests/support/built_in.h"

namespace tilewright::search {
namespace {

SearchSpace DenseSpace() {
  Task task;
  task.workload = *Workload::Parse("dense(float32[16,256]MK,float32[256,256]NK)->float32");
  task.target = *Target::Parse("llvm -mcpu=core-avx2");
  return *MakeSearchSpace(BuiltInTemplates(), task, Epilogue());
}

TEST(RecordedSpaceTest, KeepsAboutAsManyConfigsAsPlannedAndTheDefaults) {
  const SearchSpace whole = DenseSpace();
  const RecordedSpace plan = PlanRecordedSpace(whole, 100);
  const auto part = plan.Space(BuiltInTemplates());
  ASSERT_TRUE(part.ok()) << part.status().message();
  EXPECT_LT(part->size(), 400);
  EXPECT_EQ(DefaultPoints(*part).size(), DefaultPoints(whole).size());
}

TEST(RecordedSpaceTest, RecordsEveryLegalConfigOnceAndReadsWhatItPrints) {
  RecordedSpace recorded_space = PlanRecordedSpace(DenseSpace(), 60);
  VirtualClock clock;
  ReplayMeasurer measurer(
      [](const Candidate& candidate) {
        Trial trial;
        trial.outcome = candidate.config.index % 5 == 4 ? Outcome::kRunFailed : Outcome::kOk;
        trial.verified = trial.outcome == Outcome::kOk;
        trial.value = 1e-3 + 1e-6 * static_cast<double>(candidate.config.index);
        return trial;
      },
      clock);
  const auto all = [](std::size_t, std::size_t) { return true; };
  ASSERT_TRUE(RecordSpace(BuiltInTemplates(), recorded_space, measurer, all).ok());
  const std::size_t recorded = recorded_space.rows.size();
  EXPECT_GT(recorded, 10u);
  ASSERT_TRUE(RecordSpace(BuiltInTemplates(), recorded_space, measurer, all).ok());
  EXPECT_EQ(recorded_space.rows.size(), recorded);

  const auto again = RecordedSpace::Parse(recorded_space.ToString());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->ToString(), recorded_space.ToString());
  EXPECT_EQ(again->rows.size(), recorded);
  EXPECT_EQ(again->spaces, recorded_space.spaces);
  EXPECT_EQ(again->task, recorded_space.task);
  EXPECT_DOUBLE_EQ(again->best_value(), 1e-3);

  // Counts are stored exactly.
  recorded_space.metric = "cycles";
  recorded_space.rows[0].value = 95753188.8521754;
  const auto counted = RecordedSpace::Parse(recorded_space.ToString());
  ASSERT_TRUE(counted.ok()) << counted.status().message();
  EXPECT_EQ(counted->metric, "cycles");
  EXPECT_EQ(counted->rows[0].value, recorded_space.rows[0].value);

  const auto space = again->Space(BuiltInTemplates());
  ASSERT_TRUE(space.ok());
  const RecordedSpaceAnalyzer analyzer(*again, *space);
  std::vector<float> features(static_cast<std::size_t>(cost_model::FeatureCount()));
  EXPECT_TRUE(analyzer.Features(recorded_space.rows[0].point, features).ok());
  EXPECT_FALSE(analyzer.Check({0, space->spaces[0].size() + 7}).ok());
}

// A recording with the values of its knobs is replayed also after its template has another version.
TEST(RecordedSpaceTest, TheValuesAreThoseOfTheRecording) {
  const RecordedSpace plan = PlanRecordedSpace(DenseSpace(), 60);
  const auto expected = plan.Space(BuiltInTemplates());
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  EXPECT_TRUE(plan.OtherVersions(BuiltInTemplates()).empty());

  RecordedSpace older = *RecordedSpace::Parse(plan.ToString());
  RecordedSpace::ReducedSpace& first = older.spaces[0];
  ++first.template_version;
  // Its digits were other ones, too.
  for (auto& knob : first.knobs) std::ranges::fill(knob.digits, 0);
  const auto space = older.Space(BuiltInTemplates());
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->spaces[0].knobs(), expected->spaces[0].knobs());
  ASSERT_EQ(older.OtherVersions(BuiltInTemplates()).size(), 1u);
  EXPECT_EQ(older.OtherVersions(BuiltInTemplates())[0],
            first.template_key + ": results of version " + std::to_string(first.template_version) +
                ", features of version " + std::to_string(first.template_version - 1));

  RecordedSpace unknown = older;
  unknown.spaces[0].knobs[0].values[0] = "[7,7,7]";
  EXPECT_EQ(
      unknown.Space(BuiltInTemplates()).status().message(),
      "template " + first.template_key + ": knob " + first.knobs[0].name + " has no value [7,7,7]");
  for (auto& knob : first.knobs) knob.values.clear();
  EXPECT_EQ(
      older.Space(BuiltInTemplates()).status().message(),
      "template " + first.template_key + " version " + std::to_string(first.template_version));
}

// The recordings of this folder replay with the templates of this version.
TEST(RecordedSpaceTest, RecordingsOfTheTreeHaveTheirSpaces) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TILEWRIGHT_SOURCE_DIR "/bench/landscapes")) {
    if (entry.path().extension() != ".csv") continue;
    const auto recorded = RecordedSpace::Load(entry.path().string());
    ASSERT_TRUE(recorded.ok()) << recorded.status().message();
    const auto space = recorded->Space(BuiltInTemplates());
    ASSERT_TRUE(space.ok()) << entry.path() << ": " << space.status().message();
    EXPECT_EQ(recorded->ToString(), *ReadFile(entry.path().string()));
    for (const auto& row : recorded->rows) {
      ASSERT_LT(row.point.index, space->spaces[static_cast<std::size_t>(row.point.space)].size());
    }
    ++files;
  }
  EXPECT_EQ(files, 12);
}

TEST(RecordedSpaceTest, NamesTheLineThatIsWrong) {
  EXPECT_EQ(RecordedSpace::Parse("# knob a 0 [1]\n").status().message(),
            "line 1: a knob before the first template");
  EXPECT_EQ(RecordedSpace::Parse("# template t 1\n# knob a 0,1 [1]\n").status().message(),
            "line 2: expected a list of as many values as digits");

  const auto blank = RecordedSpace::Parse("# template t 1\n# knob a 0,1 [\"x y\",\"z\"]\n");
  ASSERT_TRUE(blank.ok()) << blank.status().message();
  EXPECT_THAT(blank->spaces[0].knobs[0].values, testing::ElementsAre("\"x y\"", "\"z\""));
  EXPECT_EQ(RecordedSpace::Parse("# landscape 1\n0,1,ok\n").status().message(),
            "line 2: expected space,index,outcome,value");
  EXPECT_EQ(RecordedSpace::Parse("# landscape 9\n").status().message(),
            "line 1: version 9, expected 1");
  EXPECT_EQ(RecordedSpace::Parse("# mood good\n").status().message(), "line 1: unknown key mood");
}

}  // namespace
}  // namespace tilewright::search
