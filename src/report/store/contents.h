#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "records/autotvm/imported_summary.h"
#include "records/autotvm/selection.h"
#include "records/maintenance.h"
#include "src/base/status.h"

// Contents of a record store: how much of each task it has, and the best configs.

namespace tilewright::report {

/// Tasks of a record store, and its imported records.
struct StoreContents {
  std::string path;
  records::StoreSummary summary;
  std::vector<records::ImportedSummary> imported;

  /// Errors: those of opening the store.
  static Result<StoreContents> Read(const TemplateRegistry& templates, const std::string& path);
  nlohmann::ordered_json ToJson() const;
  /// Returns a table of the tasks of each target and device, a table of the imported records, and
  /// the totals. columns: maximum width; 0: no limit.
  std::string ToText(int columns) const;
  /// Returns "5 tasks, 40 trials and 12 measurements in races, 1 job (0 unfinished), 0.3 MB".
  std::string Totals() const;
};

/// Best configs of a store, measured and imported.
struct StoreBest {
  std::vector<records::BestTrial> trials;
  std::vector<records::ImportedRecord> imported;
  std::vector<records::TaskSummary> tasks;  ///< of the whole store, for names

  /// top: number of configs of each task. Errors: those of opening the store.
  static Result<StoreBest> Read(const TemplateRegistry& templates, const std::string& path,
                                const records::Selection& selection, std::int64_t top);
  bool empty() const { return trials.empty() && imported.empty(); }
  nlohmann::ordered_json ToJson() const;
  /// Returns tables. columns: maximum width; 0: no limit.
  std::string ToText(int columns) const;
};

}  // namespace tilewright::report
