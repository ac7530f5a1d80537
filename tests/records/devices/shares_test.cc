// Shares of configs on several devices, compared with all pairs computed one by one.
#include "records/devices/shares.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/random.h"

namespace tilewright::records {
namespace {

constexpr double kFails = std::numeric_limits<double>::infinity();

std::string NameOf(std::size_t config) { return "{\"x\":" + std::to_string(100 + config) + "}"; }

/// Returns results of `configs` configs on `devices` devices. Times on two devices are alike up to
/// a factor of 1.5; a tenth of the configs fails on a device, and `missing` of them are unmeasured.
std::vector<ConfigResults> RandomResults(std::uint64_t seed, std::size_t devices,
                                         std::size_t configs, double missing) {
  Random random(seed);
  std::vector<double> times;
  for (std::size_t c = 0; c < configs; ++c) times.push_back(1 + 9 * random.Uniform());
  std::vector<ConfigResults> results(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    results[d].name = "device " + std::to_string(d);
    for (std::size_t c = 0; c < configs; ++c) {
      const double time = times[c] * (1 + 0.5 * random.Uniform());
      const bool fails = random.Uniform() < 0.1;
      if (random.Uniform() < missing) continue;
      results[d].values[NameOf(c)] = fails ? kFails : time;
    }
  }
  return results;
}

double BestOf(const ConfigResults& results) {
  double best = kFails;
  for (const auto& [config, value] : results.values) best = std::min(best, value);
  return best;
}

/// Returns the share of a config as its definition states it; below 0 if unmeasured.
double MeasuredShare(const ConfigResults& results, const std::string& config) {
  const auto found = results.values.find(config);
  if (found == results.values.end()) return -1;
  return std::isinf(found->second) ? 0 : BestOf(results) / found->second;
}

TEST(ChooseSharedTest, FindsTheExactBestOfAllConfigs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto results = RandomResults(seed, 3, 40, seed % 2 == 0 ? 0.3 : 0);
    double worst = 0, mean = 0;
    for (std::size_t c = 0; c < 40; ++c) {
      double least = 1, sum = 0;
      bool all = true;
      for (const ConfigResults& device : results) {
        const double share = MeasuredShare(device, NameOf(c));
        all = all && share >= 0;
        least = std::min(least, share);
        sum += share;
      }
      if (!all) continue;
      worst = std::max(worst, least);
      mean = std::max(mean, sum / 3);
    }
    const ShareTable table(results);
    const auto by_worst = ChooseShared(table, ShareScore::kWorst, 5).measured;
    const auto by_mean = ChooseShared(table, ShareScore::kMean, 5).measured;
    ASSERT_FALSE(by_worst.empty() || by_mean.empty()) << seed;
    EXPECT_DOUBLE_EQ(by_worst[0].score, worst) << seed;
    EXPECT_DOUBLE_EQ(by_mean[0].score, mean) << seed;
    EXPECT_TRUE(std::ranges::is_sorted(by_worst, std::greater<>(), &ConfigShares::score));
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_DOUBLE_EQ(by_worst[0].shares[d].share,
                       MeasuredShare(results[d], table.configs()[by_worst[0].config]));
    }
  }
}

TEST(ChooseSharedTest, ConfigsThatFailSomewhereHaveNoShareThere) {
  const std::vector<ConfigResults> results = {{"a", {{"{1}", 1}, {"{2}", 4}}},
                                              {"b", {{"{1}", kFails}, {"{2}", 4}}}};
  const ShareTable table(results);
  EXPECT_EQ(table.MeasuredOnAll(), 2u);
  const auto choice = ChooseShared(table, ShareScore::kWorst, 5);
  ASSERT_EQ(choice.measured.size(), 1u);
  EXPECT_EQ(table.configs()[choice.measured[0].config], "{2}");
  EXPECT_EQ(choice.measured[0].score, 0.25);
  // The mean may accept a failure.
  EXPECT_EQ(ChooseShared(table, ShareScore::kMean, 5).measured[0].score, 0.625);
}

TEST(ChooseSharedTest, EqualConfigsAreOrderedByText) {
  const std::vector<ConfigResults> results = {{"a", {{"{1}", 1}, {"{2}", 1}, {"{3}", 1}}}};
  const auto choice = ChooseShared(ShareTable(results), ShareScore::kWorst, 2);
  ASSERT_EQ(choice.measured.size(), 2u);
  EXPECT_EQ(choice.measured[0].config, 0u);
  EXPECT_EQ(choice.measured[1].config, 1u);
}

// The prediction is the median of the shares of those configs measured on both devices whose shares
// on the other device are nearest, as ratios.
TEST(ShareTableTest, PredictsByTheNearestConfigsMeasuredOnBoth) {
  const auto results = RandomResults(7, 2, 200, 0.2);
  const ShareTable table(results);
  int predicted = 0;
  for (std::size_t c = 0; c < table.configs().size(); ++c) {
    const std::string& config = table.configs()[c];
    const double there = MeasuredShare(results[0], config);
    if (there <= 0 || table.measured(c, 1)) continue;
    std::vector<std::pair<double, double>> pairs;  // distance, share here
    for (const std::string& other : table.configs()) {
      const double a = MeasuredShare(results[0], other), b = MeasuredShare(results[1], other);
      if (a > 0 && b >= 0) pairs.emplace_back(std::abs(std::log(a / there)), b);
    }
    std::ranges::sort(pairs);
    std::vector<double> nearest;
    for (std::size_t i = 0; i < ShareTable::kNeighbours; ++i) nearest.push_back(pairs[i].second);
    std::ranges::sort(nearest);
    const Share share = table.ShareOf(c, 1);
    EXPECT_EQ(share.evidence, ShareEvidence::kPredicted);
    EXPECT_EQ(share.share, nearest[15]);
    EXPECT_EQ(share.low, nearest[7]);
    EXPECT_EQ(share.high, nearest[23]);
    EXPECT_EQ(share.from, 0);
    EXPECT_EQ(share.common, std::ssize(pairs));
    EXPECT_EQ(share.counted(), share.low);
    ++predicted;
  }
  EXPECT_GT(predicted, 10);
}

