// Owners of SQLite connections, statements and transactions, and conversion of its error codes to
// Status. Every connection is hardened, because a store may come from any source.

#include "records/sqlite.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "records/image.h"
#include "src/base/files/file_kind.h"
#include "src/base/files/special_file.h"
#include "src/base/hash.h"

namespace tilewright::records {
namespace {

// 30 s: a writer holds the lock for one small transaction (milliseconds); a longer wait indicates a
// problem.
constexpr int kBusyMilliseconds = 30'000;
constexpr int kMeanWaitMilliseconds = 5;

/// Waits briefly for another process to release its lock. SQLite's handler waits longer each time,
/// up to 100 ms, so that with dozens of writers some would starve for seconds.
int WaitForLock(void*, int count) {
  if (count > kBusyMilliseconds / kMeanWaitMilliseconds) return 0;
  // 1 ms at first, then 2 to 8, different for each process and attempt so that they spread out.
  const auto spread =
      Mix64(static_cast<std::uint64_t>(::getpid()) << 32 | static_cast<std::uint64_t>(count)) % 7;
  ::usleep(count < 3 ? 1000U : 2000U + 1000U * static_cast<unsigned>(spread));
  return 1;
}

/// name: a path or a URI. shown: its name in messages.
Result<Database> OpenConnection(const std::string& name, int flags, const std::string& shown) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
  Database db = Database::Adopt(raw);  // closed on every path, also after a failed open
  if (code != SQLITE_OK) return SqliteError(raw, code, "opening " + shown);
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_handler(raw, &WaitForLock, nullptr);
  return db;
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool IsOnReadOnlyDisk(const std::string& path) {
  struct statvfs disk {};
  return ::statvfs(path.c_str(), &disk) == 0 && (disk.f_flag & ST_RDONLY) != 0;
}

/// Returns true if the log of a database is not empty.
bool HasLog(const std::string& path) {
  struct stat info {};
  return ::stat((path + "-wal").c_str(), &info) == 0 && info.st_size > 0;
}

std::uint64_t Nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// Opens a store without SQLite's locks.
Result<Database> OpenAsItIs(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto db, OpenConnection(ReadOnlyUri(path), SQLITE_OPEN_READONLY, path));
  TW_RETURN_IF_ERROR(ReadWithoutLocks(db, "main", path));
  return db;
}

}  // namespace

bool IsReadWithoutLocks(const std::string& path) {
  if (!Exists(path)) return false;
  if (IsOnReadOnlyDisk(path)) return true;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  // A process that has the store open has created both files.
  return ::access(folder.c_str(), W_OK) != 0 && !Exists(path + "-shm");
}

FilesState StateOfFiles(const std::string& path) {
  FilesState state = {};
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    state[0] = static_cast<std::uint64_t>(info.st_ino);
    state[1] = static_cast<std::uint64_t>(info.st_size);
    state[2] = Nanoseconds(info.st_mtim);
  }
  if (::stat((path + "-wal").c_str(), &info) == 0) {
    state[3] = static_cast<std::uint64_t>(info.st_size);
    state[4] = Nanoseconds(info.st_mtim);
  }
  state[5] = Exists(path + "-shm") ? 1 : 0;
  return state;
}

Result<std::optional<std::string>> SnapshotImage(const std::string& path) {
  // Size of a connection's page cache (Store::Open).
  constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;
  constexpr int kTries = 5;
  constexpr unsigned kBetweenMicroseconds = 50'000;
  if (!IsReadWithoutLocks(path) || IsOnReadOnlyDisk(path)) return std::optional<std::string>();
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) ::usleep(kBetweenMicroseconds);
    const FilesState before = StateOfFiles(path);
    TW_ASSIGN_OR_RETURN(auto db, OpenAsItIs(path));
    auto bytes =
        QueryInt(db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    if (!bytes.ok() && StateOfFiles(path) != before) continue;
    // Empty, or not a database: a connection to the file reports that at its first statement.
    if (!bytes.ok() || *bytes == 0 || *bytes > kMaxBytes) return std::optional<std::string>();
    auto image = ImageOf(db);
    if (StateOfFiles(path) != before) continue;
    TW_RETURN_IF_ERROR(image);
    constexpr std::size_t kWrites = 18, kReads = 19;  // journal modes of the header
    if (image->size() > kReads) (*image)[kWrites] = (*image)[kReads] = 1;  // no write-ahead log
    return std::optional<std::string>(*std::move(image));
  }
  return Unavailable(
      path +
      ": another process writes to it, and this user may not write to its directory, "
      "so cannot lock it: try again, or read a copy");
}

std::string FileUri(const std::string& path, std::string_view query) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file:" : "file:./";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      const auto byte = static_cast<unsigned char>(c);
      uri += '%';
      uri += kHex[byte >> 4];
      uri += kHex[byte & 15];
    } else {
      uri += c;
    }
  }
  return uri + "?" + std::string(query);
}

std::string ReadOnlyUri(const std::string& path) {
  if (!IsReadWithoutLocks(path)) return FileUri(path, "mode=ro");
  return FileUri(path, HasLog(path) ? "mode=ro&vfs=unix-none" : "immutable=1");
}

