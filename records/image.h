#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/sqlite.h"

namespace tilewright::records {

/// Databases nobody writes: files of installed packages, and databases held in memory.

/// Opens a file that nobody changes while it is open: without locks or a journal, mapped into
/// memory, and with nothing to attach.
/// Errors: kUnavailable if it cannot be opened; kCorrupt, at the first statement, if it is no
/// database.
Result<Database> OpenImmutable(const std::string& path);

/// What may be done with a database in memory.
enum class ImageMode : std::uint8_t { kReadOnly, kWritable };

/// Opens a copy of a database file's bytes, with nothing to attach.
Result<Database> OpenImage(std::string_view bytes, ImageMode mode = ImageMode::kReadOnly);

/// Opens a database whose bytes are in memory, without a copy of them: they must outlive it. With
/// nothing to attach.
Result<Database> OpenBytes(std::string_view bytes);

/// A new, empty database in memory.
Result<Database> OpenMemory();

/// A new, empty database in a file that only this program uses and that need not survive it.
Result<Database> OpenScratch(const std::string& path);

/// A new, empty database in a file that is not there yet.
/// Errors: kUnavailable, also if something has this name.
Result<Database> OpenNew(const std::string& path);

/// The bytes of the file that this database would be.
Result<std::string> ImageOf(const Database& db);

/// Makes another store readable as `source.<table>` for the life of the object. The connection may
/// not be in a transaction.
class AttachedSource {
 public:
  /// Errors: kNotFound if there is no such file; kUnavailable; kCorrupt, also if it is no record
  /// store or holds more than one (see CheckForeign).
  static Result<AttachedSource> Attach(const Database& db, const std::string& path);
  AttachedSource(AttachedSource&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  AttachedSource& operator=(AttachedSource&&) = delete;
  ~AttachedSource();

 private:
  explicit AttachedSource(const Database* db) : db_(db) {}
  const Database* db_;
};

}  // namespace tilewright::records
