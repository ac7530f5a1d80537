#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "records/store.h"
#include "records/watch.h"
#include "src/base/status.h"

namespace tilewright::capi {

/// Which file a path names, and whether it was written: device, inode, size, time of the last
/// change in nanoseconds.
using FileState = std::array<std::uint64_t, 4>;

/// One place answers come from: a file that opens as a record store. Thread-safe.
///
/// Every thread that asks at the same time has a connection of its own; connections are kept. The
/// source has a generation, a number that grows with every change of the file.
class Source {
 public:
  /// How the file is opened, once per connection.
  using Opener = Result<records::Store> (*)(const std::string& path);
  /// For the functions below, which open the file.
  Source(std::string path, Opener opener) : path_(std::move(path)), opener_(opener) {}
  /// A record store that others may write to.
  /// Errors: those of opening it for reading.
  static Result<std::unique_ptr<Source>> OpenStore(const std::string& path);

  const std::string& path() const { return path_; }
  /// Notices commits; no lock that a writer holds, no system call.
  /// Errors: those of StoreWatch::Look, and what the last look at the file came to.
  Result<std::uint64_t> Generation();
  /// Looks whether the path still names the same file, unchanged. One system call.
  /// Errors: kNotFound if it names none; those of opening it if it is another one. They stay until
  /// a look finds the file well.
  Status LookAtFile();
  /// As Store::Query, of the state at the time of the call or later.
  Result<records::Answer> Query(const Workload& workload, const Target& target,
                                const DeviceFingerprint& device);

 private:
  struct Connection {
    records::Store store;
    std::uint64_t file;        // number of the file it has open
    std::uint64_t generation;  // of what it keeps in memory
  };

  Status LookAgain(const FileState& state);
  Result<Connection> Take();
  void GiveBack(Connection connection);

  const std::string path_;
  const Opener opener_;

  // Guards the six below. Asking takes it shared; only a change takes it alone.
  std::shared_mutex state_mutex_;
  std::optional<records::StoreWatch> watch_;  // none: only the file's state tells of changes
  records::StoreWatch::Stamp stamp_ = {};
  FileState file_state_ = {};
  std::uint64_t generation_ = 1;
  Status trouble_;          // of the last look at the file
  std::uint64_t file_ = 1;  // grows when another file has taken the place

  std::mutex idle_mutex_;
  std::vector<Connection> idle_;
};

}  // namespace tilewright::capi
