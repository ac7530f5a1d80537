#pragma once

#include <string>

#include "records/package/package.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Checks that a package's database holds records that may be served, their provenance, and nothing
/// else:
///  - its schema is, word for word, the one of its version (so no trigger, view, virtual table or
///    index that this program did not write);
///  - it passes SQLite's integrity and foreign key checks;
///  - every trial parses, is ok and verified, and is of the manifest's targets and code generator;
///  - what the manifest counts is what is there.
/// A database of an older schema is brought to the current one in place.
/// Errors: kCorrupt with what is wrong; kUnsupported for a schema newer than this program's.
Status CheckContent(std::string& database, const PackageManifest& manifest);

}  // namespace tilewright::records
