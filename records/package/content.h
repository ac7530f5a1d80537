#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/package/package.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Checks that a package's database holds records that may be served, their provenance, and nothing
/// else:
///  - its schema is, word for word, the one of its version (so no trigger, view, virtual table or
///    index that this program did not write);
///  - it passes SQLite's integrity and foreign key checks;
///  - nothing in it is unused: no free page, no text or job that no trial names;
///  - every trial parses, is ok and verified, is of the manifest's targets and code generator, and
///    is one that `records check` finds nothing wrong with (records/validation/row_validator.h);
///  - what the manifest counts is what is there.
/// A database of an older schema is brought to the current one in place.
/// templates: as of ReadPackage.
/// Errors: kCorrupt with what is wrong; kUnsupported for a schema newer than this program's.
Status CheckContent(std::string& database, const PackageManifest& manifest,
                    const TemplateRegistry* templates);
/// The same of a file that only this program uses: little more of it than a page is in memory.
Status CheckContentFile(const std::string& path, const PackageManifest& manifest,
                        const TemplateRegistry* templates);

/// That a file begins as a database of so many bytes does that a package may hold: what a bomb
/// unpacks to is mostly seen in its first bytes. first: those, kDatabaseHeaderBytes of them.
/// Errors: kCorrupt.
Status CheckHeader(std::string_view first, std::int64_t bytes);
inline constexpr std::size_t kDatabaseHeaderBytes = 100;

}  // namespace tilewright::records
