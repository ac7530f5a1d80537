// Every commit to a store in WAL mode rewrites the header of the WAL index, a file that all
// processes of the store map (https://www.sqlite.org/walformat.html, section 2.1). The header has
// 48 bytes (a counter of transactions, the number of frames, their checksums and salts), and a
// second copy follows. SQLite's readers compare the same bytes to validate their caches. Reading
// the first copy during a write gives a mixture, which differs from the earlier state: a poll may
// see a change early or twice, but never misses one.
//
// The mapping is SQLite's: opening the file a second time and closing it would drop the locks that
// SQLite holds on it (POSIX locks belong to the process).

#include "records/watch.h"

#include <sqlite3.h>

#include <atomic>
#include <mutex>

#include "records/schema.h"
#include "records/sqlite.h"
#include "src/base/files/file.h"

namespace tilewright::records {
namespace {

// First region of the index as SQLite maps it; fixed by the format.
constexpr int kIndexRegionBytes = 32 * 1024;

/// Returns the start of the WAL index of a connection that has read something; null if it has none.
const std::uint64_t* IndexHeader(sqlite3* db) {
  sqlite3_file* file = nullptr;
  const int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK || file == nullptr || file->pMethods == nullptr) return nullptr;
  if (file->pMethods->iVersion < 2 || file->pMethods->xShmMap == nullptr) return nullptr;
  void volatile* region = nullptr;
  const int mapped = file->pMethods->xShmMap(file, 0, kIndexRegionBytes, 0, &region);
  if (mapped != SQLITE_OK || region == nullptr) return nullptr;
  return static_cast<const std::uint64_t*>(const_cast<const void*>(region));
}

Result<std::string> JournalMode(const Database& db) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, "PRAGMA journal_mode"));
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  return std::string(row ? query.Text(0) : "");
}

}  // namespace

struct StoreWatch::Impl {
  explicit Impl(Database database) : db(std::move(database)) {}
  Database db;
  std::string files;                      // path of a store that is read without locks; else empty
  const std::uint64_t* header = nullptr;  // mapped by db; null: query data_version
  std::mutex mutex;                       // for data_version
  Statement data_version;
};

StoreWatch::StoreWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StoreWatch::StoreWatch(StoreWatch&&) noexcept = default;
StoreWatch& StoreWatch::operator=(StoreWatch&&) noexcept = default;
StoreWatch::~StoreWatch() = default;

Result<StoreWatch> StoreWatch::Open(const std::string& path) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  const bool without_locks = IsReadWithoutLocks(path);
  TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadOnly));
  TW_RETURN_IF_ERROR(CheckSchema(db, path));  // the first read maps the index
  auto impl = std::make_unique<Impl>(std::move(db));
  if (without_locks) {
    impl->files = path;
    return StoreWatch(std::move(impl));
  }
  TW_ASSIGN_OR_RETURN(auto mode, JournalMode(impl->db));
  if (mode == "wal") impl->header = IndexHeader(impl->db.get());
  if (impl->header == nullptr) {
    TW_ASSIGN_OR_RETURN(impl->data_version, Statement::Prepare(impl->db, "PRAGMA data_version"));
  }
  return StoreWatch(std::move(impl));
}

bool StoreWatch::PollsFiles() const { return !impl_->files.empty(); }

// A race is intended here: a mixture of old and new is a valid result (see above).
__attribute__((no_sanitize("thread"))) Result<StoreWatch::Stamp> StoreWatch::Poll() const {
  if (PollsFiles()) return StateOfFiles(impl_->files);
  Stamp stamp = {};
  if (impl_->header != nullptr) {
    const auto* words = const_cast<const volatile std::uint64_t*>(impl_->header);
    for (std::size_t i = 0; i < stamp.size(); ++i) stamp[i] = words[i];
    std::atomic_thread_fence(std::memory_order_acquire);  // later reads are not older
    return stamp;
  }
  const std::lock_guard lock(impl_->mutex);
  TW_RETURN_IF_ERROR(impl_->data_version.Step());
  stamp[0] = static_cast<std::uint64_t>(impl_->data_version.Int(0));
  impl_->data_version.Reset();
  return stamp;
}

}  // namespace tilewright::records
