// Combinations of operator and element type that few models have: wide integers in products,
// integers in roots and logarithms, zero points per matrix, float64 remainders, bfloat16; and batch
// statistics.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/proto.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr DataType kUnsigned64{TypeCode::kUInt, 64};

// Sums that wrap around, with numbers beyond the precision of double.
template <typename T>
void ExpectWrappedProduct(DataType dtype, bool batched) {
  std::mt19937_64 random(7);
  const Ints left = batched ? Ints{2, 3, 5} : Ints{3, 5},
             right = batched ? Ints{2, 5, 4} : Ints{5, 4};
  Tensor a(TensorType{left, dtype}), b(TensorType{right, dtype});
  for (T& value : a.As<T>()) value = static_cast<T>(random());
  for (T& value : b.As<T>()) value = static_cast<T>(random());
  OnnxBuilder model(13);
  model.Input("a", left, OnnxTypeOf(dtype)).Output("y").Initializer("b", b);
  model.Node("MatMul", {"a", "b"}, {"y"});
  const Tensor y = EvaluateModel(model, {&a});
  ASSERT_EQ(y.dtype(), dtype);
  for (std::size_t i = 0; i < y.As<T>().size(); ++i) {
    const std::size_t matrix = i / 12, row = i / 4 % 3, column = i % 4;
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < 5; ++k) {
      sum += static_cast<std::uint64_t>(a.As<T>()[matrix * 15 + row * 5 + k]) *
             static_cast<std::uint64_t>(b.As<T>()[matrix * 20 + k * 4 + column]);
    }
    EXPECT_EQ(y.As<T>()[i], static_cast<T>(sum)) << DataTypeName(dtype) << " " << i;
  }
}

TEST(OnnxNumbers, ProductsOfWideIntegers) {
  for (const bool batched : {false, true}) {
    ExpectWrappedProduct<std::int32_t>(kInt32, batched);
    ExpectWrappedProduct<std::uint32_t>(kUInt32, batched);
    ExpectWrappedProduct<std::int64_t>(kInt64, batched);
    ExpectWrappedProduct<std::uint64_t>(kUnsigned64, batched);
  }
}

TEST(OnnxNumbers, ZeroPointsOfEachMatrix) {
  const Array a = Array::Made({2, 3, 5}, 3, 0, 255), b = Array::Made({2, 5, 4}, 4, 0, 255);
  struct ZeroCase {
    Ints a, b;
  };
  for (const ZeroCase& c : {ZeroCase{{}, {2, 1, 4}}, ZeroCase{{2, 3, 1}, {2, 1, 4}},
                            ZeroCase{{1, 3, 1}, {4}}, ZeroCase{{2, 1, 1}, {1, 1, 4}}}) {
    const Array za = Array::Made(c.a, 5, 0, 255), zb = Array::Made(c.b, 6, 0, 255);
    const auto zero = [](const Array& zeros, const Ints& at) {
      Ints index;
      const std::size_t skipped = at.size() - zeros.shape.size();
      for (std::size_t i = 0; i < zeros.shape.size(); ++i) {
        index.push_back(zeros.shape[i] == 1 ? 0 : at[skipped + i]);
      }
      return zeros.At(index);
    };
    Array expected = Array::Filled({2, 3, 4});
    def::ForEach(expected.shape, [&](const Ints& at) {
      for (std::int64_t k = 0; k < 5; ++k) {
        const Ints left = {at[0], at[1], k}, right = {at[0], k, at[2]};
        expected.At(at) += (a.At(left) - zero(za, left)) * (b.At(right) - zero(zb, right));
      }
    });
    OneOperator product("MatMulInteger", a, 10, kUInt8);
    product.With(b, kUInt8).With(za, kUInt8).With(zb, kUInt8);
    ExpectEqual(product.Run(), expected);
  }
  OneOperator uneven("MatMulInteger", a, 10, kUInt8);
  uneven.With(b, kUInt8).Scalar(0, kUInt8).With(Array::Made({2, 5, 1}, 7, 0, 9), kUInt8);
  ExpectEqual(uneven.Run(), [&] {
    Array expected = Array::Filled({2, 3, 4});
    const Array zeros = Array::Made({2, 5, 1}, 7, 0, 9);
    def::ForEach(expected.shape, [&](const Ints& at) {
      for (std::int64_t k = 0; k < 5; ++k) {
        expected.At(at) +=
            a.At({at[0], at[1], k}) * (b.At({at[0], k, at[2]}) - zeros.At({at[0], k, 0}));
      }
    });
    return expected;
  }());
  OneOperator misfit("MatMulInteger", a, 10, kUInt8);
  misfit.With(b, kUInt8).Scalar(0, kUInt8).With(Array::Made({2, 1, 3}, 7, 0, 9), kUInt8);
  EXPECT_THAT(misfit.model().Import().status().message(),
              HasSubstr("zero points (input 3) are uint8[2,1,3], which do not broadcast to "
                        "uint8[2,5,4]"));
}

