#include "src/schedule/loops.h"

#include <algorithm>

#include "src/base/math.h"

namespace tilewright {

StageLoops::StageLoops(const Schedule& schedule, StageId stage,
                       const std::vector<std::int64_t>& axis_extents)
    : info_(&schedule.stage(stage)) {
  const auto& relations = info_->relations;
  int last = 0;
  first_ = static_cast<int>(schedule.loop_count());
  for (LoopId root : info_->root) {
    first_ = std::min(first_, root.index);
    last = std::max(last, root.index);
  }
  for (const Relation& r : relations) last = std::max({last, r.parent.index, r.inner.index});
  const auto slots = static_cast<std::size_t>(std::max(0, last - first_ + 1));
  extents_.assign(slots, 1);
  cut_.assign(slots, false);
  masks_.assign(slots, 0);
  factors_.assign(relations.size(), 1);
  peeled_.assign(relations.size(), false);
  for (std::size_t i = 0; i < axis_extents.size(); ++i) {
    extents_[Slot(info_->root[i])] = axis_extents[i];
  }
  Propagate();
}

void StageLoops::Propagate() {
  const auto& relations = info_->relations;
  for (std::size_t i = 0; i < relations.size(); ++i) {
    const Relation& r = relations[i];
    const bool split = r.kind == Relation::Kind::kSplit;
    if (split) {
      const bool cut = cut_[Slot(r.parent)] || peeled_[i];
      cut_[Slot(r.outer)] = cut;
      cut_[Slot(r.inner)] = cut;
    } else {
      cut_[Slot(r.parent)] = cut_[Slot(r.outer)] || cut_[Slot(r.inner)];
    }
    if (peeled_[i]) continue;
    if (split) {
      const std::int64_t parent = extent(r.parent);
      factors_[i] = r.InnerExtent(parent);
      extents_[Slot(r.inner)] = factors_[i];
      extents_[Slot(r.outer)] = CeilDiv(parent, factors_[i]);
    } else {
      factors_[i] = extent(r.inner);
      extents_[Slot(r.parent)] = extent(r.outer) * extent(r.inner);
    }
  }
  for (const auto& [slot, count] : restricted_) {
    extents_[slot] = count;
    cut_[slot] = true;
  }
  std::fill(masks_.begin(), masks_.end(), 0);
  for (std::size_t p = 0; p < info_->leaves.size(); ++p) {
    const std::size_t slot = Slot(info_->leaves[p]);
    if (extents_[slot] > 1 || cut_[slot]) masks_[slot] = std::uint64_t{1} << p;
  }
  for (std::size_t i = relations.size(); i-- > 0;) {
    const Relation& r = relations[i];
    if (r.kind == Relation::Kind::kSplit) {
      masks_[Slot(r.parent)] = leaves_of(r.outer) | leaves_of(r.inner);
    } else {
      masks_[Slot(r.outer)] |= leaves_of(r.parent);
      masks_[Slot(r.inner)] |= leaves_of(r.parent);
    }
  }
}

void StageLoops::Restrict(std::size_t leaf, std::int64_t count) {
  restricted_.emplace_back(Slot(info_->leaves[leaf]), count);
  Propagate();
}

bool StageLoops::HasTail(std::size_t relation) const {
  const Relation& r = info_->relations[relation];
  return r.kind == Relation::Kind::kSplit && !peeled_[relation] &&
         extent(r.parent) % factors_[relation] != 0;
}

void StageLoops::Peel(std::size_t relation, std::int64_t outer, std::int64_t inner) {
  const Relation& r = info_->relations[relation];
  peeled_[relation] = true;
  extents_[Slot(r.outer)] = outer;
  extents_[Slot(r.inner)] = inner;
  Propagate();
}

}  // namespace tilewright
