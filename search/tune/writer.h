#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "records/store.h"

namespace tilewright::search {

/// Writer that makes trials and log entries durable, in order and several per transaction, so that
/// a disk's flushes do not bound the trials per second. With a thread it gathers items for
/// gather_seconds; without one every Collect writes the present items.
class Writer {
 public:
  static constexpr double kGatherSeconds = 0.05;
  /// Number of waiting items at which the writer does not wait for gather_seconds.
  static constexpr std::size_t kGatherItems = 64;

  /// Unit of work: log entries, with their trial if there is one.
  struct Item {
    std::uint64_t ticket = 0;  ///< returned by Collect; 0: not returned
    std::vector<Trial> trials;
    std::vector<records::LogEntry> log;
  };

  /// store: has to outlive the writer. Others may use it only between a Flush and a Push.
  Writer(records::Store& store, std::int64_t job, double gather_seconds = kGatherSeconds)
      : store_(store), job_(job), gather_seconds_(gather_seconds) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// Drops unwritten items, which were never acknowledged.
  ~Writer();
  Status StartThread();

  void Push(Item item);
  /// Returns the items with a ticket that became durable since the last call, in order. Errors: the
  /// store's; permanent.
  Result<std::vector<Item>> Collect();
  /// Blocks until all pushed items are durable. Errors: the store's.
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
