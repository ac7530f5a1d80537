#include "records/image.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstring>

#include "records/schema.h"
#include "src/base/files/file.h"
#include "src/base/files/special_file.h"

namespace tilewright::records {
namespace {

// 1 GiB of address space: larger packages are rejected earlier.
constexpr const char* kMapPragma = "PRAGMA mmap_size = 1073741824";

/// Requests a prefetch of the beginning of a file. The pages of a first query are spread over a
/// package; read one by one, they wait for the disk ten times.
void ReadAhead(const std::string& path) {
  constexpr off_t kBytes = off_t{8} << 20;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;  // opening it again reports the reason
  (void)::posix_fadvise(file, 0, kBytes, POSIX_FADV_WILLNEED);
  ::close(file);
}

Result<Database> OpenWith(const std::string& name, int flags, const std::string& shown) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db = Database::Adopt(raw);  // closed on every path, also after a failed open
  if (code != SQLITE_OK) return SqliteError(raw, code, "opening " + shown);
  sqlite3_extended_result_codes(raw, 1);
  return db;
}

/// Replaces a database in memory with a copy of a database file's bytes. schema: of the database.
Status PutImage(const Database& db, const char* schema, std::string_view bytes, ImageMode mode) {
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (copy == nullptr)
    return Unavailable("no memory for a database of " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const unsigned access =
      mode == ImageMode::kReadOnly ? SQLITE_DESERIALIZE_READONLY : SQLITE_DESERIALIZE_RESIZEABLE;
  const int code = sqlite3_deserialize(db.get(), schema, copy, size, size,
                                       SQLITE_DESERIALIZE_FREEONCLOSE | access);
  if (code != SQLITE_OK) return SqliteError(db.get(), code, "opening a database in memory");
  return {};
}

}  // namespace

Result<Database> OpenImmutable(const std::string& path) {
  TW_RETURN_IF_ERROR(CheckNotSpecialFile(path));
  ReadAhead(path);
  TW_ASSIGN_OR_RETURN(auto db, OpenWith(FileUri(path, "immutable=1"),
                                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path));
  sqlite3_limit(db.get(), SQLITE_LIMIT_ATTACHED, 0);
  TW_RETURN_IF_ERROR(db.Execute(kMapPragma));
  return db;
}

Result<Database> OpenImage(std::string_view bytes, ImageMode mode) {
  TW_ASSIGN_OR_RETURN(auto db, OpenWith(":memory:", SQLITE_OPEN_READWRITE, "a database in memory"));
  sqlite3_limit(db.get(), SQLITE_LIMIT_ATTACHED, 0);
  TW_RETURN_IF_ERROR(PutImage(db, "main", bytes, mode));
  return db;
}

Result<Database> OpenBytes(std::string_view bytes) {
  TW_ASSIGN_OR_RETURN(auto db, OpenWith(":memory:", SQLITE_OPEN_READWRITE, "a database in memory"));
  sqlite3_limit(db.get(), SQLITE_LIMIT_ATTACHED, 0);
  // Read only: SQLite writes to such bytes only in writable mode.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const int code =
      sqlite3_deserialize(db.get(), "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) return SqliteError(db.get(), code, "opening a database in memory");
  TW_RETURN_IF_ERROR(db.Execute(kMapPragma));  // pages are read in place
  return db;
}

Result<Database> OpenMemory() {
  return OpenWith(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
                  "a database in memory");
}

Result<Database> OpenScratch(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto db,
                      OpenWith(FileUri(path, "mode=rwc"),
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, path));
  TW_RETURN_IF_ERROR(db.Execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF"));
  return db;
}

Result<Database> OpenNew(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return Unavailable(path + ": cannot be created: " + ErrnoReason());
  ::close(file);
  return OpenWith(FileUri(path, "mode=rw"),
                  SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW, path);
}

Result<std::string> ImageOf(const Database& db) {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(db.get(), "main", &size, 0);
  if (bytes == nullptr) return Unavailable("no memory for a copy of the database");
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

Result<AttachedSource> AttachedSource::Attach(const Database& db, const std::string& path) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  TW_RETURN_IF_ERROR(CheckNotSpecialFile(path));
  TW_ASSIGN_OR_RETURN(auto attach, Statement::Prepare(db, "ATTACH DATABASE ?1 AS source"));
  TW_ASSIGN_OR_RETURN(const auto image, SnapshotImage(path));
  const Status attached = attach.Bind(1, image.has_value() ? ":memory:" : ReadOnlyUri(path)).Run();
  if (!attached.ok()) return attached.WithContext(path);
  AttachedSource source(&db);
  if (image.has_value()) {
    // Writable: SQLite rejects BEGIN IMMEDIATE while a read-only image is attached.
    TW_RETURN_IF_ERROR(PutImage(db, "source", *image, ImageMode::kWritable));
    TW_RETURN_IF_ERROR(StoreVersion(db, path, "source"));
    return source;
  }
  TW_RETURN_IF_ERROR(ReadWithoutLocks(db, "source", path));
  TW_RETURN_IF_ERROR(StoreVersion(db, path, "source"));
  return source;
}

AttachedSource::~AttachedSource() {
  if (db_ == nullptr) return;
  // A failed detach leaves the source readable until the connection closes, which is harmless.
  const Status ignored = db_->Execute("DETACH DATABASE source");
  (void)ignored;
}

}  // namespace tilewright::records
