#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "records/store.h"
#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

struct AutotvmExportOptions {
  /// Only what AutoTVM's pick-best keeps: per workload the cheapest record of each model and of
  /// each target key, within one package or the logs; of our own trials, what is served for each
  /// workload and target, or else the fastest one that AutoTVM has the template of.
  bool best = false;
  bool imported = true;  ///< records that came from such logs
  bool trials = true;    ///< our own verified trials, where AutoTVM has the template
};

/// A task whose best trial AutoTVM cannot take.
struct AutotvmSkippedWinner {
  std::string workload_key, target;
  std::string template_key;    ///< of the best trial
  double seconds = 0;          ///< of the best trial
  std::string reason;          ///< why AutoTVM cannot take it
  double written_seconds = 0;  ///< of the trial that was written in its place; 0: there is none
};

struct AutotvmExportReport {
  std::int64_t imported = 0, trials = 0;     ///< lines written
  std::map<std::string, std::int64_t> left;  ///< trials left out, by reason; for `best`, tasks
  std::vector<AutotvmSkippedWinner> skipped_winners;  ///< for `best`
};

/// Writes records as AutoTVM log lines of format 0.2, which TVM up to 0.19 reads: imported ones in
/// the order of their import, then our own. `write` gets each line without its end.
///
/// The index is that of the values in AutoTVM's space: as recorded where it agreed, recomputed
/// where it was edited. Targets of our own trials keep the options TVM knows. Errors: of the store,
/// or of `write`.
Result<AutotvmExportReport> ExportAutotvm(const TemplateRegistry& templates, const Store& store,
                                          const AutotvmExportOptions& options,
                                          const std::function<Status(std::string_view)>& write);

}  // namespace tilewright::records