TEST(OnnxNumbers, ScalesOfEachMatrix) {
  const Array a = Array::Made({2, 3, 5}, 3, 0, 255), b = Array::Made({2, 5, 4}, 4, -128, 127);
  Array sa = Array::Made({2, 3, 1}, 5, 1, 9), sb = Array::Made({2, 1, 4}, 6, 1, 9);
  for (double& value : sa.v) value /= 4;
  for (double& value : sb.v) value /= 8;
  Array expected = Array::Filled({2, 3, 4});
  def::ForEach(expected.shape, [&](const Ints& at) {
    double sum = 0;
    for (std::int64_t k = 0; k < 5; ++k)
      sum += (a.At({at[0], at[1], k}) - 7) * b.At({at[0], k, at[2]});
    const double real = sum * sa.At({at[0], at[1], 0}) * sb.At({at[0], 0, at[2]}) / 1024;
    expected.At(at) = std::clamp(std::nearbyint(real) + 100, 0.0, 255.0);
  });
  OneOperator product("QLinearMatMul", a, 21, kUInt8);
  product.With(sa).Scalar(7, kUInt8).With(b, kInt8).With(sb).Scalar(0, kInt8);
  product.Scalar(1024).Scalar(100, kUInt8);
  ExpectEqual(product.Run(), expected);
  OneOperator misfit("QLinearMatMul", a, 21, kUInt8);
  misfit.With(Array::Filled({2, 1, 3}, 1)).Scalar(7, kUInt8).With(b, kInt8).With(sb);
  misfit.Scalar(0, kInt8).Scalar(1024).Scalar(100, kUInt8);
  EXPECT_THAT(
      misfit.model().Import().status().message(),
      HasSubstr("expected one each, or one per row (input 1) and one per column (input 4)"));
}

TEST(OnnxNumbers, RootsAndLogarithmsOfIntegersLoseTheirFraction) {
  for (const DataType dtype : {kInt32, kInt64, kUInt32, kUnsigned64}) {
    const auto run = [&](const char* op, const Array& x) {
      OneOperator reduce(op, x, 13, dtype);
      reduce.model().IntList("axes", {1}).Int("keepdims", 0);
      const Tensor y = reduce.Run();
      EXPECT_EQ(y.dtype(), dtype);
      return ValuesOf(y);
    };
    EXPECT_THAT(run("ReduceL2", {{2, 2}, {3, 4, 2, 2}}), ElementsAre(5, 2));
    EXPECT_THAT(run("ReduceLogSum", {{2, 2}, {1, 0, 20, 1}}), ElementsAre(0, 3));
    EXPECT_THAT(run("ReduceLogSumExp", {{2, 2}, {1, 1, 7, 7}}), ElementsAre(1, 7));
    EXPECT_THAT(run("ReduceL1", {{2, 2}, {1, 1, 7, 7}}), ElementsAre(2, 14));
  }
}

TEST(OnnxNumbers, RemaindersOfFloat64AreExact) {
  const double least = std::numeric_limits<double>::denorm_min(), most = 0x1.fffffffffffffp1023;
  std::vector<double> a = {5.5, -5.5, 1e300, -1e308, 0x1p53 + 2, most, most, 3 * least, 7, -0.5};
  std::vector<double> b = {2, 3, 3.7, 0x1.23456789abcdfp-1000, 3, least, 3, 2 * least, 7, 1e300};
  a.insert(a.end(), {1, kInfinity, 5, -5, most, 0x1p1000, kNotANumber, most});
  b.insert(b.end(), {0, 2, kInfinity, -kInfinity, 0x1.7p1023, 0x1.fffffffffffffp999, 1, -most});
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::uniform_int_distribution<int> exponent(-1000, 1000);
  for (int i = 0; i < 300; ++i) {
    a.push_back(std::ldexp(mantissa(random), exponent(random)) * (i % 2 == 0 ? 1 : -1));
    b.push_back(std::ldexp(mantissa(random), exponent(random)));
  }
  const auto count = static_cast<std::int64_t>(a.size());
  OneOperator mod("Mod", {{count}, a}, 13, kFloat64);
  mod.With({{count}, b}, kFloat64).model().Int("fmod", 1);
  const Tensor y = mod.Run();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double expected = std::fmod(a[i], b[i]), seen = y.At(static_cast<std::int64_t>(i));
    EXPECT_TRUE(seen == expected || (std::isnan(seen) && std::isnan(expected)))
        << a[i] << " by " << b[i] << " is " << seen << ", expected " << expected;
  }
}

