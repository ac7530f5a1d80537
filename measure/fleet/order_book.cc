#include "measure/fleet/order_book.h"

#include <algorithm>
#include <utility>

namespace tilewright::measure::fleet {

std::uint64_t OrderBook::Add(Order order, std::uint64_t ticket, bool direct, double now) {
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

OrderBook::Entry* OrderBook::Find(std::uint64_t sequence) {
  const auto found = entries_.find(sequence);
  return found == entries_.end() ? nullptr : &found->second;
}

void OrderBook::SendAgain(Entry& entry, double now) {
  if (entry.leased) EndLease(entry);
  ++entry.order.generation;
  entry.fence = {entry.order.generation, 0};
  entry.queued_at = now;
}

void OrderBook::MoveToDevice(Entry& entry, double now) {
  SendAgain(entry, now);
  entry.direct = entry.moved = true;
  direct_.insert(entry.order.sequence);
}

void OrderBook::MoveToQueue(Entry& entry) {
  entry.direct = entry.moved = false;
  entry.unheard = 0;
  direct_.erase(entry.order.sequence);
}

void OrderBook::Remove(std::uint64_t sequence) {
  entries_.erase(sequence);
  leased_.erase(sequence);
  direct_.erase(sequence);
}

void OrderBook::EndLease(Entry& entry) {
  entry.leased = false;
  leased_.erase(entry.order.sequence);
  ++lost_;
  if (entry.lost_at == 0) entry.lost_at = entry.heard_at;
  // One process counts once, however often it was given the order.
  const std::string who = entry.holder.ToString() + "/" + entry.instance;
  if (std::ranges::find(entry.lost_with, who) == entry.lost_with.end()) {
    entry.lost_with.push_back(who);
  }
}

OrderBook::Heard OrderBook::Hear(const DeviceName& device, const std::string& instance,
                                 const Lease& lease, double now) {
  Entry* entry = Find(lease.sequence);
  if (entry == nullptr || entry->done) return Heard::kNothing;
  // Whoever does not know the token was not given it, whatever fence is claimed.
  if (lease.fence < entry->fence || lease.token != entry->order.token) return Heard::kLate;
  const bool same = entry->leased && lease.fence == entry->fence && entry->holder == device &&
                    entry->instance == instance;
  if (entry->leased && !same) {
    // Of one delivery that two claim to have, the first one has it.
    if (lease.fence == entry->fence) return Heard::kLate;
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
    if (entry->lost_at > 0) longest_loss_ = std::max(longest_loss_, now - entry->lost_at);
    entry->lost_at = 0;
  }
  entry->unheard = 0;
  entry->started = lease.started;
  entry->heard_at = now;
  return Heard::kHolds;
}

OrderBook::Judged OrderBook::Judge(const DeviceName& device, const std::string& instance,
                                   const Lease& lease, double now) {
  const Heard heard = Hear(device, instance, lease, now);
  if (heard == Heard::kNothing) ++doubled_;
  if (heard == Heard::kLate) ++late_;
  if (heard == Heard::kNothing) return Judged::kDouble;
  if (heard == Heard::kLate) return Judged::kLate;
  Find(lease.sequence)->done = true;
  return Judged::kFirst;
}

void OrderBook::TakeBack(Entry& entry, double now) {
  entry.done = entry.leased = false;
  leased_.erase(entry.order.sequence);
  SendAgain(entry, now);
}

std::vector<std::uint64_t> OrderBook::Expire(double now, double seconds) {
  // Leases only get longer, so that most calls need not go through all of them.
  if (now < expires_at_) return {};
  std::vector<std::uint64_t> over;
  double oldest = now;
  for (const std::uint64_t sequence : leased_) {
    const Entry& entry = entries_.at(sequence);
    if (entry.done) continue;
    if (now - entry.heard_at > seconds) {
      over.push_back(sequence);
    } else {
      oldest = std::min(oldest, entry.heard_at);
    }
  }
  expires_at_ = oldest + seconds;
  for (const std::uint64_t sequence : over) EndLease(entries_.at(sequence));
  return over;
}

std::vector<std::uint64_t> OrderBook::Lose(const DeviceName& device, const std::string& instance,
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
    entry.heard_at = now;
  }
  return over;
}

void OrderBook::Forgive(double seconds) {
  for (auto& [sequence, entry] : entries_) {
    entry.heard_at += seconds;
    entry.queued_at += seconds;
    if (entry.lost_at > 0) entry.lost_at += seconds;
  }
}

}  // namespace tilewright::measure::fleet
