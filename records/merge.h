#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Result of merging one store into another.
struct MergeReport {
  std::string path, store_id;
  std::int64_t trials = 0;   ///< in the source store, without rejected ones
  std::int64_t added = 0;    ///< of those, new in the destination
  std::int64_t refused = 0;  ///< invalid rows: not merged
  /// Of the first kMaxReasons rejected rows, with the row's name.
  std::vector<std::string> reasons;
  static constexpr std::size_t kMaxReasons = 20;
  std::int64_t log_entries_added = 0;
  std::string sha256;  ///< of the source's trials, computed in both stores and equal
};

/// Merges stores into the one at `into`, in one transaction for each. Creates `into` if it is
/// missing. Trials keep their ids and values, a job N of a store S becomes N@S, and facts become
/// "store/S/<key>".
///
/// A row that `records check` reports (a trial, a winner, an imported record, a log entry, the text
/// of a schedule) is rejected, and the rest is merged. An existing schedule text is never replaced.
/// Before each commit, every trial of the source is compared with the stored one by count and
/// SHA-256, and the trials that existed before are counted again. Merging a store twice changes
/// nothing.
/// Errors: kCorrupt if a trial or log differs between two copies of one store; then nothing of that
/// store is merged. Those of opening a store.
Result<std::vector<MergeReport>> MergeStores(const TemplateRegistry& templates,
                                             const std::string& into,
                                             const std::vector<std::string>& from);

/// Criterion for splitting a store.
enum class SplitBy : std::uint8_t { kTarget, kDevice, kOperator, kJob };
Result<SplitBy> ParseSplitBy(std::string_view text);

struct SplitPart {
  std::string path;
  std::string value;  ///< target text, device model, operator or job name
  std::int64_t trials = 0;
  std::int64_t imported = 0;  ///< records of other programs
  std::string sha256;         ///< of its trials, equal in both stores
};

/// Splits a store into new ones in a directory, one for each target (device model, operator, job).
/// Imported records are split by the same criterion; in place of a device and a job they have the
/// file or TopHub package of their import.
/// Together the parts contain each trial and each imported record once, as of one moment, even
/// while other processes write to the store. The store itself does not change. Search logs are not
/// copied: a job can be resumed only in its original store. Errors: kInvalidArgument if a file of a
/// part exists; kCorrupt if a part differs from the store; those of opening a store.
Result<std::vector<SplitPart>> SplitStore(const std::string& store, const std::string& folder,
                                          SplitBy by);

}  // namespace tilewright::records
