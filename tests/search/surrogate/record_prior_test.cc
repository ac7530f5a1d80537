#include "search/surrogate/record_prior.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilewright::search {
namespace {

TEST(RecordPriorTest, IsTheMeanOfSlowdowns) {
  DeviceRecords one, other, failed;
  one.values = {{{0, 1}, 1.0}, {{0, 2}, 2.0}, {{0, 3}, 0}};
  other.values = {{{0, 1}, 30.0}, {{0, 2}, 10.0}};
  failed.values = {{{0, 1}, 0}};  // of a device on which everything failed: nothing is known
  const RecordPrior prior(std::vector<DeviceRecords>{one, other, failed});
  EXPECT_EQ(prior.devices(), 2U);
  EXPECT_NEAR(prior.Mean({0, 1}), std::log(3.0) / 2, 1e-6);
  EXPECT_NEAR(prior.Mean({0, 2}), std::log(2.0) / 2, 1e-6);
  EXPECT_NEAR(prior.Mean({0, 3}), RecordPrior::kMaxSlowdown, 1e-6);
  EXPECT_GT(prior.Mean({0, 4}), prior.Mean({0, 2}));  // unknown: as most
  EXPECT_EQ(prior.by_mean(), (std::vector<Point>{{0, 2}, {0, 1}, {0, 3}}));
  std::vector<float> row;
  prior.AppendDeviations(row, {0, 1});
  prior.AppendDeviations(row, {0, 3});
  prior.AppendDeviations(row, {0, 4});
  ASSERT_EQ(row.size(), 6U);
  EXPECT_LT(row[0], 0);
  EXPECT_FLOAT_EQ(row[0], -row[1]);
  for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(row[i], 0);
  EXPECT_TRUE(RecordPrior({}).empty());
}

}  // namespace
}  // namespace tilewright::search
