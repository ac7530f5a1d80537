#pragma once

#include <string>

#include "src/base/status.h"

namespace tilewright::records {

/// What is damaged in the write-ahead log beside a store; empty: nothing, or there is none. SQLite
/// takes the log to end at the first frame that is not whole, as a process that was killed leaves
/// one: a byte that was changed further up takes every trial behind it away, and nobody is told.
/// Here the log is damaged where frames of it follow the one that is not whole, or the index beside
/// it has counted more of them than are whole. Writers may go on meanwhile. To be called before the
/// store is opened: opening makes the index anew.
/// Errors: those of reading.
/// Source: https://www.sqlite.org/fileformat.html, section 4.
Result<std::string> FindWalDamage(const std::string& store);

}  // namespace tilewright::records
