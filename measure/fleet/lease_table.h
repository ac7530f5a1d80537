#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/fleet/wire.h"

namespace tilewright::measure::fleet {

/// Unfinished orders of one tuner: the lease holder of each order, the time of its last heartbeat,
/// and which of several results counts. Each order has one result, even if the broker and workers
/// lose, duplicate and delay messages. Callers pass the time; the table uses no clock and no
/// broker. Not thread-safe.
class LeaseTable {
 public:
  struct Entry {
    Order order;
    std::uint64_t ticket = 0;  ///< the caller's ticket
    bool direct = false;       ///< sent to one device, in no queue
    bool moved = false;        ///< moved out of a queue, because no device leased it
    double queued_at = 0;      ///< when it was last enqueued or sent

    bool leased = false;                 ///< a device holds the lease
    Fence fence;                         ///< of the newest known delivery
    DeviceName holder;                   ///< device of that delivery
    std::string instance;                ///< process of the holder
    bool started = false;                ///< the holder has started the order
    std::string handle;                  ///< the broker's handle of the delivery
    double last_seen_at = 0;             ///< last heartbeat of the holder
    double extended_at = 0;              ///< last kInProgress to the broker
    bool done = false;                   ///< the result was accepted, and is not stored yet
    int unclaimed_audits = 0;            ///< consecutive audits that found it delivered to an
                                         ///< unknown device
    int refusals = 0;                    ///< refusals by holders, at distinct times
    double refused_at = 0;               ///< time of the last refusal
    std::vector<std::string> lost_with;  ///< processes of workers that were lost while they held it
    double lost_at = 0;                  ///< last message of the lost holder; 0: none was lost
  };

  /// Adds an order, sets its `sequence`, and returns that number.
  std::uint64_t Add(Order order, std::uint64_t ticket, bool direct, double now);
  /// Returns null if the order does not exist, or is stored.
  Entry* Find(std::uint64_t sequence);
  const std::map<std::uint64_t, Entry>& entries() const { return entries_; }
  std::map<std::uint64_t, Entry>& entries() { return entries_; }
  /// Resends the order. Messages of earlier deliveries no longer count.
  void Resend(Entry& entry, double now);
  /// MoveToDevice resends the order to one device; MoveToQueue moves it back into its queue.
  void MoveToDevice(Entry& entry, double now);
  void MoveToQueue(Entry& entry);

  enum class LeaseStatus : std::uint8_t {
    kHeld,      ///< the sender holds the lease
    kStale,     ///< another device holds a later lease or will, or the sender never held one
    kFinished,  ///< the order is finished: the holder can stop
  };
  /// Renews the lease from a heartbeat of its holder. If the heartbeat reveals a later delivery,
  /// the earlier lease is lost.
  LeaseStatus Refresh(const DeviceName& device, const std::string& instance, const Lease& lease,
                      double now);

  enum class ResultStatus : std::uint8_t {
    kAccepted,   ///< it counts; the order is finished
    kStale,      ///< superseded by a later delivery: rejected
    kDuplicate,  ///< the order is finished already
  };
  ResultStatus ClassifyResult(const DeviceName& device, const std::string& instance,
                              const Lease& lease, double now);
  /// Revokes a result that was judged kAccepted, because the sender did not execute the order.
  /// Other devices may take it.
  void RevokeResult(Entry& entry, double now);

  /// Returns the orders without a heartbeat for `seconds` and ends their leases. `seconds` has to
  /// be the same in each call.
  std::vector<std::uint64_t> Expire(double now, double seconds);
  /// Ends the leases of a lost or restarted device, except those of the process `instance`. Returns
  /// their orders.
  std::vector<std::uint64_t> Lose(const DeviceName& device, const std::string& instance,
                                  double now);
  /// Extends the leases by `seconds`, after a time in which the tuner received nothing.
  void ExtendDeadlines(double seconds);
  /// Removes an order.
  void Remove(std::uint64_t sequence);
  /// Returns leased orders and those sent directly; a small subset while many orders wait.
  const std::set<std::uint64_t>& leased() const { return leased_; }
  const std::set<std::uint64_t>& direct() const { return direct_; }

  /// Returns the number that the next order gets.
  std::uint64_t next() const { return next_; }

  std::int64_t late() const { return late_; }              ///< rejected stale results
  std::int64_t duplicates() const { return duplicates_; }  ///< rejected duplicates
  std::int64_t lost() const { return lost_; }              ///< leases that ended without a result
  /// Returns the longest time from the last message of a lost holder until another device leased
  /// the order.
  double longest_recovery() const { return longest_recovery_; }

 private:
  void EndLease(Entry& entry);

  std::map<std::uint64_t, Entry> entries_;
  std::set<std::uint64_t> leased_, direct_;
  double expires_at_ = 0;  // no lease expires earlier
  std::uint64_t next_ = 1;
  std::int64_t late_ = 0, duplicates_ = 0, lost_ = 0;
  double longest_recovery_ = 0;
};

}  // namespace tilewright::measure::fleet
