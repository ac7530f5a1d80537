#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "search/registry.h"

namespace tilewright::search {

/// Expectation of slow-downs from the records of other devices. A point's slow-down on a device is
/// the logarithm of its time over the device's best, at most kMaxSlowdown.
class RecordPrior {
 public:
  static constexpr double kMaxSlowdown = 1.5;

  explicit RecordPrior(std::span<const DeviceRecords> records);
  bool empty() const { return devices_ == 0; }
  std::size_t devices() const { return devices_; }
  /// Returns the mean of the point's slow-downs; that of all points if no device has it.
  double Mean(Point point) const;
  /// Standard deviation of the means, at least 0.05: a scale of differences between points.
  double scale() const { return scale_; }
  /// Appends each device's slow-down minus the mean, in units of the scale; 0 if it is unknown.
  void AppendDeviations(std::vector<float>& row, Point point) const;
  /// Returns all points that a device has, the smallest mean first.
  const std::vector<Point>& by_mean() const { return by_mean_; }

 private:
  struct Slowdowns {
    std::vector<float> of_device;  // below 0: unknown
    double mean = 0;
  };
  struct PointHash {
    std::size_t operator()(Point point) const { return HashOf(point); }
  };

  std::size_t devices_ = 0;
  std::unordered_map<Point, Slowdowns, PointHash> slowdowns_;
  std::vector<Point> by_mean_;
  double typical_ = 0, scale_ = 1;
};

}  // namespace tilewright::search
