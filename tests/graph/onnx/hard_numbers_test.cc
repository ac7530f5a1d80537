// Extreme numbers: comparing operators propagate NaN, sums of exponentials handle infinities, and
// composed functions keep their precision over all exponents.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

using onnx_definitions::Array;

constexpr double kEdgeInfinity = std::numeric_limits<double>::infinity();
const double kEdgeNan = std::numeric_limits<double>::quiet_NaN();

void ExpectNumbers(const Tensor& actual, const Doubles& expected, const std::string& what) {
  ASSERT_EQ(actual.elements(), std::ssize(expected)) << what;
  for (std::int64_t i = 0; i < actual.elements(); ++i) {
    const double value = actual.At(i), wanted = expected[static_cast<std::size_t>(i)];
    const bool same = std::isnan(wanted)   ? std::isnan(value)
                      : std::isinf(wanted) ? value == wanted
                                           : std::fabs(value - wanted) <= 1e-3 * std::fabs(wanted);
    EXPECT_TRUE(same) << what << " [" << i << "]: " << value << ", expected " << wanted;
  }
}

Array EdgeRow(const Doubles& values) { return {{std::ssize(values)}, values}; }

TEST(OnnxHardNumbers, NanGoesThroughExtremes) {
  for (const DataType dtype : {kFloat16, kFloat32, kFloat64}) {
    const std::string type = DataTypeName(dtype);
    OneOperator max("Max", EdgeRow({1, kEdgeNan, 3, 4}), 13, dtype);
    max.With(EdgeRow({kEdgeNan, 1, 2, 5}), dtype).With(EdgeRow({0, 0, kEdgeNan, 6}), dtype);
    ExpectNumbers(max.Run(), {kEdgeNan, kEdgeNan, kEdgeNan, 6}, "Max " + type);
    OneOperator min("Min", EdgeRow({1, kEdgeNan, 3, 4}), 13, dtype);
    min.With(EdgeRow({kEdgeNan, 1, 2, 5}), dtype).With(EdgeRow({0, 0, kEdgeNan, 6}), dtype);
    ExpectNumbers(min.Run(), {kEdgeNan, kEdgeNan, kEdgeNan, 4}, "Min " + type);
    const Array rows{{3, 3}, {kEdgeNan, 1, 2, 1, kEdgeNan, 2, 1, 2, kEdgeNan}};
    for (const char* op : {"ReduceMax", "ReduceMin"}) {
      OneOperator reduce(op, rows, 13, dtype);
      reduce.model().IntList("axes", {1});
      reduce.model().Int("keepdims", 0);
      ExpectNumbers(reduce.Run(), {kEdgeNan, kEdgeNan, kEdgeNan}, op + type);
    }
    ExpectNumbers(OneOperator("Sign", EdgeRow({kEdgeNan, -2, 0, 3}), 13, dtype).Run(),
                  {kEdgeNan, -1, 0, 1}, "Sign " + type);
    for (const char* op : {"Relu", "LeakyRelu", "HardSigmoid", "HardSwish", "Elu", "Softplus"}) {
      const Tensor y = OneOperator(op, EdgeRow({kEdgeNan}), 14, dtype).Run();
      EXPECT_TRUE(std::isnan(y.At(0))) << op << type;
    }
    OneOperator slopes("PRelu", EdgeRow({kEdgeNan, -1}), 13, dtype);
    ExpectNumbers(slopes.With(EdgeRow({2}), dtype).Run(), {kEdgeNan, -2}, "PRelu " + type);
    OneOperator clip("Clip", EdgeRow({kEdgeNan, -5, 5}), 13, dtype);
    ExpectNumbers(clip.Scalar(-1, dtype).Scalar(2, dtype).Run(), {kEdgeNan, -1, 2}, "Clip " + type);
  }
  const Array image{{1, 1, 1, 6}, {0, kEdgeNan, 2, 3, 4, 5}};
  OneOperator pool("MaxPool", image, 13);
  pool.model().IntList("kernel_shape", {1, 2});
  ExpectNumbers(pool.Run(), {kEdgeNan, kEdgeNan, 3, 4, 5}, "MaxPool");
  ExpectNumbers(OneOperator("GlobalMaxPool", image).Run(), {kEdgeNan}, "GlobalMaxPool");
}

TEST(OnnxHardNumbers, NanIsTheExtremeThatArgMaxFinds) {
  const Array rows{{3, 3}, {1, kEdgeNan, 2, kEdgeNan, 1, kEdgeNan, 1, 3, 2}};
  for (const char* op : {"ArgMax", "ArgMin"}) {
    const bool max = std::string(op) == "ArgMax";
    for (const bool last : {false, true}) {
      OneOperator found(op, rows, 13);
      found.model().Int("axis", 1).Int("keepdims", 0).Int("select_last_index", last ? 1 : 0);
      ExpectNumbers(found.Run(), {1, last ? 2.0 : 0.0, max ? 1.0 : 0.0}, op);
    }
  }
}

