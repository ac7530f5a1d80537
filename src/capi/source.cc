#include "src/capi/source.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "records/autotvm/import.h"
#include "records/catalog.h"

namespace tilewright::capi {
namespace {

// Connections kept for the next queries; more threads than this open theirs anew. Each may hold up
// to 64 MiB of pages, if that many are asked for.
constexpr std::size_t kMostIdle = 16;

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

bool SameFile(const FileState& a, const FileState& b) { return a[0] == b[0] && a[1] == b[1]; }

}  // namespace

Result<std::unique_ptr<Source>> Source::OpenStore(const std::string& path) {
  const auto open = [path] { return records::Store::Open(path, records::Store::Mode::kReadOnly); };
  auto source = std::make_unique<Source>(path, path, open, path);
  // Before opening: a file put in place after this look is noticed as another one later.
  auto state = StateOf(path);
  if (!state.ok()) return NotFound(path + ": no such record store");
  source->file_state_ = *state;
  auto watch = records::StoreWatch::Open(path);
  TW_RETURN_IF_ERROR(watch);
  source->watch_ = *std::move(watch);
  auto stamp = source->watch_->Look();
  TW_RETURN_IF_ERROR(stamp);
  source->stamp_ = *stamp;
  return source;
}

Result<std::unique_ptr<Source>> Source::OpenInstalled(const records::InstalledPackage& package) {
  const std::string file = package.DatabasePath();
  auto source = std::make_unique<Source>(
      package.folder, records::PackageSourceName(package.manifest, package.digest),
      [package] { return records::OpenInstalled(package); }, file);
  source->manifest_ = package.manifest;
  auto state = StateOf(file);
  TW_RETURN_IF_ERROR(state);
  source->file_state_ = *state;
  return source;
}

Result<std::unique_ptr<Source>> Source::OpenPackage(const std::string& path,
                                                    const records::TrustPolicy& policy) {
  auto package = records::ReadPackageFile(path, policy);
  TW_RETURN_IF_ERROR(package);
  const std::string name = records::PackageSourceName(package->manifest, package->digest);
  const auto open = [bytes = std::move(package->database), path] {
    return records::Store::OpenImage(bytes, path);
  };
  auto source = std::make_unique<Source>(path, name, open, "");
  source->manifest_ = std::move(package->manifest);
  return source;
}

Result<std::unique_ptr<Source>> Source::OpenLog(const std::string& path) {
  auto imported = records::ImportIntoMemory(path);
  TW_RETURN_IF_ERROR(imported);
  const auto open = [bytes = *std::move(imported), path] {
    return records::Store::OpenImage(bytes, path);
  };
  return std::make_unique<Source>(path, path, open, "");
}

bool Source::MayServe(const records::Question& question) const {
  return !manifest_.has_value() || records::PackageMayServe(*manifest_, question);
}

Result<std::uint64_t> Source::Generation() {
  {
    const std::shared_lock lock(state_mutex_);
    TW_RETURN_IF_ERROR(trouble_);
    if (!watch_.has_value()) return generation_;
    auto stamp = watch_->Look();
    TW_RETURN_IF_ERROR(stamp);
    if (*stamp == stamp_) return generation_;
  }
  const std::unique_lock lock(state_mutex_);
  auto stamp = watch_->Look();  // again: another thread may have been first
  TW_RETURN_IF_ERROR(stamp);
  if (*stamp != stamp_) {
    stamp_ = *stamp;
    ++generation_;
  }
  return generation_;
}

Status Source::LookAtFile() {
  if (file_path_.empty()) return {};
  auto state = StateOf(file_path_);
  {
    const std::shared_lock lock(state_mutex_);
    if (state.ok() && *state == file_state_ && trouble_.ok()) return {};
  }
  const std::unique_lock lock(state_mutex_);
  trouble_ = state.ok() ? LookAgain(*state) : state.status();
  return trouble_;
}

/// Adapts to a changed file; state_mutex_ is held.
Status Source::LookAgain(const FileState& state) {
  if (!SameFile(state, file_state_)) {
    if (watch_.has_value()) {
      auto watch = records::StoreWatch::Open(file_path_);
      TW_RETURN_IF_ERROR(watch);
      auto stamp = watch->Look();
      TW_RETURN_IF_ERROR(stamp);
      watch_ = *std::move(watch);
      stamp_ = *stamp;
    }
    ++file_;
  }
  file_state_ = state;
  ++generation_;
  return {};
}

Result<Source::Connection> Source::Take() {
  std::uint64_t file, generation;
  {
    const std::shared_lock lock(state_mutex_);
    file = file_;
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
    if (kept->file != file) continue;  // of a file that is no longer there: closed here
    if (kept->generation != generation) kept->store.ForgetTexts();
    kept->generation = generation;
    return *std::move(kept);
  }
  auto store = opener_();
  TW_RETURN_IF_ERROR(store);
  return Connection{*std::move(store), file, generation};
}

void Source::GiveBack(Connection connection) {
  const std::lock_guard lock(idle_mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(connection));
}

Result<bool> Source::With(const std::function<Status(const records::Store&)>& ask) {
  auto connection = Take();
  TW_RETURN_IF_ERROR(connection);
  TW_RETURN_IF_ERROR(ask(connection->store));  // and the connection is closed
  GiveBack(*std::move(connection));
  return true;
}

}  // namespace tilewright::capi
