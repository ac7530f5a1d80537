#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "records/store.h"

// Logs of jobs to which several processes append at the same time. As for a Store, one thread at a
// time uses the functions with a store.

namespace tilewright::records {

/// Entry of a log with its number. Later entries have larger numbers.
struct NumberedEntry {
  std::int64_t number = 0;
  LogEntry entry;
};

/// Returns the entries of a task after the number `after`, oldest first.
/// Errors: those of reading.
Result<std::vector<NumberedEntry>> LogAfter(const Store& store, std::int64_t job,
                                            std::string_view task_key, std::int64_t after);

/// Appends the entry that `make` returns for the entries after the number `after`, in one
/// transaction with reading them: no other process appends between. Returns those entries, with the
/// new one as the last. Survives kill -9, but not a power failure. `make` returns no value to
/// append nothing; it is called while no other process can write.
/// Errors: kUnavailable of the store.
Result<std::vector<NumberedEntry>> AppendAfter(
    const Store& store, std::int64_t job, std::string_view task_key, std::int64_t after,
    const std::function<std::optional<LogEntry>(const std::vector<NumberedEntry>&)>& make);

}  // namespace tilewright::records
