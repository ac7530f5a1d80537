#pragma once

#include <span>
#include <string>

#include "records/devices/shares.h"

namespace tilewright::session {

/// Returns the choice of one config for several devices as text: the devices, the best config with
/// its share on each, and the share of each device's best config on the others.
/// results: those of the table. metric: of the values; empty: without a unit.
std::string ChoiceText(const records::ShareTable& table,
                       std::span<const records::ConfigResults> results, records::ShareScore by,
                       const records::SharedChoice& choice, std::string_view metric, int width);

/// Returns rules as text: for each number of intervals its score, and the intervals of the last.
/// Parameters: as ChoiceText; results are named by size.
std::string RulesText(const records::ShareTable& table,
                      std::span<const records::ConfigResults> results, records::ShareScore by,
                      std::span<const records::SizeRule> rules, std::string_view metric, int width);

}  // namespace tilewright::session
