#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/fleet/wire.h"

namespace tilewright::measure::fleet {

/// The orders of one tuner that are not done: who has which, since when nobody has spoken for it,
/// and which of several answers counts. Broker and workers may lose, double and delay what they
/// like: an order has one result. Knows no clock and no broker. Not thread-safe.
class LeaseTable {
 public:
  struct Entry {
    Order order;
    std::uint64_t ticket = 0;  ///< the caller's
    bool direct = false;       ///< said to a device, in no queue
    bool moved = false;        ///< ... from a queue, where nobody spoke for it
    double queued_at = 0;      ///< when it was last put into a queue, or said

    bool leased = false;                 ///< somebody has it
    Fence fence;                         ///< of the newest delivery that was heard of
    DeviceName holder;                   ///< who had that one
    std::string instance;                ///< ... in which process
    bool started = false;                ///< ... and began with it
    std::string handle;                  ///< ... for the broker
    double last_seen_at = 0;             ///< when its holder last spoke for it
    double extended_at = 0;              ///< when the broker was last told so
    bool done = false;                   ///< its result was taken, and is not stored yet
    int unclaimed_audits = 0;            ///< audits in a row that found it taken by nobody known
    int refusals = 0;                    ///< by those who had it and would not do it: moments
    double refused_at = 0;               ///< the last of them
    std::vector<std::string> lost_with;  ///< processes of workers that were lost with it
    double lost_at = 0;                  ///< last word of who was lost with it; 0: nobody was
  };

  /// Number of a new order, which is put into its `sequence`.
  std::uint64_t Add(Order order, std::uint64_t ticket, bool direct, double now);
  /// Null: it is none, or stored.
  Entry* Find(std::uint64_t sequence);
  const std::map<std::uint64_t, Entry>& entries() const { return entries_; }
  std::map<std::uint64_t, Entry>& entries() { return entries_; }
  /// The order goes out once more: what earlier deliveries say does not count any more.
  void Resend(Entry& entry, double now);
  /// The same, to one device; and from there back into its queue.
  void MoveToDevice(Entry& entry, double now);
  void MoveToQueue(Entry& entry);

  enum class LeaseStatus : std::uint8_t {
    kHeld,      ///< the sender has it
    kStale,     ///< somebody else got it later, or will; or the sender was never given it
    kFinished,  ///< it is done: nobody is to go on with it
  };
  /// A device says that it has an order. Where that is news of a later delivery, the one before is
  /// lost.
  LeaseStatus Refresh(const DeviceName& device, const std::string& instance, const Lease& lease,
                      double now);

  enum class ResultStatus : std::uint8_t {
    kAccepted,   ///< it counts; the order is done
    kStale,      ///< of a delivery that somebody else's followed: refused
    kDuplicate,  ///< the order is done already
  };
  ResultStatus ClassifyResult(const DeviceName& device, const std::string& instance,
                              const Lease& lease, double now);
  /// The result that was judged kAccepted is none, as the sender did not do it: others may.
  void RevokeResult(Entry& entry, double now);

  /// Orders that nobody has spoken for during `seconds`, which are the same in each call: their
  /// lease is over.
  std::vector<std::uint64_t> Expire(double now, double seconds);
  /// A device is gone, or is of another process now: so are its leases, but those of `instance`.
  /// returns their orders.
  std::vector<std::uint64_t> Lose(const DeviceName& device, const std::string& instance,
                                  double now);
  /// For so long nobody was listening: it is not the holders' fault.
  void ExtendDeadlines(double seconds);
  /// Forgets an order.
  void Remove(std::uint64_t sequence);
  /// Orders that somebody has, and those that were said directly: there may be many that wait.
  const std::set<std::uint64_t>& leased() const { return leased_; }
  const std::set<std::uint64_t>& direct() const { return direct_; }

  /// The number that the next order gets.
  std::uint64_t next() const { return next_; }

  std::int64_t late() const { return late_; }              ///< results that were refused
  std::int64_t duplicates() const { return duplicates_; }  ///< ... and those that came again
  std::int64_t lost() const { return lost_; }  ///< leases that were over without a result
  /// Longest time from the last word of who was lost with an order until somebody else had it.
  double longest_recovery() const { return longest_recovery_; }

 private:
  void EndLease(Entry& entry);

  std::map<std::uint64_t, Entry> entries_;
  std::set<std::uint64_t> leased_, direct_;
  double expires_at_ = 0;  // no lease is over before
  std::uint64_t next_ = 1;
  std::int64_t late_ = 0, duplicates_ = 0, lost_ = 0;
  double longest_recovery_ = 0;
};

}  // namespace tilewright::measure::fleet
