#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "records/store.h"

namespace tilewright::search {

/// Makes trials and log entries durable, in order and several per transaction, so that a disk's
/// flushes do not bound the trials per second. With a thread it gathers what arrives within
/// gather_seconds; without one every Collect writes what is there.
class Writer {
 public:
  static constexpr double kGatherSeconds = 0.05;
  /// So many are written at once, however soon they came.
  static constexpr std::size_t kGatherItems = 64;

  /// One step: entries, and the trial they belong to if there is one.
  struct Item {
    std::uint64_t ticket = 0;  ///< given back by Collect; 0: not given back
    std::vector<Trial> trials;
    std::vector<records::LogEntry> log;
  };

  /// The store outlives the writer, and is used by others only after a Flush and before a Push.
  Writer(records::Store& store, std::int64_t job, double gather_seconds = kGatherSeconds)
      : store_(store), job_(job), gather_seconds_(gather_seconds) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// What is not written yet is dropped: it was never acknowledged.
  ~Writer();
  Status StartThread();

  void Push(Item item);
  /// Items with a ticket that are durable since the last call, in order.
  /// Errors: the store's, for good.
  Result<std::vector<Item>> Collect();
  /// Waits until everything pushed is durable. Errors: the store's.
  Status Flush();

 private:
  void Loop();
  Status Write(std::deque<Item>& items);
  records::Store& store_;
  const std::int64_t job_;
  const double gather_seconds_;
  std::mutex mutex_;
  std::condition_variable wake_, written_;
  std::deque<Item> waiting_;
  std::vector<Item> done_;
  Status status_;
  bool quit_ = false, urgent_ = false, writing_ = false;
  std::thread thread_;
};

}  // namespace tilewright::search
