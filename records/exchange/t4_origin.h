#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "records/store.h"
#include "src/space/exchange/t4.h"

// Files that records were imported from. The log of an import's job keeps what no column of a trial
// has: an entry "t4" for the file, then one for each result, in the file's order.

namespace tilewright::records {

inline constexpr const char* kT4EntryKind = "t4";
/// Begin of the names of imports' jobs, also in other stores.
inline constexpr const char* kT4JobPrefix = "t4 ";

/// File of an import.
struct T4Origin {
  T4File file;     ///< with the results that were stored
  std::string t1;  ///< text of the T1 file of its space; empty without
  /// Positions of a config's results in the file, by the config's index.
  std::map<std::int64_t, std::vector<std::size_t>> results_of;
};

/// Returns the log entry of a file, without its results. t1: text of the T1 file, or empty.
LogEntry T4FileEntry(const T4File& file, const std::string& t1);
/// Returns the log entry of a result. index: of its config.
LogEntry T4ResultEntry(const T4Result& result, std::int64_t index);

/// Reads the file of an import's job; no value for other jobs, also for those whose log was not
/// copied with their trials.
/// Errors: those of reading; kCorrupt for entries that are none.
Result<std::optional<T4Origin>> ReadT4Origin(const Store& store, std::int64_t job);

}  // namespace tilewright::records
