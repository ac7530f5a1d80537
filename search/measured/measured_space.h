#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/open/open_search_space.h"
#include "search/registry.h"
#include "src/space/exchange/t4.h"

namespace tilewright::search {

/// Open space with a result for each of its configs, for replay of searches without a device.
class MeasuredSpace {
 public:
  /// Returns the space of the results: the parameters with the values that occur; a config is legal
  /// if it has a result. Errors: kInvalidArgument for results with other parameters, a config that
  /// occurs twice, or if no result is correct.
  static Result<MeasuredSpace> Create(std::string name, const T4File& file);
  /// Loads a T4 file or a cachefile of Kernel Tuner, which may be compressed by gzip. Errors: those
  /// of the formats and of Create, with the path.
  static Result<MeasuredSpace> Load(const std::string& path);

  const std::string& name() const { return name_; }
  const OpenSearchSpace& space() const { return *space_; }
  /// Returns the value of a legal point; 0 if it failed.
  double ValueOf(Point point) const { return values_[PositionOf(point)]; }
  Outcome OutcomeOf(Point point) const { return outcomes_[PositionOf(point)]; }
  /// Returns the position of a legal point in the file's results.
  std::size_t ResultOf(Point point) const { return results_[PositionOf(point)]; }
  double best() const { return best_; }
  std::size_t size() const { return values_.size(); }
  /// Whether both are the same results: equal names and values.
  bool SameAs(const MeasuredSpace& other) const {
    return name_ == other.name_ && values_ == other.values_;
  }
  /// Returns the legal points, in ascending order.
  const std::vector<std::int64_t>& indices() const { return indices_; }
  std::size_t failed() const;
  double median() const;  ///< of the values of correct results

  /// Returns the values as records for a search on another device. Points that `other` does not
  /// have are left out. Errors: kInvalidArgument unless both have the same parameters.
  Result<DeviceRecords> RecordsFor(const MeasuredSpace& other) const;

 private:
  MeasuredSpace() = default;
  std::size_t PositionOf(Point point) const;

  std::string name_;
  std::unique_ptr<OpenSearchSpace> space_;
  std::vector<std::int64_t> indices_;  // sorted; the others are parallel
  std::vector<double> values_;
  std::vector<Outcome> outcomes_;
  std::vector<std::size_t> results_;
  double best_ = 0;
};

/// Returns the points that a strategy measures, in order, one at a time.
/// Errors: kNotFound if there is no such strategy; the strategy's.
Result<std::vector<Point>> ReplaySearch(const MeasuredSpace& space, const StrategyEntry& strategy,
                                        std::span<const DeviceRecords> records, std::uint64_t seed,
                                        std::size_t evaluations);

/// Returns Q(n): the best value of the space over the best of the first n points; 0 if all failed.
double QualityAfter(const MeasuredSpace& space, std::span<const Point> points, std::size_t n);

/// Returns one line of a file of runs: the space, the strategy, the seed, and the positions of the
/// measured configs in the results of the file.
std::string RunLine(const MeasuredSpace& space, std::string_view strategy, std::uint64_t seed,
                    std::span<const Point> points);

}  // namespace tilewright::search
