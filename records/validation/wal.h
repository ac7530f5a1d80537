#pragma once

#include <string>

#include "src/base/status.h"

namespace tilewright::records {

/// Returns a description of the damage in a store's write-ahead log; empty if there is no damage or
/// no log.
///
/// SQLite ends the log at the first incomplete frame, as a killed process leaves one. A changed
/// byte earlier in the log therefore silently discards every later trial. This function reports
/// damage if frames of the log follow the incomplete one, or if the log's index counts more frames
/// than are complete. Other processes may write meanwhile. Call it before opening the store:
/// opening recreates the index.
/// Errors: those of reading.
/// Source: https://www.sqlite.org/fileformat.html, section 4.
Result<std::string> FindWalDamage(const std::string& store);

}  // namespace tilewright::records
