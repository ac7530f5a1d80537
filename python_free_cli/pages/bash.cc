#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "python_free_cli/pages/pages.h"

namespace tilewright::cli {
namespace {

/// Adds lines of a `case`: words that may follow a command, and the options that take one of a few
/// values.
void AddCases(const std::string& path, const CommandPage& page, std::string& words,
              std::string& values) {
  std::vector<std::string> options, subcommands;
  for (const ArgumentPage& argument : page.arguments) {
    if (!argument.positional) {
      options.insert(options.end(), argument.names.begin(), argument.names.end());
    }
    if (argument.choices.empty()) continue;
    const std::string choices = fmt::format("{}", fmt::join(argument.choices, " "));
    if (argument.positional) {
      subcommands.insert(subcommands.end(), argument.choices.begin(), argument.choices.end());
      continue;
    }
    for (const std::string& name : argument.names) {
      values += fmt::format("    \"{} {}\") values=\"{}\" ;;\n", path, name, choices);
    }
  }
  for (const CommandPage& subcommand : page.subcommands) subcommands.push_back(subcommand.name);
  words += fmt::format("    \"{}\") options=\"{}\" verbs=\"{}\" ;;\n", path,
                       fmt::join(options, " "), fmt::join(subcommands, " "));
  for (const CommandPage& subcommand : page.subcommands)
    AddCases(path + " " + subcommand.name, subcommand, words, values);
}

}  // namespace

std::string BashCompletion(const CommandPage& program) {
  std::string words, values, paths;
  AddCases(program.name, program, words, values);
  // "tilewright records list" is a path if the second word is a subcommand of the first.
  for (const CommandPage& command : program.subcommands) {
    std::vector<std::string> subcommands;
    for (const CommandPage& subcommand : command.subcommands)
      subcommands.push_back(subcommand.name);
    if (!subcommands.empty()) {
      paths += fmt::format(
          "    {}) case \"${{COMP_WORDS[2]}}\" in {}) "
          "[ \"$COMP_CWORD\" -gt 2 ] && path+=\" ${{COMP_WORDS[2]}}\" ;; esac ;;\n",
          command.name, fmt::join(subcommands, "|"));
    }
  }
  return "# bash completion for tilewright\n"
         "_tilewright() {\n"
         "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  local path=tilewright options verbs values=\n"
         "  [ \"$COMP_CWORD\" -gt 1 ] && path+=\" ${COMP_WORDS[1]}\"\n"
         "  case \"${COMP_WORDS[1]}\" in\n" +
         paths +
         "  esac\n"
         "  case \"$path\" in\n" +
         words +
         "  esac\n"
         "  case \"$path $before\" in\n" +
         values +
         "  esac\n"
         "  if [ -n \"$values\" ]; then\n"
         "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
         "  elif [[ \"$word\" == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  elif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"$verbs\" -- \"$word\"))\n"
         "  else\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    COMPREPLY=($(compgen -W \"$verbs\" -- \"$word\") $(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _tilewright tilewright\n";
}

}  // namespace tilewright::cli
