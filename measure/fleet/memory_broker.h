#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "measure/fleet/broker.h"
#include "src/base/clock.h"

namespace tilewright::measure::fleet {

/// Broker in memory with an injected clock, for tests and simulations. Behaves like the real
/// broker, or injects faults on request. Not thread-safe.
class InMemoryBroker {
 public:
  /// clock: has to outlive the broker.
  explicit InMemoryBroker(Clock& clock) : clock_(clock) {}

  /// Connects one member. The hub and the clock have to outlive the connection.
  std::unique_ptr<Broker> Connect();

  /// Number of times that a message of this subject arrives: 0 loses it, 2 duplicates it. Empty:
  /// once.
  std::function<int(const std::string& subject)> copies;
  /// Called for each connection with a new event, so that its owner can poll. May be empty.
  std::function<void(Broker&)> on_incoming;
  /// Disconnects all members; messages and requests are lost.
  bool away = false;
  /// Drops all streams and objects without a notification.
  void DropAllState();
  /// Redelivers messages with expired leases, and ends fetches. Next of members calls it, too.
  void Advance();
  /// Returns the time of Advance's next action; infinite: none.
  double NextDeadline() const;
  std::int64_t said() const { return published_; }  ///< published messages
  std::int64_t queued() const { return queued_; }   ///< enqueued messages

 private:
  class Member;
  struct Message {
    std::string payload;
    std::int64_t deliveries = 0;
    double free_at = 0;  // 0: not leased
  };
  struct PendingFetch {
    Member* member;
    int left;
    double until;
  };
  struct QueueState {
    std::map<std::uint64_t, Message> messages;  // by number, waiting and delivered
    std::set<std::uint64_t> waiting, out;       // numbers
    std::deque<PendingFetch> fetches;
    Queue queue;
  };
  void Publish(const std::string& subject, const std::string& payload);
  void HandOut(QueueState& held);

  Clock& clock_;
  /// Returns the subscribers of a subject. Cached by subject.
  const std::vector<std::uint64_t>& RouteOf(const std::string& subject);

  std::map<std::uint64_t, Member*> members_;                            // by their numbers
  std::unordered_map<std::string, std::vector<std::uint64_t>> routes_;  // ascending numbers
  std::map<Queue, QueueState> queues_;
  std::map<std::string, std::string> objects_;
  std::uint64_t next_ = 1;
  std::int64_t published_ = 0, queued_ = 0;
  std::int64_t losses_ = 0;
  double advance_at_ = 0;  // no action is due earlier
};

/// Returns whether a subject matches a pattern.
bool Matches(std::string_view pattern, std::string_view subject);

}  // namespace tilewright::measure::fleet
