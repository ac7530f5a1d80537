#include "python_free_cli/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "python_free_cli/arguments/output_check.h"
#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/command.h"
#include "src/base/files/file.h"
#include "src/session/text_table.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DidYouMeanTest, NamesTheNearestWordOnly) {
  const std::vector<std::string> known = {"resnet18_v1", "resnet50_v1", "mobilenet_v2"};
  EXPECT_EQ(DidYouMean("resnet81_v1", known), "; did you mean 'resnet18_v1'?");
  EXPECT_EQ(DidYouMean("mobil", known), "; did you mean 'mobilenet_v2'?");
  EXPECT_EQ(DidYouMean("vgg19", known), "");
  EXPECT_EQ(DidYouMean("resnet18_v1", known), "") << "it is known";
  EXPECT_EQ(DidYouMean(std::string(65, 'm'), known), "");
  EXPECT_EQ(DidYouMean("", known), "");
}

/// A program with one command, set up as in main.
class UsageTest : public testing::Test {
 protected:
  UsageTest() {
    SetUpHelp(app_);
    app_.require_subcommand(0, 1);
    CLI::App* tune = app_.add_subcommand("tune", "Searches");
    tune->add_option("--strategy", strategy_, "How")->check(CLI::IsMember({"model", "grid"}));
    tune->add_option("--trials", trials_, "Trials of the job");
    tune->add_option("-o,--output", output_, "Where to");
    tune->add_flag("--json", json_, "Prints JSON");
  }

  /// Returns the message of EndParsing for a line; empty if the line is valid.
  std::string Said(const std::string& line, int* exit_code = nullptr) {
    try {
      app_.parse(line);
    } catch (const CLI::ParseError& error) {
      testing::internal::CaptureStderr();
      const int code = EndParsing(app_, error);
      if (exit_code != nullptr) *exit_code = code;
      return testing::internal::GetCapturedStderr();
    }
    return "";
  }

  CLI::App app_{"Says what it is", "program"};
  std::string strategy_ = "model", output_, file_;
  int trials_ = 100;
  bool json_ = false;
};

TEST_F(UsageTest, HelpOfAnUnknownCommandIsAnError) {
  int code = 0;
  EXPECT_THAT(Said("nosuch --help", &code),
              testing::AllOf(HasSubstr("'nosuch': no such command"), HasSubstr("Try `")));
  EXPECT_EQ(code, kExitBadInput);
  EXPECT_THAT(Said("tun --help", &code), HasSubstr("did you mean 'tune'?"));
  EXPECT_EQ(code, kExitBadInput);
  testing::internal::CaptureStdout();
  EXPECT_EQ(Said("tune --help", &code), "");
  EXPECT_EQ(code, kExitDone);
  EXPECT_EQ(Said("--help", &code), "");
  EXPECT_EQ(code, kExitDone);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("Searches"));
}

/// Runs `help` with some words. Returns its output.
std::string HelpOf(const std::string& words, Status& status) {
  const auto command = MakeHelpCommand();
  CLI::App app("", "help");
  command->Declare(app);
  app.parse(words);
  testing::internal::CaptureStdout();
  const auto code = command->Run();
  std::fflush(stdout);
  status = code.ok() ? Status() : code.status();
  return testing::internal::GetCapturedStdout();
}

TEST(HelpTest, ShowsTheProgramACommandAndASubcommand) {
  Status status;
  EXPECT_THAT(HelpOf("", status), HasSubstr("\n  completion "));
  EXPECT_THAT(HelpOf("", status), HasSubstr("\n  measure "));
  EXPECT_THAT(HelpOf("", status), Not(HasSubstr("\n  child ")));
  EXPECT_THAT(HelpOf("tune", status), HasSubstr("--budget DURATION"));
  EXPECT_THAT(HelpOf("tune", status), Not(HasSubstr("\n\n\n")));
  EXPECT_THAT(HelpOf("records merge", status), HasSubstr("Usage: tilewright records merge"));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(HelpOf("tun", status), "");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'tun': tilewright has no such command; did you mean"));
  HelpOf("records nosuch", status);
  EXPECT_THAT(status.message(), HasSubstr("tilewright records has no such command"));
}

