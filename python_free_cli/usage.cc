#include "python_free_cli/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <sstream>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "src/base/printable.h"
#include "src/base/strings.h"
#include "src/session/text_table.h"

namespace tilewright::cli {
namespace {

/// Returns the choices in the argument parser's name of a type, "TEXT:{hit,near}" or "ENUM:value in
/// {crop->1,exact->0} OR {1,0}"; empty for other types.
std::vector<std::string> ChoicesIn(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.find('}');
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos || close < open) return choices;
  for (const std::string& word : Split(type.substr(open + 1, close - open - 1), ',')) {
    choices.push_back(word.substr(0, word.find("->")));
  }
  return choices;
}

/// Help formatter that prints choices and defaults in words, and breaks lines at the width of the
/// terminal; not in a file or a pipe, so that programs can search them.
class PlainFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    constexpr std::string_view kTwoEmptyLines = "\n\n\n";
    for (std::size_t at; (at = text.find(kTwoEmptyLines)) != std::string::npos;) text.erase(at, 1);
    return text;
  }
  std::string make_description(const CLI::App* app) const override {
    return Wrapped(CLI::Formatter::make_description(app));
  }
  std::string make_footer(const CLI::App* app) const override {
    return Wrapped(CLI::Formatter::make_footer(app));
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return InColumn(option->get_description());
  }
  std::string make_subcommand(const CLI::App* app) const override {
    std::ostringstream text;
    CLI::detail::format_help(text, app->get_name(), InColumn(app->get_description()),
                             column_width_);
    return text.str();
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};  // a flag
    const std::vector<std::string> choices = ChoicesOf(*option);
    std::string text = " ";
    text += choices.empty() ? TypeOf(*option) : fmt::format("{}", fmt::join(choices, "|"));
    if (TakesAnyNumber(*option)) text += " ...";
    if (option->get_required()) text += " (required)";
    const std::string standard = DefaultToShow(*option);
    if (!standard.empty()) text += " (default " + standard + ")";
    return text;
  }

 private:
  static std::string Wrapped(const std::string& text) {
    return OutputColumns() > 0 ? session::WrapLines(text) : text;
  }
  /// Returns a description for the column on the right.
  std::string InColumn(const std::string& text) const {
    constexpr int kMinColumns = 24;
    if (OutputColumns() == 0) return text;
    const int width = OutputColumns() - static_cast<int>(column_width_) - 1;
    return session::WrapText("", text, std::max(width, kMinColumns), 0);
  }
};

