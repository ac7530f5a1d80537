// Manual pages in man(7) macros. Text is escaped: dashes can be copied, and no line of text begins
// with a character that the formatter takes for a request.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "python_free_cli/pages/pages.h"
#include "src/base/strings.h"

namespace tilewright::cli {
namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// Returns "crop|exact", "FILE"; for a positional its name.
std::string ValueOf(const ArgumentPage& page) {
  std::string value = page.positional ? Upper(page.names.front()) : page.type;
  if (!page.choices.empty()) value = fmt::format("{}", fmt::join(page.choices, "|"));
  return "\\fI" + Escaped(value) + "\\fR" + (page.repeated ? " ..." : "");
}

std::string Heading(const std::string& name) {
  return fmt::format(".TH {} 1 \"\" \"tilewright {}\" \"Tilewright\"\n", Upper(name),
                     TILEWRIGHT_VERSION);
}

std::string Synopsis(const std::string& full_name, const CommandPage& page) {
  std::string text = ".B " + Escaped(full_name) + "\n";
  if (!page.subcommands.empty()) text += "\\fIverb\\fR\n";
  for (const ArgumentPage& argument : page.arguments) {
    if (!argument.positional) continue;
    const std::string value = ValueOf(argument);
    text += (argument.required ? value : "[" + value + "]") + "\n";
  }
  return text + "[\\fIoption\\fR ...]\n";
}

std::string Arguments(const CommandPage& page) {
  std::string text;
  for (const bool positional : {true, false}) {
    for (const ArgumentPage& argument : page.arguments) {
      if (argument.positional != positional) continue;
      text += ".TP\n";
      if (positional) {
        text += ValueOf(argument);
      } else {
        std::vector<std::string> names;
        for (const std::string& name : argument.names)
          names.push_back("\\fB" + Escaped(name) + "\\fR");
        text += fmt::format("{}", fmt::join(names, ", "));
        if (!argument.flag) text += " " + ValueOf(argument);
      }
      text += "\n" + Escaped(argument.text.empty() ? std::string("See above") : argument.text);
      if (!argument.default_value.empty())
        text += Escaped(" (default " + argument.default_value + ")");
      if (argument.required) text += " (required)";
      text += "\n";
    }
  }
  return text;
}

/// Returns the examples of --help with their line breaks.
std::string Examples(const CommandPage& page) {
  constexpr std::string_view kTitle = "Examples:\n";
  if (!page.footer.starts_with(kTitle)) return {};
  std::string text = page.footer.substr(kTitle.size());
  while (text.ends_with('\n')) text.pop_back();
  return ".SH EXAMPLES\n.nf\n" + Escaped(text) + "\n.fi\n";
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\ndone\n"
    ".TP\n1\nthe work failed: a result differs, a record is missing, a device is gone\n"
    ".TP\n2\nbad usage or bad input\n"
    ".TP\n128 + N\nstopped by signal N\n";

}  // namespace

std::string ProgramManual(const CommandPage& program) {
  std::string text =
      Heading(program.name) + ".SH NAME\n" + program.name +
      " \\- find fast schedules for tensor operators, keep them, compile with them\n"
      ".SH SYNOPSIS\n.B " +
      program.name +
      "\n\\fIcommand\\fR [\\fIargument\\fR ...]\n"
      ".SH DESCRIPTION\n"
      "Tilewright reads the graph of a neural network, searches for each of its tensor "
      "operators the\nschedule that is fastest on a device, keeps every trial in a "
      "store, and compiles the network with\nthe best of them. Each command has a page "
      "of its own.\n"
      ".SH OPTIONS\n" +
      Arguments(program) + ".SH COMMANDS\n";
  for (const CommandPage& command : program.subcommands) {
    text += fmt::format(".TP\n\\fB{}\\-{}\\fR(1)\n{}\n", program.name, Escaped(command.name),
                        Escaped(command.summary));
  }
  text += kExitStatus;
  text +=
      ".SH FILES\n"
      ".TP\n\\fI$XDG_DATA_HOME/tilewright/records.db\\fR\nthe user's store of records; "
      "\\fI~/.local/share\\fR where that is not set\n"
      ".TP\n\\fI$XDG_DATA_HOME/tilewright/packages\\fR\ninstalled packages of records\n"
      ".TP\n\\fI/usr/share/tilewright/packages\\fR\npackages of records for all users\n"
      ".TP\n\\fI$XDG_CONFIG_HOME/tilewright/trusted_keys\\fR\nkeys whose packages are taken\n";
  return text;
}

std::string CommandManual(const CommandPage& program, const CommandPage& command) {
  const std::string page_name = program.name + "-" + command.name;
  const std::string full_name = program.name + " " + command.name;
  std::string summary = command.summary;
  if (!summary.empty()) summary.front() = static_cast<char>(std::tolower(summary.front()));
  std::string text = Heading(page_name) + ".SH NAME\n" + page_name + " \\- " + Escaped(summary) +
                     "\n.SH SYNOPSIS\n" + Synopsis(full_name, command);
  text += ".SH DESCRIPTION\n" + Escaped(command.summary) + ".\n";
  const std::string options = Arguments(command);
  if (!options.empty()) text += ".SH OPTIONS\n" + options;
  if (!command.subcommands.empty()) text += ".SH VERBS\n";
  for (const CommandPage& subcommand : command.subcommands) {
    text += ".SS " + Escaped(subcommand.name) + "\n" +
            Synopsis(full_name + " " + subcommand.name, subcommand) + ".PP\n" +
            Escaped(subcommand.summary) + ".\n" + Arguments(subcommand);
  }
  text += Examples(command);
  text += kExitStatus;
  return text + ".SH SEE ALSO\n.BR " + program.name + " (1)\n";
}

}  // namespace tilewright::cli
