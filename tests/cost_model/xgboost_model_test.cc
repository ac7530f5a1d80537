#include "cost_model/xgboost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/random.h"

namespace tilewright::cost_model {
namespace {

/// Rows whose score falls with |x0 - 4| and rises with x1; the other features are irrelevant.
Dataset Made(std::size_t rows, std::uint64_t seed) {
  Random random(seed);
  const auto width = static_cast<std::size_t>(FeatureCount());
  Dataset data;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<float> row(width);
    for (float& x : row) x = static_cast<float>(random.Below(9));
    data.scores.push_back(1.0f / (1.0f + std::abs(row[0] - 4.0f) + 0.3f * (8.0f - row[1])));
    data.features.insert(data.features.end(), row.begin(), row.end());
  }
  data.group_sizes = {static_cast<std::uint32_t>(rows)};
  return data;
}

/// Returns the share of pairs with different scores that the model orders correctly.
double PairAccuracy(const CostModel& model, const Dataset& data) {
  const auto predicted = model.Predict(data.features);
  EXPECT_TRUE(predicted.ok());
  double right = 0, all = 0;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (data.scores[i] == data.scores[j]) continue;
      all += 1;
      right += (data.scores[i] < data.scores[j]) == ((*predicted)[i] < (*predicted)[j]) ? 1 : 0;
    }
  }
  return right / all;
}

TEST(XgboostModelTest, RanksWhatItHasNotSeen) {
  XgboostModel model;
  EXPECT_FALSE(model.trained());
  EXPECT_EQ(model.Predict({}).status().message(), "cost model: not trained");
  ASSERT_TRUE(model.Train(Made(200, 1)).ok());
  EXPECT_TRUE(model.trained());
  EXPECT_GT(PairAccuracy(model, Made(200, 2)), 0.8);
}

TEST(XgboostModelTest, SameDataSameModel) {
  XgboostModel a, b;
  ASSERT_TRUE(a.Train(Made(100, 1)).ok());
  ASSERT_TRUE(b.Train(Made(100, 1)).ok());
  const Dataset probe = Made(50, 3);
  EXPECT_EQ(*a.Predict(probe.features), *b.Predict(probe.features));
}

TEST(XgboostModelTest, DependsOnTheFullTrainingAndTheLastOneOnly) {
  XgboostModel steps, jump;
  for (std::size_t rows : {100, 110, 120, 130}) ASSERT_TRUE(steps.Train(Made(rows, 1)).ok());
  EXPECT_EQ(steps.full_training_rows(), 100u);
  ASSERT_TRUE(jump.Train(Made(100, 1)).ok());
  ASSERT_TRUE(jump.Train(Made(130, 1)).ok());
  const Dataset probe = Made(50, 3);
  EXPECT_EQ(*steps.Predict(probe.features), *jump.Predict(probe.features));
  ASSERT_TRUE(steps.Train(Made(150, 1)).ok());
  EXPECT_EQ(steps.full_training_rows(), 150u);
}

TEST(XgboostModelTest, AddedRoundsUseTheNewRows) {
  XgboostModel model;
  ASSERT_TRUE(model.Train(Made(100, 1)).ok());
  const Dataset probe = Made(300, 3);
  const double before = PairAccuracy(model, probe);
  ASSERT_TRUE(model.Train(Made(149, 1)).ok());
  EXPECT_EQ(model.full_training_rows(), 100u);
  EXPECT_GT(PairAccuracy(model, probe), before);
}

TEST(XgboostModelTest, ACloneLearnsOnItsOwn) {
  XgboostModel model;
  ASSERT_TRUE(model.Train(Made(60, 1)).ok());
  auto clone = model.Clone();
  ASSERT_TRUE(clone.ok());
  const Dataset probe = Made(50, 3);
  const std::vector<float> before = *model.Predict(probe.features);
  EXPECT_EQ(*(*clone)->Predict(probe.features), before);
  ASSERT_TRUE((*clone)->Train(Made(80, 1)).ok());
  EXPECT_EQ(*model.Predict(probe.features), before);
  EXPECT_NE(*(*clone)->Predict(probe.features), before);
}

TEST(XgboostModelTest, GoesOnAfterARestAsIfItHadNone) {
  XgboostModel rested, other;
  rested.ReleaseMemory();
  const Dataset probe = Made(50, 3);
  for (std::size_t rows : {100, 120}) {
    ASSERT_TRUE(rested.Train(Made(rows, 1)).ok());
    ASSERT_TRUE(other.Train(Made(rows, 1)).ok());
    const std::vector<float> scores = *other.Predict(probe.features);
    EXPECT_EQ(*rested.Predict(probe.features), scores);
    rested.ReleaseMemory();
    EXPECT_EQ(*rested.Predict(probe.features), scores);
    EXPECT_EQ(*(*rested.Clone())->Predict(probe.features), scores);
    rested.ReleaseMemory();
  }
}

TEST(XgboostModelTest, LearnsFromGroupsOfDifferentScale) {
  Dataset data = Made(80, 1);
  const Dataset second = Made(80, 2);
  data.features.insert(data.features.end(), second.features.begin(), second.features.end());
  for (float score : second.scores) data.scores.push_back(score * 0.01f);
  data.group_sizes = {80, 80};
  XgboostModel model;
  ASSERT_TRUE(model.Train(data).ok());
  EXPECT_GT(PairAccuracy(model, Made(200, 3)), 0.75);
}

TEST(XgboostModelTest, ItsTreesPredictTheSameWithoutXgboost) {
  XgboostModel model;
  EXPECT_EQ(model.Trees({}).status().message(), "cost model: not trained");
  ASSERT_TRUE(model.Train(Made(100, 1)).ok());
  ASSERT_TRUE(model.Train(Made(130, 1)).ok());
  const auto trees = model.Trees({1.25, "llvm", {"dense/float32"}, "130 trials of 1 task"});
  ASSERT_TRUE(trees.ok()) << trees.status().message();
  const Dataset probe = Made(500, 3);
  EXPECT_EQ(*(*trees)->Predict(probe.features), *model.Predict(probe.features));
  EXPECT_TRUE((*trees)->Predict({})->empty());
}

TEST(XgboostModelTest, RefusesToLearnFromNothing) {
  EXPECT_EQ(XgboostModel().Train({}).message(), "training data: 0 rows, expected at least 1");
}

}  // namespace
}  // namespace tilewright::cost_model
