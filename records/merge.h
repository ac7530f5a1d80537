#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// What merging one store into another did.
struct MergeReport {
  std::string path, store_id;
  std::int64_t trials = 0;           ///< in the store merged from, without those that were refused
  std::int64_t added = 0;            ///< of those, not in the other store before
  std::int64_t refused = 0;          ///< rows that may not be used: they stay where they are
  std::vector<std::string> reasons;  ///< of the first kMaxReasons of them, with the row's name
  static constexpr std::size_t kMaxReasons = 20;
  std::int64_t log_entries_added = 0;
  std::string sha256;  ///< of its trials, computed in both stores and found equal
};

/// Merges stores into the one at `into`, which is made if it is missing; one transaction for each.
/// Everything sound in them is in it afterwards: trials keep their ids and values, a job N of a
/// store S becomes N@S, facts become "store/S/<key>". A row that `records check` would find (a
/// trial, a winner, an imported record, an entry of a log, the text of a schedule) is refused, and
/// the rest is merged. The text of a schedule that is there is never replaced. Before a transaction
/// is committed, every trial of the source is compared with what was stored, by count and SHA-256,
/// and the trials that were there before are counted again. Merging one again changes nothing.
/// Errors: kCorrupt if one trial or log differs in two copies of one store; nothing of the store
/// that caused it is then merged. Those of opening a store.
Result<std::vector<MergeReport>> MergeStores(const TemplateRegistry& templates,
                                             const std::string& into,
                                             const std::vector<std::string>& from);

/// What a store is cut by.
enum class SplitBy : std::uint8_t { kTarget, kDevice, kOperator, kJob };
Result<SplitBy> ParseSplitBy(std::string_view text);

struct SplitPart {
  std::string path;
  std::string value;  ///< target text, device model, operator or job name
  std::int64_t trials = 0;
  std::string sha256;  ///< of its trials, equal in both stores
};

/// Cuts a store into new ones in a folder, one for each target (device model, operator, job), which
/// together hold each trial once as the store had it at one moment, whoever writes to it meanwhile;
/// the store itself stays as it is. The logs of searches are not
/// copied: a job goes on in the store it was begun in.
/// Errors: kInvalidArgument if a file of a part is there already; kCorrupt if a part differs from
/// the store; those of opening a store.
Result<std::vector<SplitPart>> SplitStore(const std::string& store, const std::string& folder,
                                          SplitBy by);

}  // namespace tilewright::records
