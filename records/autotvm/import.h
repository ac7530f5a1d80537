#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/imported.h"
#include "records/store.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Rejected line and the reason.
struct RefusedLine {
  std::int64_t line = 0;  ///< from 1
  std::string reason;
};

/// Import counts of one file. lines = comments + blank + records + refused_count, and records =
/// imported + duplicates + other_targets.
struct ImportedFile {
  std::string file;
  std::string package;  ///< name of the TopHub package, e.g. "cuda"; empty for a log
  std::int64_t lines = 0, comments = 0, blank = 0, records = 0;
  std::int64_t imported = 0;
  std::int64_t duplicates = 0;     ///< config and result are already in the store
  std::int64_t other_targets = 0;  ///< lines for other targets than ImportOptions::target
  std::int64_t refused_count = 0;
  std::int64_t foreign = 0;          ///< refused lines that are in neither format of a log
  std::vector<RefusedLine> refused;  ///< the first kMaxRefused rejected lines
  static constexpr std::size_t kMaxRefused = 10000;
  std::array<std::int64_t, 5> agreement{};  ///< imported records by AutotvmAgreement
  std::array<std::int64_t, 9> flags{};      ///< imported records by bit of ImportedFlag

  /// True if the file has lines, and none is in a format of a log.
  bool IsNoLog() const { return records == 0 && foreign > 0 && foreign == refused_count; }
};

struct ImportOptions {
  /// Imports only lines of this target: the same kind and every option given here. Empty: all.
  std::string target;
  /// Writes nothing and returns the counts of a real import.
  bool dry_run = false;
  /// Called occasionally with the counts so far; may be null.
  std::function<void(const ImportedFile&)> progress;
};

/// Imports AutoTVM logs (0.2 and 0.1) and TopHub packages. Reads each line once, in memory that
/// does not grow with the files. Commits after every kCommitEvery records: rerunning an interrupted
/// import resumes it.
///
/// Errors: as LineReader::Open for a file that cannot be read; kUnavailable if the store is locked
/// or full. A line that is not a record is not an error: it is rejected and reported with a reason.
Result<std::vector<ImportedFile>> ImportAutotvm(Store& store, const std::vector<std::string>& files,
                                                const ImportOptions& options);

/// Returns the bytes of a store that contains only the records of one log; see Store::OpenImage.
/// Errors: as ImportAutotvm; kInvalidArgument if no line is a record.
Result<std::string> ImportIntoMemory(const std::string& file);

/// Returns the names of TopHub's packages, in byte order.
std::span<const std::string_view> TophubPackages();

/// Returns "cuda" for ".../cuda_v0.10.log"; empty if the file name is not that of a TopHub package.
std::string TophubPackageOf(const std::string& path);

}  // namespace tilewright::records
