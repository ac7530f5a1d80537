#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/base/random.h"

namespace tilewright::measure {
namespace {

TEST(Statistics, MedianOfOddEvenAndNothing) {
  EXPECT_EQ(Median(std::vector<double>{}), 0);
  EXPECT_EQ(Median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 2, 3}), 2.5);
}

TEST(Statistics, FewSamplesGiveTheirWholeRange) {
  const Estimate estimate = EstimateOf(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(estimate.value, 2);
  EXPECT_DOUBLE_EQ(estimate.noise, (5 - 1) / 2. / 2);
}

TEST(Statistics, ManySamplesNarrowTheInterval) {
  std::vector<double> samples;
  for (int i = 0; i < 100; ++i) samples.push_back(100 + i);
  const Estimate estimate = EstimateOf(samples);
  EXPECT_DOUBLE_EQ(estimate.value, 124.75);
  // Ranks 25 -+ 8.5 of 100: from 16 to 34.
  EXPECT_DOUBLE_EQ(estimate.noise, 9 / 124.75);
}

/// Returns samples of 1 ms, evenly spread over 0.4 %, each of which is `slower` with this
/// probability.
std::vector<double> NoisySamples(std::uint64_t seed, int count, double noisy, double slower) {
  Random random(seed);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    const double sample = 1e-3 * (1 + 0.004 * random.Uniform());
    samples.push_back(random.Uniform() < noisy ? sample * slower : sample);
  }
  return samples;
}

TEST(Statistics, WhatDisturbsSamplesDoesNotMoveTheirLowEnd) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const double clean = EstimateOf(NoisySamples(seed, 32, 0, 1)).value;
    EXPECT_NEAR(clean, 1.001e-3, 1e-6);
    for (const double share : {0.1, 0.3, 0.5}) {
      const Estimate noisy = EstimateOf(NoisySamples(seed, 32, share, 1.4));
      EXPECT_NEAR(noisy.value, clean, 0.003 * clean) << share;
    }
  }
}

TEST(Statistics, TheIntervalHoldsTheTruthMostOfTheTime) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Estimate estimate = EstimateOf(NoisySamples(seed, 40, 0, 1));
    const double reach = estimate.noise * estimate.value;
    held += std::abs(estimate.value - 1.001e-3) <= reach ? 1 : 0;
  }
  EXPECT_GE(held, 360);
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
  // One noisy pair does not affect the others.
  const std::vector<double> noisy = {0.99, 1.01, 1.01, 0.99, 1, 3};
  EXPECT_NEAR(ResolutionOf(noisy), two_percent, 1e-12);
}

TEST(NoiseFilter, KnowsNothingAtFirst) {
  const NoiseFilter gate;
  EXPECT_EQ(gate.uncontended_seconds(), 0);
  EXPECT_FALSE(gate.IsClean(1e-6));
}

TEST(NoiseFilter, TellsDisturbedFromQuiet) {
  NoiseFilter gate;
  for (int second = 0; second < 10; ++second) gate.Add(second, second < 5 ? 30e-6 : 40e-6);
  EXPECT_DOUBLE_EQ(gate.uncontended_seconds(), 30e-6);
  EXPECT_TRUE(gate.IsClean(31e-6));
  EXPECT_FALSE(gate.IsClean(40e-6));
}

TEST(NoiseFilter, OneTooShortMeasurementDoesNotShutIt) {
  NoiseFilter gate;
  for (int second = 0; second < 10; ++second) gate.Add(second, second == 3 ? 10e-6 : 30e-6);
  EXPECT_DOUBLE_EQ(gate.uncontended_seconds(), 30e-6);
}

TEST(NoiseFilter, StartedInNoiseItKnowsWhatQuietWas) {
  NoiseFilter gate;
  gate.SetReference(30e-6);
  EXPECT_FALSE(gate.IsClean(30e-6)) << "nothing has run yet";
  for (int second = 0; second < 5; ++second) gate.Add(second, 40e-6);
  EXPECT_FALSE(gate.IsClean(40e-6));
  gate.Add(5, 30.5e-6);
  EXPECT_TRUE(gate.IsClean(30.5e-6));
}

TEST(NoiseFilter, ForgetsAClockThatIsGone) {
  NoiseFilter gate;
  for (int second = 0; second < 5; ++second) gate.Add(second, 25e-6);
  for (int second = 5; second < 100; ++second) gate.Add(second, 30e-6);
  EXPECT_DOUBLE_EQ(gate.uncontended_seconds(), 30e-6);
}

}  // namespace
}  // namespace tilewright::measure
