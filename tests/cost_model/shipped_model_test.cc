// The cost models in configs/cost_models, with any version of XGBoost.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "cost_model/tree_model.h"
#include "src/base/random.h"

namespace tilewright::cost_model {
namespace {

TEST(ShippedModelTest, PredictsTheKeptNumbers) {
  const auto model = TreeModel::Load(TILEWRIGHT_SOURCE_DIR "/configs/cost_models/llvm.model");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->metadata().target_kind, "llvm");
  // Features are logarithms and ratios: from below 0 to about 40, in quarters, exact as floats.
  Random random(7);
  std::vector<float> rows(12 * static_cast<std::size_t>(FeatureCount()));
  for (float& feature : rows) feature = static_cast<float>(random.Below(180)) * 0.25F - 4;
  const std::vector<float> kept = {
      -1.00087631F, -0.755758643F, -0.473730892F, -1.25777602F,  -0.328511089F, -0.203194261F,
      -1.00843668F, -0.448497504F, -1.01332152F,  -0.794429779F, -0.68318069F,  -1.4064362F,
  };
  const auto predicted = (*model)->Predict(rows);
  ASSERT_TRUE(predicted.ok()) << predicted.status().message();
  EXPECT_EQ(*predicted, kept);  // sums of the same floats in the same order
}

}  // namespace
}  // namespace tilewright::cost_model
