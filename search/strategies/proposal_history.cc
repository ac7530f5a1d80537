#include "search/strategies/proposal_history.h"

#include <algorithm>

namespace tilewright::search {
namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

ProposalHistory::ProposalHistory() : table_(kFirstSlots, 0) {}

std::size_t ProposalHistory::Slot(Point point) const {
  std::size_t slot = HashOf(point) & (table_.size() - 1);
  while (table_[slot] != 0 && entries_[table_[slot] - 1].point != point) {
    slot = (slot + 1) & (table_.size() - 1);
  }
  return slot;
}

bool ProposalHistory::Add(Point point) {
  const std::size_t slot = Slot(point);
  if (table_[slot] != 0) return false;
  entries_.push_back({point});
  table_[slot] = static_cast<std::uint32_t>(entries_.size());
  if (entries_.size() * 2 > table_.size()) {
    table_.assign(table_.size() * 2, 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      table_[Slot(entries_[i].point)] = static_cast<std::uint32_t>(i + 1);
    }
  }
  return true;
}

void ProposalHistory::Tell(const Observation& observed) {
  Add(observed.point);
  const std::uint32_t position = table_[Slot(observed.point)] - 1;
  Entry& entry = entries_[position];
  if (!entry.observed) observed_order_.push_back(position);
  entry.observed = true;
  entry.outcome = observed.outcome;
  entry.value = observed.outcome == Outcome::kOk ? observed.value : 0;
  if (entry.ok() && (best_seconds_ == 0 || entry.value < best_seconds_)) {
    best_seconds_ = entry.value;
  }
}

std::vector<std::uint32_t> ProposalHistory::Fastest(std::size_t count) const {
  std::vector<std::uint32_t> positions;
  for (std::uint32_t position : observed_order_) {
    if (entries_[position].ok()) positions.push_back(position);
  }
  const auto faster = [this](std::uint32_t a, std::uint32_t b) {
    if (entries_[a].value != entries_[b].value) return entries_[a].value < entries_[b].value;
    return entries_[a].point < entries_[b].point;
  };
  count = std::min(count, positions.size());
  std::partial_sort(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(count),
                    positions.end(), faster);
  positions.resize(count);
  return positions;
}

}  // namespace tilewright::search
