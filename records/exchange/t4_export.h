#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "records/autotvm/selection.h"
#include "records/store.h"
#include "src/space/exchange/t4.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Measured configs of one task, target, device and template.
struct T4Space {
  std::string name;  ///< for files: letters, digits, '_', '-', '.'; unique in an export
  T4File file;
  std::string t1;  ///< T1 file of an open task's space; empty for other tasks
};

struct T4Export {
  std::vector<T4Space> spaces;
  std::int64_t trials = 0;  ///< results in them
  /// Trials without a result of their own, by reason: of configs that were measured again.
  std::map<std::string, std::int64_t> left;
  /// Imported results in `trials` of whose file only the columns of trials are here: the log of
  /// their job was not copied with them.
  std::int64_t reduced = 0;
};

/// Returns a name for files: the task's operator or name, its template and its device.
std::string T4NameOf(const Candidate& candidate, const DeviceFingerprint& device);

/// Returns a file without results for the task of a trial. Its metadata has the member "tilewright"
/// with everything that the trials of a file have in common.
T4File T4FileFor(const TemplateRegistry& templates, const Trial& trial);

/// Returns the result of a trial: config, times, verdict, the values of all metrics, and what T4
/// has no member for. Lists of a config become texts ("[1,64]").
T4Result T4ResultOf(const Trial& trial);

/// Converts the selected trials, of failed configs too, to T4 files. A config that was measured
/// several times has the measurement that counts (Supersedes). Imported results are as in their
/// file (t4_import.h), in its order; a file without other results gets its own members back. Skips
/// rows that break the rules of records/validation.
/// Errors: those of reading.
Result<T4Export> ExportT4(const TemplateRegistry& templates, const Store& store,
                          const Selection& selection);

}  // namespace tilewright::records
