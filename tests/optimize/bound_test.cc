#include "src/optimize/bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilewright::optimize {
namespace {

using testing::HasSubstr;

Sample OutputOf(std::vector<double> values, std::int64_t rows = 1) {
  Tensor tensor(TensorType{{rows, static_cast<std::int64_t>(values.size()) / rows}, kFloat32});
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.Set(static_cast<std::int64_t>(i), values[i]);
  Sample sample;
  sample.push_back(std::move(tensor));
  return sample;
}

TEST(BoundTest, ParsesAndPrintsEveryMetric) {
  for (const char* text :
       {"sqnr>=30", "agreement>=0.99", "max_error<=0.01", "cosine>=0.99999995", "score>=0.7"}) {
    const auto bound = ParseBound(text);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(bound->ToString(), text);
  }
}

TEST(BoundTest, RefusesOtherTextsAndLimits) {
  for (const char* text : {"", "sqnr", "sqnr>30", "sqnr<=30", "psnr>=30", "sqnr>=", "sqnr>=x",
                           "sqnr>=nan", "sqnr>=-1", "sqnr>=1e9", "agreement>=1.5", "max_error<=-1",
                           "max_error<=inf", "cosine>=2", "sqnr>=30dB"}) {
    const auto bound = ParseBound(text);
    ASSERT_FALSE(bound.ok()) << text;
    EXPECT_EQ(bound.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(bound.status().message(), HasSubstr("expected")) << text;
  }
}

TEST(BoundTest, ErrorsOfKnownOutputs) {
  OutputErrorSum sum;
  sum.Add(OutputOf({3, 4, 0, 0}, 2), OutputOf({3, 4.5, 0, 0}, 2));
  sum.Add(OutputOf({1, 2, 4, 3}, 2), OutputOf({1, 2, 3, 4}, 2));
  const OutputError error = sum.Get();
  EXPECT_DOUBLE_EQ(error.relative_noise, (0.25 + 2) / (25 + 30));
  EXPECT_DOUBLE_EQ(error.SqnrDb(), -10 * std::log10(error.relative_noise));
  EXPECT_DOUBLE_EQ(error.max_error, 1);
  EXPECT_DOUBLE_EQ(error.agreement, 0.75);
  EXPECT_DOUBLE_EQ(error.cosine, 29.0 / 30);
}

TEST(BoundTest, ClassesAreTheLastDimensionThatIsNotOne) {
  EXPECT_EQ(ClassesOf({{8, 1000}, kFloat32}), 1000);
  EXPECT_EQ(ClassesOf({{8, 1000, 1, 1}, kFloat32}), 1000);
  EXPECT_EQ(ClassesOf({{1, 1}, kFloat32}), 1);
  EXPECT_EQ(ClassesOf({{}, kFloat32}), 1);
}

TEST(BoundTest, EqualOutputsKeepEveryBound) {
  OutputErrorSum sum;
  sum.Add(OutputOf({1, -2}), OutputOf({1, -2}));
  for (const char* text : {"sqnr>=200", "agreement>=1", "max_error<=0"}) {
    const auto bound = ParseBound(text);
    ASSERT_TRUE(bound.ok());
    EXPECT_TRUE(bound->Keeps(bound->ValueOf(sum.Get()))) << text;
  }
}

TEST(BoundTest, NoBoundHoldsForWhatIsNoNumber) {
  OutputErrorSum sum;
  sum.Add(OutputOf({1, 2}), OutputOf({1, std::numeric_limits<double>::quiet_NaN()}));
  sum.Add(OutputOf({1, 2}), OutputOf({1, 2}));
  for (const char* text : {"sqnr>=0", "max_error<=1e30", "cosine>=0"}) {
    const auto bound = ParseBound(text);
    ASSERT_TRUE(bound.ok());
    EXPECT_FALSE(bound->Keeps(bound->ValueOf(sum.Get()))) << text;
  }
}

TEST(BoundTest, AgreementNeedsAsManyRowsAsItsLimitCanTell) {
  EXPECT_EQ(ParseBound("agreement>=0.99")->LeastCount(), 100);
  EXPECT_EQ(ParseBound("agreement>=0.5")->LeastCount(), 2);
  EXPECT_EQ(ParseBound("agreement>=1")->LeastCount(), 2);
  EXPECT_EQ(ParseBound("sqnr>=30")->LeastCount(), 2);
}

TEST(BoundTest, NoiseOfABoundInDecibels) {
  EXPECT_DOUBLE_EQ(ParseBound("sqnr>=30")->RelativeNoise(10, 1), 1e-3);
}

}  // namespace
}  // namespace tilewright::optimize
