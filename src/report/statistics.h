#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilewright::report {

/// Kendall's tau-b of two columns of equal length: 1 where they order alike, -1 opposite; ties in
/// either take no side. 0 for fewer than two rows, or where one column is constant.
double KendallTau(std::span<const double> a, std::span<const double> b);

/// The value that half of a column is below; 0 for none.
double Median(std::vector<double> values);
/// The value at a share (0 to 1) of a sorted column, interpolated; 0 for none.
double Quantile(std::span<const double> sorted, double share);

/// Positions of at most `most` of `count` rows: those of `keep` first, then evenly spaced ones, in
/// rising order.
std::vector<std::size_t> Subsample(std::size_t count, const std::vector<std::size_t>& keep,
                                   std::size_t most);

/// Share of the variance of `y` between the groups of rows with one level, less what chance gives
/// that many groups (epsilon squared); 0 to 1. levels: one per row, below level_count.
double ExplainedShare(std::span<const int> levels, std::size_t level_count,
                      std::span<const double> y);

/// The straight line through the last rows of (x, y): y for a new x, by least squares.
class SlidingRegression {
 public:
  /// window: rows it remembers. least: fewer give no line.
  SlidingRegression(std::size_t window, std::size_t least) : window_(window), min_rows_(least) {}
  void Add(double x, double y);
  /// nullopt: too few rows, or all at one x.
  std::optional<double> At(double x) const;

 private:
  std::size_t window_, min_rows_;
  std::vector<double> x_, y_;
  std::size_t next_ = 0;  // the oldest row, once the window is full
};

}  // namespace tilewright::report
