// Counts running calls without a shared lock: each thread counts in one of many slots. A fork
// closes the gate and waits until all slots are empty. A thread that arrives meanwhile decrements
// its slot again and waits for the mutex that the fork holds.

#include "src/capi/fork_gate.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

namespace tilewright::capi {
namespace {

constexpr std::size_t kPlaces = 64;
constexpr std::size_t kCacheLine = 64;
constexpr unsigned kPollMicroseconds = 20;

struct alignas(kCacheLine) Place {
  std::atomic<int> inside{0};
};

struct Gate {
  std::array<Place, kPlaces> places;
  std::atomic<std::size_t> next_place{0};
  std::atomic<bool> closed{false};
  std::mutex mutex;       // held by a fork
  std::mutex list_mutex;  // held only in calls, so it is free when a fork checks
  std::vector<ConnectionOwner*> with_connections;
};

/// Never destroyed: threads may be in calls while the process exits.
Gate& TheGate() {
  static Gate& gate = *new Gate;  // NOLINT: see above
  return gate;
}

Place& PlaceOfThread() {
  thread_local Place& place = TheGate().places[TheGate().next_place.fetch_add(1) % kPlaces];
  return place;
}

thread_local int depth = 0;  // nesting depth of this thread's calls

void BeforeFork() {
  Gate& gate = TheGate();
  gate.mutex.lock();
  gate.closed.store(true);
  for (std::size_t i = 0; i < kPlaces; ++i) {
    // A fork within a call does not wait for that call.
    const bool own = depth > 0 && &gate.places[i] == &PlaceOfThread();
    while (gate.places[i].inside.load() > (own ? 1 : 0)) ::usleep(kPollMicroseconds);
  }
  if (depth > 0) return;  // the call is using a connection
  const std::lock_guard lock(gate.list_mutex);
  for (ConnectionOwner* one : gate.with_connections) one->CloseConnections();
}

void AfterForkInParent() {
  Gate& gate = TheGate();
  gate.closed.store(false);
  gate.mutex.unlock();
}

void AfterForkInChild() {
  Gate& gate = TheGate();
  // The child has one thread. Another thread of the parent may have incremented its slot after the
  // gate was closed and not yet decremented it; no thread of the child would do that.
  for (Place& place : gate.places) place.inside.store(0);
  if (depth > 0) PlaceOfThread().inside.store(1);
  gate.closed.store(false);
  gate.mutex.unlock();
}

}  // namespace

CallScope::CallScope() {
  if (depth++ > 0) return;
  Gate& gate = TheGate();
  Place& place = PlaceOfThread();
  while (true) {
    place.inside.fetch_add(1);
    if (!gate.closed.load()) return;
    place.inside.fetch_sub(1);
    const std::lock_guard wait(gate.mutex);
  }
}

CallScope::~CallScope() {
  if (--depth == 0) PlaceOfThread().inside.fetch_sub(1);
}

ConnectionOwner::ConnectionOwner() {
  static const int registered =
      ::pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
  (void)registered;  // fails only without memory: then forks are not coordinated
  const std::lock_guard lock(TheGate().list_mutex);
  TheGate().with_connections.push_back(this);
}

ConnectionOwner::~ConnectionOwner() {
  const std::lock_guard lock(TheGate().list_mutex);
  std::erase(TheGate().with_connections, this);
}

}  // namespace tilewright::capi
