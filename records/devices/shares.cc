#include "records/devices/shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tilewright::records {
namespace {

constexpr double kUnmeasured = -1;

double ScoreOf(const std::vector<Share>& shares, ShareScore by) {
  double sum = 0, worst = 1;
  for (const Share& share : shares) {
    sum += share.counted();
    worst = std::min(worst, share.counted());
  }
  return by == ShareScore::kWorst ? worst : sum / static_cast<double>(shares.size());
}

/// Inserts a config into a list of at most `most`, the largest score first.
void Insert(std::vector<ConfigShares>& list, ConfigShares one, std::size_t most) {
  const auto place =
      std::ranges::upper_bound(list, one.score, std::greater<>(), &ConfigShares::score);
  list.insert(place, std::move(one));
  if (list.size() > most) list.pop_back();
}

}  // namespace

ShareTable::ShareTable(std::span<const ConfigResults> results, bool predicts)
    : best_(results.size(), -1),
      best_value_(results.size(), std::numeric_limits<double>::infinity()) {
  for (const ConfigResults& device : results) {
    for (const auto& [config, value] : device.values) configs_.push_back(config);
  }
  std::ranges::sort(configs_);
  configs_.erase(std::unique(configs_.begin(), configs_.end()), configs_.end());
  shares_.assign(configs_.size(), std::vector<double>(results.size(), kUnmeasured));
  for (std::size_t d = 0; d < results.size(); ++d) {
    double& best = best_value_[d];
    for (const auto& [config, value] : results[d].values) best = std::min(best, value);
    std::size_t c = 0;
    for (const auto& [config, value] : results[d].values) {  // in the order of configs_
      while (configs_[c] != config) ++c;
      shares_[c][d] = std::isfinite(value) ? best / value : 0;
      if (best_[d] < 0 && value == best && std::isfinite(value)) best_[d] = static_cast<int>(c);
    }
  }
  if (!predicts) return;
  pairs_.assign(results.size(), std::vector<std::vector<Pair>>(results.size()));
  for (const std::vector<double>& row : shares_) {
    for (std::size_t from = 0; from < row.size(); ++from) {
      for (std::size_t to = 0; to < row.size(); ++to) {
        if (from != to && row[from] > 0 && row[to] >= 0) {
          pairs_[from][to].push_back({row[from], row[to]});
        }
      }
    }
  }
  for (auto& row : pairs_) {
    for (auto& pairs : row) std::ranges::stable_sort(pairs, {}, &Pair::there);
  }
}

std::size_t ShareTable::MeasuredOnAll() const {
  return static_cast<std::size_t>(std::ranges::count_if(shares_, [](const auto& row) {
    return std::ranges::all_of(row, [](double share) { return share >= 0; });
  }));
}

Share ShareTable::Predict(std::size_t config, std::size_t from, std::size_t device) const {
  const std::vector<Pair>& pairs = pairs_[from][device];
  if (pairs.size() < kMinCommon || shares_[config][from] <= 0) return {};
  const double share = shares_[config][from];
  // The window of the nearest pairs grows to the side that is nearer.
  auto first = std::ranges::lower_bound(pairs, share, {}, &Pair::there), last = first;
  const std::size_t count = std::min(kNeighbours, pairs.size());
  while (static_cast<std::size_t>(last - first) < count) {
    const bool up = first == pairs.begin() ||
                    (last != pairs.end() && last->there / share <= share / std::prev(first)->there);
    up ? ++last : --first;
  }
  std::vector<double> here;
  for (auto pair = first; pair != last; ++pair) here.push_back(pair->here);
  std::ranges::sort(here);
  return {ShareEvidence::kPredicted, here[here.size() / 2],
          here[here.size() / 4],     here[here.size() - 1 - here.size() / 4],
          static_cast<int>(from),    static_cast<std::int64_t>(pairs.size())};
}

