#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilewright::report {

/// Returns Kendall's tau-b of two columns of equal length: 1 for equal order, -1 for opposite
/// order; ties in either count for neither. 0 for fewer than two rows, or if one column is
/// constant.
double KendallTau(std::span<const double> a, std::span<const double> b);

/// Returns the median of a column; 0 for none.
double Median(std::vector<double> values);
/// Returns the quantile at `share` (0 to 1) of a sorted column, interpolated; 0 for none.
double Quantile(std::span<const double> sorted, double share);

/// Returns the positions of at most `most` of `count` rows: those of `keep` first, then evenly
/// spaced ones, in rising order.
std::vector<std::size_t> Subsample(std::size_t count, const std::vector<std::size_t>& keep,
                                   std::size_t most);

/// Returns the share of the variance of `y` between the groups of rows with one level, corrected
/// for the share expected by chance for that many groups (epsilon squared); 0 to 1. levels: one per
/// row, below level_count.
double ExplainedShare(std::span<const int> levels, std::size_t level_count,
                      std::span<const double> y);

/// Straight line through the last rows of (x, y), by least squares: y for a new x.
class SlidingRegression {
 public:
  /// window: number of rows kept. least: with fewer rows there is no line.
  SlidingRegression(std::size_t window, std::size_t least) : window_(window), min_rows_(least) {}
  void Add(double x, double y);
  /// Returns y at x; nullopt for too few rows, or if all have one x.
  std::optional<double> At(double x) const;

 private:
  std::size_t window_, min_rows_;
  std::vector<double> x_, y_;
  std::size_t next_ = 0;  // the oldest row, once the window is full
};

}  // namespace tilewright::report
