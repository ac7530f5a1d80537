#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "python_free_cli/pages/pages.h"

namespace tilewright::cli {
namespace {

/// Returns the values to offer for an argument, between blanks.
std::string ValuesOf(const ArgumentPage& argument) {
  const auto& values = argument.choices.empty() ? argument.suggestions : argument.choices;
  return fmt::format("{}", fmt::join(values, " "));
}

/// Returns the assignments for an option that takes a value: its values, and whether paths and
/// nothing else are offered.
std::string ValueAssignments(const ArgumentPage& argument) {
  const std::string values = ValuesOf(argument);
  std::string text;
  if (!values.empty()) text += fmt::format(" values=\"{}\"", values);
  if (argument.path) text += " files=yes";
  return text.empty() ? " nothing=yes" : text;
}

/// Adds lines of a `case`: words that may follow a command, and the values of its options.
void AddCases(const std::string& path, const CommandPage& page, std::string& words,
              std::string& values) {
  std::vector<std::string> options, subcommands;
  bool files = false;
  for (const ArgumentPage& argument : page.arguments) {
    if (argument.positional) {
      files = files || argument.path;
      if (const std::string some = ValuesOf(argument); !some.empty()) subcommands.push_back(some);
      continue;
    }
    options.insert(options.end(), argument.names.begin(), argument.names.end());
    if (argument.flag) continue;
    for (const std::string& name : argument.names) {
      values += fmt::format("    \"{} {}\"){} ;;\n", path, name, ValueAssignments(argument));
    }
  }
  for (const CommandPage& subcommand : page.subcommands) subcommands.push_back(subcommand.name);
  words +=
      fmt::format("    \"{}\") options=\"{}\" verbs=\"{}\"{} ;;\n", path, fmt::join(options, " "),
                  fmt::join(subcommands, " "), files ? " arguments=files" : "");
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
         "  local path=tilewright options verbs arguments= values= files= nothing=\n"
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
         "  [ -z \"$values$files$nothing\" ] && [[ \"$word\" == -* ]] && values=\"$options\" "
         "nothing=yes\n"
         "  [ -z \"$values$files$nothing\" ] && values=\"$verbs\" files=\"$arguments\"\n"
         "  COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
         "  if [ -n \"$files\" ]; then\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _tilewright tilewright\n";
}

}  // namespace tilewright::cli
