#include "measure/worker/far_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

constexpr std::int64_t kBytes = std::int64_t{1} << 20;

FarWeights Made(DataType dtype) {
  auto weights = FarWeights::Create(kBytes);
  TW_CHECK(weights.ok(), weights.status().message());
  weights->Fill(dtype);
  return *std::move(weights);
}

TEST(FarWeights, AreTwiceTheLastCacheWithinBounds) {
  EXPECT_EQ(FarWeights::BytesFor(0), std::int64_t{16} << 20);
  EXPECT_EQ(FarWeights::BytesFor(std::int64_t{32} << 20), std::int64_t{64} << 20);
  EXPECT_EQ(FarWeights::BytesFor(std::int64_t{320} << 20), std::int64_t{128} << 20);
}

TEST(FarWeights, WindowsLieInsideAndSpreadEvenly) {
  const FarWeights weights = Made(kFloat32);
  const std::byte* data = weights.memory().data();
  for (const std::int64_t bytes : {std::int64_t{4}, std::int64_t{64}, std::int64_t{1000},
                                   kBytes / 3, kBytes * 3 / 5, kBytes - 64}) {
    const std::int64_t windows = weights.Windows(bytes);
    ASSERT_GE(windows, 2) << bytes;
    EXPECT_EQ(weights.Window(bytes, 0), data);
    const std::int64_t stride = weights.Window(bytes, 1) - data;
    EXPECT_GE(stride, 64) << bytes;
    for (std::int64_t i = 1; i < windows; ++i) {
      EXPECT_EQ(weights.Window(bytes, i) - weights.Window(bytes, i - 1), stride);
    }
    EXPECT_EQ(stride % 64, 0);
    EXPECT_LE(stride * (windows - 1) + bytes, kBytes) << bytes;
    // All of the memory is gone through, but for what is less than a window's alignment each.
    EXPECT_GT(stride * (windows - 1) + bytes, kBytes - 64 * windows - bytes) << bytes;
  }
}

TEST(FarWeights, WhatIsAsLargeIsFarByItself) {
  const FarWeights weights = Made(kFloat32);
  EXPECT_EQ(weights.Windows(kBytes), 1);
  EXPECT_EQ(weights.Windows(2 * kBytes), 1);
  EXPECT_EQ(weights.Windows(0), 1);
}

TEST(FarWeights, FloatsAreNeverStrangeAndSmall) {
  FarWeights weights = Made(kInt8);  // any bytes, and then floats
  weights.Fill(kFloat32);
  bool negative = false, positive = false;
  for (std::int64_t at = 0; at < kBytes; at += 4) {
    float value = 0;
    std::memcpy(&value, weights.memory().data() + at, sizeof(value));
    ASSERT_GE(std::abs(value), 0.5F) << at;
    ASSERT_LT(std::abs(value), 1.0F) << at;
    negative |= value < 0;
    positive |= value > 0;
  }
  EXPECT_TRUE(negative && positive);
  weights.Fill(kFloat64);
  double value = 0;
  std::memcpy(&value, weights.memory().data() + 8, sizeof(value));
  EXPECT_GE(std::abs(value), 0.5);
  EXPECT_LT(std::abs(value), 1);
}

TEST(FarWeights, BooleansAreNoughtOrOne) {
  const FarWeights weights = Made(kBool);
  for (std::int64_t at = 0; at < kBytes; ++at) {
    ASSERT_LE(std::to_integer<int>(weights.memory().data()[at]), 1) << at;
  }
}

TEST(FarWeightsDeathTest, AreOnlyRead) {
  FarWeights weights = Made(kInt8);
  auto* data = const_cast<std::byte*>(weights.memory().data());
  EXPECT_DEATH(data[0] = std::byte{1}, "");
}

/// How a kernel ends that wants different weights in its timed calls.
Trial TrialOfFewWeights(bool far_weights) {
  ProcessMeasurerSettings settings = TestSettings();
  settings.runner.far_weights = far_weights;
  auto measurer = ProcessMeasurer::Create(settings);
  TW_CHECK(measurer.ok(), measurer.status().message());
  const Status submitted =
      (*measurer)->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("few_weights"));
  TW_CHECK(submitted.ok(), submitted.message());
  return NextReply(**measurer).trial;
}

TEST(FarWeights, TimedCallsReadOthersAndVerifiedOnesTheRealOne) {
  const Trial far = TrialOfFewWeights(true);
  EXPECT_EQ(far.outcome, Outcome::kOk) << far.reason;
  EXPECT_TRUE(far.verified);
  const Trial near = TrialOfFewWeights(false);
  EXPECT_EQ(near.outcome, Outcome::kRunFailed);
  EXPECT_NE(near.reason.find("code 60"), std::string::npos) << near.reason;
}

}  // namespace
}  // namespace tilewright::measure
