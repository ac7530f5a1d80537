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

/// Converts SQLite's last error to a Status: busy/locked/full/read-only/I-O -> kUnavailable, not a
/// database/corrupt -> kCorrupt, the rest -> kInternal.
Status SqliteError(sqlite3* db, int code, std::string_view doing);

/// Returns a URI that SQLite decodes to the same path. query: text after the `?`.
std::string FileUri(const std::string& path, std::string_view query);

/// Connection to a SQLite database. Move-only.
class Database {
 public:
  enum class Mode : std::uint8_t { kReadOnly, kReadWriteCreate };
  /// Opens a database. A store that IsReadWithoutLocks is read in its present state, including its
  /// log. Up to 64 MiB on a writable file system are read into memory at this call; later commits
  /// of other processes are not seen (FilesState detects them). Larger ones are read page by page.
  /// Errors: kInvalidArgument if the path is not a file; kUnavailable, also if other processes
  /// write to such a store continuously; those of SqliteError.
  static Result<Database> Open(const std::string& path, Mode mode);
  /// Takes ownership of a connection that was opened elsewhere (records/image.h) and hardens it
  /// (see Harden).
  static Database Adopt(sqlite3* db);
  Database(Database&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Database& operator=(Database&& other) noexcept {
    std::swap(db_, other.db_);
    return *this;
  }
  ~Database();

  /// Runs statements that return nothing.
  Status Execute(const char* sql) const;
  /// Runs such statements and retries while another process holds a lock: changes of the journal
  /// mode do not wait by themselves.
  /// Errors: kUnavailable after the busy timeout.
  Status ExecuteWhenFree(const char* sql) const;
  /// Waits until the write-ahead log is on the disk: transactions committed before survive a power
  /// failure. Several processes that wait at once share one write of the disk. Does nothing for a
  /// database without such a log.
  /// Errors: kUnavailable if the disk reports an error.
  Status SyncLog() const;
  sqlite3* get() const { return db_; }

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  sqlite3* db_ = nullptr;
};

/// Returns true if a store exists but SQLite cannot create the log and its index, which it needs to
/// read a store with concurrent writers. That is so if the file system is read-only, or if this
/// user may not write to the directory and no process has the store open.
bool IsReadWithoutLocks(const std::string& path);

/// State of a store's files: inode, size and modification time in nanoseconds of the database; size
/// and time of its log; 1 if the index of the log exists, that is, if a writer has the store open.
/// 0 for missing files.
using FilesState = std::array<std::uint64_t, 6>;
FilesState StateOfFiles(const std::string& path);

/// Returns the bytes of a store that IsReadWithoutLocks on a writable file system, including its
/// log, if it has at most 64 MiB; no value for other stores. Pages read during a write would belong
/// to different commits, so the function reads all files at once and retries if they changed
/// meanwhile.
/// Errors: kUnavailable if they change during each of five attempts; those of SqliteError.
Result<std::optional<std::string>> SnapshotImage(const std::string& path);

/// Returns the URI to open or attach a store for reading: with concurrent writers, or, if the store
/// cannot be written, without the locks and the log index that SQLite would create.
std::string ReadOnlyUri(const std::string& path);
/// Call it after opening and before the first read. schema: name of the attached database.
Status ReadWithoutLocks(const Database& db, std::string_view schema, const std::string& path);

/// Restricts a connection to plain data: disables triggers, views, extensions, functions in the
/// schema and writes to the schema tables. Every connection is hardened.
void Harden(const Database& db);

/// Prepared statement. Move-only; call Reset to use it again.
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

  /// Binds a parameter, counted from 1. Copies text and bytes.
  Statement& Bind(int parameter, std::string_view text);
  Statement& Bind(int parameter, std::int64_t value);
  Statement& Bind(int parameter, int value) {
    return Bind(parameter, static_cast<std::int64_t>(value));
  }
  Statement& Bind(int parameter, double value);
  Statement& BindBytes(int parameter, const void* bytes, std::size_t size);
  Statement& BindNull(int parameter);

  /// Advances to the next row; returns false after the last one.
  Result<bool> Step();
  /// Runs a statement that returns no row.
  Status Run();
  /// Prepares the statement for new parameters; also ends a read.
  void Reset();

  /// Reads a column, counted from 0.
  std::int64_t Int(int column) const;
  double Real(int column) const;
  std::string_view Text(int column) const;  ///< valid until the next Step or Reset
  std::string_view Bytes(int column) const;
  bool IsNull(int column) const;
  /// Returns the type of a column: `I` integer, `R` real number, `T` text, `B` bytes, `N` null.
  char Type(int column) const;

 private:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* statement_ = nullptr;
};

/// Returns the integer in the first column of a statement's first row; 0 if it has no row.
Result<std::int64_t> QueryInt(const Database& db, std::string_view sql);

/// Returns a text as an SQL literal.
std::string Quoted(std::string_view text);

/// Write transaction. The destructor rolls it back unless Commit was called.
class Transaction {
 public:
  /// Takes the write lock at once.
  /// Errors: kUnavailable after the busy timeout.
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
