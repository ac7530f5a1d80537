// Stores, packages and logs as record sources. Connections are kept for later queries; a changed
// file or replaced package is reopened.

#include "src/capi/source.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "records/autotvm/import.h"
#include "records/package/catalog.h"

namespace tilewright::capi {
namespace {

// Connections kept for later queries; additional threads reopen theirs each time. Each may cache up
// to 64 MiB of pages.
constexpr std::size_t kMaxIdle = 16;

Result<FileState> StateOf(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    const int reason = errno;
    const std::string text = path + ": " + std::generic_category().message(reason);
    return reason == ENOENT || reason == ENOTDIR ? NotFound(text) : Unavailable(text);
  }
  const auto nanoseconds = static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 +
                           static_cast<std::uint64_t>(info.st_mtim.tv_nsec);
  return FileState{static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
                   static_cast<std::uint64_t>(info.st_size), nanoseconds};
}

/// Returns the snapshot of an installed package. file: Snapshot::file.
Source::Snapshot SnapshotOf(const std::shared_ptr<const records::PinnedPackage>& held,
                            std::uint64_t file) {
  const records::InstalledPackage& package = held->package();
  return {records::PackageSourceName(package.manifest, package.digest), package.manifest,
          [held] { return held->Open(); }, file};
}

bool SameFile(const FileState& a, const FileState& b) { return a[0] == b[0] && a[1] == b[1]; }

}  // namespace

Result<std::unique_ptr<Source>> Source::OpenStore(const std::string& path) {
  const auto open = [path] { return records::Store::Open(path, records::Store::Mode::kReadOnly); };
  auto source = std::make_unique<Source>(path, Snapshot{path, {}, open}, path);
  // Read before opening, so that a later poll detects a replacement of the file.
  auto state = StateOf(path);
  if (!state.ok()) return NotFound(path + ": no such record store");
  source->file_state_ = *state;
  TW_ASSIGN_OR_RETURN(source->watch_, records::StoreWatch::Open(path));
  TW_ASSIGN_OR_RETURN(source->stamp_, source->watch_->Poll());
  return source;
}

Result<std::unique_ptr<Source>> Source::OpenInstalled(const records::InstalledPackage& package) {
  const std::string file = package.DatabasePath();
  TW_ASSIGN_OR_RETURN(auto state, StateOf(file));
  TW_ASSIGN_OR_RETURN(auto held, records::PinnedPackage::Pin(package));
  auto source = std::make_unique<Source>(package.folder, SnapshotOf(held, 1), file);
  source->file_state_ = state;
  source->pinned_ = std::move(held);
  return source;
}

Result<std::unique_ptr<Source>> Source::OpenPackage(const std::string& path,
                                                    const records::TrustPolicy& policy) {
  TW_ASSIGN_OR_RETURN(auto package, records::ReadPackageFile(path, policy));
  Snapshot snapshot{records::PackageSourceName(package.manifest, package.digest),
                    std::move(package.manifest), [bytes = std::move(package.database), path] {
                      return records::Store::OpenImage(bytes, path);
                    }};
  return std::make_unique<Source>(path, std::move(snapshot), "");
}

Result<std::unique_ptr<Source>> Source::OpenLog(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto imported, records::ImportIntoMemory(path));
  const auto open = [bytes = std::move(imported), path] {
    return records::Store::OpenImage(bytes, path);
  };
  return std::make_unique<Source>(path, Snapshot{path, {}, open}, "");
}

const std::string& Source::path() const {
  const std::shared_lock lock(state_mutex_);
  return paths_.back();
}

Source::View Source::CurrentView() {
  const std::shared_lock lock(state_mutex_);
  return {*this, snapshot_};
}

bool Source::View::MayServe(const records::LookupRequest& request) const {
  return !snapshot_->manifest.has_value() ||
         records::PackageMayServe(*snapshot_->manifest, request);
}

Result<bool> Source::View::With(const std::function<Status(const records::Store&)>& ask) {
  TW_ASSIGN_OR_RETURN(auto connection, source_->Take(*snapshot_));
  TW_RETURN_IF_ERROR(ask(connection.store));  // an error closes the connection
  source_->GiveBack(std::move(connection));
  return true;
}

void Source::CloseConnections() {
  const std::unique_lock lock(state_mutex_);
  const std::lock_guard idle(idle_mutex_);
  idle_.clear();
  lost_watch_ = lost_watch_ || watch_.has_value();
  watch_.reset();
}

