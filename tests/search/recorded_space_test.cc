#include "search/recorded/recorded_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost_model/cost_model.h"
#include "search/recorded/replay.h"
#include "search/space.h"
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

TEST(RecordedSpaceTest, NamesTheLineThatIsWrong) {
  EXPECT_EQ(RecordedSpace::Parse("# landscape 1\n0,1,ok\n").status().message(),
            "line 2: expected space,index,outcome,value");
  EXPECT_EQ(RecordedSpace::Parse("# landscape 9\n").status().message(),
            "line 1: version 9, expected 1");
  EXPECT_EQ(RecordedSpace::Parse("# mood good\n").status().message(), "line 1: unknown key mood");
}

}  // namespace
}  // namespace tilewright::search
