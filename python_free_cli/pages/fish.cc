#include <fmt/format.h>

#include <string_view>

#include "python_free_cli/pages/pages.h"

namespace tilewright::cli {
namespace {

std::string FishQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

/// condition: fish expression that is true while the command is typed; empty for the program.
void AddOptions(const CommandPage& page, const std::string& condition, std::string& text) {
  const std::string when =
      condition.empty() ? " -n __fish_use_subcommand" : " -n " + FishQuoted(condition);
  for (const ArgumentPage& argument : page.arguments) {
    const auto& values = argument.choices.empty() ? argument.suggestions : argument.choices;
    const std::string choices = fmt::format("{}", fmt::join(values, " "));
    const std::string no_files = argument.path ? "" : " -f";
    if (argument.positional) {
      if (choices.empty() && argument.path) continue;
      text += "complete -c tilewright" + when + no_files;
      if (!choices.empty()) text += " -a " + FishQuoted(choices);
      text += "\n";
      continue;
    }
    text += "complete -c tilewright" + when;
    for (const std::string& name : argument.names) {
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!argument.flag) text += " -r" + no_files;
    if (!choices.empty()) text += " -a " + FishQuoted(choices);
    text += " -d " + FishQuoted(argument.text) + "\n";
  }
}

}  // namespace

std::string FishCompletion(const CommandPage& program) {
  std::string text = "# fish completion for tilewright\n";
  AddOptions(program, "", text);
  for (const CommandPage& command : program.subcommands) {
    text += fmt::format("complete -c tilewright -f -n __fish_use_subcommand -a {} -d {}\n",
                        command.name, FishQuoted(command.summary));
    const std::string here = "__fish_seen_subcommand_from " + command.name;
    AddOptions(command, here, text);
    std::string all;
    for (const CommandPage& subcommand : command.subcommands) all += " " + subcommand.name;
    for (const CommandPage& subcommand : command.subcommands) {
      text += fmt::format("complete -c tilewright -f -n {} -a {} -d {}\n",
                          FishQuoted(here + "; and not __fish_seen_subcommand_from" + all),
                          subcommand.name, FishQuoted(subcommand.summary));
      AddOptions(subcommand, here + "; and __fish_seen_subcommand_from " + subcommand.name, text);
    }
  }
  return text;
}

}  // namespace tilewright::cli