TEST(OnnxNumbers, RoundedToBfloat16) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<std::pair<double, double>> kValues = {
      {0, 0},
      {1, 1},
      {0x1.01p0, 0x1.00p0},  // half way: to even
      {0x1.03p0, 0x1.04p0},
      {-0x1.010002p0, -0x1.02p0},  // slightly more than half way
      {0x1.fffffep0, 2},
      {most, kInfinity},
      {0x1.fep127, 0x1.fep127},
      {-kInfinity, -kInfinity},
      {0x1p-126, 0x1p-126},
      {0x1p-134, 0},  // half of the smallest number
      {0x1.8p-134, 0x1p-133},
      {0x1.8p-133, 0x1p-132},  // half way between 1 and 2 times the smallest number
      {0x1p-149, 0},
  };
  std::vector<double> given, expected;
  for (const auto& [x, y] : kValues) {
    given.push_back(x);
    expected.push_back(y);
  }
  const auto count = static_cast<std::int64_t>(given.size());
  OnnxBuilder model(13);
  model.Input("x", {count}).Output("y").Node("Cast", {"x"}, {"b"}).Int("to", 16);
  model.Node("Identity", {"b"}, {"c"}).Node("Cast", {"c"}, {"y"}).Int("to", 1);
  const Tensor x = MakeTensor(kFloat32, {count}, given);
  EXPECT_EQ(ValuesOf(EvaluateModel(model, {&x})), expected);
  const Tensor minus = MakeTensor(kFloat32, {count}, std::vector<double>(given.size(), -0.0));
  EXPECT_TRUE(std::signbit(EvaluateModel(model, {&minus}).At(0)));
  const Tensor none = MakeTensor(kFloat32, {count}, std::vector<double>(given.size(), kNotANumber));
  EXPECT_TRUE(std::isnan(EvaluateModel(model, {&none}).At(0)));
  OnnxBuilder computed(13);
  computed.Input("x", {2}).Output("y").Node("Cast", {"x"}, {"b"}).Int("to", 16);
  computed.Node("Add", {"b", "b"}, {"y"});
  const Tensor pair = MakeTensor(kFloat32, {2}, {0x1.01p0, 3});
  EXPECT_THAT(ValuesOf(EvaluateModel(computed, {&pair})), testing::ElementsAre(2, 6));
  EXPECT_EQ(computed.Import()->precision, Precision::kAsBFloat16);
  OnnxBuilder output(13);
  output.Input("x", {2}).Output("y").Node("Cast", {"x"}, {"y"}).Int("to", 16);
  EXPECT_THAT(ValuesOf(EvaluateModel(output, {&pair})), testing::ElementsAre(1, 3));
}

TEST(OnnxNumbers, StatisticsOfABatch) {
  const Array x = Array::Made({4, 3, 2}, 8, -9, 9);
  const Doubles scale = {2, -1, 0.5}, bias = {1, 2, 3}, mean = {10, 20, 30}, variance = {4, 5, 6};
  OneOperator norm("BatchNormalization", x, 15);
  norm.Vector(scale).Vector(bias).Vector(mean).Vector(variance);
  norm.model().Int("training_mode", 1).Float("momentum", 0.75F).Float("epsilon", 0.5F);
  auto* graph = norm.model().proto().mutable_graph();
  graph->mutable_node(0)->add_output("m");
  graph->mutable_node(0)->add_output("v");
  norm.model().Output("m").Output("v");
  auto imported = norm.model().Import();
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  const Tensor given = TensorOf(x);
  auto made = EvaluateGraph(*imported, std::span(&given, 1));
  ASSERT_TRUE(made.ok()) << made.status().message();
  Array y = x;
  Doubles means, variances;
  for (std::int64_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < 8; ++i) sum += x.At({i / 2, c, i % 2});
    for (std::int64_t i = 0; i < 8; ++i) squares += std::pow(x.At({i / 2, c, i % 2}) - sum / 8, 2);
    const auto at = static_cast<std::size_t>(c);
    for (std::int64_t i = 0; i < 8; ++i) {
      y.At({i / 2, c, i % 2}) =
          (x.At({i / 2, c, i % 2}) - sum / 8) / std::sqrt(squares / 8 + 0.5) * scale[at] + bias[at];
    }
    means.push_back(0.75 * mean[at] + 0.25 * sum / 8);
    variances.push_back(0.75 * variance[at] + 0.25 * squares / 8);
  }
  ExpectEqual((*made)[0], y, 1e-6);
  ExpectEqual((*made)[1], {{3}, means}, 1e-6);
  ExpectEqual((*made)[2], {{3}, variances}, 1e-6);
  OneOperator misfit("BatchNormalization", x, 15);
  misfit.Vector({1, 2}).Vector(bias).Vector(mean).Vector(variance).model().Int("training_mode", 1);
  EXPECT_THAT(misfit.model().Import().status().message(),
              HasSubstr("input 1 is float32[2], expected floats [3]"));
}

}  // namespace
}  // namespace tilewright
