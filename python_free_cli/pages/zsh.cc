// Completion for zsh by _arguments: a function for each command and each subcommand.

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "python_free_cli/pages/pages.h"

namespace tilewright::cli {
namespace {

/// Escapes text inside single quotes, including brackets and colons of _arguments.
std::string InSpecification(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '\n') {
      out += ' ';
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

/// Returns ":what:(a b)", ":what:_files", or both as ":what:{compadd -- a b; _files}".
std::string ZshValueOf(const ArgumentPage& page) {
  const std::string what = InSpecification(page.positional ? page.names.front() : page.type);
  const auto& values = page.choices.empty() ? page.suggestions : page.choices;
  if (values.empty()) return ":" + what + ":" + (page.path ? "_files" : " ");
  if (!page.path) return fmt::format(":{}:({})", what, fmt::join(values, " "));
  return fmt::format(":{}:{{compadd -- {}; _files}}", what, fmt::join(values, " "));
}

std::string FunctionName(const std::string& path) {
  std::string name = "_" + path;
  std::ranges::replace(name, ' ', '_');
  std::ranges::replace(name, '-', '_');
  return name;
}

void AddFunctions(const std::string& path, const CommandPage& page, std::string& functions) {
  std::string arguments;
  for (const ArgumentPage& argument : page.arguments) {
    if (argument.positional) {
      if (page.subcommands.empty()) {
        arguments +=
            fmt::format(" \\\n    '{}{}'", argument.repeated ? "*" : "", ZshValueOf(argument));
      }
      continue;
    }
    for (const std::string& name : argument.names) {
      arguments +=
          fmt::format(" \\\n    '{}{}[{}]{}'", argument.flag ? "" : "*", name,
                      InSpecification(argument.text), argument.flag ? "" : ZshValueOf(argument));
    }
  }
  if (page.subcommands.empty()) {
    functions += fmt::format("{}() {{\n  _arguments{}\n}}\n", FunctionName(path), arguments);
    return;
  }
  std::string list, cases;
  for (const CommandPage& subcommand : page.subcommands) {
    list += fmt::format("    '{}:{}'\n", subcommand.name, InSpecification(subcommand.summary));
    cases += fmt::format("        {}) {} ;;\n", subcommand.name,
                         FunctionName(path + " " + subcommand.name));
  }
  functions += fmt::format(
      "{}() {{\n  local context state line\n  local -a verbs=(\n{}  )\n"
      "  _arguments -C{} \\\n    '1: :->verb' '*:: :->rest'\n"
      "  case $state in\n    verb) _describe command verbs ;;\n    rest)\n"
      "      case $words[1] in\n{}      esac ;;\n  esac\n}}\n",
      FunctionName(path), list, arguments, cases);
  for (const CommandPage& subcommand : page.subcommands)
    AddFunctions(path + " " + subcommand.name, subcommand, functions);
}

}  // namespace

std::string ZshCompletion(const CommandPage& program) {
  std::string functions;
  AddFunctions(program.name, program, functions);
  // The first call runs the file as the body of the function; later calls run the function defined
  // here.
  return "#compdef tilewright\n# zsh completion for tilewright\n\n" + functions +
         "\nif [ \"$funcstack[1]\" = _tilewright ]; then\n  _tilewright \"$@\"\nelse\n"
         "  compdef _tilewright tilewright\nfi\n";
}

}  // namespace tilewright::cli
