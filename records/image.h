#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/sqlite.h"

namespace tilewright::records {

/// Databases without writers: files of installed packages and databases in memory.

/// Opens a file that does not change while it is open: without locks or a journal, mapped into
/// memory. ATTACH is disabled.
/// Errors: kUnavailable if it cannot be opened; kCorrupt, at the first statement, if it is not a
/// database.
Result<Database> OpenImmutable(const std::string& path);

/// Access mode of a database in memory.
enum class ImageMode : std::uint8_t { kReadOnly, kWritable };

/// Opens a copy of a database file's bytes. ATTACH is disabled.
Result<Database> OpenImage(std::string_view bytes, ImageMode mode = ImageMode::kReadOnly);

/// Opens a database whose bytes are in memory, without copying them: they must outlive it. ATTACH
/// is disabled.
Result<Database> OpenBytes(std::string_view bytes);

/// Creates an empty database in memory.
Result<Database> OpenMemory();

/// Creates an empty database in a temporary file that only this process uses.
Result<Database> OpenScratch(const std::string& path);

/// Creates an empty database in a new file.
/// Errors: kUnavailable, also if the path exists.
Result<Database> OpenNew(const std::string& path);

/// Returns the bytes of the database as a file.
Result<std::string> ImageOf(const Database& db);

/// Attachment of another store, readable as `source.<table>` for the lifetime of the object.
/// Requires a connection outside a transaction.
class AttachedSource {
 public:
  /// Attaches the store at `path`.
  /// Errors: kNotFound if the file is missing; kUnavailable; kCorrupt, also if it is not a record
  /// store or contains other objects (see CheckForeign).
  static Result<AttachedSource> Attach(const Database& db, const std::string& path);
  AttachedSource(AttachedSource&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  AttachedSource& operator=(AttachedSource&&) = delete;
  ~AttachedSource();

 private:
  explicit AttachedSource(const Database* db) : db_(db) {}
  const Database* db_;
};

}  // namespace tilewright::records
