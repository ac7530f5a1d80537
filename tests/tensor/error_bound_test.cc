#include "src/tensor/reference/error_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

Tensor Floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  Tensor tensor(TensorType{std::move(shape), kFloat32});
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

BoundedTensor Exact(Tensor value) { return {std::move(value), Tensor()}; }

BoundedTensor BoundOf(OpKind kind, const BoundedTensor& x, OpAttributes attributes = {}) {
  const BoundedTensor* const operand = &x;
  auto result = EvaluateBounded({kind, std::move(attributes)}, std::span(&operand, 1), 1);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *std::move(result);
}

BoundedTensor BoundOf(OpKind kind, const BoundedTensor& a, const BoundedTensor& b) {
  const std::array operands = {&a, &b};
  auto result = EvaluateBounded({kind, {}}, operands, 1);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *std::move(result);
}

/// Returns whether the bound permits an element to be this much larger than the reference.
bool Allows(const BoundedTensor& reference, std::int64_t i, double more) {
  Tensor seen = reference.value.Clone();
  seen.Set(i, seen.At(i) + more);
  return CompareBounded(seen, reference).ok;
}

TEST(ErrorBound, OfAMeanNearZeroComesFromWhatWasAddedUp) {
  std::vector<float> values;
  for (int i = 0; i < 512; ++i) values.push_back(i % 2 == 0 ? 1000.0F : -1000.0F);
  values[0] += 0.001F;
  OpAttributes axes;
  axes.axes = {1};
  const BoundedTensor mean = BoundOf(OpKind::kReduceMean, Exact(Floats({1, 512}, values)), axes);
  EXPECT_TRUE(Allows(mean, 0, 1e-4));
  EXPECT_FALSE(Allows(mean, 0, 1e-2));
}

TEST(ErrorBound, OfASmallProbabilityIsAPartOfIt) {
  std::vector<float> values(4000, -30.0F);
  values[7] = 0;
  OpAttributes axis;
  axis.axis = 1;
  const BoundedTensor softmax = BoundOf(OpKind::kSoftmax, Exact(Floats({1, 4000}, values)), axis);
  const double one = softmax.value.At(7);
  ASSERT_GT(one, 0.9);
  EXPECT_TRUE(Allows(softmax, 7, 4e-6));
  EXPECT_FALSE(Allows(softmax, 7, 1e-4));
  EXPECT_FALSE(Allows(softmax, 8, 1e-3));
}

TEST(ErrorBound, OfTinySigmoidsHasARelativePart) {
  const BoundedTensor x = Exact(Floats({3}, {-30, -85, -100}));
  const BoundedTensor sigmoid = BoundOf(OpKind::kSigmoid, x);
  for (std::int64_t i = 0; i < 3; ++i) {
    const double value = sigmoid.value.At(i);
    Tensor seen = sigmoid.value.Clone();
    seen.Set(i, value * (1 + 8e-6));
    EXPECT_TRUE(CompareBounded(seen, sigmoid).ok) << i;
  }
  Tensor none = sigmoid.value.Clone();
  none.Set(2, 0);  // not a normal number
  EXPECT_TRUE(CompareBounded(none, sigmoid).ok);
  none.Set(0, 0);
  EXPECT_FALSE(CompareBounded(none, sigmoid).ok);
}

TEST(ErrorBound, IsCarriedThroughWhatCancels) {
  const BoundedTensor a = Exact(Floats({2}, {3, 1})), b = Exact(Floats({2}, {0.1F, 0.1F}));
  const BoundedTensor product = BoundOf(OpKind::kMul, a, b);
  const BoundedTensor difference = BoundOf(OpKind::kSub, product, Exact(Floats({2}, {0.3F, 5})));
  ASSERT_LT(std::fabs(difference.value.At(0)), 1e-6);
  EXPECT_GT(difference.error.At(0), 1e-8);
  EXPECT_LT(difference.error.At(0), 1e-6);
}

TEST(ErrorBound, OfRoundingToWholeNumbersIsNone) {
  const BoundedTensor floor = BoundOf(OpKind::kFloor, Exact(Floats({2}, {3, 2.5F})));
  EXPECT_FALSE(Allows(floor, 0, -1));
  EXPECT_FALSE(Allows(floor, 1, 1));
}

