#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "records/autotvm/selection.h"
#include "records/store.h"
#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

struct AutotvmExportOptions {
  /// Only the records that AutoTVM's pick-best keeps. Imported records: per workload the cheapest
  /// one of each model and of each target key, within one package or within the logs. Tilewright's
  /// trials: the served trial of each workload and target, or else the fastest one whose template
  /// AutoTVM has.
  bool best = false;
  bool imported = true;      ///< records imported from AutoTVM logs
  bool trials = true;        ///< Tilewright's verified trials whose template AutoTVM has
  Selection selection = {};  ///< only these records
};

/// Task whose best trial cannot be written as an AutoTVM record.
struct AutotvmSkippedWinner {
  std::string workload_key, target;
  std::string template_key;    ///< of the best trial
  double seconds = 0;          ///< of the best trial
  std::string reason;          ///< why it cannot be written
  double written_seconds = 0;  ///< of the trial written instead; 0: none
};

struct AutotvmExportReport {
  std::int64_t imported = 0, trials = 0;  ///< lines written
  /// Skipped trials by reason; for `best`, skipped tasks.
  std::map<std::string, std::int64_t> left;
  std::vector<AutotvmSkippedWinner> skipped_winners;  ///< for `best`
};

/// Writes records as AutoTVM log lines of format 0.2, which TVM up to 0.19 reads: imported records
/// in the order of import, then Tilewright's trials. Calls `write` with each line without its line
/// end.
///
/// The index is the position of the values in AutoTVM's space: as recorded if it matched the
/// values, recomputed if the record had been edited. Targets of Tilewright's trials keep only the
/// options that TVM supports.
/// Errors: those of the store and of `write`.
Result<AutotvmExportReport> ExportAutotvm(const TemplateRegistry& templates, const Store& store,
                                          const AutotvmExportOptions& options,
                                          const std::function<Status(std::string_view)>& write);

}  // namespace tilewright::records
