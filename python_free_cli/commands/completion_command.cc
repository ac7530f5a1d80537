// `tilewright help` and `tilewright completion`: help, manual pages and shell completion, generated
// from the commands themselves so that they match the program.

#include <CLI/CLI.hpp>
#include <algorithm>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/command.h"
#include "python_free_cli/pages/pages.h"
#include "python_free_cli/print.h"
#include "python_free_cli/program_arguments.h"
#include "python_free_cli/usage.h"
#include "src/base/did_you_mean.h"
#include "src/plugins/registries.h"

namespace tilewright::cli {
namespace {

class HelpCommand final : public Command {
 public:
  const char* name() const override { return "help"; }
  const char* summary() const override { return "Show the options of a command, with examples"; }
  const char* examples() const override {
    return "  tilewright help tune\n  tilewright help records merge\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("command", words_, "Command, and its subcommand (default: the program)");
  }
  Result<int> Run() override {
    const auto commands = AllCommands();
    ExtensionArguments extensions;
    CLI::App program("", "tilewright");
    DeclareProgram(program, commands, extensions);
    const CLI::App* found = &program;
    std::string shown = "tilewright", above;
    for (const std::string& word : words_) {
      const auto commands_here =
          found->get_subcommands([&word](const CLI::App* app) { return app->get_name() == word; });
      if (commands_here.empty()) {
        return InvalidArgument("'" + word + "': " + shown + " has no such command" +
                               DidYouMean(word, CommandNames(*found)));
      }
      found = commands_here.front();
      above = shown;
      shown += " " + word;
    }
    WriteText(found->help(above));
    return kExitDone;
  }

 private:
  std::vector<std::string> words_;
};

class CompletionCommand final : public Command {
 public:
  const char* name() const override { return "completion"; }
  const char* summary() const override { return "Print shell completion or manual pages"; }
  const char* examples() const override {
    return "  source <(tilewright completion bash)    # in ~/.bashrc\n"
           "  tilewright completion zsh > ~/.zfunc/_tilewright    # a folder of $fpath\n"
           "  tilewright completion fish > ~/.config/fish/completions/tilewright.fish\n"
           "  tilewright completion man tune | man -l -\n"
           "  tilewright completion all -o share\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("what", what_, "Output: completion for a shell, a manual page, or all as files")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish", "man", "all"}));
    app.add_option("command", command_, "With man: command of the page (default: the program)");
    app.add_option("-o,--output", folder_, "With all: folder to write to");
  }
  Result<int> Run() override {
    if (folder_.empty() == (what_ == "all")) {
      return InvalidArgument(folder_.empty() ? "all: expected --output FOLDER"
                                             : "--output goes with all");
    }
    if (!command_.empty() && what_ != "man") return InvalidArgument("a command goes with man");
    const auto commands = AllCommands();
    ExtensionArguments extensions;
    CLI::App app("", "tilewright");
    DeclareProgram(app, commands, extensions);
    const CommandPage program = DescribeProgram(app, registries());
    if (what_ == "all") {
      TW_RETURN_IF_ERROR(WritePages(program, folder_));
    } else if (what_ == "bash") {
      WriteText(BashCompletion(program));
    } else if (what_ == "zsh") {
      WriteText(ZshCompletion(program));
    } else if (what_ == "fish") {
      WriteText(FishCompletion(program));
    } else {
      return PrintManual(program);
    }
    return kExitDone;
  }

 private:
  Result<int> PrintManual(const CommandPage& program) const {
    if (command_.empty()) {
      WriteText(ProgramManual(program));
      return kExitDone;
    }
    const auto found = std::ranges::find(program.subcommands, command_, &CommandPage::name);
    if (found == program.subcommands.end()) {
      std::vector<std::string> known;
      for (const CommandPage& page : program.subcommands) known.push_back(page.name);
      return InvalidArgument("'" + command_ + "': no such command" + DidYouMean(command_, known));
    }
    WriteText(CommandManual(program, *found));
    return kExitDone;
  }

  std::string what_, command_, folder_;
};

}  // namespace

std::unique_ptr<Command> MakeHelpCommand() { return std::make_unique<HelpCommand>(); }
std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace tilewright::cli
