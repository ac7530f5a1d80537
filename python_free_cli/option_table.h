#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}
namespace tilewright::plugins {
struct Registries;
}

namespace tilewright::cli {

/// Gives the values of options and arguments names ("FILE", "TARGET") instead of the parser's
/// "TEXT" and "INT". Of commands with many options it also sorts the options into groups.
/// command: with all of its options declared.
void NameOptions(CLI::App& command);

/// Returns true if values of this name are paths, which a shell completes.
bool IsPathValue(std::string_view value_name);

/// Returns the values that a shell offers for a value name: targets and boards for TARGET,
/// strategies for STRATEGY; empty for names without such a list.
std::vector<std::string> SuggestedValues(std::string_view value_name,
                                         const plugins::Registries& registries);

}  // namespace tilewright::cli
