#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace tilewright::records {

/// Tells whether anybody has committed to a store since the last look. A look reads 48 bytes of
/// memory that SQLite shares between the processes of a store; it takes no lock and no system call.
/// Of a store that is read without locks (IsReadWithoutLocks) a look compares the state of its
/// files instead, which takes three system calls.
class StoreWatch {
 public:
  /// Two looks between which nothing was committed see the same; any commit in between changes it.
  /// A checkpoint may change it too.
  using Stamp = std::array<std::uint64_t, 6>;

  /// Watches the file that has this name now, for as long as the watch lives; a file put in its
  /// place later is another one (unless PollsFiles).
  /// Errors: those of opening a store for reading.
  static Result<StoreWatch> Open(const std::string& path);
  StoreWatch(StoreWatch&&) noexcept;
  StoreWatch& operator=(StoreWatch&&) noexcept;
  ~StoreWatch();

  /// True if the store is read without locks. After a look that sees a change, connections opened
  /// before it still read the state before: open them and the watch anew.
  bool PollsFiles() const;

  /// Thread-safe. Errors: kUnavailable, kCorrupt (only where SQLite has to be asked: a store
  /// without a write-ahead log, such as a copy made by VACUUM INTO).
  Result<Stamp> Poll() const;

 private:
  struct Impl;
  explicit StoreWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::records
