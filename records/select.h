#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/sqlite.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Selection of the trials to keep. Packages and pruning use the same rules.

/// Number of rejected rows, and the reason of the first one.
struct RefusedRows {
  std::int64_t count = 0;
  std::string first;  ///< empty: none
};

/// Fills three temporary tables and returns the number of rejected rows and the reason of the first
/// one.
///
/// `temp.current (template, template_version, codegen_version)` contains the versions among the
/// trials of the attached database `schema` that may be served today. `temp.front (id)` contains
/// those of these trials that have several metrics and that no other trial of their workload,
/// target and device beats in all of them (by NoiseAdjustedValue, as in Store::Front).
/// `temp.refused (id)` contains invalid rows (records/validation/row_validator.h); they are in
/// neither of the other tables and in none of the selections below.
Result<RefusedRows> FindCurrent(const TemplateRegistry& templates, const Database& db,
                                std::string_view schema);

/// Returns SQL that selects the ids of trials of `schema` that are ok, verified, current and not
/// rejected: the `best` fastest of each workload, target and device, and all that are equal to the
/// last of them; winners of final races and the configs tied with them; those on the Pareto front
/// (temp.front). best = 0: all.
std::string SelectServed(std::string_view schema, std::int64_t best);

/// SQL: the value is a plausible result of a measurement, not infinite, negative or text.
inline constexpr std::string_view kValidValueSql = "(value > 0 AND value < 9e999)";

/// Returns SQL that selects the ids of trials of `schema` that won a race or are tied with a
/// winner.
std::string SelectRaced(std::string_view schema);

}  // namespace tilewright::records
