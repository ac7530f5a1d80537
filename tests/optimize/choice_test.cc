#include "src/optimize/choice.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "src/base/random.h"

namespace tilewright::optimize {
namespace {

/// A chain with branches of sites that have two or three options; formats that take less time leave
/// more noise.
ChoiceProblem RandomProblem(Random& random, std::size_t sites) {
  ChoiceProblem problem;
  for (std::size_t i = 0; i < sites; ++i) {
    const double seconds = 0.1 + random.Uniform();
    std::vector<SiteOption> options = {{seconds, 0}};
    const std::size_t count = 1 + random.Below(2);
    double share = 1, noise = 1e-5 * (0.1 + random.Uniform());
    for (std::size_t k = 0; k < count; ++k) {
      share *= 0.3 + 0.9 * random.Uniform();
      options.push_back({seconds * share, noise});
      noise *= 2 + 100 * random.Uniform();
    }
    problem.sites.push_back(std::move(options));
    if (i == 0) continue;
    Conversion conversion{static_cast<int>(random.Below(i)), static_cast<int>(i), {}};
    const double cost = 0.1 * random.Uniform();
    for (std::size_t a = 0; a < problem.sites[static_cast<std::size_t>(conversion.from)].size();
         ++a) {
      for (std::size_t b = 0; b < problem.sites[i].size(); ++b) {
        conversion.seconds.push_back(a == b ? 0 : cost);
      }
    }
    problem.conversions.push_back(std::move(conversion));
  }
  return problem;
}

/// Calls visit with every combination of options.
template <typename Visit>
void ForAll(const ChoiceProblem& problem, const Visit& visit) {
  std::vector<int> options(problem.sites.size(), 0);
  while (true) {
    visit(options);
    std::size_t i = 0;
    while (i < options.size() && ++options[i] == static_cast<int>(problem.sites[i].size())) {
      options[i++] = 0;
    }
    if (i == options.size()) return;
  }
}

TEST(ChoiceTest, SumsOfSecondsAndNoise) {
  ChoiceProblem problem;
  problem.sites = {{{2, 0}, {1, 0.25}}, {{3, 0}, {1, 0.5}}};
  problem.conversions = {{0, 1, {0, 0.5, 0.25, 0}}};
  EXPECT_DOUBLE_EQ(problem.SecondsOf({0, 0}), 5);
  EXPECT_DOUBLE_EQ(problem.SecondsOf({0, 1}), 3.5);
  EXPECT_DOUBLE_EQ(problem.SecondsOf({1, 0}), 4.25);
  EXPECT_DOUBLE_EQ(problem.NoiseOf({1, 1}), 0.75);
  EXPECT_EQ(ChooseUnder(problem, 0.6).options, (std::vector<int>{0, 1}));
  EXPECT_EQ(ChooseUnder(problem, 0.75).options, (std::vector<int>{1, 1}));
  EXPECT_EQ(ChooseUnder(problem, 0.1).options, (std::vector<int>{0, 0}));
}

TEST(ChoiceTest, CheapestAtAPriceIsTheLeastOfAllCombinations) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const ChoiceProblem problem = RandomProblem(random, 2 + random.Below(6));
    const double unit = problem.SecondsOf(std::vector<int>(problem.sites.size(), 0));
    for (const double price : {0.0, 1.0, 1e2, 1e4, 1e7}) {
      double least = std::numeric_limits<double>::infinity();
      ForAll(problem, [&](const std::vector<int>& options) {
        least =
            std::min(least, problem.SecondsOf(options) / unit + price * problem.NoiseOf(options));
      });
      const Choice choice = CheapestAt(problem, price);
      EXPECT_NEAR(choice.seconds / unit + price * choice.noise, least, 1e-9 * least);
    }
  }
}

TEST(ChoiceTest, UnderALimitItIsTheFastestOfAllOrNearlySo) {
  Random random(3);
  int exact = 0, total = 0;
  for (int round = 0; round < 100; ++round) {
    const ChoiceProblem problem = RandomProblem(random, 2 + random.Below(6));
    for (const double limit : {1e-6, 1e-5, 1e-4, 1e-3}) {
      double least = std::numeric_limits<double>::infinity();
      ForAll(problem, [&](const std::vector<int>& options) {
        if (problem.NoiseOf(options) <= limit) least = std::min(least, problem.SecondsOf(options));
      });
      const Choice choice = ChooseUnder(problem, limit);
      EXPECT_LE(choice.noise, limit);
      EXPECT_GE(choice.seconds, least * (1 - 1e-9));
      EXPECT_LE(choice.seconds, least * 1.05);
      EXPECT_DOUBLE_EQ(choice.seconds, problem.SecondsOf(choice.options));
      ++total;
      if (choice.seconds <= least * (1 + 1e-9)) ++exact;
    }
  }
  EXPECT_GE(exact, total * 95 / 100);
}

TEST(ChoiceTest, TheFrontHoldsWhatNothingBeats) {
  Random random(5);
  const ChoiceProblem problem = RandomProblem(random, 7);
  const std::vector<Choice> front = PredictedFront(problem);
  ASSERT_GE(front.size(), 3U);
  EXPECT_EQ(front.front().noise, 0);
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_GT(front[i].noise, front[i - 1].noise);
    EXPECT_LT(front[i].seconds, front[i - 1].seconds);
  }
  for (const Choice& choice : front) {
    ForAll(problem, [&](const std::vector<int>& options) {
      EXPECT_FALSE(problem.SecondsOf(options) < choice.seconds * (1 - 1e-9) &&
                   problem.NoiseOf(options) < choice.noise * (1 - 1e-9));
    });
  }
}

}  // namespace
}  // namespace tilewright::optimize
