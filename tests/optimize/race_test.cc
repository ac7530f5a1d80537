#include "src/optimize/race.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright::optimize {
namespace {

std::vector<double> Times(double seconds, double wave) {
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) times.push_back(seconds * (1 + wave * (i % 3)));
  return times;
}

TEST(RaceTest, RatiosAreThoseOfTheSameRound) {
  // Rounds become slower for all alike: the ratio stays.
  std::vector<std::vector<double>> samples(3);
  for (int i = 0; i < 30; ++i) {
    samples[0].push_back(1 + i);
    samples[1].push_back(1 + i);
    samples[2].push_back(0.5 * (1 + i));
  }
  const auto results = SummaryOf(samples);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_DOUBLE_EQ(results[1].ratio, 0.5);
  EXPECT_DOUBLE_EQ(results[1].spread, 0);
  EXPECT_DOUBLE_EQ(results[1].seconds, 0.5);
  EXPECT_TRUE(IsFaster(results[1]));
  EXPECT_FALSE(IsFaster(results[0]));
}

TEST(RaceTest, WhatEqualCodeDiffersByIsNoise) {
  // The second run of the same library takes 4 % more: a gain of 3 % is none.
  const std::vector<std::vector<double>> samples = {Times(1, 0), Times(1.04, 0), Times(0.97, 0)};
  EXPECT_FALSE(IsFaster(SummaryOf(samples)[1]));
  EXPECT_TRUE(IsFaster(SummaryOf({Times(1, 0), Times(1.04, 0), Times(0.9, 0)})[1]));
}

TEST(RaceTest, ScatteredRatiosAreNoise) {
  EXPECT_FALSE(IsFaster(SummaryOf({Times(1, 0), Times(1, 0), Times(0.8, 0.25)})[1]));
}

}  // namespace
}  // namespace tilewright::optimize
