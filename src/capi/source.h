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

/// Which file a path names, and whether it was written: device, inode, size, time of the last
/// change in nanoseconds.
using FileState = std::array<std::uint64_t, 4>;

/// One place answers come from: something that opens as a record store. Thread-safe.
///
/// Every thread that asks at the same time has a connection of its own; connections are kept. The
/// source has a generation, a number that grows with every change of the file.
class Source {
 public:
  /// How the source is opened, once per connection.
  using Opener = std::function<Result<records::Store>()>;
  /// What is asked: it stays what it is while somebody asks it. Another file, or the next version
  /// of a package, is another one.
  struct Snapshot {
    std::string name;
    std::optional<records::PackageManifest> manifest;  ///< of a package
    Opener opener;
    std::uint64_t file = 1;  ///< grows when another file has taken the place
  };
  /// The content at one time, to be asked by one thread.
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

  /// For the functions below. file: what is looked at for changes; empty for nothing.
  Source(std::string path, Snapshot snapshot, std::string file)
      : file_path_(std::move(file)),
        snapshot_(std::make_shared<const Snapshot>(std::move(snapshot))) {
    paths_.push_back(std::move(path));
  }
  /// A record store that others may write to.
  /// Errors: those of opening it for reading.
  static Result<std::unique_ptr<Source>> OpenStore(const std::string& path);
  /// An installed package.
  /// Errors: kNotFound if it is not there any more.
  static Result<std::unique_ptr<Source>> OpenInstalled(const records::InstalledPackage& package);
  /// A package's file, unpacked into memory once and for all: each connection has a copy.
  /// Errors: as records::ReadPackageFile.
  static Result<std::unique_ptr<Source>> OpenPackage(const std::string& path,
                                                     const records::TrustPolicy& policy);
  /// An AutoTVM log or a TopHub package, imported into memory once and for all: as OpenPackage.
  /// Errors: as records::ImportIntoMemory.
  static Result<std::unique_ptr<Source>> OpenLog(const std::string& path);

  /// As it was given; of an installed package its folder. Valid as long as the source.
  const std::string& path() const;
  View CurrentView();

  /// Before a fork, while nobody asks: the connections are opened anew when they are needed.
  void CloseConnections();
  /// Notices commits; no lock that a writer holds, and a system call only for a store that is read
  /// without locks (StoreWatch::PollsFiles).
  /// Errors: those of StoreWatch::Look, of opening such a store again after a change, and what the
  /// last look at the file came to.
  Result<std::uint64_t> Generation();
  /// Looks whether the path still names the same file, unchanged. One system call. The next version
  /// of an installed package takes the place of this one; one that was removed goes on answering.
  /// Errors: of a store, kNotFound if its path names none; those of opening it if it is another
  /// one. They stay until a look finds the file well.
  Status PollFile();

 private:
  struct Connection {
    records::Store store;
    std::uint64_t file;        // number of the file it has open
    std::uint64_t generation;  // of what it keeps in memory
  };

  Status HandleFileChange(const FileState& state);
  Status Reopen();
  Status Rewatch();
  Status ReopenWatch();
  Status PollReplacement();
  Result<Connection> Take(const Snapshot& snapshot);
  void GiveBack(Connection connection);

  // Guards all below down to the other mutex. Asking takes it shared; only a change takes it alone.
  mutable std::shared_mutex state_mutex_;
  std::deque<std::string> paths_;  // the last one counts; texts that were handed out stay
  std::string file_path_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::shared_ptr<const records::PinnedPackage> pinned_;  // an installed package
  FileState folder_state_ = {};  // of the folder of packages when a successor was looked for
  std::optional<records::StoreWatch> watch_;  // none: only the file's state tells of changes
  bool lost_watch_ = false;                   // it was closed, to be opened again
  records::StoreWatch::Stamp stamp_ = {};
  FileState file_state_ = {};
  std::uint64_t generation_ = 1;
  Status file_status_;  // of the last look at the file

  std::mutex idle_mutex_;
  std::vector<Connection> idle_;
};

}  // namespace tilewright::capi
