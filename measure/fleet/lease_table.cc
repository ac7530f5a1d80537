#include "measure/fleet/lease_table.h"

#include <algorithm>
#include <utility>

namespace tilewright::measure::fleet {

std::uint64_t LeaseTable::Add(Order order, std::uint64_t ticket, bool direct, double now) {
  const std::uint64_t sequence = next_++;
  Entry entry;
  order.sequence = sequence;
  entry.order = std::move(order);
  entry.ticket = ticket;
  entry.direct = direct;
  entry.queued_at = now;
  entry.fence = {entry.order.generation, 0};
  entries_.emplace(sequence, std::move(entry));
  if (direct) direct_.insert(sequence);
  return sequence;
}

LeaseTable::Entry* LeaseTable::Find(std::uint64_t sequence) {
  const auto found = entries_.find(sequence);
  return found == entries_.end() ? nullptr : &found->second;
}

void LeaseTable::Resend(Entry& entry, double now) {
  if (entry.leased) EndLease(entry);
  ++entry.order.generation;
  entry.fence = {entry.order.generation, 0};
  entry.queued_at = now;
}

void LeaseTable::MoveToDevice(Entry& entry, double now) {
  Resend(entry, now);
  entry.direct = entry.moved = true;
  direct_.insert(entry.order.sequence);
}

void LeaseTable::MoveToQueue(Entry& entry) {
  entry.direct = entry.moved = false;
  entry.unclaimed_audits = 0;
  direct_.erase(entry.order.sequence);
}

void LeaseTable::Remove(std::uint64_t sequence) {
  entries_.erase(sequence);
  leased_.erase(sequence);
  direct_.erase(sequence);
}

void LeaseTable::EndLease(Entry& entry) {
  entry.leased = false;
  leased_.erase(entry.order.sequence);
  ++lost_;
  if (entry.lost_at == 0) entry.lost_at = entry.last_seen_at;
  // A process counts once, even if it received the order several times.
  const std::string who = entry.holder.ToString() + "/" + entry.instance;
  if (std::ranges::find(entry.lost_with, who) == entry.lost_with.end()) {
    entry.lost_with.push_back(who);
  }
}

LeaseTable::LeaseStatus LeaseTable::Refresh(const DeviceName& device, const std::string& instance,
                                            const Lease& lease, double now) {
  Entry* entry = Find(lease.sequence);
  if (entry == nullptr || entry->done) return LeaseStatus::kFinished;
  // A device without the token never received the order, whatever its fence.
  if (lease.fence < entry->fence || lease.token != entry->order.token) return LeaseStatus::kStale;
  const bool same = entry->leased && lease.fence == entry->fence && entry->holder == device &&
                    entry->instance == instance;
  if (entry->leased && !same) {
    // If two devices claim the same delivery, the first one holds it.
    if (lease.fence == entry->fence) return LeaseStatus::kStale;
    EndLease(*entry);
  }
  if (!same) {
    entry->leased = true;
    leased_.insert(lease.sequence);
    entry->fence = lease.fence;
    entry->holder = device;
    entry->instance = instance;
    entry->handle = lease.handle;
    entry->extended_at = now;
    if (entry->lost_at > 0) longest_recovery_ = std::max(longest_recovery_, now - entry->lost_at);
    entry->lost_at = 0;
  }
  entry->unclaimed_audits = 0;
  entry->started = lease.started;
  entry->last_seen_at = now;
  return LeaseStatus::kHeld;
}

LeaseTable::ResultStatus LeaseTable::ClassifyResult(const DeviceName& device,
                                                    const std::string& instance, const Lease& lease,
                                                    double now) {
  const LeaseStatus heard = Refresh(device, instance, lease, now);
  if (heard == LeaseStatus::kFinished) ++duplicates_;
  if (heard == LeaseStatus::kStale) ++late_;
  if (heard == LeaseStatus::kFinished) return ResultStatus::kDuplicate;
  if (heard == LeaseStatus::kStale) return ResultStatus::kStale;
  Find(lease.sequence)->done = true;
  return ResultStatus::kAccepted;
}

void LeaseTable::RevokeResult(Entry& entry, double now) {
  entry.done = entry.leased = false;
  leased_.erase(entry.order.sequence);
  Resend(entry, now);
}

std::vector<std::uint64_t> LeaseTable::Expire(double now, double seconds) {
  // Leases only get longer, so most calls do not need a scan of all leases.
  if (now < expires_at_) return {};
  std::vector<std::uint64_t> over;
  double oldest = now;
  for (const std::uint64_t sequence : leased_) {
    const Entry& entry = entries_.at(sequence);
    if (entry.done) continue;
    if (now - entry.last_seen_at > seconds) {
      over.push_back(sequence);
    } else {
      oldest = std::min(oldest, entry.last_seen_at);
    }
  }
  expires_at_ = oldest + seconds;
  for (const std::uint64_t sequence : over) EndLease(entries_.at(sequence));
  return over;
}

std::vector<std::uint64_t> LeaseTable::Lose(const DeviceName& device, const std::string& instance,
                                            double now) {
  std::vector<std::uint64_t> over;
  for (const std::uint64_t sequence : leased_) {
    const Entry& entry = entries_.at(sequence);
    const bool its = !entry.done && entry.holder == device && entry.instance != instance;
    if (its) over.push_back(sequence);
  }
  for (const std::uint64_t sequence : over) {
    Entry& entry = entries_.at(sequence);
    EndLease(entry);
    entry.last_seen_at = now;
  }
  return over;
}

void LeaseTable::ExtendDeadlines(double seconds) {
  for (auto& [sequence, entry] : entries_) {
    entry.last_seen_at += seconds;
    entry.queued_at += seconds;
    if (entry.lost_at > 0) entry.lost_at += seconds;
  }
}

}  // namespace tilewright::measure::fleet
