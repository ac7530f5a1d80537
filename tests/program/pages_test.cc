#include "python_free_cli/pages/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/program_arguments.h"
#include "src/base/files/file.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  const plugins::Registries registries_;
  ExtensionArguments brought_;
  CLI::App app_{"", "tilewright"};
};

TEST_F(PagesTest, EveryCommandAndOptionIsEverywhere) {
  const CommandPage program = DescribeProgram(app_, registries_);
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
  EXPECT_THAT(fish, HasSubstr(" -l trials -r -f -d "));
  EXPECT_GT(options, 100);
  EXPECT_GT(subcommands, 10);
}

TEST_F(PagesTest, EveryValueHasAName) {
  for (const CommandPage& command : DescribeProgram(app_, registries_).subcommands) {
    std::vector<CommandPage> pages = command.subcommands;
    pages.push_back(command);
    for (const CommandPage& page : pages) {
      for (const ArgumentPage& argument : page.arguments) {
        EXPECT_THAT(argument.type, testing::Not(testing::AnyOf("INT", "UINT", "FLOAT")))
            << page.name << " " << argument.names.front()
            << ": expected a row in python_free_cli/option_table.cc";
        EXPECT_EQ(
            std::set<std::string>(argument.suggestions.begin(), argument.suggestions.end()).size(),
            argument.suggestions.size())
            << page.name << " " << argument.names.front() << ": a suggestion twice";
        EXPECT_TRUE(argument.type != "TEXT" || !argument.choices.empty())
            << page.name << " " << argument.names.front()
            << ": expected a row in python_free_cli/option_table.cc";
      }
    }
  }
}

TEST_F(PagesTest, HelpOfTuneIsInGroups) {
  const std::string help = app_.get_subcommand("tune")->help();
  std::size_t before = 0;
  for (const char* group : {"\nOptions:\n", "\nTarget and device:\n", "\nFleet:\n", "\nLimits:\n",
                            "\nSearch:\n", "\nModel:\n"}) {
    const std::size_t at = help.find(group);
    ASSERT_NE(at, std::string::npos) << group << help;
    EXPECT_TRUE(at > before || before == 0) << group;
  }
  EXPECT_THAT(help, HasSubstr("--budget DURATION"));
  EXPECT_THAT(help, HasSubstr("--trials N"));
  EXPECT_THAT(help, HasSubstr("--records FILE"));
}

/// Returns the lines that a shell prints. The completion is $1, the words of the line follow.
std::string ShellPrints(const char* shell, const std::string& completion, const std::string& code,
                        const std::string& folder) {
  EXPECT_TRUE(WriteFile(folder + "/completion", completion).ok());
  const std::string command =
      "cd '" + folder + "' && HOME='" + folder + "' " + shell + " -c '" + code + "' 2>&1 | sort -u";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string lines;
  for (char buffer[4096]; std::fgets(buffer, sizeof(buffer), pipe) != nullptr;) lines += buffer;
  ::pclose(pipe);
  return lines;
}

bool IsInstalled(const char* shell) {
  return std::system((std::string("command -v ") + shell + " >/dev/null").c_str()) == 0;
}

/// Words of a command line, the last one to be completed, and words among and not among the
/// completions.
struct CompletionCase {
  std::string line;
  std::vector<std::string> offered;
  std::string not_offered;
};

