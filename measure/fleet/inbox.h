#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "measure/fleet/broker.h"

namespace tilewright::measure::fleet {

/// Queue of incoming events and connection state of a member. Threads of the network library write,
/// the member's thread reads. Bounded: if the member reads too slowly, messages are dropped, as the
/// network may drop them, and an event reports this. Thread-safe.
class Inbox {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
  explicit Inbox(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  void Put(BrokerEvent incoming) {
    const std::lock_guard lock(mutex_);
    const bool full =
        incoming.kind == BrokerEvent::Kind::kMessage && bytes_ + BytesOf(incoming) > max_bytes_;
    if (full && !std::exchange(dropping_, true)) {
      incoming = BrokerEvent();
      incoming.kind = BrokerEvent::Kind::kRejected;
      incoming.payload = "messages arrive faster than they are read: some are dropped";
    } else if (full) {
      return;
    }
    bytes_ += BytesOf(incoming);
    incoming_.push_back(std::move(incoming));
    changed_.notify_one();
  }
  /// Ends the wait of the current or next call of Next.
  void Wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  /// See Broker.
  std::optional<BrokerEvent> Next(double seconds) {
    std::unique_lock lock(mutex_);
    if (incoming_.empty() && seconds > 0 && !woken_) {
      changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                        [this] { return !incoming_.empty() || woken_; });
    }
    woken_ = false;
    if (incoming_.empty()) return std::nullopt;
    BrokerEvent first = std::move(incoming_.front());
    incoming_.pop_front();
    bytes_ -= BytesOf(first);
    dropping_ = dropping_ && bytes_ > max_bytes_ / 2;
    return first;
  }
  /// Records that the connection was lost or restored.
  void SetConnected(bool connected) {
    const std::lock_guard lock(mutex_);
    connected_ = connected;
    connections_ += connected ? 1 : 0;
    woken_ = true;
    changed_.notify_one();
  }
  bool connected() const {
    const std::lock_guard lock(mutex_);
    return connected_;
  }
  std::int64_t connections() const {
    const std::lock_guard lock(mutex_);
    return connections_;
  }
  /// Counts a subscription or connection that has closed.
  void Completed() {
    const std::lock_guard lock(mutex_);
    ++completed_;
    changed_.notify_one();
  }
  /// Waits until `count` of them have closed, for some seconds at most.
  void WaitForCompleted(std::size_t count) {
    std::unique_lock lock(mutex_);
    constexpr std::chrono::seconds kMax(5);
    changed_.wait_for(lock, kMax, [&] { return completed_ >= count; });
  }

 private:
  static std::size_t BytesOf(const BrokerEvent& incoming) {
    return sizeof(incoming) + incoming.subject.size() + incoming.payload.size() +
           incoming.handle.size();
  }

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<BrokerEvent> incoming_;
  std::size_t bytes_ = 0;
  bool dropping_ = false;
  bool woken_ = false, connected_ = true;
  std::int64_t connections_ = 1;
  std::size_t completed_ = 0;
};

}  // namespace tilewright::measure::fleet
