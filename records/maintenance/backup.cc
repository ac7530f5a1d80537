#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "records/image.h"
#include "records/maintenance.h"
#include "records/schema.h"
#include "src/base/files/file.h"

namespace tilewright::records {
namespace {

/// Copies one database into another one, in one read transaction.
Status CopyPages(const Database& from, const Database& to) {
  const std::unique_ptr<sqlite3_backup, decltype(&sqlite3_backup_finish)> backup(
      sqlite3_backup_init(to.get(), "main", from.get(), "main"), &sqlite3_backup_finish);
  if (backup == nullptr) return SqliteError(to.get(), sqlite3_errcode(to.get()), "backup");
  constexpr int kAllPages = -1;
  const int code = sqlite3_backup_step(backup.get(), kAllPages);
  return code == SQLITE_DONE ? Status() : SqliteError(nullptr, code, "backup");
}

Status SyncFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const std::string reason = synced ? "" : ErrnoReason();
  if (file >= 0) ::close(file);
  return synced ? Status() : Unavailable(path + ": " + reason);
}

}  // namespace

Result<BackupReport> BackupStore(const std::string& path, const std::string& to) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  struct stat there {};
  if (::lstat(to.c_str(), &there) == 0) return InvalidArgument(to + ": exists");
  TW_ASSIGN_OR_RETURN(auto from, Database::Open(path, Database::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(auto version, StoreVersion(from, path));
  if (version == 0) return Corrupt(path + ": an empty file, not a record store");
  ScopedTempPath partial = ScopedTempPath::NextTo(to);
  BackupReport report;
  {
    auto copy = OpenNew(partial.path());
    if (!copy.ok()) return copy.status().WithContext(to);
    const Status copied = CopyPages(from, *copy);
    if (!copied.ok()) return copied.WithContext(to);
    // Without a write-ahead log the copy is one file, readable on a read-only file system.
    TW_RETURN_IF_ERROR(copy->Execute("PRAGMA journal_mode = DELETE"));
    TW_ASSIGN_OR_RETURN(auto sound, Statement::Prepare(*copy, "PRAGMA quick_check(1)"));
    TW_RETURN_IF_ERROR(sound.Step());
    if (sound.Text(0) != "ok") {
      return Corrupt(path + ": " + std::string(sound.Text(0)) + "; it was not copied");
    }
    TW_ASSIGN_OR_RETURN(report.trials, QueryInt(*copy, "SELECT count(*) FROM trial"));
  }
  TW_RETURN_IF_ERROR(SyncFile(partial.path()));
  if (::stat(partial.path().c_str(), &there) == 0) report.bytes = there.st_size;
  TW_RETURN_IF_ERROR(partial.MoveTo(to));
  return report;
}

}  // namespace tilewright::records
