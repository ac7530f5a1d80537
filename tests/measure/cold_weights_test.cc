#include "measure/worker/cold_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "src/tensor/expression/expression.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

constexpr std::int64_t kBytes = std::int64_t{1} << 20;

ColdWeights Made(DataType dtype) {
  auto weights = ColdWeights::Create(kBytes);
  TW_CHECK(weights.ok(), weights.status().message());
  weights->Fill(dtype);
  return *std::move(weights);
}

TEST(ColdWeights, AreTwiceTheLastCacheWithinBounds) {
  EXPECT_EQ(ColdWeights::BytesFor(0), std::int64_t{128} << 20) << "the size is unknown";
  EXPECT_EQ(ColdWeights::BytesFor(std::int64_t{512} << 10), std::int64_t{16} << 20);
  EXPECT_EQ(ColdWeights::BytesFor(std::int64_t{32} << 20), std::int64_t{64} << 20);
  EXPECT_EQ(ColdWeights::BytesFor(std::int64_t{320} << 20), std::int64_t{128} << 20);
}

TEST(ColdWeights, WindowsLieInsideAndSpreadEvenly) {
  const ColdWeights weights = Made(kFloat32);
  for (const std::int64_t bytes : {std::int64_t{4}, std::int64_t{64}, std::int64_t{1000},
                                   kBytes / 3, kBytes * 3 / 5, kBytes - 64}) {
    const ColdWeights::Windows windows = weights.WindowsFor(bytes);
    EXPECT_EQ(windows.first, weights.memory().data());
    ASSERT_GE(windows.count, 2) << bytes;
    EXPECT_GE(windows.stride, 64) << bytes;
    EXPECT_EQ(windows.stride % 64, 0);
    const std::int64_t all = windows.stride * (windows.count - 1) + bytes;
    EXPECT_LE(all, kBytes) << bytes;
    // The windows cover the whole memory, except for alignment and the size of two windows.
    const std::int64_t aligned = (bytes + 63) / 64 * 64;
    EXPECT_GT(all, kBytes - std::min(64 * windows.count, 2 * aligned)) << bytes;
  }
}

TEST(ColdWeights, WhatIsAsLargeIsFarByItself) {
  const ColdWeights weights = Made(kFloat32);
  EXPECT_EQ(weights.WindowsFor(kBytes).count, 1);
  EXPECT_EQ(weights.WindowsFor(2 * kBytes).count, 1);
  EXPECT_EQ(weights.WindowsFor(0).count, 1);
}

