#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace tilewright::records {

/// Detector of commits to a store by any process. A poll reads 48 bytes of memory that SQLite
/// shares between the processes of a store, without locks or system calls. For a store that is read
/// without locks (IsReadWithoutLocks) a poll compares the state of its files instead, which takes
/// three system calls.
class StoreWatch {
 public:
  /// State of a store at a poll. Any commit changes it; without a commit it stays the same, except
  /// that a checkpoint may change it.
  using Stamp = std::array<std::uint64_t, 6>;

  /// Watches the file that has this name now, for the lifetime of the object. A file that replaces
  /// it later is not watched (unless PollsFiles).
  /// Errors: those of opening a store for reading.
  static Result<StoreWatch> Open(const std::string& path);
  StoreWatch(StoreWatch&&) noexcept;
  StoreWatch& operator=(StoreWatch&&) noexcept;
  ~StoreWatch();

  /// Returns true if the store is read without locks. After a poll with a changed stamp,
  /// connections opened earlier still read the earlier state: reopen them and the watch.
  bool PollsFiles() const;

  /// Thread-safe.
  /// Errors: kUnavailable, kCorrupt (only if the poll needs SQLite: for a store without a
  /// write-ahead log, such as a copy made by VACUUM INTO).
  Result<Stamp> Poll() const;

 private:
  struct Impl;
  explicit StoreWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::records