TEST(ShareTableTest, PredictsNothingFromFewConfigs) {
  std::vector<ConfigResults> results = {{"a", {}}, {"b", {}}};
  for (std::size_t c = 0; c < ShareTable::kMinCommon; ++c) {
    results[0].values[NameOf(c)] = results[1].values[NameOf(c)] = 1 + static_cast<double>(c);
  }
  results[0].values[NameOf(50)] = 1;
  EXPECT_EQ(ShareTable(results).ShareOf(8, 1).evidence, ShareEvidence::kPredicted);
  EXPECT_EQ(ShareTable(results, false).ShareOf(8, 1).evidence, ShareEvidence::kNone);
  results[1].values.erase(NameOf(3));
  const ShareTable few(results);
  EXPECT_EQ(few.ShareOf(8, 1).evidence, ShareEvidence::kNone);
  // A config that fails there has no share to begin with.
  EXPECT_EQ(ChooseShared(few, ShareScore::kWorst, 9).measured.size(), 7u);
  EXPECT_TRUE(ChooseShared(few, ShareScore::kWorst, 9).predicted.empty());
}

TEST(ChooseSharedTest, NamesConfigsThatAreWorthMeasuring) {
  std::vector<ConfigResults> results = {{"a", {}}, {"b", {}}};
  for (std::size_t c = 1; c < 40; ++c) {
    const auto value = static_cast<double>(c);
    results[0].values[NameOf(c)] = results[1].values[NameOf(c)] = value;
  }
  // Best on a, and slow on b; the config of "b" alone is nearly as good as its best.
  results[0].values[NameOf(1)] = 20;
  results[1].values[NameOf(70)] = 1;
  const auto choice = ChooseShared(ShareTable(results), ShareScore::kWorst, 3);
  ASSERT_FALSE(choice.measured.empty());
  for (const ConfigShares& one : choice.predicted) {
    EXPECT_GT(one.score, choice.measured[0].score);
  }
}

/// Returns the best score of all rules with at most `most` intervals.
double BruteForceRule(const std::vector<ConfigResults>& results,
                      const std::vector<std::string>& configs, ShareScore by, std::size_t most) {
  const std::size_t sizes = results.size();
  double best = -1;
  for (std::uint32_t cuts = 0; cuts < 1u << (sizes - 1); ++cuts) {
    double worst = 1, sum = 0;
    std::size_t count = 0;
    for (std::size_t first = 0; first < sizes; ++count) {
      std::size_t last = first;
      while (last + 1 < sizes && (cuts >> last & 1) == 0) ++last;
      double least_of_best = -1, sum_of_best = -1;
      for (const std::string& config : configs) {
        double least = 1, total = 0;
        for (std::size_t s = first; s <= last; ++s) {
          const double share = MeasuredShare(results[s], config);
          least = std::min(least, share);
          total += share;
        }
        if (least < 0) continue;
        least_of_best = std::max(least_of_best, least);
        sum_of_best = std::max(sum_of_best, total);
      }
      worst = std::min(worst, least_of_best);
      sum += sum_of_best;
      first = last + 1;
    }
    if (count > most) continue;
    best = std::max(best, by == ShareScore::kWorst ? worst : sum / static_cast<double>(sizes));
  }
  return best;
}

TEST(ChooseBySizeTest, FindsTheExactBestRuleOfEachLength) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto results = RandomResults(seed, 6, 12, seed > 4 ? 0.2 : 0);
    const ShareTable table(results);
    for (const ShareScore by : {ShareScore::kWorst, ShareScore::kMean}) {
      const auto rules = ChooseBySize(table, by, 6);
      ASSERT_FALSE(rules.empty());
      double before = -1;
      for (const SizeRule& rule : rules) {
        EXPECT_NEAR(rule.score, BruteForceRule(results, table.configs(), by, rule.intervals.size()),
                    1e-12);
        EXPECT_GT(rule.score, before);
        before = rule.score;
        std::size_t next = 0;
        for (const SizeInterval& interval : rule.intervals) {
          EXPECT_EQ(interval.first, next);
          next = interval.last + 1;
        }
        EXPECT_EQ(next, results.size());
      }
      EXPECT_NEAR(rules.back().score, BruteForceRule(results, table.configs(), by, 6), 1e-12);
    }
  }
}

TEST(ChooseBySizeTest, ASizeWithoutResultsHasNoRule) {
  const std::vector<ConfigResults> results = {{"1", {{"{1}", 1}}}, {"2", {}}};
  EXPECT_TRUE(ChooseBySize(ShareTable(results), ShareScore::kWorst, 4).empty());
}

}  // namespace
}  // namespace tilewright::records
