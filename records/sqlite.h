#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tilewright::records {

/// Turns what SQLite said last into a Status: busy/locked/full/read-only/I-O -> kUnavailable,
/// not a database/corrupt -> kCorrupt, the rest -> kInternal.
Status SqliteError(sqlite3* db, int code, std::string_view doing);

/// A path as a URI that SQLite takes apart again into the same path. query: what follows the `?`.
std::string FileUri(const std::string& path, std::string_view query);

/// One connection. Move-only.
class Database {
 public:
  enum class Mode : std::uint8_t { kReadOnly, kReadWriteCreate };
  /// A store that IsReadWithoutLocks is read as it is, with what its log holds. Up to 64 MiB on a
  /// writable file system are read into memory as of this call; what others commit later is not
  /// seen (FilesState tells of it). Larger ones are read page by page.
  /// Errors: kInvalidArgument for what is no file; kUnavailable, also if others write to such a
  /// store without pause; those of SqliteError.
  static Result<Database> Open(const std::string& path, Mode mode);
  /// Owns a connection made elsewhere (records/image.h); it is hardened (see Harden).
  static Database Adopt(sqlite3* db);
  Database(Database&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Database& operator=(Database&& other) noexcept {
    std::swap(db_, other.db_);
    return *this;
  }
  ~Database();

  /// Runs statements that return nothing.
  Status Execute(const char* sql) const;
  /// The same, tried again while another process holds a lock: changes of the journal mode do not
  /// wait by themselves. Errors: kUnavailable past the busy timeout.
  Status ExecuteWhenFree(const char* sql) const;
  /// Waits until the write-ahead log is on the disk: what was committed before survives a power
  /// cut. Several processes that wait at once share one write of the disk. Does nothing for a
  /// database without such a log.
  /// Errors: kUnavailable if the disk refuses.
  Status SyncLog() const;
  sqlite3* get() const { return db_; }

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  sqlite3* db_ = nullptr;
};

/// Whether a store exists and SQLite can have neither a log nor its index beside it, which it needs
/// to read a store that others may write to: its file system is read-only, or this user may not
/// write to its folder and nobody has it open.
bool IsReadWithoutLocks(const std::string& path);

/// State of a store's files: inode, size and time of the last change in nanoseconds of the
/// database; size and time of its log; 1 if the index of the log exists, that is, if a writer has
/// the store open. 0 for what does not exist.
using FilesState = std::array<std::uint64_t, 6>;
FilesState StateOfFiles(const std::string& path);

/// Bytes of a store that IsReadWithoutLocks on a writable file system, with what its log holds, if
/// it has at most 64 MiB; nothing for other stores. Pages that are read while another process
/// writes are of different commits: so all are read at once, and again if the files have changed
/// meanwhile.
/// Errors: kUnavailable if they change during each of five attempts; those of SqliteError.
Result<std::optional<std::string>> SnapshotImage(const std::string& path);

/// How a store is opened or attached for reading: as one that others may write to; or, where
/// nothing can be written, without the locks and the index of the log that SQLite would make beside
/// it.
std::string ReadOnlyUri(const std::string& path);
/// After it, before the first read. schema: as it is attached.
Status ReadWithoutLocks(const Database& db, std::string_view schema, const std::string& path);

/// Lets the schema of a database do nothing but hold data: no triggers, no views, no extensions, no
/// functions called from it, no writing to its own tables of tables. Done for every connection.
void Harden(const Database& db);

/// One prepared statement. Move-only; Reset to use it again.
class Statement {
 public:
  static Result<Statement> Prepare(const Database& db, std::string_view sql);
  Statement() = default;
  Statement(Statement&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  Statement& operator=(Statement&& other) noexcept {
    std::swap(statement_, other.statement_);
    return *this;
  }
  ~Statement();

  /// Parameters count from 1. Text and bytes are copied.
  Statement& Bind(int parameter, std::string_view text);
  Statement& Bind(int parameter, std::int64_t value);
  Statement& Bind(int parameter, int value) {
    return Bind(parameter, static_cast<std::int64_t>(value));
  }
  Statement& Bind(int parameter, double value);
  Statement& BindBytes(int parameter, const void* bytes, std::size_t size);
  Statement& BindNull(int parameter);

  /// True while there is a row to read.
  Result<bool> Step();
  /// For statements that return no row.
  Status Run();
  /// Ready for new parameters; also ends a read.
  void Reset();

  /// Columns count from 0.
  std::int64_t Int(int column) const;
  double Real(int column) const;
  std::string_view Text(int column) const;  ///< valid until the next Step or Reset
  std::string_view Bytes(int column) const;
  bool IsNull(int column) const;
  /// What the column holds: `I` an integer, `R` a real number, `T` a text, `B` bytes, `N` null.
  char Type(int column) const;

 private:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* statement_ = nullptr;
};

/// The number in the first column of a statement's first row; 0 if it has no row.
Result<std::int64_t> QueryInt(const Database& db, std::string_view sql);

/// A text as SQL has it, in quotes.
std::string Quoted(std::string_view text);

/// A write transaction: rolled back when it goes without Commit.
class Transaction {
 public:
  /// Takes the write lock at once. Errors: kUnavailable past the busy timeout.
  static Result<Transaction> Begin(const Database& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status Commit();

 private:
  explicit Transaction(const Database* db) : db_(db) {}
  const Database* db_ = nullptr;
};

}  // namespace tilewright::records
