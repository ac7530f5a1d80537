#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/package/package.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Checks that a package's database contains only servable records and their provenance:
/// - its schema is, word for word, that of its version (so it has no trigger, view, virtual table
///   or index that this program did not write);
/// - it passes SQLite's integrity and foreign key checks;
/// - it has no unused content: no free page, no text or job that no trial refers to;
/// - every trial parses, is ok and verified, is of the manifest's targets and code generator, and
///   passes `records check` (records/validation/row_validator.h);
/// - the counts of the manifest are correct.
///
/// Migrates a database of an older schema in place. templates: as for ReadPackage.
/// Errors: kCorrupt with the defect; kUnsupported for a schema newer than this program's.
Status CheckContent(std::string& database, const PackageManifest& manifest,
                    const TemplateRegistry* templates);
/// Checks a file that only this process uses, in memory of little more than one page.
Status CheckContentFile(const std::string& path, const PackageManifest& manifest,
                        const TemplateRegistry* templates);

/// Checks the header of a database of `bytes` bytes that a package may contain. Most decompression
/// bombs differ in their first bytes. first: the first kDatabaseHeaderBytes bytes.
/// Errors: kCorrupt.
Status CheckHeader(std::string_view first, std::int64_t bytes);
inline constexpr std::size_t kDatabaseHeaderBytes = 100;

}  // namespace tilewright::records
