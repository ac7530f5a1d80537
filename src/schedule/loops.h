#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/schedule/schedule.h"

namespace tilewright {

/// Extents of the loops of one stage as they will execute, which follow from those of its axes (a
/// stage computed inside another has only the part of them that is needed there) and from the tails
/// that were peeled off.
class StageLoops {
 public:
  using Relation = Schedule::Relation;

  /// axis_extents: one per axis, spatial then reduction, each at least 1.
  StageLoops(const Schedule& schedule, StageId stage,
             const std::vector<std::int64_t>& axis_extents);

  std::int64_t extent(LoopId loop) const { return extents_[Slot(loop)]; }
  /// Extent of the inner loop of a split or fuse in index arithmetic: parent = outer*factor +
  /// inner.
  std::int64_t factor(std::size_t relation) const { return factors_[relation]; }
  /// The leaves a loop's value depends on or decides, as a bit set of leaf positions; leaves of
  /// extent 1 are left out, unless a peeled tail made them so.
  std::uint64_t leaves_of(LoopId loop) const { return masks_[Slot(loop)]; }
  /// A split whose inner extent does not divide what is split and that was not peeled.
  bool HasTail(std::size_t relation) const;
  bool peeled(std::size_t relation) const { return peeled_[relation]; }

  /// From now on the extents of both loops of a split are these; its inner extent in index
  /// arithmetic stays. What comes from the inner loop follows.
  void Peel(std::size_t relation, std::int64_t outer, std::int64_t inner);
  /// Only so many iterations of a leaf are meant.
  void Restrict(std::size_t leaf, std::int64_t count);

 private:
  std::size_t Slot(LoopId loop) const { return static_cast<std::size_t>(loop.index - first_); }
  void Propagate();

  const Schedule::StageInfo* info_;
  int first_ = 0;  // smallest loop index of the stage: the tables start there
  std::vector<std::int64_t> extents_;
  std::vector<std::pair<std::size_t, std::int64_t>> restricted_;  // slots of leaves and extents
  std::vector<bool> cut_;  // extents that a peeled tail decides
  std::vector<std::uint64_t> masks_;
  std::vector<std::int64_t> factors_;
  std::vector<bool> peeled_;
};

/// More leaves than this are refused (positions are bits of a 64-bit set).
inline constexpr std::size_t kMaxLeaves = 60;

}  // namespace tilewright
