#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "records/lookup.h"
#include "records/package/installed.h"
#include "records/store.h"
#include "records/watch.h"
#include "src/base/status.h"

namespace tilewright::capi {

/// Identity and modification state of a file: device, inode, size, modification time in
/// nanoseconds.
using FileState = std::array<std::uint64_t, 4>;

/// Record source that can be opened as a record store. Thread-safe.
///
/// Every concurrent query has a separate connection; connections are kept. The source has a
/// generation, a number that grows with every change of the file.
class Source {
 public:
  /// Function that opens the source; called once per connection.
  using Opener = std::function<Result<records::Store>()>;
  /// Immutable snapshot of a record source. Replacing the file or package creates a new snapshot.
  struct Snapshot {
    std::string name;
    std::optional<records::PackageManifest> manifest;  ///< of a package
    Opener opener;
    std::uint64_t file = 1;  ///< grows when the file is replaced
  };
  /// View of a snapshot for the queries of one thread.
  class View final : public records::RecordSource {
   public:
    View(Source& source, std::shared_ptr<const Snapshot> snapshot)
        : source_(&source), snapshot_(std::move(snapshot)) {}
    const std::string& name() const override { return snapshot_->name; }
    bool MayServe(const records::LookupRequest& request) const override;
    /// The store's state is that at the time of the call or later.
    Result<bool> With(const std::function<Status(const records::Store&)>& ask) override;

   private:
    Source* source_;
    std::shared_ptr<const Snapshot> snapshot_;
  };

  /// For the functions below. file: file to poll for changes; empty for none.
  Source(std::string path, Snapshot snapshot, std::string file)
      : file_path_(std::move(file)),
        snapshot_(std::make_shared<const Snapshot>(std::move(snapshot))) {
    paths_.push_back(std::move(path));
  }
  /// Opens a record store that other processes may write to.
  /// Errors: those of opening it for reading.
  static Result<std::unique_ptr<Source>> OpenStore(const std::string& path);
  /// Opens an installed package.
  /// Errors: kNotFound if it was removed.
  static Result<std::unique_ptr<Source>> OpenInstalled(const records::InstalledPackage& package);
  /// Opens a package file, unpacked into memory once; each connection has a copy.
  /// Errors: as records::ReadPackageFile.
  static Result<std::unique_ptr<Source>> OpenPackage(const std::string& path,
                                                     const records::TrustPolicy& policy);
  /// Opens an AutoTVM log or a TopHub package, imported into memory once; as OpenPackage.
  /// Errors: as records::ImportIntoMemory.
  static Result<std::unique_ptr<Source>> OpenLog(const std::string& path);

  /// Returns the path as it was given; of an installed package its directory. Valid as long as the
  /// source.
  const std::string& path() const;
  View CurrentView();

  /// Called before a fork, while no query runs: connections are reopened on demand.
  void CloseConnections();
  /// Returns the generation after polling for commits. Takes no lock that a writer holds, and makes
  /// a system call only for a store that is read without locks (StoreWatch::PollsFiles).
  /// Errors: those of StoreWatch::Poll, of reopening such a store after a change, and the result of
  /// the last PollFile.
  Result<std::uint64_t> Generation();
  /// Checks with one system call that the path still names the same, unchanged file. A newer
  /// version of an installed package replaces this one; a removed package continues to be served.
  /// Errors: of a store, kNotFound if its file is missing; those of opening a replaced file. They
  /// persist until a poll succeeds.
  Status PollFile();

 private:
  struct Connection {
    records::Store store;
    std::uint64_t file;        // number of its open file
    std::uint64_t generation;  // of its cached data
  };

  Status HandleFileChange(const FileState& state);
  Status Reopen();
  Status Rewatch();
  Status ReopenWatch();
  Status PollReplacement();
  Result<Connection> Take(const Snapshot& snapshot);
  void GiveBack(Connection connection);

  // Guards all members down to the other mutex. Queries take it shared; only a change takes it
  // exclusively.
  mutable std::shared_mutex state_mutex_;
  std::deque<std::string> paths_;  // the last one is current; returned texts stay valid
  std::string file_path_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::shared_ptr<const records::PinnedPackage> pinned_;  // an installed package
  // State of the package directory at the last search for a replacement.
  FileState folder_state_ = {};
  std::optional<records::StoreWatch> watch_;  // none: only the file's state shows changes
  bool lost_watch_ = false;                   // it was closed and must be reopened
  records::StoreWatch::Stamp stamp_ = {};
  FileState file_state_ = {};
  std::uint64_t generation_ = 1;
  Status file_status_;  // of the last poll of the file

  std::mutex idle_mutex_;
  std::vector<Connection> idle_;
};

}  // namespace tilewright::capi
