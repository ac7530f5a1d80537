#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/schedule/schedule.h"

namespace tilewright {

/// Extents of the loops of one stage during execution. They follow from the extents of its axes (a
/// stage computed inside another has only the needed part of them) and from the peeled tails.
class StageLoops {
 public:
  using Relation = Schedule::Relation;

  /// axis_extents: one per axis, spatial then reduction, each at least 1.
  StageLoops(const Schedule& schedule, StageId stage,
             const std::vector<std::int64_t>& axis_extents);

  std::int64_t extent(LoopId loop) const { return extents_[Slot(loop)]; }
  /// Returns the extent of the inner loop of a split or fuse in index arithmetic: parent =
  /// outer*factor + inner.
  std::int64_t factor(std::size_t relation) const { return factors_[relation]; }
  /// Returns the leaves that a loop's value depends on or determines, as a bit set of leaf
  /// positions. Leaves of extent 1 are excluded unless a peeled tail made them so.
  std::uint64_t leaves_of(LoopId loop) const { return masks_[Slot(loop)]; }
  /// Returns true for an unpeeled split whose inner extent does not divide the extent of its
  /// parent.
  bool HasTail(std::size_t relation) const;
  bool peeled(std::size_t relation) const { return peeled_[relation]; }

  /// Sets the extents of both loops of a split. Its inner extent in index arithmetic stays. Extents
  /// derived from the inner loop follow.
  void Peel(std::size_t relation, std::int64_t outer, std::int64_t inner);
  /// Restricts a leaf to `count` iterations.
  void Restrict(std::size_t leaf, std::int64_t count);

 private:
  std::size_t Slot(LoopId loop) const { return static_cast<std::size_t>(loop.index - first_); }
  void Propagate();

  const Schedule::StageInfo* info_;
  int first_ = 0;  // smallest loop index of the stage: start of the tables
  std::vector<std::int64_t> extents_;
  std::vector<std::pair<std::size_t, std::int64_t>> restricted_;  // slots of leaves and extents
  std::vector<bool> cut_;  // extents determined by a peeled tail
  std::vector<std::uint64_t> masks_;
  std::vector<std::int64_t> factors_;
  std::vector<bool> peeled_;
};

/// Maximum number of leaves (positions are bits of a 64-bit set).
inline constexpr std::size_t kMaxLeaves = 60;

}  // namespace tilewright
