#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/optimize/search_report.h"

namespace tilewright::optimize {

/// "12 float32, 3 int8"
std::string CountsText(const Formats& formats);
/// "31.2 dB"; "equal" for infinity.
std::string DecibelText(double decibels);

/// Returns the tables of a report: sites, then combinations. width: of the terminal; 0: any.
std::string TablesText(const SearchReport& report, int width);
/// Returns a sentence about the chosen library.
std::string ChoiceText(const SearchReport& report);
/// Returns the report as `optimize --json` prints it.
nlohmann::ordered_json ReportJson(const SearchReport& report, const std::string& library);
nlohmann::ordered_json CombinationJson(const Combination& combination);

}  // namespace tilewright::optimize
