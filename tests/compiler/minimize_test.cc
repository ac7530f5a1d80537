#include "src/compiler/plan/minimize.h"

#include <gtest/gtest.h>

#include "src/base/random.h"

namespace tilewright {
namespace {

/// Random costs between pairs of variables.
CostSum RandomSum(std::uint64_t seed, int variables, const std::vector<std::vector<int>>& pairs) {
  Random random(seed);
  CostSum sum;
  for (int i = 0; i < variables; ++i) sum.sizes.push_back(1 + static_cast<int>(random.Below(4)));
  for (int i = 0; i < variables; ++i) {
    for (double& cost : sum.AddTable({i}).costs) cost = static_cast<double>(random.Below(100));
  }
  for (const std::vector<int>& pair : pairs) {
    for (double& cost : sum.AddTable(pair).costs) cost = static_cast<double>(random.Below(100));
  }
  return sum;
}

double LeastOfAll(const CostSum& sum) {
  std::vector<int> values(sum.sizes.size(), 0);
  double least = sum.At(values);
  for (std::size_t i = 0; i < values.size();) {
    if (++values[i] < sum.sizes[i]) {
      least = std::min(least, sum.At(values));
      i = 0;
    } else {
      values[i++] = 0;
    }
  }
  return least;
}

std::vector<std::vector<int>> RandomPairs(std::uint64_t seed, int variables, int count) {
  Random random(seed);
  std::vector<std::vector<int>> pairs;
  for (int i = 0; i < count; ++i) {
    const auto a = static_cast<int>(random.Below(static_cast<std::uint64_t>(variables)));
    const auto b = static_cast<int>(random.Below(static_cast<std::uint64_t>(variables)));
    if (a != b) pairs.push_back({std::min(a, b), std::max(a, b)});
  }
  return pairs;
}

TEST(Minimize, IsExactOnTreesWhateverTheTablesMayHold) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<std::vector<int>> pairs;  // each variable with an earlier one
    Random random(seed);
    for (int i = 1; i < 8; ++i) {
      pairs.push_back({static_cast<int>(random.Below(static_cast<std::uint64_t>(i))), i});
    }
    const CostSum sum = RandomSum(seed, 8, pairs);
    // A leaf and its neighbor: 4 * 4.
    const CostMinimum minimum = Minimize(sum, std::vector<int>(8, 0), 16);
    EXPECT_TRUE(minimum.exact) << seed;
    EXPECT_EQ(minimum.cost, LeastOfAll(sum)) << seed;
    EXPECT_EQ(minimum.cost, sum.At(minimum.values)) << seed;
  }
}

TEST(Minimize, IsExactOnCyclesWhileTablesStaySmall) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const CostSum sum = RandomSum(seed, 7, RandomPairs(seed + 100, 7, 14));
    const CostMinimum minimum = Minimize(sum, std::vector<int>(7, 0));
    EXPECT_TRUE(minimum.exact) << seed;
    EXPECT_EQ(minimum.cost, LeastOfAll(sum)) << seed;
  }
}

TEST(Minimize, IsNeverDearerThanItsStartWhereTablesWouldGrow) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const CostSum sum = RandomSum(seed, 8, RandomPairs(seed + 200, 8, 24));
    const std::vector<int> start(8, 0);
    const CostMinimum minimum = Minimize(sum, start, 16);
    EXPECT_LE(minimum.cost, sum.At(start)) << seed;
    EXPECT_EQ(minimum.cost, sum.At(minimum.values)) << seed;
    found += minimum.cost == LeastOfAll(sum) ? 1 : 0;
  }
  EXPECT_GE(found, 40);
}

TEST(Minimize, KeepsTheStartOnTies) {
  CostSum sum;
  sum.sizes = {3, 3};
  sum.AddTable({0, 1});
  EXPECT_EQ(Minimize(sum, {2, 1}).values, (std::vector<int>{2, 1}));
}

TEST(Minimize, VariablesWithoutAChoiceCostNothing) {
  // One variable shares a table with all others. Eliminating it first would make all others
  // neighbors.
  constexpr int kVariables = 10000;
  CostSum sum;
  sum.sizes.assign(kVariables, 1);
  std::vector<int> expected(kVariables, 0);
  for (int i = 1000; i < kVariables; i += 1000) {
    sum.sizes[static_cast<std::size_t>(i)] = 3;
    expected[static_cast<std::size_t>(i)] = 2;
  }
  for (int i = 1; i < kVariables; ++i) {
    double cost = 3;
    for (double& entry : sum.AddTable({0, i}).costs) entry = cost--;
  }
  const CostMinimum minimum = Minimize(sum, std::vector<int>(kVariables, 0));
  EXPECT_TRUE(minimum.exact);
  EXPECT_EQ(minimum.values, expected);
  EXPECT_EQ(minimum.cost, 3 * (kVariables - 1 - 9) + 9);
}

}  // namespace
}  // namespace tilewright
