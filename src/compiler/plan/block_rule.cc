// Choice of register tiles by measured times of a few numbers of rows.

#include "src/compiler/plan/block_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "src/base/math.h"
#include "src/graph/open/size_counts.h"

namespace tilewright {
namespace {

constexpr double kWorthATile = 0.005;  // of the time
constexpr double kBesideFastest = 1.02;

/// Cycles of a step of the reduction in a tile, with two products and two loads a cycle.
double TileCycles(std::int64_t rows, double vectors) {
  constexpr double kLatency = 4, kPerCycle = 2;
  const auto count = static_cast<double>(rows);
  return std::max({kLatency, count * vectors / kPerCycle, (count + vectors) / kPerCycle});
}

/// Predicts the times of the tiles of one packed form.
class TimesOfForm {
 public:
  /// fastest: of all forms, by rows.
  TimesOfForm(std::span<const TileTime> tiles, int weight,
              const std::map<std::int64_t, double>& fastest) {
    const TileTime* any = nullptr;
    for (const TileTime& tile : tiles) {
      if (tile.weight != weight) continue;
      if (any == nullptr) any = &tile;
      const double unit = tile.seconds / BlockCost(tile, tile.measured_rows, 1);
      const auto [known, added] = measured_.emplace(tile.measured_rows, unit);
      if (!added) known->second = std::min(known->second, unit);
    }
    for (const auto& [rows, seconds] : fastest) {
      if (measured_.contains(rows)) continue;
      const double least = kBesideFastest * seconds / BlockCost(*any, rows, 1);
      units_.emplace(rows, std::max(least, At(measured_, rows)));
    }
    units_.insert(measured_.begin(), measured_.end());
  }

  double Seconds(const TileTime& tile, std::int64_t size, std::int64_t rows_of_entry) const {
    const double own = tile.seconds / BlockCost(tile, tile.measured_rows, 1);
    const double quality = own / measured_.at(tile.measured_rows);
    return quality * At(units_, size * rows_of_entry) * BlockCost(tile, size, rows_of_entry);
  }

 private:
  /// Returns the value between those of the nearest numbers of rows.
  static double At(const std::map<std::int64_t, double>& units, std::int64_t rows) {
    const auto after = units.lower_bound(rows);
    if (after == units.end()) return std::prev(after)->second;
    if (after == units.begin() || after->first == rows) return after->second;
    const auto before = std::prev(after);
    const auto log_of = [](std::int64_t n) { return std::log(static_cast<double>(n)); };
    const double share =
        (log_of(rows) - log_of(before->first)) / (log_of(after->first) - log_of(before->first));
    return before->second + share * (after->second - before->second);
  }

  std::map<std::int64_t, double> measured_, units_;  // seconds of a unit of BlockCost, by rows
};

/// Chooser of the tiles of one packed form, one after the other.
class FormChooser {
 public:
  FormChooser(std::span<const TileTime> tiles, int weight, const SizeRange& range,
              std::int64_t rows_of_entry, const std::map<std::int64_t, double>& fastest)
      : tiles_(tiles),
        times_(tiles, weight, fastest),
        sizes_(DecidingSizes(range)),
        rows_of_entry_(rows_of_entry),
        sums_(!range.counts.empty()) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      if (tiles[i].weight == weight) own_.push_back(i);
    }
  }

  void Choose() {
    std::vector<double> least(sizes_.size(), std::numeric_limits<double>::infinity());
    while (rule_.tiles.size() < kMaxTiles) {
      std::size_t best = own_.front();
      double best_mean = std::numeric_limits<double>::infinity();
      for (const std::size_t tile : own_) {
        const double mean = MeanOf(With(tile, least));
        if (mean < best_mean) best = tile, best_mean = mean;
      }
      const bool first = rule_.tiles.empty();
      const double gain = first ? 0 : 1 - best_mean / mean_;
      if (!first && gain < kWorthATile) return;
      rule_.tiles.push_back(best);
      rule_.gains.push_back(gain);
      least = With(best, least);
      mean_ = best_mean;
    }
  }

  double mean() const { return mean_; }

  /// Returns the rule for all sizes up to the largest.
  BlockRule Rule(std::int64_t most) const {
    BlockRule rule = rule_;
    for (std::int64_t size = 1; size <= most; ++size) {
      std::size_t best = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < rule.tiles.size(); ++i) {
        const double seconds = times_.Seconds(tiles_[rule.tiles[i]], size, rows_of_entry_);
        if (seconds < least) best = i, least = seconds;
      }
      rule.choice.push_back(static_cast<std::uint8_t>(best));
    }
    return rule;
  }

 private:
  /// Returns the least times if this tile is chosen, too.
  std::vector<double> With(std::size_t tile, std::vector<double> least) const {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const double seconds = times_.Seconds(tiles_[tile], sizes_[i].size, rows_of_entry_);
      least[i] = std::min(least[i], seconds);
    }
    return least;
  }

  double MeanOf(const std::vector<double>& seconds) const {
    double sum = 0, weights = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      sum += sizes_[i].weight * (sums_ ? seconds[i] : std::log(seconds[i]));
      weights += sizes_[i].weight;
    }
    return sums_ ? sum / weights : std::exp(sum / weights);
  }

  std::span<const TileTime> tiles_;
  TimesOfForm times_;
  std::vector<WeighedSize> sizes_;
  std::int64_t rows_of_entry_;
  bool sums_;
  std::vector<std::size_t> own_;
  BlockRule rule_;
  double mean_ = 0;
};

}  // namespace

double BlockCost(const TileTime& tile, std::int64_t entries, std::int64_t rows_of_entry) {
  const std::int64_t most = std::max<std::int64_t>(1, tile.rows / rows_of_entry);
  const std::int64_t blocks = CeilDiv(entries, most);
  const std::int64_t each = entries / blocks, more = entries % blocks;
  const double cycles =
      static_cast<double>(more) * TileCycles((each + 1) * rows_of_entry, tile.vectors) +
      static_cast<double>(blocks - more) * TileCycles(each * rows_of_entry, tile.vectors);
  return cycles / tile.vectors;
}

BlockRule ChooseTiles(std::span<const TileTime> tiles, const SizeRange& range,
                      std::int64_t rows_of_entry) {
  std::map<std::int64_t, double> fastest;
  std::set<int> forms;
  for (const TileTime& tile : tiles) {
    forms.insert(tile.weight);
    const auto [known, added] = fastest.emplace(tile.measured_rows, tile.seconds);
    if (!added) known->second = std::min(known->second, tile.seconds);
  }
  BlockRule best;
  double least = std::numeric_limits<double>::infinity();
  for (const int form : forms) {
    FormChooser chooser(tiles, form, range, rows_of_entry, fastest);
    chooser.Choose();
    if (chooser.mean() >= least) continue;
    least = chooser.mean();
    best = chooser.Rule(range.most);
  }
  return best;
}

}  // namespace tilewright