/// Watches the file that has the path now. Requires state_mutex_.
Status Source::Rewatch() {
  TW_ASSIGN_OR_RETURN(auto watch, records::StoreWatch::Open(file_path_));
  TW_ASSIGN_OR_RETURN(auto stamp, watch.Poll());
  watch_ = std::move(watch);
  stamp_ = stamp;
  lost_watch_ = false;
  return {};
}

/// Watches the store again; counts as a change. Requires state_mutex_.
Status Source::ReopenWatch() {
  if (!lost_watch_) return {};
  TW_RETURN_IF_ERROR(Rewatch());
  ++generation_;
  return {};
}

Result<std::uint64_t> Source::Generation() {
  {
    const std::shared_lock lock(state_mutex_);
    TW_RETURN_IF_ERROR(file_status_);
    if (!lost_watch_) {
      if (!watch_.has_value()) return generation_;
      TW_ASSIGN_OR_RETURN(auto stamp, watch_->Poll());
      if (stamp == stamp_) return generation_;
    }
  }
  const std::unique_lock lock(state_mutex_);
  TW_RETURN_IF_ERROR(ReopenWatch());
  auto stamp = watch_->Poll();  // again: another thread may have updated it
  TW_RETURN_IF_ERROR(stamp);
  if (*stamp != stamp_) {
    if (watch_->PollsFiles()) {
      TW_RETURN_IF_ERROR(Reopen());
    } else {
      stamp_ = *stamp;
    }
    ++generation_;
  }
  return generation_;
}

Status Source::PollFile() {
  Result<FileState> state = Internal("not polled");
  {
    const std::shared_lock lock(state_mutex_);
    if (file_path_.empty()) return {};
    state = StateOf(file_path_);
    if (state.ok() && *state == file_state_ && file_status_.ok()) return {};
  }
  const std::unique_lock lock(state_mutex_);
  if (pinned_ != nullptr) return PollReplacement();
  file_status_ = state.ok() ? HandleFileChange(*state) : state.status();
  return file_status_;
}

/// Switches to the package that replaced this one, if there is one and it can be read; otherwise
/// keeps the pinned one. Requires state_mutex_.
Status Source::PollReplacement() {
  const std::string& folder = pinned_->package().folder;
  auto packages = StateOf(folder.substr(0, folder.rfind('/')));
  if (!packages.ok() || *packages == folder_state_) return {};
  folder_state_ = *packages;  // polls again after a later change of the directory
  auto next = records::FindReplacement(pinned_->package());
  if (!next.ok() || !next->has_value()) return {};
  auto state = StateOf((*next)->DatabasePath());
  auto held = records::PinnedPackage::Pin(**next);
  if (!state.ok() || !held.ok()) return {};
  file_path_ = (*next)->DatabasePath();
  file_state_ = *state;
  if ((*next)->folder != paths_.back()) paths_.push_back((*next)->folder);
  snapshot_ = std::make_shared<const Snapshot>(SnapshotOf(*held, snapshot_->file + 1));
  pinned_ = *std::move(held);
  ++generation_;
  return {};
}

/// Adapts to a changed file. Requires state_mutex_.
Status Source::HandleFileChange(const FileState& state) {
  const bool reads_as_it_was = watch_.has_value() && watch_->PollsFiles();
  if (!SameFile(state, file_state_) || reads_as_it_was) TW_RETURN_IF_ERROR(Reopen());
  file_state_ = state;
  ++generation_;
  return {};
}

/// Watches the file that has the path now; older connections are closed at their next use. Requires
/// state_mutex_.
Status Source::Reopen() {
  if (watch_.has_value() || lost_watch_) TW_RETURN_IF_ERROR(Rewatch());
  Snapshot next = *snapshot_;
  ++next.file;
  snapshot_ = std::make_shared<const Snapshot>(std::move(next));
  return {};
}

Result<Source::Connection> Source::Take(const Snapshot& snapshot) {
  std::uint64_t generation;
  {
    const std::shared_lock lock(state_mutex_);
    generation = generation_;
  }
  while (true) {
    std::optional<Connection> kept;
    {
      const std::lock_guard lock(idle_mutex_);
      if (idle_.empty()) break;
      kept = std::move(idle_.back());
      idle_.pop_back();
    }
    if (kept->file != snapshot.file) continue;  // the connection has a replaced file: close it
    if (kept->generation != generation) kept->store.ClearTextCache();
    kept->generation = generation;
    return *std::move(kept);
  }
  TW_ASSIGN_OR_RETURN(auto store, snapshot.opener());
  return Connection{std::move(store), snapshot.file, generation};
}

void Source::GiveBack(Connection connection) {
  const std::lock_guard lock(idle_mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(connection));
}

}  // namespace tilewright::capi
