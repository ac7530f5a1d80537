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

/// A broker in memory, with whatever clock: for tests and for simulations, where it behaves as the
/// real one does, or as badly as it is told to. Not thread-safe.
class InMemoryBroker {
 public:
  /// clock: outlives it.
  explicit InMemoryBroker(Clock& clock) : clock_(clock) {}

  /// One member's connection. It outlives neither hub nor clock.
  std::unique_ptr<Broker> Connect();

  /// How often a message of this subject arrives: 0 loses it, 2 doubles it. Empty: once.
  std::function<int(const std::string& subject)> copies;
  /// Called with each connection that something has come for, so that its owner may look. May be
  /// empty.
  std::function<void(Broker&)> on_incoming;
  /// Nobody is connected, and nothing that is said or asked comes anywhere.
  bool away = false;
  /// Everything that it holds is gone, and nobody was told.
  void DropAllState();
  /// Hands out what nobody spoke for in time, and ends fetches. Called by members' Next, too.
  void Advance();
  /// When Advance has something to do next; infinite: nothing.
  double NextDeadline() const;
  std::int64_t said() const { return published_; }  ///< messages
  std::int64_t queued() const { return queued_; }   ///< messages put into queues

 private:
  class Member;
  struct Message {
    std::string payload;
    std::int64_t deliveries = 0;
    double free_at = 0;  // 0: nobody has it
  };
  struct PendingFetch {
    Member* member;
    int left;
    double until;
  };
  struct QueueState {
    std::map<std::uint64_t, Message> messages;  // by number, waiting and handed out
    std::set<std::uint64_t> waiting, out;       // numbers
    std::deque<PendingFetch> fetches;
    Queue queue;
  };
  void Publish(const std::string& subject, const std::string& payload);
  void HandOut(QueueState& held);

  Clock& clock_;
  /// Who hears a subject: worked out once for each.
  const std::vector<std::uint64_t>& RouteOf(const std::string& subject);

  std::map<std::uint64_t, Member*> members_;                            // by their numbers
  std::unordered_map<std::string, std::vector<std::uint64_t>> routes_;  // ascending numbers
  std::map<Queue, QueueState> queues_;
  std::map<std::string, std::string> objects_;
  std::uint64_t next_ = 1;
  std::int64_t published_ = 0, queued_ = 0;
  std::int64_t losses_ = 0;
  double advance_at_ = 0;  // nothing is due before
};

/// Whether a subject is one of a pattern's.
bool Matches(std::string_view pattern, std::string_view subject);

}  // namespace tilewright::measure::fleet