const std::vector<CompletionCase>& CompletionCases() {
  static const std::vector<CompletionCase> cases = {
      {"tun", {"tune"}, "query"},
      {"help tu", {"tune"}, "tuning.log"},
      {"records mer", {"merge"}, "stats"},
      {"tune --strateg", {"--strategy"}, "--trials"},
      {"tune --strategy ", {"auto", "evolve", "genetic", "grid", "model", "random"}, "net.onnx"},
      {"tune --target rasp", {"rasp3b", "rasp4b64"}, "native"},
      {"compile --target ", {"native", "llvm", "cuda", "vta", "pynq"}, "net.onnx"},
      {"tune --vta-config ", {"sim", "pynq", "design.json"}, "cycles_pynq"},
      {"tune --template conv2d_nchw", {"conv2d_nchw.cuda"}, "dense_packed.cpu"},
      {"model res", {"resnet18_v1", "resnet50_v1"}, "resnet.onnx"},
      {"tune re", {"resnet.onnx", "records.db"}, "resnet18_v1"},
      {"tune --records ", {"records.db"}, "auto"},
      {"run --image-fit ", {"crop", "exact", "stretch"}, "records.db"},
      {"tune --trials ", {}, "records.db"},
      {"records list --outcome w", {"wrong_result"}, "ok"},
      {"completion ", {"bash", "zsh", "fish", "man", "all"}, "records.db"},
  };
  return cases;
}

void CheckCompletions(const CompletionCase& wanted, const std::string& lines) {
  const std::string all = "\n" + lines;
  for (const std::string& word : wanted.offered) {
    EXPECT_THAT(all, testing::ContainsRegex("\n" + word + "[\t\n]")) << wanted.line;
  }
  EXPECT_THAT(all, Not(HasSubstr("\n" + wanted.not_offered + "\n"))) << wanted.line;
}

class CompletionTest : public PagesTest {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("completion");
    ASSERT_TRUE(folder.ok());
    folder_ = *std::move(folder);
    for (const char* file : {"resnet.onnx", "records.db", "design.json", "tuning.log"}) {
      ASSERT_TRUE(WriteFile(folder_->path() + "/" + file, "x").ok());
    }
  }
  std::optional<ScopedTempDir> folder_;
};

TEST_F(CompletionTest, BashOffersValuesAndFiles) {
  const std::string completion = BashCompletion(DescribeProgram(app_, registries_));
  for (const CompletionCase& wanted : CompletionCases()) {
    const std::string quoted = wanted.line.ends_with(' ') ? wanted.line + "\"\"" : wanted.line;
    const std::string code = "source ./completion; COMP_WORDS=(tilewright " + quoted +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tilewright; "
                             "printf \"%s\\n\" \"${COMPREPLY[@]}\"";
    CheckCompletions(wanted, ShellPrints("bash", completion, code, folder_->path()));
  }
}

TEST_F(CompletionTest, FishOffersValuesAndFiles) {
  if (!IsInstalled("fish")) GTEST_SKIP() << "no fish";
  const std::string completion = FishCompletion(DescribeProgram(app_, registries_));
  for (const CompletionCase& wanted : CompletionCases()) {
    const std::string code = "source ./completion; complete -C \"tilewright " + wanted.line + "\"";
    CheckCompletions(wanted, ShellPrints("fish", completion, code, folder_->path()));
  }
}

TEST_F(CompletionTest, ZshReadsItsCompletion) {
  if (!IsInstalled("zsh")) GTEST_SKIP() << "no zsh";
  const std::string completion = ZshCompletion(DescribeProgram(app_, registries_));
  const std::string lines =
      ShellPrints("zsh", completion,
                  "autoload -Uz compinit; compinit -u -d ./dump; source ./completion; "
                  "print -l ${(k)functions}",
                  folder_->path());
  EXPECT_THAT(lines, HasSubstr("\n_tilewright_records_merge\n"));
  EXPECT_THAT(completion, HasSubstr("--strategy["));
  EXPECT_THAT(completion, HasSubstr(":STRATEGY:(auto "));
  EXPECT_THAT(completion, HasSubstr(":FILE:_files"));
  EXPECT_THAT(completion, testing::ContainsRegex(":DESIGN:.compadd -- .*sim.*; _files."));
}

TEST_F(PagesTest, EveryOptionSaysWhatItIsFor) {
  for (const CommandPage& command : DescribeProgram(app_, registries_).subcommands) {
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