TEST(OnnxHardNumbers, AreaCosineOfWhatHasNoneIsNan) {
  const Tensor y =
      OneOperator("Acosh", EdgeRow({-kEdgeInfinity, -1e30, -1e9, -2, -1, 0, 0.99}), 22).Run();
  for (std::int64_t i = 0; i < y.elements(); ++i) EXPECT_TRUE(std::isnan(y.At(i))) << i;
}

TEST(OnnxHardNumbers, LogSumExpOfInfinities) {
  const Array x{
      {5, 3},
      {-kEdgeInfinity, 0, 1, -kEdgeInfinity, -kEdgeInfinity, -kEdgeInfinity, kEdgeInfinity, 0, 1,
       kEdgeInfinity, -kEdgeInfinity, 2, kEdgeNan, kEdgeInfinity, 0}};
  const Doubles expected = {std::log1p(M_E), -kEdgeInfinity, kEdgeInfinity, kEdgeInfinity,
                            kEdgeNan};
  for (const DataType dtype : {kFloat16, kFloat32, kFloat64}) {
    for (const std::int64_t keep : {0, 1}) {
      OneOperator sum("ReduceLogSumExp", x, 13, dtype);
      sum.model().IntList("axes", {1});
      sum.model().Int("keepdims", keep);
      ExpectNumbers(sum.Run(), expected, DataTypeName(dtype));
    }
  }
}

struct WideCase {
  const char* op;
  std::vector<std::pair<const char*, float>> attributes;
  std::function<long double(long double)> function;
  double ulps;      // units in the last place of the result
  double of_x = 0;  // plus parts of x of 2^-24: digits that the formula loses, as documented
};

const WideCase kComposedCases[] = {
    {"Elu", {}, [](long double x) { return x < 0 ? std::expm1(x) : x; }, 1},
    {"Elu", {{"alpha", 0.5F}}, [](long double x) { return x < 0 ? std::expm1(x) / 2 : x; }, 1},
    {"Celu", {{"alpha", 2}}, [](long double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, 2},
    {"Selu",
     {{"alpha", 1.5F}, {"gamma", 1.25F}},
     [](long double x) { return 1.25L * (x < 0 ? 1.5L * std::expm1(x) : x); },
     2},
    {"Softplus", {}, [](long double x) { return x < 11000 ? std::log1p(std::exp(x)) : x; }, 0.51},
    {"Mish",
     {},
     [](long double x) { return x * std::tanh(x < 11000 ? std::log1p(std::exp(x)) : x); },
     2.5,
     0x1p-120},
    {"Swish", {}, [](long double x) { return x / (1 + std::exp(-x)); }, 2, 0x1p-120},
    {"Softsign", {}, [](long double x) { return x / (1 + std::fabs(x)); }, 1.5},
    {"Gelu", {}, [](long double x) { return x * std::erfc(-x / std::sqrt(2.0L)) / 2; }, 2, 1.5},
};

TEST(OnnxHardNumbers, ComposedFunctionsAreAsCloseAsStated) {
  Array x{{}, {}};
  for (const std::uint32_t sign : {0U, 1U}) {
    for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
      for (std::uint32_t i = 0; i < 16; ++i) {
        x.v.push_back(
            static_cast<double>(std::bit_cast<float>(sign << 31 | exponent << 23 | i * 0x7ffffU)));
      }
    }
  }
  x.shape = {std::ssize(x.v)};
  for (const WideCase& c : kComposedCases) {
    OneOperator function(c.op, x, 24);
    for (const auto& [name, value] : c.attributes) function.model().Float(name, value);
    const Tensor y = function.Run();
    double worst = 0;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const double given = x.v[static_cast<std::size_t>(i)];
      const auto expected = static_cast<float>(c.function(given));
      if (std::isinf(expected)) continue;
      const float size = std::fabs(expected);
      const double unit = static_cast<double>(std::nextafter(size, HUGE_VALF)) - double{size};
      const double apart = std::fabs(y.At(i) - static_cast<double>(c.function(given)));
      const double bound = c.ulps * unit + c.of_x * 0x1p-24 * std::fabs(given);
      EXPECT_LE(apart, bound) << c.op << "(" << given << ") = " << y.At(i);
      worst = std::max(worst, apart / unit);
    }
    RecordProperty(c.op, std::to_string(worst));
  }
}

// Inputs for which the hyperbolic tangent of the formula differs from -1 by less than float32
// resolves.
TEST(OnnxHardNumbers, GeluByTanhKeepsItsDigitsBelowZero) {
  const Doubles x = {-1, -3, -5, -7, -9, -10};
  OneOperator gelu("Gelu", EdgeRow(x), 20);
  gelu.model().Text("approximate", "tanh");
  const Tensor y = gelu.Run();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = std::sqrt(2 / M_PI) * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
    const double expected = x[i] / (1 + std::exp(-2 * u));
    EXPECT_NEAR(y.At(static_cast<std::int64_t>(i)), expected, 4e-5 * std::fabs(expected)) << x[i];
  }
}

}  // namespace
}  // namespace tilewright
