// Choice of register tiles by measured times of a few numbers of rows.

#include "src/compiler/open/block_rule.h"

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

constexpr double kWorthATile = 0.005;         // of the time
constexpr double kBesideFastest = 1.1;        // a form that the search did not find there
constexpr double kSlowerPerDoubling = 0.002;  // far from the measured rows

/// Cycles of a step of the reduction in a tile, with two products and two loads a cycle.
double TileCycles(std::int64_t rows, double vectors) {
  constexpr double kLatency = 4, kPerCycle = 2;
  const auto count = static_cast<double>(rows);
  return std::max({kLatency, count * vectors / kPerCycle, (count + vectors) / kPerCycle});
}

using TimesByRows = std::map<std::int64_t, double>;

double LogOf(std::int64_t n) { return std::log2(static_cast<double>(n)); }

/// Times of blocks of one template with one packed form.
class TimesOfFamily {
 public:
  /// fastest: of all forms, by rows of the layer.
  TimesOfFamily(std::span<const TileTime> tiles, int family, const TimesByRows& fastest) {
    for (const TileTime& tile : tiles) {
      if (tile.family != family) continue;
      vectors_ = tile.vectors;
      const double seconds = SecondsOfBlock(tile);
      const auto [known, added] = blocks_[tile.measured_rows].emplace(tile.rows, seconds);
      if (!added) known->second = std::min(known->second, seconds);
    }
    for (const auto& [rows, seconds] : fastest) {
      if (blocks_.contains(rows)) continue;
      // As much slower as at the nearest rows that were measured.
      const auto& [near, of_near] = *Nearest(blocks_, rows);
      for (const auto& [tile_rows, block] : of_near) {
        const double slower =
            block * static_cast<double>(CeilDiv(near, tile_rows)) / fastest.at(near);
        const double least = std::max(kBesideFastest, slower) * seconds;
        filled_[rows].emplace(std::min(tile_rows, rows),
                              least / static_cast<double>(CeilDiv(rows, tile_rows)));
      }
    }
    for (const auto& [rows, of_rows] : blocks_) filled_.emplace(rows, of_rows);
  }

  /// Returns the seconds of a layer with `size` entries in blocks of at most `tile` rows.
  double Seconds(const TileTime& tile, std::int64_t size, std::int64_t rows_of_entry) const {
    const std::int64_t most = std::max<std::int64_t>(1, tile.rows / rows_of_entry);
    const std::int64_t blocks = CeilDiv(size, most), each = size / blocks, more = size % blocks;
    const std::int64_t rows = size * rows_of_entry;
    double seconds = static_cast<double>(blocks - more) * Block(each * rows_of_entry, rows);
    if (more > 0) seconds += static_cast<double>(more) * Block((each + 1) * rows_of_entry, rows);
    const double own = SecondsOfBlock(tile) / blocks_.at(tile.measured_rows).at(tile.rows);
    return own * seconds *
           (1 + kSlowerPerDoubling * std::abs(LogOf(rows) - LogOf(tile.measured_rows)));
  }

 private:
  static double SecondsOfBlock(const TileTime& tile) {
    return tile.seconds / static_cast<double>(CeilDiv(tile.measured_rows, tile.rows));
  }

  template <typename Map>
  static typename Map::const_iterator Nearest(const Map& map, std::int64_t rows) {
    const auto after = map.lower_bound(rows);
    if (after == map.end()) return std::prev(after);
    if (after == map.begin()) return after;
    const auto before = std::prev(after);
    return LogOf(rows) - LogOf(before->first) < LogOf(after->first) - LogOf(rows) ? before : after;
  }

  /// Returns the seconds of a block where the layer has one of the measured numbers of rows.
  double BlockAt(const TimesByRows& measured, std::int64_t block_rows) const {
    const auto near = Nearest(measured, block_rows);
    return near->second * TileCycles(block_rows, vectors_) / TileCycles(near->first, vectors_);
  }

  /// Returns the seconds of a block of a layer with `rows` rows.
  double Block(std::int64_t block_rows, std::int64_t rows) const {
    const auto after = filled_.lower_bound(rows);
    if (after == filled_.end()) return BlockAt(std::prev(after)->second, block_rows);
    if (after == filled_.begin() || after->first == rows) return BlockAt(after->second, block_rows);
    const auto before = std::prev(after);
    const double share =
        (LogOf(rows) - LogOf(before->first)) / (LogOf(after->first) - LogOf(before->first));
    return (1 - share) * BlockAt(before->second, block_rows) +
           share * BlockAt(after->second, block_rows);
  }

  double vectors_ = 1;
  /// Seconds of a block, by rows of the layer and of the block: measured, and of all rows.
  std::map<std::int64_t, TimesByRows> blocks_, filled_;
};

/// Chooser of the tiles of one packed form, one after the other.
class FormChooser {
 public:
  FormChooser(std::span<const TileTime> tiles, int weight, const SizeRange& range,
              std::int64_t rows_of_entry, const TimesByRows& fastest)
      : tiles_(tiles),
        sizes_(DecidingSizes(range)),
        rows_of_entry_(rows_of_entry),
        sums_(!range.counts.empty()) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      if (tiles[i].weight != weight) continue;
      own_.push_back(i);
      times_.try_emplace(tiles[i].family, tiles, tiles[i].family, fastest);
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
        const double seconds = SecondsOf(rule.tiles[i], size);
        if (seconds < least) best = i, least = seconds;
      }
      rule.choice.push_back(static_cast<std::uint8_t>(best));
    }
    return rule;
  }

 private:
  double SecondsOf(std::size_t tile, std::int64_t size) const {
    return times_.at(tiles_[tile].family).Seconds(tiles_[tile], size, rows_of_entry_);
  }

  /// Returns the least times if this tile is chosen, too.
  std::vector<double> With(std::size_t tile, std::vector<double> least) const {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      least[i] = std::min(least[i], SecondsOf(tile, sizes_[i].size));
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
  std::map<int, TimesOfFamily> times_;
  std::vector<WeighedSize> sizes_;
  std::int64_t rows_of_entry_;
  bool sums_;
  std::vector<std::size_t> own_;
  BlockRule rule_;
  double mean_ = 0;
};

}  // namespace

BlockRule ChooseTiles(std::span<const TileTime> tiles, const SizeRange& range,
                      std::int64_t rows_of_entry) {
  TimesByRows fastest;
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
