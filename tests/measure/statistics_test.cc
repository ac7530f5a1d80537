#include "measure/statistics.h"

#include <gtest/gtest.h>

namespace tilewright::measure {
namespace {

TEST(Statistics, MedianOfOddEvenAndNothing) {
  EXPECT_EQ(Median(std::vector<double>{}), 0);
  EXPECT_EQ(Median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 2, 3}), 2.5);
}

TEST(Statistics, FewSamplesGiveTheirWholeRange) {
  const Estimate estimate = EstimateOf(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(estimate.value, 3);
  EXPECT_DOUBLE_EQ(estimate.noise, (5 - 1) / 2. / 3);
}

TEST(Statistics, ManySamplesNarrowTheInterval) {
  std::vector<double> samples;
  for (int i = 0; i < 100; ++i) samples.push_back(100 + i);
  const Estimate estimate = EstimateOf(samples);
  EXPECT_DOUBLE_EQ(estimate.value, 149.5);
  // Ranks 50 -+ 9.8 of 100: from 140 to 160.
  EXPECT_DOUBLE_EQ(estimate.noise, 10 / 149.5);
}

TEST(Statistics, OneSampleIsAllNoise) {
  const Estimate estimate = EstimateOf(std::vector<double>{2});
  EXPECT_EQ(estimate.value, 2);
  EXPECT_EQ(estimate.noise, 1);
}

TEST(Statistics, ResolutionIsTheSpreadOfPairs) {
  EXPECT_EQ(ResolutionOf({}), 0);
  EXPECT_EQ(ResolutionOf(std::vector<double>{1, 1, 2, 2}), 0);
  // Each pair differs by 2 % of its mean.
  const double two_percent = 1.96 * 1.4826 * 0.02;
  EXPECT_NEAR(ResolutionOf(std::vector<double>{0.99, 1.01, 1.01, 0.99}), two_percent, 1e-12);
  // A pair that was disturbed says nothing about the others.
  const std::vector<double> disturbed = {0.99, 1.01, 1.01, 0.99, 1, 3};
  EXPECT_NEAR(ResolutionOf(disturbed), two_percent, 1e-12);
}

TEST(QuietGate, KnowsNothingAtFirst) {
  const QuietGate gate;
  EXPECT_EQ(gate.quiet_seconds(), 0);
  EXPECT_FALSE(gate.IsQuiet(1e-6));
}

TEST(QuietGate, TellsDisturbedFromQuiet) {
  QuietGate gate;
  for (int second = 0; second < 10; ++second) gate.Add(second, second < 5 ? 30e-6 : 40e-6);
  EXPECT_DOUBLE_EQ(gate.quiet_seconds(), 30e-6);
  EXPECT_TRUE(gate.IsQuiet(31e-6));
  EXPECT_FALSE(gate.IsQuiet(40e-6));
}

TEST(QuietGate, OneTooShortMeasurementDoesNotShutIt) {
  QuietGate gate;
  for (int second = 0; second < 10; ++second) gate.Add(second, second == 3 ? 10e-6 : 30e-6);
  EXPECT_DOUBLE_EQ(gate.quiet_seconds(), 30e-6);
}

TEST(QuietGate, ForgetsAClockThatIsGone) {
  QuietGate gate;
  for (int second = 0; second < 5; ++second) gate.Add(second, 25e-6);
  for (int second = 5; second < 100; ++second) gate.Add(second, 30e-6);
  EXPECT_DOUBLE_EQ(gate.quiet_seconds(), 30e-6);
}

}  // namespace
}  // namespace tilewright::measure
