#pragma once

#include <cstdint>
#include <vector>

#include "search/strategy.h"

namespace tilewright::search {

/// Every point a strategy has proposed, in that order, and what came of it. About 40 bytes per
/// point, so that a job of many thousand trials stays small.
class ProposalHistory {
 public:
  struct Entry {
    Point point;
    double value = 0;  ///< seconds when told and ok
    Outcome outcome = Outcome::kInvalid;
    bool observed = false;
    bool ok() const { return observed && outcome == Outcome::kOk && value > 0; }
  };

  ProposalHistory();
  /// False if the point is there already.
  bool Add(Point point);
  bool Contains(Point point) const { return table_[Slot(point)] != 0; }
  /// Adds the point if it is not there; a second result for one point replaces the first.
  void Tell(const Observation& observed);
  const std::vector<Entry>& entries() const { return entries_; }
  /// Positions in entries(), in the order in which they were first told.
  const std::vector<std::uint32_t>& observed_order() const { return observed_order_; }
  /// Positions of up to `count` fastest ok entries, fastest first, ties by point.
  std::vector<std::uint32_t> Fastest(std::size_t count) const;
  /// Seconds of the fastest ok entry; 0 if none.
  double best_seconds() const { return best_seconds_; }

 private:
  std::size_t Slot(Point point) const;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> observed_order_;
  std::vector<std::uint32_t> table_;  // open addressing: position in entries_ + 1, 0 is free
  double best_seconds_ = 0;
};

}  // namespace tilewright::search