/// Returns the command, or its subcommand, that was recognized.
const CLI::App* Deepest(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

/// Returns the full name of a command, such as "tilewright records list".
std::string FullNameOf(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? app->get_name() : FullNameOf(parent) + " " + app->get_name();
}

/// Returns unused words, in the order in which the parser met them.
std::vector<std::string> RemainingWords(const CLI::App& app, const CLI::App& deepest) {
  std::vector<std::string> words = deepest.remaining();
  return words.empty() ? app.remaining() : words;
}

bool IsOptionWord(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// Returns a message about an unknown command or subcommand; empty if there is none.
std::string UnknownCommand(const CLI::App& app, const CLI::App& deepest) {
  for (const std::string& word : RemainingWords(app, deepest)) {
    if (IsOptionWord(word)) continue;
    return "'" + Printable(word) + "': no such command" + DidYouMean(word, CommandNames(deepest));
  }
  return {};
}

/// Returns a message about unused words; empty if there are none.
std::string RemainingArguments(const CLI::App& app, const CLI::App& deepest) {
  const std::vector<std::string> words = RemainingWords(app, deepest);
  if (words.empty()) return {};
  const auto option = std::ranges::find_if(words, IsOptionWord);
  if (option != words.end()) {
    const std::string name = option->substr(0, option->find('='));
    std::vector<std::string> known;
    for (const CLI::Option* one : deepest.get_options()) {
      for (const std::string& text : one->get_lnames()) known.push_back("--" + text);
    }
    return Printable(name) + ": no such option" + DidYouMean(name, known);
  }
  if (!CommandNames(deepest).empty()) return UnknownCommand(app, deepest);
  return "'" + Printable(words.front()) + "': one argument too many";
}

/// Returns the parser's message without its internals.
std::string Reworded(const CLI::App& deepest, const CLI::ParseError& error) {
  std::string text = error.what();
  if (error.get_name() == "RequiredError" && !CommandNames(deepest).empty() &&
      deepest.get_subcommands().empty()) {
    return fmt::format("expected one of: {}", fmt::join(CommandNames(deepest), ", "));
  }
  const std::vector<std::string> choices = ChoicesIn(text);
  if (choices.empty()) return Printable(text);
  // "--accept: foo not in {…}", or "--image-fit: Check foo value in {…} OR {…} FAILED".
  const std::size_t colon = text.find(": ");
  const std::string name = colon == std::string::npos ? "" : text.substr(0, colon + 2);
  std::string value = text.substr(name.size());
  for (const std::string_view end : {" not in {", " value in {"}) {
    if (const std::size_t at = value.find(end); at != std::string::npos) value.resize(at);
  }
  if (value.starts_with("Check ")) value.erase(0, 6);
  return Printable(name) + "'" + Printable(value) + "', expected " +
         fmt::format("{}", fmt::join(choices, ", ")) + DidYouMean(value, choices);
}

}  // namespace

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  return names;
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  return ChoicesIn(option.get_type_name());
}

std::string TypeOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

bool TakesAnyNumber(const CLI::Option& option) {
  return option.get_expected_max() == CLI::detail::expected_max_vector_size;
}

std::string DefaultToShow(const CLI::Option& option) {
  const std::string& standard = option.get_default_str();
  const bool told = option.get_description().find("default") != std::string::npos;
  constexpr std::string_view kNone[] = {"", "0", "-1", "[]", "{}", "\"\""};
  if (told || std::ranges::find(kNone, Trim(standard)) != std::end(kNone)) return {};
  // An enumeration is captured as the character of its number.
  if (standard.size() == 1 && static_cast<unsigned char>(standard[0]) < ' ') return {};
  return standard;
}

void SetUpHelp(CLI::App& app) {
  app.formatter(std::make_shared<PlainFormatter>());
  app.option_defaults()->always_capture_default();
}

void TakeOneValueEach(CLI::App& app) {
  // A shell expands patterns to lists of files: --data pictures/*.jpg.
  constexpr std::array<std::string_view, 3> kFileLists = {"data", "input", "output"};
  const auto options = app.get_options();
  const bool positionals = std::ranges::any_of(
      options, [](const CLI::Option* option) { return option->get_positional(); });
  for (CLI::Option* option : options) {
    const auto& names = option->get_lnames();
    const bool list = std::ranges::any_of(kFileLists, [&names](std::string_view name) {
      return std::ranges::find(names, name) != names.end();
    });
    const bool named = !option->get_positional();
    if (named && positionals && !list && TakesAnyNumber(*option)) option->allow_extra_args(false);
  }
  for (CLI::App* subcommand : app.get_subcommands(nullptr)) TakeOneValueEach(*subcommand);
}

int EndParsing(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* deepest = Deepest(&app);
  std::string text;
  if (error.get_exit_code() == 0) {
    // The parser handles --help and --version before other words.
    if (!CommandNames(*deepest).empty()) text = UnknownCommand(app, *deepest);
    if (text.empty()) {
      app.exit(error);
      return kExitDone;
    }
  }
  if (text.empty()) text = RemainingArguments(app, *deepest);
  if (text.empty()) text = Reworded(*deepest, error);
  PrintErr("{}: {}\nTry `{} --help`.\n", FullNameOf(deepest), text, FullNameOf(deepest));
  return kExitBadInput;
}

}  // namespace tilewright::cli
