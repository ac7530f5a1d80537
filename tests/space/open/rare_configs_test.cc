// Spaces of 10^9 configs of which conditions leave one in ten thousand: each shape of conditions is
// also written here by hand, and its configs are listed. The space has to count the same configs,
// and samples have to be uniform over that list.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "src/space/open/open_space.h"

namespace tilewright {
namespace {

using Values = std::vector<std::int64_t>;

struct Shape {
  std::string name;
  std::size_t parameters;
  std::int64_t first, last;  ///< values of each parameter
  std::vector<std::string> conditions;
  /// Returns whether the first values may belong to an allowed config. Exact for all values.
  bool (*may_allow)(const Values& values);
};

bool SumMayBeEleven(const Values& v) {
  std::int64_t sum = 0;
  for (std::int64_t value : v) sum += value;
  return v.size() < 9 ? sum <= 11 : sum == 11;
}

/// a * b * c == 256 and d * e * f <= 500.
bool ProductsMayHold(const Values& v) {
  std::int64_t head = 1, tail = 1;
  for (std::size_t i = 0; i < v.size(); ++i) (i < 3 ? head : tail) *= v[i];
  return (v.size() < 3 ? 256 % head == 0 : head == 256) && tail <= 500;
}

bool DivisorsMayHold(const Values& v) {
  for (std::size_t i = 1; i < v.size(); ++i) {
    if (i != 3 && v[i] % v[i - 1] != 0) return false;
  }
  return true;
}

bool AscendsWithinEighteen(const Values& v) {
  for (std::size_t i = 1; i < v.size(); ++i) {
    if (v[i] <= v[i - 1] || v[i] - v[0] > 18) return false;
  }
  return true;
}

std::vector<Shape> Shapes() {
  return {
      {"sum", 9, 0, 9, {"a + b + c + d + e + f + g + h + i == 11"}, &SumMayBeEleven},
      {"products", 6, 1, 32, {"a * b * c == 256", "d * e * f <= 500"}, &ProductsMayHold},
      {"divisors",
       6,
       1,
       32,
       {"b % a == 0", "c % b == 0", "e % d == 0", "f % e == 0"},
       &DivisorsMayHold},
      {"chain", 6, 1, 32, {"a < b < c < d < e < f", "f - a <= 18"}, &AscendsWithinEighteen},
  };
}

OpenSpace SpaceOf(const Shape& shape) {
  std::vector<Parameter> parameters;
  for (std::size_t p = 0; p < shape.parameters; ++p) {
    Parameter parameter;
    parameter.name = std::string(1, static_cast<char>('a' + p));
    for (std::int64_t v = shape.first; v <= shape.last; ++v) parameter.values.emplace_back(v);
    parameters.push_back(std::move(parameter));
  }
  auto space = OpenSpace::Create(shape.name, std::move(parameters), shape.conditions);
  EXPECT_TRUE(space.ok()) << space.status().message();
  return space.ok() ? *std::move(space) : OpenSpace();
}

/// Calls `found` with each allowed config.
void List(const Shape& shape, Values& values, const std::function<void(const Values&)>& found) {
  if (values.size() == shape.parameters) return found(values);
  for (std::int64_t v = shape.first; v <= shape.last; ++v) {
    values.push_back(v);
    if (shape.may_allow(values)) List(shape, values, found);
    values.pop_back();
  }
}

/// Part of a config that has nothing to do with its number in the space.
std::size_t PartOf(const Values& values, std::size_t parts) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (std::int64_t value : values) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0xbf58476d1ce4e5b9;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash % parts);
}

constexpr std::size_t kParts = 64;

/// Chi-square of samples over parts of the listed configs.
double ChiSquare(const OpenSpace& space, const Shape& shape, const std::vector<double>& listed,
                 double all, int draws) {
  Random random(5);
  std::vector<double> drawn(kParts, 0);
  for (int i = 0; i < draws; ++i) {
    const OpenConfig config = space.Sample(random);
    Values values;
    for (std::int32_t digit : config) values.push_back(shape.first + digit);
    EXPECT_TRUE(shape.may_allow(values));
    ++drawn[PartOf(values, kParts)];
  }
  double chi_square = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    const double expected = draws * listed[part] / all;
    chi_square += std::pow(drawn[part] - expected, 2) / expected;
  }
  return chi_square;
}

// The 99.9th percentile of chi-square with 63 degrees of freedom.
constexpr double kChiSquare = 104;

TEST(RareConfigsTest, ConfigsAreCountedAndSampledUniformly) {
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(shape.name);
    const OpenSpace space = SpaceOf(shape);
    ASSERT_TRUE(space.counted());
    EXPECT_GE(space.combinations(), 1'000'000'000);
    std::vector<double> listed(kParts, 0);
    std::int64_t all = 0;
    Values values;
    List(shape, values, [&](const Values& config) {
      ++all;
      ++listed[PartOf(config, kParts)];
    });
    EXPECT_EQ(space.size(), all);
    EXPECT_LT(static_cast<double>(all), 1.5e-4 * static_cast<double>(space.combinations()));
    EXPECT_LT(ChiSquare(space, shape, listed, static_cast<double>(all), 6400), kChiSquare);
  }
}

}  // namespace
}  // namespace tilewright