Share ShareTable::ShareOf(std::size_t config, std::size_t device) const {
  const double measured = shares_[config][device];
  if (measured >= 0) return {ShareEvidence::kMeasured, measured, measured, measured};
  Share best;
  for (std::size_t from = 0; from < pairs_.size(); ++from) {
    if (from == device) continue;
    const Share share = Predict(config, from, device);
    if (share.evidence == ShareEvidence::kNone) continue;
    if (best.evidence == ShareEvidence::kNone || share.high - share.low < best.high - best.low) {
      best = share;
    }
  }
  return best;
}

SharedChoice ChooseShared(const ShareTable& table, ShareScore by, std::size_t most) {
  SharedChoice choice;
  for (std::size_t c = 0; c < table.configs().size(); ++c) {
    ConfigShares one{c, 0, {}};
    bool all_known = true, all_measured = true;
    for (std::size_t d = 0; d < table.devices() && all_known; ++d) {
      one.shares.push_back(table.ShareOf(c, d));
      all_known = one.shares.back().evidence != ShareEvidence::kNone;
      all_measured = all_measured && table.measured(c, d);
    }
    if (!all_known) continue;
    one.score = ScoreOf(one.shares, by);
    if (one.score <= 0) continue;
    Insert(all_measured ? choice.measured : choice.predicted, std::move(one), most);
  }
  if (!choice.measured.empty()) {
    std::erase_if(choice.predicted, [&](const ConfigShares& one) {
      return one.score <= choice.measured.front().score;
    });
  }
  return choice;
}

std::vector<SizeRule> ChooseBySize(const ShareTable& table, ShareScore by, std::size_t most) {
  const std::size_t sizes = table.devices();
  const bool worst = by == ShareScore::kWorst;
  constexpr double kNever = -1;
  // Best config of each interval; the score of a mean is a sum.
  std::vector<std::vector<SizeInterval>> best(sizes);
  for (std::size_t first = 0; first < sizes; ++first) {
    for (std::size_t last = first; last < sizes; ++last) {
      best[first].push_back({first, last, 0, kNever});
    }
    for (std::size_t c = 0; c < table.configs().size(); ++c) {
      double score = worst ? 1 : 0;
      for (std::size_t last = first; last < sizes && table.measured(c, last); ++last) {
        const double share = table.ShareOf(c, last).share;
        score = worst ? std::min(score, share) : score + share;
        SizeInterval& interval = best[first][last - first];
        if (score > interval.score) {
          interval.config = c;
          interval.score = score;
        }
      }
    }
  }
  // totals[n][end]: best score of the sizes before `end` with n + 1 intervals, and its last one.
  struct Total {
    double score = -1;
    std::size_t first = 0;
  };
  std::vector<std::vector<Total>> totals;
  std::vector<SizeRule> rules;
  for (std::size_t n = 0; n < std::min(most, sizes); ++n) {
    totals.emplace_back(sizes + 1);
    for (std::size_t end = 1; end <= sizes; ++end) {
      for (std::size_t first = n == 0 ? 0 : n; first < (n == 0 ? 1 : end); ++first) {
        const double last = best[first][end - 1 - first].score;
        const double before = n == 0 ? (worst ? 1 : 0) : totals[n - 1][first].score;
        if (last < 0 || before < 0) continue;
        const double score = worst ? std::min(last, before) : last + before;
        if (score > totals[n][end].score) totals[n][end] = {score, first};
      }
    }
    const double score = totals[n][sizes].score;
    if (score < 0) continue;
    SizeRule rule{worst ? score : score / static_cast<double>(sizes), {}};
    if (!rules.empty() && rule.score <= rules.back().score) continue;
    for (std::size_t k = n + 1, end = sizes; k-- > 0;) {
      const std::size_t first = totals[k][end].first;
      SizeInterval interval = best[first][end - 1 - first];
      if (!worst) interval.score /= static_cast<double>(end - first);
      rule.intervals.insert(rule.intervals.begin(), interval);
      end = first;
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace tilewright::records