TEST(TakeOneValueEachTest, OptionsLeaveTheArgumentsOfTheirCommand) {
  CLI::App app("", "program");
  std::vector<std::string> files, keys, metrics, data;
  CLI::App* verify = app.add_subcommand("verify", "");
  verify->add_option("files", files, "");
  verify->add_option("--key", keys, "");
  verify->add_option("--metric", metrics, "")->delimiter(',');
  verify->add_option("--data", data, "");
  TakeOneValueEach(app);
  app.parse("verify --key a b --metric c,d e --key f --data g h");
  EXPECT_EQ(files, (std::vector<std::string>{"b", "e"}));
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "f"}));
  EXPECT_EQ(metrics, (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(data, (std::vector<std::string>{"g", "h"}));
}

TEST_F(UsageTest, SaysWhatIsWrongAndWhatMayHaveBeenMeant) {
  int code = 0;
  EXPECT_EQ(Said("tnue", &code),
            "program: 'tnue': no such command; did you mean 'tune'?\nTry `program --help`.\n");
  EXPECT_EQ(code, kExitBadInput);
  EXPECT_EQ(Said("tune --trails 3"),
            "program tune: --trails: no such option; did you mean '--trials'?\n"
            "Try `program tune --help`.\n");
  EXPECT_EQ(Said("tune more"),
            "program tune: 'more': one argument too many\nTry `program tune --help`.\n");
  EXPECT_EQ(Said("tune --strategy gird"),
            "program tune: --strategy: 'gird', expected model, grid; did you mean 'grid'?\n"
            "Try `program tune --help`.\n");
  EXPECT_EQ(Said("tune --trials 3 --json"), "");
}

TEST_F(UsageTest, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_THAT(Said("tune \x1b[31mred"), Not(HasSubstr("\x1b")));
}

TEST(WrapTextTest, BreaksBetweenWords) {
  EXPECT_EQ(session::WrapText("", "one two three", 7, 0), "one two\nthree");
  EXPECT_EQ(session::WrapText("", "one two three", 20, 0), "one two three");
  EXPECT_EQ(session::WrapText("", "a-very-long-word and", 5, 0), "a-very-long-word\nand");
  EXPECT_EQ(session::WrapText("", "", 5, 0), "");
}

TEST_F(UsageTest, HelpSaysChoicesAndDefaultsInWords) {
  const std::string help = app_.get_subcommand("tune")->help();
  EXPECT_THAT(help, HasSubstr("--strategy model|grid (default model)"));
  EXPECT_THAT(help, HasSubstr("--trials INT (default 100)"));
  EXPECT_THAT(help, HasSubstr("--json  "));
  EXPECT_THAT(help, Not(HasSubstr("--output TEXT (default")));
}

TEST_F(UsageTest, FoldersOfOutputsMustBeThere) {
  const auto folder = ScopedTempDir::Create("program-test");
  ASSERT_TRUE(folder.ok());
  ASSERT_EQ(Said("tune -o " + folder->path() + "/new.db"), "");
  EXPECT_TRUE(CheckOutputs(app_).ok());
  ASSERT_EQ(Said("tune -o " + folder->path() + "/a/new.db"), "");
  const Status missing = CheckOutputs(app_);
  EXPECT_EQ(missing.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(missing.message(), HasSubstr("there is no folder " + folder->path() + "/a; make it"));
}

TEST_F(UsageTest, OutputsDoNotReplaceInputsAndFilesOfOtherKinds) {
  const auto folder = ScopedTempDir::Create("program-test");
  ASSERT_TRUE(folder.ok());
  const auto in = [&folder](const std::string& name) { return folder->path() + "/" + name; };
  ASSERT_TRUE(WriteFile(in("list.txt"), "some text").ok());
  ASSERT_TRUE(WriteFile(in("store.db"), std::string("SQLite format 3\0 and pages", 26)).ok());
  ASSERT_TRUE(WriteFile(in("old.so"), "\177ELF and code").ok());
  std::filesystem::create_symlink(in("list.txt"), in("link"));
  const auto message = [&](const std::string& line) {
    EXPECT_EQ(Said(line), "");
    return CheckOutputs(app_).message();
  };
  EXPECT_EQ(message("tune -o " + in("list.txt")), "") << "a text of an earlier run";
  app_.get_subcommand("tune")->add_option("file", file_, "What to read");
  for (const std::string& input :
       {in("list.txt"), in("list.txt#2"), in("link"), "x," + in("link")}) {
    EXPECT_THAT(message("tune " + input + " -o " + in("list.txt")),
                HasSubstr("list.txt': is a file that this command reads"));
  }
  EXPECT_THAT(message("tune -o " + in("store.db")),
              HasSubstr("store.db': is a record store (SQLite), which `tune` does not replace"));
  EXPECT_THAT(message("tune -o " + in("old.so")), HasSubstr("which `tune` does not replace"));
  app_.get_subcommand("tune")->name("compile");
  EXPECT_EQ(message("compile -o " + in("old.so")), "");
}

TEST_F(UsageTest, OptionsWithoutMeaningAreRefusedWhereTheyAreGiven) {
  ASSERT_EQ(Said("tune --trials 3"), "");
  const CLI::App& tune = *app_.get_subcommand("tune");
  EXPECT_TRUE(RejectOptions(tune, {"--strategy", "--output"}, "no use").ok());
  EXPECT_EQ(RejectOptions(tune, {"--strategy", "--trials"}, "no use").message(),
            "--trials: no use");
}

TEST(CommandsTest, HaveNamesSummariesAndOptionsThatDoNotClash) {
  std::vector<std::string> names;
  for (const auto& command : AllCommands()) {
    CLI::App app("", command->name());
    command->Declare(app);  // the argument parser rejects a duplicate option
    EXPECT_STRNE(command->summary(), "") << command->name();
    EXPECT_THAT(names, Not(testing::Contains(command->name())));
    names.emplace_back(command->name());
    if (command->hidden()) continue;
    EXPECT_THAT(app.help(), HasSubstr("--help"));
    // A command without arguments needs no example.
    const bool alone = app.get_options().size() <= 2;  // --help, --json
    EXPECT_TRUE(alone || *command->examples() != '\0') << command->name();
  }
  EXPECT_GT(names.size(), 15U);
}

}  // namespace
}  // namespace tilewright::cli
