#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}
namespace tilewright::plugins {
struct Registries;
}

namespace tilewright::cli {

/// One option or positional argument of a command, as its `Declare` defines it.
struct ArgumentPage {
  std::vector<std::string> names;  ///< "--output", "-o", long ones first; of a positional its name
  bool positional = false;
  bool flag = false;  ///< takes no value
  bool required = false;
  bool repeated = false;                      ///< takes any number of values
  std::string type;                           ///< "TEXT", "INT", "FILE"; empty for a flag
  std::vector<std::string> choices;           ///< allowed values, if the option takes one of a few
  std::string default_value;                  ///< default to show, else empty
  std::string text;                           ///< description
  std::vector<std::string> suggestions = {};  ///< values to offer; others are allowed too
  bool path = false;                          ///< the value can be a path
};

/// A command, or a subcommand of one.
struct CommandPage {
  std::string name;     ///< "records"; of a subcommand "merge"
  std::string summary;  ///< one line
  std::string footer;   ///< examples, as under --help; may be empty
  std::vector<ArgumentPage> arguments;
  std::vector<CommandPage> subcommands;
};

/// Returns the description that manual pages and completions are made from: the whole program as
/// its argument parser defines it, without hidden commands. app: as DeclareProgram returns it.
/// registries: their strategies and templates are offered as values.
CommandPage DescribeProgram(const CLI::App& app, const plugins::Registries& registries);

}  // namespace tilewright::cli
