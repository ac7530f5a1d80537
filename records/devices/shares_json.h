#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>

#include "records/devices/shares.h"

namespace tilewright::records {

/// Returns the template, empty for an open task, and the values of a ConfigText
/// (device_results.h).
std::pair<std::string, std::string> PartsOfConfigText(const std::string& text);

/// Converts a choice to the object that `tilewright query --over --json` prints: "devices", the
/// "answer" (null without), "others", "predicted", and "transfers": the best config of each device
/// on each other one. results: those of the table.
nlohmann::ordered_json ChoiceJson(const ShareTable& table, std::span<const ConfigResults> results,
                                  ShareScore by, const SharedChoice& choice);

/// Converts rules to the object that `query 'TASK?' --json` prints. results: those of the table,
/// named by size.
nlohmann::ordered_json RulesJson(const ShareTable& table, std::span<const ConfigResults> results,
                                 ShareScore by, std::span<const SizeRule> rules);

}  // namespace tilewright::records
