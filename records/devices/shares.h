#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tilewright::records {

/// Results of one task's configs on one device, or at one of several sizes.
struct ConfigResults {
  std::string name;  ///< of the device or the size
  /// Value of each config, by its text; infinity if the config fails.
  std::map<std::string, double> values;
};

enum class ShareEvidence : std::uint8_t {
  kNone,       ///< the share is unknown
  kMeasured,   ///< of this config on this device
  kPredicted,  ///< by configs that were measured on this device and another one
};

/// Best value on a device over the value of a config there, 0 to 1; 0 if the config fails.
struct Share {
  ShareEvidence evidence = ShareEvidence::kNone;
  double share = 0;  ///< predicted: the median
  /// Of a predicted share: lower and upper quartile.
  double low = 0, high = 0;
  int from = -1;            ///< of a predicted share: number of the other device
  std::int64_t common = 0;  ///< of a predicted share: number of configs measured on both

  /// Returns the value that a choice of configs counts: the lower quartile of a predicted share.
  double counted() const { return evidence == ShareEvidence::kPredicted ? low : share; }
};

/// Shares of all configs on all devices.
class ShareTable {
 public:
  /// Number of nearest configs that a prediction takes, and the least number of configs measured on
  /// both devices.
  static constexpr std::size_t kNeighbours = 31, kMinCommon = 8;

  /// results: at least one. predicts: whether ShareOf predicts, which takes memory for the configs
  /// of each pair of devices.
  explicit ShareTable(std::span<const ConfigResults> results, bool predicts = true);

  std::size_t devices() const { return best_.size(); }
  const std::vector<std::string>& configs() const { return configs_; }
  /// Returns the best config on a device; -1 if all fail or none was measured.
  int BestOn(std::size_t device) const { return best_[device]; }
  double BestValueOn(std::size_t device) const { return best_value_[device]; }
  bool measured(std::size_t config, std::size_t device) const {
    return shares_[config][device] >= 0;
  }
  /// Number of configs measured on all devices.
  std::size_t MeasuredOnAll() const;
  /// Returns the measured share, or else a prediction, or else none.
  ///
  /// The prediction takes another device where the config was measured. Of the configs measured on
  /// both, it takes those whose shares on that device are nearest to the config's. The median of
  /// their shares on this device is the prediction. Of several other devices, the one with the
  /// narrowest quartiles counts.
  Share ShareOf(std::size_t config, std::size_t device) const;

 private:
  /// Share on one device and on another.
  struct Pair {
    double there = 0, here = 0;
  };
  Share Predict(std::size_t config, std::size_t from, std::size_t device) const;

  std::vector<std::string> configs_;
  std::vector<std::vector<double>> shares_;  // by config and device; below 0: not measured
  std::vector<int> best_;
  std::vector<double> best_value_;
  std::vector<std::vector<std::vector<Pair>>>
      pairs_;  // by device and device, sorted by `there`; empty: no predictions
};

/// How shares on several devices are combined.
enum class ShareScore : std::uint8_t { kWorst, kMean };

/// Config with its shares on all devices.
struct ConfigShares {
  std::size_t config = 0;  ///< in ShareTable::configs()
  double score = 0;        ///< of Share::counted()
  std::vector<Share> shares;
};

/// Choice of one config for several devices.
struct SharedChoice {
  /// Configs measured on all devices, the best first; equal ones by their text.
  std::vector<ConfigShares> measured;
  /// Configs with at least one predicted share whose score exceeds that of the best measured one.
  std::vector<ConfigShares> predicted;
};

/// Returns the configs with the largest scores. most: of each list.
SharedChoice ChooseShared(const ShareTable& table, ShareScore by, std::size_t most);

/// Interval of sizes with one config.
struct SizeInterval {
  std::size_t first = 0, last = 0;  ///< numbers of the sizes
  std::size_t config = 0;
  double score = 0;  ///< of its shares at the sizes of the interval
};
/// Best rule with a number of intervals.
struct SizeRule {
  double score = 0;  ///< worst or mean share over all sizes
  std::vector<SizeInterval> intervals;
};
/// Returns the best rule with one interval, with two, and so on; those that are no better than one
/// with fewer intervals are left out. The sizes are the devices of the table, in ascending order.
/// Only configs measured at all sizes of an interval are chosen for it. most: number of intervals.
/// Empty if no config was measured at some size.
std::vector<SizeRule> ChooseBySize(const ShareTable& table, ShareScore by, std::size_t most);

}  // namespace tilewright::records
