#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "records/imported.h"
#include "records/store.h"
#include "src/base/status.h"

namespace tilewright::records {

/// A line that was not taken, and why.
struct RefusedLine {
  std::int64_t line = 0;  ///< from 1
  std::string reason;
};

/// What became of one file's lines: lines = comments + blank + records + refused_count, and records
/// = imported + duplicates + other_targets.
struct ImportedFile {
  std::string file;
  std::string package;  ///< of a TopHub package, by its name: "cuda"; empty for a log
  std::int64_t lines = 0, comments = 0, blank = 0, records = 0;
  std::int64_t imported = 0;
  std::int64_t duplicates = 0;     ///< the same config and result is there already
  std::int64_t other_targets = 0;  ///< not of the target asked for
  std::int64_t refused_count = 0;
  std::vector<RefusedLine> refused;  ///< the first kMaxRefused of them
  static constexpr std::size_t kMaxRefused = 10000;
  std::array<std::int64_t, 5> agreement{};  ///< of what was imported, by AutotvmAgreement
  std::array<std::int64_t, 9> flags{};      ///< of what was imported, by bit of ImportedFlag
};

struct ImportOptions {
  /// Only lines of this target: the same kind and every option given here. Empty: all.
  std::string target;
  /// Nothing is written; the answer is what an import would have said.
  bool dry_run = false;
  /// Called now and then; may be null.
  std::function<void(const ImportedFile&)> progress;
};

/// Imports AutoTVM logs (0.2 and 0.1) and TopHub packages. Each line is read once, memory does not
/// grow with the files, and every kCommitEvery records are made durable, so that an import that was
/// interrupted goes on where it was when it is run again.
///
/// Errors: as LineReader::Open for a file that cannot be read; kUnavailable if the store is locked
/// or full. A line that is no record is no error: it is refused with its reason.
Result<std::vector<ImportedFile>> ImportAutotvm(Store& store, const std::vector<std::string>& files,
                                                const ImportOptions& options);

/// The bytes of a store that holds what one log says and nothing else; see Store::OpenImage.
/// Errors: as ImportAutotvm; kInvalidArgument if no line of it is a record.
Result<std::string> ImportIntoMemory(const std::string& file);

/// "cuda" for ".../cuda_v0.10.log"; empty if the file's name is none of TopHub's.
std::string TophubPackageOf(const std::string& path);

}  // namespace tilewright::records
