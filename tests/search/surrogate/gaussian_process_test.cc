#include "search/surrogate/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tilewright::search {
namespace {

/// Rows with a number and a category, and targets that depend on both.
void MakeRows(std::vector<float>& rows, std::vector<double>& targets) {
  for (int i = 0; i < 12; ++i) {
    const float x = static_cast<float>(i) / 11;
    const auto category = static_cast<float>(i % 2);
    rows.insert(rows.end(), {x, category});
    targets.push_back(std::sin(4 * static_cast<double>(x)) + (i % 2 == 0 ? 0.5 : -0.5));
  }
}

TEST(GaussianProcessTest, InterpolatesWhatItHasSeen) {
  std::vector<float> rows;
  std::vector<double> targets;
  MakeRows(rows, targets);
  GaussianProcess process({false, true}, 0, 0);
  Random random(1);
  process.Fit(rows, targets, 60, random);
  for (std::size_t i = 0; i < targets.size(); ++i) process.Append({&rows[2 * i], 2});
  process.SetTargets(targets);
  GaussianProcess::Candidates candidates;
  candidates.features = rows;
  candidates.features.insert(candidates.features.end(), {0.5F, 0, 0.5F, 1});
  process.Update(candidates);
  const std::vector<float> means = process.Means(candidates);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    EXPECT_NEAR(means[i], targets[i], 0.15);
  }
  EXPECT_NEAR(means[12], std::sin(2.0) + 0.5, 0.3);
  EXPECT_NEAR(means[13], std::sin(2.0) - 0.5, 0.3);
  EXPECT_LT(process.Deviation(candidates, 0), process.Deviation(candidates, 12) + 0.1);
}

TEST(GaussianProcessTest, RowsOneByOneGiveWhatAllAtOnceGive) {
  std::vector<float> rows;
  std::vector<double> targets;
  MakeRows(rows, targets);
  GaussianProcess whole({false, true}, 0, 0), parts({false, true}, 0, 0);
  GaussianProcess::Candidates at_once, later;
  at_once.features = later.features = {0.3F, 0, 0.7F, 1, 2, 0};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    whole.Append({&rows[2 * i], 2});
    parts.Append({&rows[2 * i], 2});
    if (i % 5 == 0) {
      parts.Append({&rows[0], 2});  // taken back
      parts.Update(later);
      parts.Truncate(i + 1);
      later.Truncate(i + 1);
    }
  }
  whole.SetTargets(targets);
  parts.SetTargets(targets);
  whole.Update(at_once);
  parts.Update(later);
  EXPECT_EQ(whole.Means(at_once), parts.Means(later));
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(whole.Deviation(at_once, c), parts.Deviation(later, c));
  }
  // Far from all rows, nothing is known.
  EXPECT_GT(whole.Deviation(at_once, 2), whole.Deviation(at_once, 0));
}

TEST(GaussianProcessTest, ARowWithoutTargetOnlyLowersTheVariance) {
  GaussianProcess process({false}, 0, -1);
  const float rows[] = {0, 1, 0.5F};
  process.Append({&rows[0], 1});
  process.Append({&rows[1], 1});
  const std::vector<double> targets = {-1, 1};
  process.SetTargets(targets);
  GaussianProcess::Candidates candidates;
  candidates.features = {0.4F};
  process.Update(candidates);
  const double mean = process.Means(candidates)[0], deviation = process.Deviation(candidates, 0);
  process.Append({&rows[2], 1});
  process.SetTargets(targets);
  process.Update(candidates);
  EXPECT_EQ(process.Means(candidates)[0], static_cast<float>(mean));
  EXPECT_LT(process.Deviation(candidates, 0), 0.5 * deviation);
}

TEST(GaussianProcessTest, LinearFeaturesReachEverywhere) {
  GaussianProcess process({false}, 1, -2);
  const float rows[] = {0, -1, 0.1F, 1, 0.2F, -0.5F, 0.3F, 0.5F};
  std::vector<double> targets;
  for (std::size_t i = 0; i < 4; ++i) {
    process.Append({&rows[2 * i], 2});
    targets.push_back(static_cast<double>(rows[2 * i + 1]));
  }
  process.SetTargets(targets);
  GaussianProcess::Candidates candidates;
  candidates.features = {1, 2, 1, -2};
  process.Update(candidates);
  EXPECT_GT(process.Means(candidates)[0], 0.5);
  EXPECT_LT(process.Means(candidates)[1], -0.5);
}

}  // namespace
}  // namespace tilewright::search
