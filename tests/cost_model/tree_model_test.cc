#include "cost_model/tree_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "src/base/files/file.h"

namespace tilewright::cost_model {
namespace {

using testing::HasSubstr;

/// Model: 0.5, plus 1 if the first feature is below 2, else 4 if the third is below 0, else 8.
TreeModel Sample() {
  return TreeModel(0.5F,
                   {{{0, 2, 2.0F}, {-1, 0, 1.0F}, {2, 4, 0.0F}, {-1, 0, 4.0F}, {-1, 0, 8.0F}}},
                   {1.3, "llvm", {"dense/float32", "dense/int8"}, "7 trials of 2 tasks"});
}

std::vector<float> Row(float first, float third) {
  std::vector<float> row(static_cast<std::size_t>(FeatureCount()));
  row[0] = first;
  row[2] = third;
  return row;
}

TEST(TreeModelTest, WalksDownItsTrees) {
  const TreeModel model = Sample();
  std::vector<float> rows = Row(1.9F, 5);
  for (const auto& row : {Row(2, -1), Row(2, 0)}) rows.insert(rows.end(), row.begin(), row.end());
  EXPECT_EQ(*model.Predict(rows), (std::vector<float>{1.5F, 4.5F, 8.5F}));
  EXPECT_EQ(Sample().Train({}).code(), StatusCode::kUnsupported);
}

TEST(TreeModelTest, SavesAndLoads) {
  auto folder = ScopedTempDir::Create("tw_model");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(Sample().Save(folder->path() + "/m").ok());
  const auto loaded = TreeModel::Load(folder->path() + "/m");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(*(*loaded)->Predict(Row(2, -1)), std::vector<float>{4.5F});
  EXPECT_EQ((*loaded)->metadata().target_kind, "llvm");
  EXPECT_EQ((*loaded)->metadata().families,
            (std::vector<std::string>{"dense/float32", "dense/int8"}));
  EXPECT_EQ((*loaded)->metadata().learned_from, "7 trials of 2 tasks");
  EXPECT_DOUBLE_EQ((*loaded)->metadata().expected_slowdown, 1.3);
  EXPECT_EQ(TreeModel::Load(folder->path() + "/none").status().code(), StatusCode::kNotFound);
}

TEST(TreeModelTest, RefusesWhatIsNoModelOfTheseFeatures) {
  EXPECT_EQ(TreeModel::Deserialize("hello").status().message(),
            "cost model: expected a file that begins with \"tilewright-cost-model\"");
  const std::string bytes = Sample().Serialize();
  std::string other = bytes;
  const std::string features = "features " + std::to_string(kFeatureVersion);
  other.replace(other.find(features), features.size(), "features 0");
  EXPECT_THAT(TreeModel::Deserialize(other).status().message(),
              HasSubstr("cost model: header \"tilewright-cost-model 2 features 0 "));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(TreeModel::Deserialize(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  std::string damaged = bytes;
  damaged[bytes.size() - 10] ^= 1;
  EXPECT_THAT(TreeModel::Deserialize(damaged).status().message(), HasSubstr("checksum differs"));
}

TEST(TreeModelTest, ReadsWhatItWroteOfALongHistory) {
  const TreeModel model(0, {}, {1, "llvm", {"dense/float32"}, std::string(5000, 'x')});
  const auto read = TreeModel::Deserialize(model.Serialize());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ((*read)->metadata().learned_from, std::string(4096, 'x'));
}

}  // namespace
}  // namespace tilewright::cost_model