Status ReadWithoutLocks(const Database& db, std::string_view schema, const std::string& path) {
  if (!IsReadWithoutLocks(path) || !HasLog(path)) return {};
  // The index of the log is then in this connection's memory.
  const std::string pragma = "PRAGMA " + std::string(schema) + ".locking_mode = EXCLUSIVE";
  return db.Execute(pragma.c_str());
}

Status SqliteError(sqlite3* db, int code, std::string_view doing) {
  std::string message = std::string(doing) + ": ";
  message += db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Unavailable(message + " (another process holds the record store)");
    case SQLITE_FULL:
      return Unavailable(message + " (free some space; nothing stored so far is lost)");
    case SQLITE_READONLY:
      return Unavailable(message +
                         " (the file, its directory or its disk is read-only: give another "
                         "record store, or a copy of this one elsewhere)");
    case SQLITE_CANTOPEN:
      return Unavailable(message +
                         " (check that its directory exists and is writable, or give another "
                         "record store)");
    case SQLITE_IOERR:
    case SQLITE_PERM:
      return Unavailable(std::move(message));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Corrupt(std::move(message));
    default:
      return Internal(std::move(message));
  }
}

Result<Database> Database::Open(const std::string& path, Mode mode) {
  TW_RETURN_IF_ERROR(CheckNotSpecialFile(path));
  if (std::error_code failed; std::filesystem::is_directory(path, failed)) {
    return ExplainWrongFile(InvalidArgument(path + ": is a directory, expected a record store"),
                            IdentifyFile(path), path, {"a record store"});
  }
  if (mode == Mode::kReadOnly && IsReadWithoutLocks(path)) {
    TW_ASSIGN_OR_RETURN(const auto image, SnapshotImage(path));
    if (!image.has_value()) return OpenAsItIs(path);
    TW_ASSIGN_OR_RETURN(auto db, OpenImage(*image));
    // VACUUM INTO copies such a database. SQLite clamps the limit to its maximum.
    sqlite3_limit(db.get(), SQLITE_LIMIT_ATTACHED, std::numeric_limits<int>::max());
    return db;
  }
  const int flags =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  // URIs are for databases attached later; a file whose name looks like a URI stays a file.
  const std::string name = path.starts_with("file:") ? "./" + path : path;
  return OpenConnection(name, flags, path);
}

Database Database::Adopt(sqlite3* db) {
  Database adopted(db);
  if (db != nullptr) Harden(adopted);
  return adopted;
}

void Harden(const Database& db) {
  for (const int option : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                           SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, SQLITE_DBCONFIG_TRUSTED_SCHEMA}) {
    sqlite3_db_config(db.get(), option, 0, nullptr);
  }
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

Database::~Database() { sqlite3_close_v2(db_); }

Status Database::Execute(const char* sql) const {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return SqliteError(db_, code, "record store");
  return {};
}

Status Database::ExecuteWhenFree(const char* sql) const {
  for (int count = 0;; ++count) {
    Status status = Execute(sql);
    const bool busy = !status.ok() && (sqlite3_errcode(db_) & 0xff) == SQLITE_BUSY;
    if (!busy || WaitForLock(nullptr, count) == 0) return status;
  }
}

Status Database::SyncLog() const {
  sqlite3_file* log = nullptr;
  const int code = sqlite3_file_control(db_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code != SQLITE_OK) return SqliteError(db_, code, "record store");
  if (log == nullptr || log->pMethods == nullptr) return {};
  const int synced = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
  if (synced != SQLITE_OK) return SqliteError(nullptr, synced, "record store");
  return {};
}

Result<Statement> Statement::Prepare(const Database& db, std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(db.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return SqliteError(db.get(), code, "record store");
  return Statement(raw);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::Bind(int parameter, std::string_view text) {
  sqlite3_bind_text(statement_, parameter, text.data() != nullptr ? text.data() : "",
                    static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::Bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_, parameter, value);
  return *this;
}

Statement& Statement::Bind(int parameter, double value) {
  sqlite3_bind_double(statement_, parameter, value);
  return *this;
}

Statement& Statement::BindBytes(int parameter, const void* bytes, std::size_t size) {
  sqlite3_bind_blob64(statement_, parameter, size == 0 ? "" : bytes, size, SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::BindNull(int parameter) {
  sqlite3_bind_null(statement_, parameter);
  return *this;
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteError(sqlite3_db_handle(statement_), code, "record store");
}

Status Statement::Run() {
  auto row = Step();
  Reset();
  TW_RETURN_IF_ERROR(row);
  return {};
}

void Statement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

std::int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Statement::Bytes(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

char Statement::Type(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return 'I';
    case SQLITE_FLOAT:
      return 'R';
    case SQLITE_TEXT:
      return 'T';
    case SQLITE_BLOB:
      return 'B';
    default:
      return 'N';
  }
}

Result<std::int64_t> QueryInt(const Database& db, std::string_view sql) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, sql));
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  return row ? query.Int(0) : std::int64_t{0};
}

std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

Result<Transaction> Transaction::Begin(const Database& db) {
  TW_RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
  return Transaction(&db);
}

Transaction::~Transaction() {
  if (db_ == nullptr) return;
  // A failed rollback needs no action: the connection drops the transaction when it closes.
  const Status ignored = db_->Execute("ROLLBACK");
  (void)ignored;
}

Status Transaction::Commit() {
  TW_RETURN_IF_ERROR(db_->Execute("COMMIT"));
  db_ = nullptr;
  return {};
}

}  // namespace tilewright::records
