#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tilewright::cli {

/// One option or positional argument of a command, as its `Declare` says it.
struct ArgumentPage {
  std::vector<std::string> names;  ///< "--output", "-o", long ones first; of a positional its name
  bool positional = false;
  bool flag = false;  ///< takes no value
  bool required = false;
  bool repeated = false;             ///< takes any number of values
  std::string type;                  ///< "TEXT", "INT", "FILE"; empty for a flag
  std::vector<std::string> choices;  ///< the values it takes, if it is one of a few
  std::string default_value;         ///< default worth telling, else empty
  std::string text;                  ///< what it is for
};

/// A command, or a verb of one.
struct CommandPage {
  std::string name;     ///< "records", of a verb "merge"
  std::string summary;  ///< one line
  std::string footer;   ///< examples, as under --help; may be empty
  std::vector<ArgumentPage> arguments;
  std::vector<CommandPage> subcommands;
};

/// What manual pages and completions are made of: the whole program as its argument parser knows
/// it, hidden commands left out. app: as DeclareProgram makes it.
CommandPage DescribeProgram(const CLI::App& app);

}  // namespace tilewright::cli
