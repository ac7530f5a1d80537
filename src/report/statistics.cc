#include "src/report/statistics.h"

#include <algorithm>
#include <cmath>

namespace tilewright::report {

double KendallTau(std::span<const double> a, std::span<const double> b) {
  std::int64_t agree = 0, differ = 0, tied_a = 0, tied_b = 0;
  const std::size_t rows = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = i + 1; j < rows; ++j) {
      const bool same_a = a[i] == a[j], same_b = b[i] == b[j];
      tied_a += same_a ? 1 : 0;
      tied_b += same_b ? 1 : 0;
      if (same_a || same_b) continue;
      ((a[i] < a[j]) == (b[i] < b[j]) ? agree : differ) += 1;
    }
  }
  const auto pairs = static_cast<double>(rows) * (static_cast<double>(rows) - 1) / 2;
  const double scale =
      std::sqrt((pairs - static_cast<double>(tied_a)) * (pairs - static_cast<double>(tied_b)));
  return scale > 0 ? static_cast<double>(agree - differ) / scale : 0;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

double Quantile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

std::vector<std::size_t> Subsample(std::size_t count, const std::vector<std::size_t>& keep,
                                   std::size_t most) {
  std::vector<std::size_t> chosen;
  if (count <= most) {
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(i);
    return chosen;
  }
  chosen.assign(keep.begin(),
                keep.begin() + static_cast<std::ptrdiff_t>(std::min(keep.size(), most)));
  const std::size_t left = most - chosen.size();
  for (std::size_t i = 0; i < left; ++i) chosen.push_back(i * count / left);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

double ExplainedShare(std::span<const int> levels, std::size_t level_count,
                      std::span<const double> y) {
  std::vector<double> sum(level_count, 0);
  std::vector<std::int64_t> rows(level_count, 0);
  double mean = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto level = static_cast<std::size_t>(levels[i]);
    sum[level] += y[i];
    ++rows[level];
    mean += y[i];
  }
  mean /= static_cast<double>(std::max<std::size_t>(1, y.size()));
  double all = 0, between = 0;
  for (const double value : y) all += (value - mean) * (value - mean);
  std::int64_t groups = 0;
  for (std::size_t level = 0; level < level_count; ++level) {
    if (rows[level] == 0) continue;
    ++groups;
    const double off = sum[level] / static_cast<double>(rows[level]) - mean;
    between += static_cast<double>(rows[level]) * off * off;
  }
  const std::int64_t free = static_cast<std::int64_t>(y.size()) - groups;
  if (all <= 0 || free <= 0) return 0;
  const double chance =
      static_cast<double>(groups - 1) * (all - between) / static_cast<double>(free);
  return std::clamp((between - chance) / all, 0.0, 1.0);
}

void SlidingRegression::Add(double x, double y) {
  if (x_.size() < window_) {
    x_.push_back(x);
    y_.push_back(y);
    return;
  }
  x_[next_] = x;
  y_[next_] = y;
  next_ = (next_ + 1) % window_;
}

std::optional<double> SlidingRegression::At(double x) const {
  if (x_.size() < min_rows_) return std::nullopt;
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    mean_x += x_[i];
    mean_y += y_[i];
  }
  mean_x /= static_cast<double>(x_.size());
  mean_y /= static_cast<double>(x_.size());
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    xx += (x_[i] - mean_x) * (x_[i] - mean_x);
    xy += (x_[i] - mean_x) * (y_[i] - mean_y);
  }
  if (xx <= 0) return std::nullopt;
  return mean_y + xy / xx * (x - mean_x);
}

}  // namespace tilewright::report
