#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/compiler/check/compare.h"
#include "src/compiler/check/verify.h"

// Comparisons of networks with the reference evaluator and with each other. Columns: maximum width
// of tables; 0: no limit.

namespace tilewright::report {

nlohmann::ordered_json VerificationJson(const VerifyReport& report);
std::string VerificationText(const VerifyReport& report, int columns);

nlohmann::ordered_json VerificationJson(const DifferenceReport& report);
/// Columns are left out if the table is narrow.
std::string VerificationText(const DifferenceReport& report, int columns);

}  // namespace tilewright::report
