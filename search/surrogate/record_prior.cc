#include "search/surrogate/record_prior.h"

#include <algorithm>
#include <cmath>

namespace tilewright::search {
namespace {

constexpr double kMinScale = 0.05;

}  // namespace

RecordPrior::RecordPrior(std::span<const DeviceRecords> records) {
  for (const DeviceRecords& device : records) {
    double best = 0;
    for (const auto& [point, value] : device.values) {
      if (value > 0 && (best == 0 || value < best)) best = value;
    }
    if (best == 0) continue;  // everything failed
    for (const auto& [point, value] : device.values) {
      const double slowdown =
          value > 0 ? std::min(std::log(value / best), kMaxSlowdown) : kMaxSlowdown;
      auto& known = slowdowns_[point].of_device;
      known.resize(devices_, -1);
      known.push_back(static_cast<float>(slowdown));
    }
    ++devices_;
  }
  double sum = 0, squares = 0;
  for (auto& [point, known] : slowdowns_) {
    known.of_device.resize(devices_, -1);
    double count = 0;
    for (float value : known.of_device) {
      if (value < 0) continue;
      known.mean += static_cast<double>(value);
      count += 1;
    }
    known.mean /= count;
    by_mean_.push_back(point);
  }
  std::ranges::sort(by_mean_, [this](Point a, Point b) {
    const double one = Mean(a), other = Mean(b);
    return one != other ? one < other : a < b;
  });
  // In a fixed order: sums of floating-point numbers depend on it.
  for (Point point : by_mean_) {
    sum += Mean(point);
    squares += Mean(point) * Mean(point);
  }
  if (by_mean_.empty()) return;
  const auto count = static_cast<double>(by_mean_.size());
  typical_ = sum / count;
  scale_ = std::max(kMinScale, std::sqrt(std::max(0.0, squares / count - typical_ * typical_)));
}

double RecordPrior::Mean(Point point) const {
  const auto found = slowdowns_.find(point);
  return found == slowdowns_.end() ? typical_ : found->second.mean;
}

void RecordPrior::AppendDeviations(std::vector<float>& row, Point point) const {
  const auto found = slowdowns_.find(point);
  if (found == slowdowns_.end()) {
    row.resize(row.size() + devices_, 0);
    return;
  }
  for (float value : found->second.of_device) {
    const double deviation = static_cast<double>(value) - found->second.mean;
    row.push_back(value < 0 ? 0 : static_cast<float>(deviation / scale_));
  }
}

}  // namespace tilewright::search
