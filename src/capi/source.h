#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "records/installed.h"
#include "records/precedence.h"
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
class Source final : public records::AnswerSource {
 public:
  /// How the source is opened, once per connection.
  using Opener = std::function<Result<records::Store>()>;
  /// For the functions below. file: what is looked at for changes; empty for nothing.
  Source(std::string path, std::string name, Opener opener, std::string file)
      : path_(std::move(path)),
        name_(std::move(name)),
        opener_(std::move(opener)),
        file_path_(std::move(file)) {}
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

  /// As it was given.
  const std::string& path() const { return path_; }
  const std::string& name() const override { return name_; }
  bool MayServe(const records::Question& question) const override;
  /// The store's state is that at the time of the call or later.
  Result<bool> With(const std::function<Status(const records::Store&)>& ask) override;

  /// Notices commits; no lock that a writer holds, no system call.
  /// Errors: those of StoreWatch::Look, and what the last look at the file came to.
  Result<std::uint64_t> Generation();
  /// Looks whether the path still names the same file, unchanged. One system call.
  /// Errors: kNotFound if it names none; those of opening it if it is another one. They stay until
  /// a look finds the file well.
  Status LookAtFile();

 private:
  struct Connection {
    records::Store store;
    std::uint64_t file;        // number of the file it has open
    std::uint64_t generation;  // of what it keeps in memory
  };

  Status LookAgain(const FileState& state);
  Result<Connection> Take();
  void GiveBack(Connection connection);

  const std::string path_, name_;
  const Opener opener_;
  const std::string file_path_;
  std::optional<records::PackageManifest> manifest_;  // of a package; set before it is shared

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