TEST(ColdWeights, FloatsAreNeverStrangeAndSmall) {
  ColdWeights weights = Made(kInt8);  // arbitrary bytes, and then floats
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

TEST(ColdWeights, BooleansAreNoughtOrOne) {
  const ColdWeights weights = Made(kBool);
  for (std::int64_t at = 0; at < kBytes; ++at) {
    ASSERT_LE(std::to_integer<int>(weights.memory().data()[at]), 1) << at;
  }
}

// The last timed call of a kernel reads the weight there.
TEST(ColdWeights, ARealWeightLiesInAWindowThatNoOtherOneTakes) {
  ColdWeights weights = Made(kInt8);
  auto first = GuardedMemory::Create(kBytes / 2), second = GuardedMemory::Create(kBytes / 2),
       large = GuardedMemory::Create(kBytes);
  ASSERT_TRUE(first.ok() && second.ok() && large.ok());
  first->Poison(1);
  second->Poison(2);
  const auto windows = weights.WindowsFor(first->bytes());
  ASSERT_EQ(windows.count, 2);
  const auto begins_with = [&](std::int64_t window) {
    return std::to_integer<int>(windows.first[windows.stride * window]);
  };
  weights.Begin();
  EXPECT_EQ(weights.Place(*large, 0), -1) << "it is far away by itself";
  ASSERT_EQ(weights.Place(*first, 5), 1);
  ASSERT_EQ(weights.Place(*second, 5), 0) << "the other one is taken";
  EXPECT_EQ(begins_with(1), 1);
  EXPECT_EQ(begins_with(0), 2);
  EXPECT_EQ(weights.Place(*first, 5), 1) << "it lies there already";
  auto third = GuardedMemory::Create(kBytes / 2);
  ASSERT_TRUE(third.ok());
  third->Poison(3);
  EXPECT_EQ(weights.Place(*third, 5), -1) << "both are taken";
  weights.Begin();
  EXPECT_EQ(weights.Place(*second, 5), 1);
  EXPECT_EQ(begins_with(1), 2);
}

TEST(ColdWeights, EqualWeightsShareAWindow) {
  ColdWeights weights = Made(kInt8);
  auto weight = GuardedMemory::Create(kBytes / 2), changed = GuardedMemory::Create(kBytes / 2);
  ASSERT_TRUE(weight.ok() && changed.ok());
  weight->Poison(1);
  changed->Poison(1);
  weights.Begin();
  for (int racer = 0; racer < 8; ++racer) EXPECT_EQ(weights.Place(*weight, 5), 1) << racer;
  EXPECT_EQ(weights.Place(*changed, 5), 1) << "the bytes decide";
  changed->data()[100] = std::byte{2};
  EXPECT_EQ(weights.Place(*changed, 5), 0);
}

TEST(ColdWeightsDeathTest, AreOnlyRead) {
  ColdWeights weights = Made(kInt8);
  auto* data = const_cast<std::byte*>(weights.memory().data());
  EXPECT_DEATH(data[0] = std::byte{1}, "");
}

KernelSpec Kernel(const char* target, Workload workload, std::vector<KernelParameter> parameters) {
  KernelSpec kernel;
  kernel.target = *Target::Parse(target);
  kernel.workload = std::move(workload);
  kernel.signature.parameters = std::move(parameters);
  return kernel;
}

KernelSpec Anchor(const char* key, const char* target) {
  const TensorType some{{64}, kFloat32};
  return Kernel(target, *Workload::Parse(key),
                {{ParameterRole::kData, some, "", -1, 0},
                 {ParameterRole::kWeight, some, "", -1, 0},
                 {ParameterRole::kChannel, some, "", 0, 0},
                 {ParameterRole::kResult, some, "", -1, 0}});
}

TEST(ColdWeights, AreOfAnchorsOnProcessors) {
  const char* dense = "dense(float32[4,16]MK,float32[32,16]NK)->float32";
  EXPECT_EQ(WeightOf(Anchor(dense, "llvm")), 1U);
  EXPECT_EQ(WeightOf(Anchor(dense, "cuda -arch=sm_80")), std::nullopt);
  const char* scores = "batch_matmul(float32[2,4,16]BMK,float32[2,8,16]BNK)->float32";
  EXPECT_EQ(WeightOf(Anchor(scores, "llvm")), std::nullopt) << "the network computes both operands";
}

TEST(ColdWeights, OfAnExpressionAreTheLargestConstant) {
  const auto parsed = ParseExpression(
      "input X: float32[3, 4]\nconst A: float32[4]\nconst B: float32[4, 4]\n"
      "const I: int32[3, 4, 2]\n"
      "Y[i: 3, j: 4] = sum(k: 4) X[i, k] * B[clamp(I[i, j, 0], 0, 3), k] + A[j]");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Workload workload = Workload::FromExpression(*parsed);
  std::vector<KernelParameter> parameters;
  std::optional<std::size_t> expected;
  for (const ExpressionInput& input : workload.expression.inputs) {
    const int number = static_cast<int>(parameters.size());
    if (input.constant && input.type.shape == std::vector<std::int64_t>{4, 4}) expected = number;
    parameters.push_back({ParameterRole::kInput, input.type, "", number, 0});
  }
  ASSERT_EQ(parameters.size(), 4U);
  ASSERT_TRUE(expected.has_value());
  parameters.push_back({ParameterRole::kResult, {{3, 4}, kFloat32}, "", -1, 0});
  EXPECT_EQ(WeightOf(Kernel("llvm", workload, parameters)), expected)
      << "places in another tensor are none, however many";
  parameters[*expected].operand = 77;
  EXPECT_NE(WeightOf(Kernel("llvm", workload, parameters)), expected);
}

// Timed calls read constants elsewhere, so that a change of one would not show.
TEST(ColdWeights, AreNotTheInputThatTheFreshCheckChanges) {
  const auto gather = ParseExpression(
      "const Table: float32[100, 64]\ninput I: int32[8]\n"
      "Y[i: 8, j: 64] = Table[clamp(I[i], 0, 99), j]");
  const auto constants = ParseExpression("const A: float32[8]\nY[i: 8] = A[i] + A[7 - i]");
  ASSERT_TRUE(gather.ok() && constants.ok());
  const Workload of_gather = Workload::FromExpression(*gather);
  const Workload of_constants = Workload::FromExpression(*constants);
  EXPECT_FALSE(of_gather.expression.inputs[FreshInputOf(of_gather)].constant);
  std::vector<KernelParameter> parameters;
  for (const ExpressionInput& input : of_gather.expression.inputs) {
    const int number = static_cast<int>(parameters.size());
    parameters.push_back({ParameterRole::kInput, input.type, "", number, 0});
  }
  const auto weight = WeightOf(Kernel("llvm", of_gather, parameters));
  ASSERT_TRUE(weight.has_value());
  EXPECT_NE(*weight, FreshInputOf(of_gather));
  parameters = {{ParameterRole::kInput, {{8}, kFloat32}, "", 0, 0}};
  EXPECT_EQ(WeightOf(Kernel("llvm", of_constants, parameters)), std::nullopt);
}

/// Returns the trial of a kernel that needs different weights in its timed calls.
Trial TrialOfFewWeights(bool cold_weights) {
  ProcessMeasurerSettings settings = TestSettings();
  settings.runner.cold_weights = cold_weights;
  auto measurer = ProcessMeasurer::Create(settings);
  TW_CHECK(measurer.ok(), measurer.status().message());
  const Status submitted =
      (*measurer)->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("few_weights"));
  TW_CHECK(submitted.ok(), submitted.message());
  return NextReply(**measurer).trial;
}

TEST(ColdWeights, TimedCallsReadOthersAndVerifiedOnesTheRealOne) {
  const Trial far = TrialOfFewWeights(true);
  EXPECT_EQ(far.outcome, Outcome::kOk) << far.reason;
  EXPECT_TRUE(far.verified);
  const Trial near = TrialOfFewWeights(false);
  EXPECT_EQ(near.outcome, Outcome::kRunFailed);
  EXPECT_NE(near.reason.find("code 60"), std::string::npos) << near.reason;
}

}  // namespace
}  // namespace tilewright::measure
