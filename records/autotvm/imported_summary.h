#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "records/imported.h"

namespace tilewright::records {

/// Number of a store's imported records of one file and target.
struct ImportedSummary {
  std::string file, package;  ///< package: empty for a log
  std::string target;         ///< as written
  std::int64_t records = 0, tasks = 0;
  std::int64_t failed = 0;  ///< without a time; never served
};
/// Returns the imported records of a store by file, package and target.
Result<std::vector<ImportedSummary>> SummarizeImported(const Store& store);

/// Returns the `top` imported records of the lowest cost of each task and target, by package, file,
/// target and task.
Result<std::vector<ImportedRecord>> CheapestImported(const Store& store, std::int64_t top);

/// Returns the part of an imported target that AutoTVM's rule compares, as a target that a query
/// can name: kind, -device, -model and -keys. The text itself if it is no target.
std::string MatchedTargetText(const std::string& target);

/// Returns the name of an AutoTVM error number, that of an Outcome where there is one: "ok" for 0,
/// "run_timeout" for 7, and so on.
std::string AutotvmErrorName(std::int64_t error);

}  // namespace tilewright::records
