// Open spaces: what they refuse, their counts beside a listing, and sampling without one.

#include "src/space/open/open_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright {
namespace {

Parameter Integers(std::string name, std::vector<std::int64_t> values) {
  Parameter parameter;
  parameter.name = std::move(name);
  for (std::int64_t value : values) parameter.values.emplace_back(value);
  return parameter;
}

Parameter Texts(std::string name, std::vector<std::string> values) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.type = ParameterType::kText;
  parameter.ordered = false;
  for (std::string& value : values) parameter.values.emplace_back(std::move(value));
  return parameter;
}

Parameter Powers(std::string name, int count) {
  std::vector<std::int64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(std::int64_t{1} << i);
  return Integers(std::move(name), values);
}

OpenSpace Made(std::vector<Parameter> parameters, std::vector<std::string> conditions) {
  auto space = OpenSpace::Create("made", std::move(parameters), std::move(conditions));
  EXPECT_TRUE(space.ok()) << space.status().message();
  return space.ok() ? std::move(*space) : OpenSpace();
}

/// Checks that numbers, indices and conditions agree on every combination.
void ExpectCountedExactly(const OpenSpace& space) {
  ASSERT_TRUE(space.counted());
  std::int64_t allowed = 0;
  for (std::int64_t i = 0; i < space.combinations(); ++i) {
    const OpenConfig config = space.FromIndex(i);
    EXPECT_EQ(space.IndexOf(config), i);
    const std::int64_t number = space.NumberOf(config);
    EXPECT_EQ(space.Allows(config), number >= 0) << i;
    EXPECT_EQ(space.ViolatedCondition(config).empty(), number >= 0) << i;
    if (number < 0) continue;
    ++allowed;
    ASSERT_LT(number, space.size());
    EXPECT_EQ(space.At(number), config);
  }
  EXPECT_EQ(allowed, space.size());
}

TEST(OpenSpaceTest, CountsWhatItsConditionsAllow) {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"a * b <= 64"},
      {"a*b*c <= 128", "a >= b or d == 'x'"},
      {"a % c == 0", "d in ('x', 'z')", "b != 8"},
      {"16 <= a * b < 256", "not (a == 1 and d == 'y')"},
      {"a // c > 1 if d == 'x' else b > a"},
      {"(a & (a - 1)) == 0", "max(a, b) >= 2 * min(a, b)"},
      {"a ** 2 + b ** 2 == (a + b) ** 2 - 2 * a * b"},
      {"8 / (c - 2) > 1"},  // fails for c = 2
      {"a * 2 * b == b * c * 4"},
      {"a + b + c in [4, 8, 10, 16]", "d != 'y'"},
  };
  for (const auto& conditions : cases) {
    SCOPED_TRACE(conditions.empty() ? "none" : conditions[0]);
    ExpectCountedExactly(Made({Powers("a", 6), Powers("b", 6), Integers("c", {1, 2, 3, 4, 6}),
                               Texts("d", {"x", "y", "z"}), Integers("one", {7})},
                              conditions));
  }
}

TEST(OpenSpaceTest, ReadsTheSpacesOfT1Files) {
  const auto space = OpenSpace::ParseT1(R"({
    "General": {"BenchmarkName": "made"},
    "ConfigurationSpace": {
      "TuningParameters": [
        {"Name": "block", "Type": "int", "Values": "[2**i for i in range(4, 8)] + [48]", "Default": 16},
        {"Name": "share", "Type": "float", "Values": [0.5, 1]},
        {"Name": "cached", "Type": "bool", "Values": "[True, False]"},
        {"Name": "order", "Type": "string", "Values": "['ij', 'ji']", "Default": "ji"}],
      "Conditions": [
        {"Expression": "32 <= block * (2 if cached else 1) <= 128", "Parameters": ["block", "cached"]},
        "share < 1 or order == 'ij'"]}})");
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->combinations(), 40);
  EXPECT_EQ(space->size(), (4 + 4) * 3);
  EXPECT_FALSE(space->parameters()[3].ordered);
  EXPECT_EQ(ToText(space->parameters()[0].values[4]), "48");
  EXPECT_EQ(space->Default(), (OpenConfig{0, 0, 0, 1}));
  const auto again = OpenSpace::ParseT1(space->ToT1());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->parameters(), space->parameters());
  EXPECT_EQ(again->conditions(), space->conditions());
  EXPECT_EQ(again->ToT1(), space->ToT1());
}