// A float32 mean may fall on either side of a tie, and so may the values computed from it.
TEST(ErrorBound, OfIntegersIsTheNeighbourNextToATieOfASum) {
  OpAttributes axes, to;
  axes.axes = {1};
  to.dtype = kInt8;
  const BoundedTensor mean = BoundOf(
      OpKind::kReduceMean, Exact(Floats({2, 3}, {2.3F, 2.5F, 2.7F, 2.2F, 2.3F, 2.4F})), axes);
  const BoundedTensor number = BoundOf(OpKind::kSaturateCast, mean, to);
  const double other = number.value.At(0) == 2 ? 1 : -1;
  EXPECT_TRUE(Allows(number, 0, other));
  EXPECT_FALSE(Allows(number, 0, 2 * other));
  EXPECT_FALSE(Allows(number, 1, 1));
  EXPECT_FALSE(Allows(number, 1, -1));
  Tensor offset(TensorType{{}, kInt8});
  offset.Set(0, 9);
  const BoundedTensor sum = BoundOf(OpKind::kAdd, number, Exact(std::move(offset)));
  EXPECT_TRUE(Allows(sum, 0, other));
  EXPECT_FALSE(Allows(sum, 1, 1));
}

TEST(ErrorBound, OfAProductThatIsRoundedToIntegersIsNone) {
  const BoundedTensor product =
      BoundOf(OpKind::kMul, Exact(Floats({2}, {5, 3})), Exact(Floats({1}, {0.5F})));
  OpAttributes to;
  to.dtype = kInt8;
  const BoundedTensor cast = BoundOf(OpKind::kSaturateCast, product, to);
  EXPECT_TRUE(cast.exact()) << "2.5 is 2 by everybody's rules";
  const BoundedTensor even = BoundOf(OpKind::kRoundEven, product);
  const BoundedTensor moved = BoundOf(OpKind::kAdd, even, Exact(Floats({1}, {128})));
  EXPECT_FALSE(Allows(moved, 0, 1));
  to.dtype = kUInt8;
  EXPECT_TRUE(BoundOf(OpKind::kCast, moved, to).exact());
}

TEST(ErrorBound, OfFloatsThatNoIntegerStandsForIsEverything) {
  OpAttributes to;
  to.dtype = kInt32;
  const float none = std::numeric_limits<float>::quiet_NaN();
  const BoundedTensor cast =
      BoundOf(OpKind::kCast, Exact(Floats({4}, {none, 3e9F, -3e9F, 2.5F})), to);
  for (std::int64_t i = 0; i < 3; ++i) {
    Tensor seen = cast.value.Clone();
    seen.Set(i, std::numeric_limits<std::int32_t>::min());
    EXPECT_TRUE(CompareBounded(seen, cast).ok) << i;
  }
  EXPECT_FALSE(Allows(cast, 3, 1));
  to.dtype = kUInt8;
  const BoundedTensor bytes = BoundOf(OpKind::kCast, Exact(Floats({3}, {-0.5F, -1, 255.5F})), to);
  EXPECT_FALSE(Allows(bytes, 0, 1));
  EXPECT_TRUE(Allows(bytes, 1, 255));
  EXPECT_FALSE(Allows(bytes, 2, -1));
}

// A value computed from a position may be any of those computed from the correct positions.
TEST(ErrorBound, OfWhatReadsAPositionReachesToTheOthers) {
  Tensor positions(TensorType{{3}, kInt64});
  for (std::int64_t i = 0; i < 3; ++i) positions.Set(i, 5);
  BoundedTensor chosen{
      positions.Clone(), Tensor(TensorType{{3}, kFloat64}), false, false, {{1, 3}, {1, 9}}};
  EXPECT_TRUE(Allows(chosen, 1, 4));
  EXPECT_FALSE(Allows(chosen, 1, 1));
  const BoundedTensor sum = BoundOf(OpKind::kAdd, chosen, Exact(positions.Clone()));
  EXPECT_TRUE(Allows(sum, 1, 4));
  EXPECT_TRUE(Allows(sum, 1, -4));
  EXPECT_FALSE(Allows(sum, 1, 5));
  EXPECT_FALSE(Allows(sum, 0, 1));
  EXPECT_FALSE(Allows(sum, 2, -1));
  OpAttributes shape;
  shape.new_shape = {1, 3};
  const BoundedTensor moved = BoundOf(OpKind::kReshape, chosen, shape);
  EXPECT_TRUE(Allows(moved, 1, 4));
  EXPECT_FALSE(Allows(moved, 0, 1));
}

TEST(ErrorBound, FindsWhatIsNoNumberAndOtherTypes) {
  const BoundedTensor reference = BoundOf(OpKind::kSigmoid, Exact(Floats({2}, {1, 2})));
  Tensor seen = reference.value.Clone();
  seen.Set(1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(CompareBounded(seen, reference).ok);
  seen.Set(1, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(CompareBounded(seen, reference).ok);
  EXPECT_FALSE(CompareBounded(Tensor(TensorType{{2}, kInt32}), reference).ok);
  const BoundedTensor whole = Exact(Tensor(TensorType{{2}, kInt8}));
  Tensor other(TensorType{{2}, kInt8});
  EXPECT_TRUE(CompareBounded(other, whole).ok);
  other.Set(0, 1);
  EXPECT_FALSE(CompareBounded(other, whole).ok);
}

}  // namespace
}  // namespace tilewright
