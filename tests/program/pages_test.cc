#include "python_free_cli/pages/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/program_arguments.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;

/// The whole program and the pages generated from it.
class PagesTest : public testing::Test {
 protected:
  PagesTest() { DeclareProgram(app_, commands_, brought_); }

  /// Every option of an app from the parser. The pages are compared with this and not with their
  /// own description.
  static std::vector<std::string> OptionsOf(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back(name);
    }
    return names;
  }
  static std::string Dashed(std::string text) {
    for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) {
      text.insert(at, "\\");
    }
    return text;
  }

  const std::vector<std::unique_ptr<Command>> commands_ = AllCommands();
  ExtensionArguments brought_;
  CLI::App app_{"", "tilewright"};
};

TEST_F(PagesTest, EveryCommandAndOptionIsEverywhere) {
  const CommandPage program = DescribeProgram(app_);
  const std::string manual = ProgramManual(program), bash = BashCompletion(program),
                    zsh = ZshCompletion(program), fish = FishCompletion(program);
  int options = 0, subcommands = 0;
  for (const CLI::App* command : app_.get_subcommands({})) {
    if (command->get_group().empty()) continue;  // hidden
    const std::string& name = command->get_name();
    const auto page = std::ranges::find(program.subcommands, name, &CommandPage::name);
    ASSERT_NE(page, program.subcommands.end()) << name;
    const std::string own = CommandManual(program, *page);
    EXPECT_THAT(manual, HasSubstr("\\fBtilewright\\-" + Dashed(name) + "\\fR(1)"));
    EXPECT_THAT(fish, HasSubstr("-a " + name + " -d"));
    EXPECT_THAT(zsh, HasSubstr("'" + name + ":"));
    std::vector<const CLI::App*> apps = command->get_subcommands({});
    subcommands += static_cast<int>(apps.size());
    for (const CLI::App* subcommand : apps) {
      EXPECT_THAT(own, HasSubstr(".SS " + Dashed(subcommand->get_name()) + "\n")) << name;
      EXPECT_THAT(
          bash, HasSubstr("\"tilewright " + name + " " + subcommand->get_name() + "\") options="));
      EXPECT_THAT(zsh, HasSubstr("'" + subcommand->get_name() + ":")) << name;
    }
    apps.push_back(command);
    for (const CLI::App* app : apps) {
      const std::string path =
          app == command ? "tilewright " + name : "tilewright " + name + " " + app->get_name();
      const std::size_t begin = bash.find("\"" + path + "\") options=");
      ASSERT_NE(begin, std::string::npos) << path;
      const std::string line = bash.substr(begin, bash.find('\n', begin) - begin);
      for (const std::string& option : OptionsOf(*app)) {
        ++options;
        EXPECT_THAT(own, HasSubstr("\\fB" + Dashed("--" + option) + "\\fR")) << path;
        EXPECT_THAT(line, testing::ContainsRegex("[ \"]--" + option + "[ \"]")) << path;
        EXPECT_THAT(zsh, HasSubstr("--" + option + "[")) << path;
        EXPECT_THAT(fish, HasSubstr(" -l " + option + " ")) << path;
      }
    }
  }
  EXPECT_THAT(fish, HasSubstr(" -l json -d "));  // takes no value
  EXPECT_THAT(fish, HasSubstr(" -l trials -r -d "));
  EXPECT_GT(options, 100);
  EXPECT_GT(subcommands, 10);
}

TEST_F(PagesTest, EveryOptionSaysWhatItIsFor) {
  for (const CommandPage& command : DescribeProgram(app_).subcommands) {
    for (const ArgumentPage& argument : command.arguments) {
      EXPECT_NE(argument.text, "") << command.name << " " << argument.names.front();
    }
    for (const CommandPage& subcommand : command.subcommands) {
      for (const ArgumentPage& argument : subcommand.arguments) {
        EXPECT_NE(argument.text, "")
            << command.name << " " << subcommand.name << " " << argument.names.front();
      }
    }
  }
}

TEST(PagesOfTest, TextIsNoRequestAndNoQuote) {
  CommandPage program{"tilewright", "A program", "", {}, {}};
  ArgumentPage option{{"--mode"}, false,      false, false,         false,
                      "TEXT",     {"a", "b"}, "a",   "It's [x]: \\"};
  program.subcommands.push_back({"run", "Runs", "Examples:\n.dangerous\n'also\n", {option}, {}});
  const std::string manual = CommandManual(program, program.subcommands.front());
  EXPECT_THAT(manual, HasSubstr("\n\\&.dangerous\n\\&'also\n"));
  EXPECT_THAT(manual, HasSubstr("It's [x]: \\e (default a)"));
  EXPECT_THAT(manual, HasSubstr("\\fB\\-\\-mode\\fR \\fIa|b\\fR"));
  EXPECT_THAT(ZshCompletion(program), HasSubstr("'*--mode[It'\\''s \\[x\\]\\: \\\\]:TEXT:(a b)'"));
  EXPECT_THAT(FishCompletion(program), HasSubstr("-l mode -r -f -a 'a b' -d 'It\\'s [x]: \\\\'"));
  EXPECT_THAT(BashCompletion(program), HasSubstr("\"tilewright run --mode\") values=\"a b\" ;;"));
}

}  // namespace
}  // namespace tilewright::cli