TEST(OpenSpaceTest, NamesWhatItRejects) {
  const auto message = [](std::vector<Parameter> parameters, std::vector<std::string> conditions) {
    return OpenSpace::Create("", std::move(parameters), std::move(conditions)).status().message();
  };
  const Parameter a = Integers("a", {1, 2}), b = Integers("b", {1, 2});
  EXPECT_EQ(message({}, {}), "no parameters");
  EXPECT_EQ(message({a, a}, {}), "parameter a: given twice");
  EXPECT_EQ(message({Integers("a", {1, 1})}, {}), "parameter a: value 1 given twice");
  EXPECT_EQ(message({Integers("a", {})}, {}), "parameter a: no values");
  EXPECT_EQ(message({Integers("a b", {1})}, {}),
            "parameter \"a b\", expected a name of letters, digits and underscores");
  EXPECT_EQ(message({a, b}, {"a + c > 1"}), "condition 1: \"a + c > 1\": no parameter \"c\"");
  EXPECT_EQ(message({a, b}, {"a", "a + > 1"}),
            "condition 2: position 5 of \"a + > 1\": expected a value");
  EXPECT_EQ(message({a, b}, {"a > 5"}), "condition 1, \"a > 5\": never fulfilled");
  EXPECT_EQ(message({a, b}, {"a > b", "b > a"}), "no combination of values fulfils all conditions");
}

TEST(OpenSpaceTest, AFileWhoseNameIsNoTextIsRefused) {
  const auto space = OpenSpace::ParseT1(
      R"({"General": {"BenchmarkName": 1}, "ConfigurationSpace": {"TuningParameters": []}})");
  EXPECT_NE(space.status().message().find("BenchmarkName"), std::string::npos)
      << space.status().message();
}

/// 3.2e9 combinations, of which one in ten thousand is allowed.
OpenSpace Constrained() {
  std::vector<Parameter> parameters;
  for (const char* name : {"mwg", "nwg", "kwg", "mdimc", "ndimc", "mdima", "ndimb", "kwi"}) {
    parameters.push_back(Powers(name, 8));
  }
  for (const char* name : {"vwm", "vwn"}) parameters.push_back(Powers(name, 4));
  for (const char* name : {"strm", "strn", "sa", "sb"})
    parameters.push_back(Integers(name, {0, 1}));
  return Made(parameters,
              {"kwg % kwi == 0", "mwg % (mdimc * vwm) == 0", "nwg % (ndimc * vwn) == 0",
               "mwg % (mdima * vwm) == 0", "nwg % (ndimb * vwn) == 0",
               "kwg % ((mdimc * ndimc) // mdima) == 0", "kwg % ((mdimc * ndimc) // ndimb) == 0",
               "mdimc * ndimc in [64, 256]", "mdima * kwi == ndimb * vwm", "mwg * nwg >= 8192",
               "sa == 0 or mwg * kwg * 4 * (1 + sb) <= 49152"});
}

