#pragma once

#include <cstdint>
#include <vector>

#include "search/strategy.h"

namespace tilewright::search {

/// Proposed points of a strategy in order, with their observations. About 40 bytes per point, so
/// that a job of many thousand trials stays small.
class ProposalHistory {
 public:
  struct Entry {
    Point point;
    double value = 0;  ///< seconds if observed and ok
    Outcome outcome = Outcome::kInvalid;
    bool observed = false;
    bool ok() const { return observed && outcome == Outcome::kOk && value > 0; }
  };

  ProposalHistory();
  /// Returns false if the history contains the point.
  bool Add(Point point);
  bool Contains(Point point) const { return table_[Slot(point)] != 0; }
  /// Adds the point if it is missing. A second result for a point replaces the first.
  void Tell(const Observation& observed);
  const std::vector<Entry>& entries() const { return entries_; }
  /// Positions in entries(), in order of the first observation.
  const std::vector<std::uint32_t>& observed_order() const { return observed_order_; }
  /// Returns the positions of up to `count` fastest ok entries, fastest first, ties by point.
  std::vector<std::uint32_t> Fastest(std::size_t count) const;
  /// Returns the seconds of the fastest ok entry; 0 if none.
  double best_seconds() const { return best_seconds_; }

 private:
  std::size_t Slot(Point point) const;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> observed_order_;
  std::vector<std::uint32_t> table_;  // open addressing: position in entries_ + 1, 0 is free
  double best_seconds_ = 0;
};

}  // namespace tilewright::search
