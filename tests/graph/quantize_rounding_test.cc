// Rescaling arithmetic at every value where a result changes. Expected results are computed from
// the rule with 128-bit integers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/graph/ir/evaluate.h"
#include "src/graph/quantize/fixed_point.h"
#include "src/graph/quantize/rescale.h"

namespace tilewright::quantize {
namespace {

using Int128 = __int128;

Int128 FloorShift(Int128 x, int count) { return x >> count; }

/// Returns the numbers where x * factor passes k or k + 1/2, for k somewhat beyond 8 bits, and the
/// limits of the type.
std::vector<std::int32_t> Boundaries(double factor) {
  std::vector<std::int32_t> values = {-(1 << 30), -(1 << 30) + 1, (1 << 30) - 1, 1 << 30};
  for (int k = -260; k <= 260; ++k) {
    const double at = k / (2 * factor);
    if (std::abs(at) > 0x1p30) continue;
    const auto x = static_cast<std::int32_t>(std::llround(at));
    values.insert(values.end(), {x - 1, x, x + 1});
  }
  return values;
}

/// most: argument of RescaleWithin; 0: call Rescale.
std::vector<std::int64_t> Rescaled(const std::vector<std::int32_t>& values, double factor,
                                   const Config& config, double most = 0) {
  Graph graph;
  const TensorType type{{static_cast<std::int64_t>(values.size())}, kInt32};
  const int x = graph.AddInput("x", type);
  Rescaler rescaler(graph, config);
  const Integers before{x, kInt32, {factor}, 0};
  auto result = most == 0 ? rescaler.Rescale("x", before, {1})
                          : rescaler.RescaleWithin("x", before, {1}, -most, most);
  EXPECT_TRUE(result.ok()) << result.status().message();
  graph.SetOutputs({result->id});
  std::vector<Tensor> inputs;
  inputs.emplace_back(type);
  std::ranges::copy(values, inputs[0].As<std::int32_t>().begin());
  auto outputs = EvaluateGraph(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < type.elements(); ++i) {
    numbers.push_back(static_cast<std::int64_t>((*outputs)[0].At(i)));
  }
  return numbers;
}

TEST(QuantizeRoundingTest, ShiftsRoundHalvesUp) {
  for (int count = 1; count <= 30; ++count) {
    const double factor = std::exp2(-count);
    for (const bool round : {true, false}) {
      Config config;
      config.round_for_shift = round;
      const auto values = Boundaries(factor);
      const auto results = Rescaled(values, factor, config);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Int128 half = round ? Int128{1} << (count - 1) : 0;
        ASSERT_EQ(results[i], static_cast<std::int64_t>(FloorShift(values[i] + half, count)))
            << values[i] << " >> " << count;
      }
    }
  }
}

TEST(QuantizeRoundingTest, WholeFactorsMultiply) {
  for (const double factor : {1.0, 2.0, 3.0, 64.0, 100.0}) {
    const std::vector<std::int32_t> values = {-127, -1, 0, 1, 127};
    const auto results = Rescaled(values, factor, Config());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(results[i], values[i] * static_cast<std::int64_t>(factor));
    }
  }
}

// A product that would exceed int32 is not computed, for any value.
TEST(QuantizeRoundingTest, WholeFactorsSaturate) {
  for (const double factor : {2.0, 3.0, 127.0, 3072.0, 65537.0, 2147483647.0, 4294967296.0}) {
    for (const double most : {127.0, 32767.0}) {
      std::vector<std::int32_t> values = {INT32_MIN, -699051, -1, 0, 1, 699051, INT32_MAX};
      for (std::int32_t i : {-1, 0, 1}) {
        values.push_back(static_cast<std::int32_t>(most / factor) + i);
        values.push_back(-static_cast<std::int32_t>(most / factor) + i);
      }
      const auto results = Rescaled(values, factor, Config(), most);
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(results[i], std::clamp(values[i] * factor, -most, most))
            << values[i] << " * " << factor;
      }
    }
  }
}

// M and e by definition: factor = f * 2^e with 1/2 <= f < 1, M = round(f * 2^31).
std::int64_t ExpectedRounding(std::int64_t x, double factor, Rounding rounding) {
  const int e = static_cast<int>(std::floor(std::log2(factor))) + 1;
  const auto m = static_cast<Int128>(
      std::llround(static_cast<long double>(factor) * std::exp2(static_cast<long double>(31 - e))));
  const int total = 31 - e;
  const Int128 product = x * m;
  const Int128 half = Int128{1} << (total - 1);
  const bool away = rounding == Rounding::kToNearest && product < 0;
  return static_cast<std::int64_t>(away ? -FloorShift(-product + half, total)
                                        : FloorShift(product + half, total));
}

TEST(QuantizeRoundingTest, FixedPointProductsRoundAsConfigured) {
  const double factors[] = {0.75,     0.68272,   1.0 / 3,   0.0101, 3e-5, 0.9999999,
                            1.414213, 5.0 / 256, 100.0 / 3, 0.3,    6e-9};
  for (const Rounding rounding : {Rounding::kUpward, Rounding::kToNearest}) {
    Config config;
    config.rounding = rounding;
    for (const double factor : factors) {
      auto values = Boundaries(factor);
      if (factor > 1) std::erase_if(values, [](auto x) { return std::abs(x) > 1 << 20; });
      const auto results = Rescaled(values, factor, config);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(results[i], ExpectedRounding(values[i], factor, rounding))
            << values[i] << " * " << factor;
      }
    }
  }
}

TEST(QuantizeRoundingTest, FactorsBeyondTheMultiplierVanishOrLeaveTheRange) {
  EXPECT_EQ(Rescaled({-(1 << 30), 0, 1 << 30}, 0.3e-10, Config()),
            (std::vector<std::int64_t>{0, 0, 0}));
  const auto large = Rescaled({-1, 0, 1}, 3.3e12, Config());
  EXPECT_LT(large[0], -40000);
  EXPECT_EQ(large[1], 0);
  EXPECT_GT(large[2], 40000);
}

TEST(QuantizeRoundingTest, MultiplierAndShift) {
  const auto fixed = ToFixedPoint(0.68272);  // from a published listing: 1466124156, 0
  EXPECT_NEAR(static_cast<double>(fixed.multiplier), 1466124156, 1e4);
  EXPECT_EQ(fixed.shift, 0);
  const auto full = ToFixedPoint(std::nextafter(1.0, 0.0));  // rounds to 2^31: halved
  EXPECT_EQ(full.multiplier, 1 << 30);
  EXPECT_EQ(full.shift, 1);
  EXPECT_EQ(ToFixedPoint(0).multiplier, 0);
  int exponent = 0;
  EXPECT_TRUE(IsPowerOfTwo(0.125, &exponent));
  EXPECT_EQ(exponent, -3);
  EXPECT_FALSE(IsPowerOfTwo(0.1250001, &exponent));
}

}  // namespace
}  // namespace tilewright::quantize
