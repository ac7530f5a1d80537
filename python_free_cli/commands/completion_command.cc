// `tilewright completion` (hidden): manual pages and shell completion, generated from the commands
// themselves so that they match the program.

#include <CLI/CLI.hpp>
#include <algorithm>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/command.h"
#include "python_free_cli/pages/pages.h"
#include "python_free_cli/print.h"
#include "python_free_cli/program_arguments.h"
#include "src/base/did_you_mean.h"
#include "src/plugins/registries.h"

namespace tilewright::cli {
namespace {

class CompletionCommand final : public Command {
 public:
  const char* name() const override { return "completion"; }
  const char* summary() const override { return "Print shell completion or manual pages"; }
  const char* examples() const override {
    return "  tilewright completion zsh\n"
           "  tilewright completion man tune | man -l -\n"
           "  tilewright completion all -o share\n";
  }
  bool hidden() const override { return true; }
  void Declare(CLI::App& app) override {
    app.add_option("what", what_, "What to print; all: every page and completion, as files")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish", "man", "all"}));
    app.add_option("command", command_, "man: of which command, else of the program");
    app.add_option("-o,--output", folder_, "all: the folder to write them into");
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
    const CommandPage program = DescribeProgram(app);
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

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace tilewright::cli