TEST(OpenSpaceTest, AConstrainedSpaceIsSampledUniformlyWithoutListingIt) {
  const OpenSpace space = Constrained();
  ASSERT_TRUE(space.counted());
  EXPECT_GT(space.combinations(), 1'000'000'000);
  EXPECT_LT(static_cast<double>(space.size()), 1e-4 * static_cast<double>(space.combinations()));
  Random random(5);
  // Numbers of samples are uniform: a chi-square test over 64 parts of the range, whose 99.9th
  // percentile is 104.
  constexpr int kParts = 64, kDraws = 6400;
  std::vector<int> part(kParts, 0);
  for (int i = 0; i < kDraws; ++i) {
    const OpenConfig config = space.Sample(random);
    ASSERT_TRUE(space.Allows(config));
    ++part[static_cast<std::size_t>(static_cast<double>(space.NumberOf(config)) /
                                    static_cast<double>(space.size()) * kParts)];
  }
  double chi_square = 0;
  for (int count : part) chi_square += std::pow(count - kDraws / kParts, 2) / (kDraws / kParts);
  EXPECT_LT(chi_square, 104);
}

TEST(OpenSpaceTest, NeighboursDifferInOneParameter) {
  const OpenSpace space =
      Made({Powers("a", 4), Powers("b", 4), Texts("c", {"x", "y"})}, {"a * b == 8 or c == 'y'"});
  const OpenConfig config = {0, 3, 0};
  ASSERT_TRUE(space.Allows(config));
  EXPECT_THAT(space.Neighbours(config), testing::UnorderedElementsAre(OpenConfig{0, 3, 1}));
  const OpenConfig free = {0, 3, 1};
  EXPECT_EQ(space.Neighbours(free).size(), 3U + 3U + 1U);
}

TEST(OpenSpaceTest, RepairKeepsWhatTheConditionsAllow) {
  const OpenSpace space =
      Made({Powers("a", 5), Powers("b", 5), Integers("c", {1, 2, 3})}, {"a * b == 16"});
  Random random(1);
  for (std::int32_t v = 0; v < 5; ++v) {
    EXPECT_EQ(space.Repair({2, 2, 1}, 0, v, random), (OpenConfig{v, 4 - v, 1}));
    EXPECT_EQ(space.Repair({2, 2, 1}, 1, v, random), (OpenConfig{4 - v, v, 1}));
  }
  EXPECT_EQ(space.Repair({2, 2, 1}, 2, 0, random), (OpenConfig{2, 2, 0}));
}

/// Nine parameters of 40 values, and a mixture of them that no partial config simplifies.
struct Entangled {
  std::vector<Parameter> parameters;
  std::string sum = "0";
  Entangled() {
    std::vector<std::int64_t> values;
    for (int i = 0; i < 40; ++i) values.push_back(i * i * 7919 + i);
    for (int i = 0; i < 9; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      parameters.push_back(Integers(name, values));
      sum = "(" + sum + " * 31 + " + name + ") % 1000003";
    }
  }
};

/// Returns the number of different configs among 50 samples.
std::size_t DifferentSamples(const OpenSpace& space) {
  EXPECT_FALSE(space.counted());
  Random random(2);
  std::set<OpenConfig> seen;
  for (int i = 0; i < 50; ++i) {
    const OpenConfig config = space.Sample(random);
    EXPECT_TRUE(space.Allows(config));
    seen.insert(config);
  }
  return seen.size();
}

TEST(OpenSpaceTest, AnEntangledSpaceIsSampledByTrying) {
  const Entangled mixed;
  const OpenSpace space = Made(mixed.parameters, {mixed.sum + " % 10 == 3"});
  EXPECT_FALSE(space.walks());
  EXPECT_EQ(DifferentSamples(space), 50U);
}

TEST(OpenSpaceTest, AnEntangledSpaceOfRareConfigsIsWalkedFromThoseFoundFirst) {
  const Entangled mixed;
  const OpenSpace space = Made(mixed.parameters, {mixed.sum + " % 15000 == 3"});
  EXPECT_TRUE(space.walks());
  EXPECT_GE(DifferentSamples(space), 1U);
}

TEST(OpenSpaceTest, ASearchFindsConfigsThatRandomDrawsDoNot) {
  const Entangled mixed;  // one combination in 10^5
  EXPECT_GE(DifferentSamples(Made(mixed.parameters, {mixed.sum + " % 100000 == 3"})), 1U);
}

TEST(OpenSpaceTest, ASearchGoesByTheConditionsThatLeaveFewValues) {
  // One combination in some 10^10, as each equation fixes the last of its parameters.
  std::vector<Parameter> parameters;
  std::vector<std::int64_t> values;
  for (int i = 1; i <= 32; ++i) values.push_back(i);
  for (const char* name : {"bx", "by", "bz", "tx", "ty", "tz", "vx", "vy", "un", "st"}) {
    parameters.push_back(Integers(name, values));
  }
  const OpenSpace space =
      Made(parameters,
           {"1024 % (bx * by * bz) == 0", "bx * by * bz >= 256",
            "(bx * tx * by * ty + by * ty * bz * tz) * st * 4 == 49152",
            "1536 % (bx * tx * vx) == 0", "1536 % (by * ty * vy) == 0",
            "(tx * ty * tz * un + vx * vy * st) % 61 == 0", "tx * ty * tz + vx * vy == un * un"});
  EXPECT_TRUE(space.walks());
  EXPECT_GE(DifferentSamples(space), 1U);
}

TEST(OpenSpaceTest, ASearchThatTriesAllRefusesExactlyTheSpacesWithoutConfigs) {
  constexpr std::int64_t kPrime = 999'983, kValues = 120;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < kValues; ++i) values.push_back(i * i * 7919 + i);
  std::vector<int> configs(kPrime, 0);  // by remainder
  for (std::int64_t a : values) {
    for (std::int64_t b : values) {
      for (std::int64_t c : values) {
        ++configs[static_cast<std::size_t>((a * 5003 + b * 71'993 + c) % kPrime)];
      }
    }
  }
  const auto make = [&](int count) {
    const auto rest = std::ranges::find(configs, count) - configs.begin();
    return OpenSpace::Create("",
                             {Integers("a", values), Integers("b", values), Integers("c", values)},
                             {"(a * 5003 + b * 71993 + c) % 999983 == " + std::to_string(rest)});
  };
  const auto one = make(1);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(DifferentSamples(*one), 1U);
  const auto none = make(0);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().message(), "no combination of values fulfils all conditions");
}

TEST(OpenSpaceTest, AnEntangledSpaceWithoutConfigsIsRefusedWhenItIsMade) {
  const Entangled mixed;
  const auto made =
      OpenSpace::Create("", mixed.parameters, {mixed.sum + " % 10 == 3", mixed.sum + " % 5 == 4"});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("fulfils all conditions"), std::string::npos)
      << made.status().message();
}

}  // namespace
}  // namespace tilewright
