#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "records/store.h"

namespace tilewright::search {

/// Returns the error of a second result of a proposal.
Status ToldBefore(std::int64_t number);

/// Writer of trials for many threads: threads that write at the same time share one transaction,
/// and the disk's latency. Has no thread of its own. Thread-safe.
class GroupWriter {
 public:
  GroupWriter(std::string path, std::int64_t job) : path_(std::move(path)), job_(job) {}

  /// Stores the trial of a proposal with its "tell". After success they survive kill -9 and a power
  /// failure. Blocks until then. number: of the proposal. synced: number of an entry of the log up
  /// to which none tells it.
  /// Errors: kInvalidArgument if an entry after `synced` tells it; those of Store::Open and
  /// Store::Append; kUnavailable without memory.
  Status Append(const Trial& trial, const records::LogEntry& entry, std::int64_t number,
                std::int64_t synced);
  /// Closes the connection; the next call opens it again. Requires that no thread is in a call.
  void Close() { store_.reset(); }

 private:
  struct Item {
    const Trial* trial;
    const records::LogEntry* entry;
    std::int64_t number, synced;
    bool done = false;
    Status status;
  };
  Status Write(std::vector<Item*> items);
  Status WriteOnce(const std::vector<Item*>& items);
  Status RefuseTold(const std::vector<Item*>& items);

  const std::string path_;
  const std::int64_t job_;
  std::mutex mutex_;  // guards waiting_, writing_ and the items
  std::condition_variable changed_;
  std::vector<Item*> waiting_;
  bool writing_ = false;
  std::optional<records::Store> store_;  // of the thread that writes
};

}  // namespace tilewright::search
