#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/sqlite.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Which trials are worth keeping. Packages and pruning choose by the same rules.

/// Fills `temp.current (template, template_version, codegen_version)` with those of the trials of
/// the attached database `schema` that could be served today, and `temp.front (id)` with those of
/// them that know several metrics and that no other one of their workload, target and device beats
/// in all of them (by NoiseAdjustedValue, as Store::Front has it). Rows that may not be used
/// (records/validation/row_validator.h) are put into `temp.refused (id)`, are in neither and in
/// none of the selections below, and are counted. returns how many they are, and why the first of
/// them.
struct RefusedRows {
  std::int64_t count = 0;
  std::string first;  ///< empty: none
};
Result<RefusedRows> FindCurrent(const TemplateRegistry& templates, const Database& db,
                                std::string_view schema);

/// SQL that selects the ids of trials of `schema` that are ok, verified, current and not refused:
/// the `best` fastest of each workload, target and device, and all that are equal to the last of
/// them; winners of final races, and the configs that could not be told from those; those on the
/// front (temp.front). 0: all.
std::string SelectServed(std::string_view schema, std::int64_t best);

/// SQL: the value is a number that a measurement can have come to. (An infinite one, a negative one
/// or a text is what somebody wrote there.)
inline constexpr std::string_view kValidValueSql = "(value > 0 AND value < 9e999)";

/// SQL that selects the ids of trials of `schema` that won a race, or whose config could not be
/// told from the winner's.
std::string SelectRaced(std::string_view schema);

}  // namespace tilewright::records
