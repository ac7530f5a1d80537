#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "records/maintenance.h"
#include "records/merge.h"

// What the maintenance of a record store did (records/maintenance.h, records/merge.h).

namespace tilewright::report {

/// into: path of the store that the others were merged into.
nlohmann::ordered_json MergeJson(const std::string& into,
                                 std::span<const records::MergeReport> reports);
/// Returns one line for a merged store.
std::string MergeText(const std::string& into, const records::MergeReport& report);
/// Returns the reasons of rejected rows, one line each.
std::string MergeRefusalsText(const records::MergeReport& report);

/// by: name of the criterion ("target").
nlohmann::ordered_json SplitJson(const std::string& by,
                                 const std::vector<records::SplitPart>& parts);
/// columns: maximum width of the table; 0: no limit.
std::string SplitText(const std::string& by, const std::vector<records::SplitPart>& parts,
                      const std::string& folder, int columns);

nlohmann::ordered_json PruneJson(const std::string& store, const records::PruneReport& report,
                                 bool dry_run);
std::string PruneText(const std::string& store, const records::PruneReport& report, bool dry_run);

}  // namespace tilewright::report
