#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/sqlite.h"

namespace tilewright::records {

/// Databases nobody writes: files of installed packages, and databases held in memory.

/// Lets the schema of a database do nothing but hold data: no triggers, no views, no extensions, no
/// functions called from it, no writing to its own tables of tables.
void Harden(const Database& db);

/// Opens a file that nobody changes while it is open: without locks or a journal, mapped into
/// memory, hardened.
/// Errors: kUnavailable if it cannot be opened; kCorrupt, at the first statement, if it is no
/// database.
Result<Database> OpenImmutable(const std::string& path);

/// What may be done with a database in memory.
enum class ImageMode : std::uint8_t { kReadOnly, kWritable };

/// Opens a copy of a database file's bytes, hardened.
Result<Database> OpenImage(std::string_view bytes, ImageMode mode = ImageMode::kReadOnly);

/// A new, empty database in memory.
Result<Database> OpenMemory();

/// A new, empty database in a file that only this program uses and that need not survive it.
Result<Database> OpenScratch(const std::string& path);

/// The bytes of the file that this database would be.
Result<std::string> ImageOf(const Database& db);

/// Makes another store readable as `source.<table>` for the life of the object. The connection may
/// not be in a transaction.
class AttachedSource {
 public:
  /// Errors: kNotFound if there is no such file; kUnavailable; kCorrupt.
  static Result<AttachedSource> Attach(const Database& db, const std::string& path);
  AttachedSource(AttachedSource&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  AttachedSource& operator=(AttachedSource&&) = delete;
  ~AttachedSource();

 private:
  explicit AttachedSource(const Database* db) : db_(db) {}
  const Database* db_;
};

}  // namespace tilewright::records
