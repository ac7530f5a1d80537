#include "measure/program/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "src/base/clock.h"
#include "src/base/files/locked_temp_dir.h"

namespace tilewright::measure {
namespace {

/// With this variable, the main thread of this program ends at once, and another one does not.
constexpr const char* kEndlessVariable = "TILEWRIGHT_TEST_ENDLESS";
[[maybe_unused]] const bool kEndless = [] {
  if (std::getenv(kEndlessVariable) == nullptr) return false;
  std::ofstream(std::getenv(kEndlessVariable)) << ::getpid() << "\n";
  std::thread([] {
    while (true) ::pause();
  }).detach();
  ::syscall(SYS_exit, 0);
  return true;
}();

CommandSpec Shell(const std::string& text) {
  CommandSpec spec;
  spec.words = {"/bin/sh", "-c", text};
  spec.limits.seconds = 20;
  return spec;
}

/// Waits until no process has this number.
bool IsGone(const std::string& pid_file) {
  std::ifstream file(pid_file);
  int pid = 0;
  if (!(file >> pid)) return false;
  SystemClock clock;
  for (int i = 0; i < 500; ++i) {
    if (::kill(pid, 0) != 0) return true;
    clock.SleepSeconds(0.01);
  }
  return false;
}

class CommandTest : public testing::Test {
 protected:
  LockedTempDir folder_ = *LockedTempDir::Create("tilewright-test");
  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }
};

TEST_F(CommandTest, ReturnsOutputAndStatus) {
  CommandSpec spec = Shell("cat; echo oops >&2; exit 3");
  spec.input = "some input\n";
  const CommandResult result = RunCommand(spec);
  EXPECT_EQ(result.end, CommandEnd::kExited);
  EXPECT_EQ(result.status.code, 3);
  EXPECT_EQ(result.output, "some input\n");
  EXPECT_EQ(result.Reason(), "exit code 3: oops");
  EXPECT_FALSE(result.ok());
  EXPECT_GT(result.seconds, 0);
}

TEST_F(CommandTest, FindsProgramsInPathAndNamesMissingOnes) {
  CommandSpec spec;
  spec.words = {"true"};
  EXPECT_TRUE(RunCommand(spec).ok());
  spec.words = {"no-such-program-here"};
  EXPECT_EQ(RunCommand(spec).end, CommandEnd::kNotStarted);
  EXPECT_EQ(RunCommand(spec).Reason(), "no-such-program-here: no such program in PATH");
  spec.words = {"/no/such/path"};
  EXPECT_EQ(RunCommand(spec).Reason(),
            "/no/such/path: cannot be executed: No such file or directory");
}

TEST_F(CommandTest, PassesEnvironmentFolderAndArguments) {
  CommandSpec spec = Shell("echo \"$BLOCK $0 $PWD\"");
  spec.words.emplace_back("a word");
  spec.environment = {"BLOCK=16 x"};
  spec.folder = "/";
  EXPECT_EQ(RunCommand(spec).output, "16 x a word /\n");
}

TEST_F(CommandTest, EndsAHangingCommandWithAllItsProcesses) {
  CommandSpec spec =
      Shell("setsid sh -c 'echo $$ > " + At("pid") + "; exec sleep 1000' & while test ! -s " +
            At("pid") + "; do :; done; exec sleep 1000");
  spec.limits.seconds = 0.5;
  const CommandResult result = RunCommand(spec);
  EXPECT_EQ(result.end, CommandEnd::kTimeout);
  EXPECT_EQ(result.Reason().substr(0, 14), "no end within ");
  EXPECT_TRUE(IsGone(At("pid")));
}

TEST_F(CommandTest, EndsAProcessWhoseMainThreadHasEnded) {
  CommandSpec spec;
  spec.words = {"/proc/self/exe"};
  spec.environment = {std::string(kEndlessVariable) + "=" + At("pid")};
  spec.limits.seconds = 0.5;
  EXPECT_EQ(RunCommand(spec).end, CommandEnd::kTimeout);
  EXPECT_TRUE(IsGone(At("pid")));
}

TEST_F(CommandTest, NamesAndEndsProcessesThatAreLeft) {
  // In a session of its own, with its parent ended, and without the command's pipes.
  const CommandResult result =
      RunCommand(Shell("(setsid sh -c 'echo $$ > " + At("pid") +
                       "; exec sleep 1000' >/dev/null 2>&1 </dev/null &) ; while test ! -s " +
                       At("pid") + "; do :; done; echo done"));
  EXPECT_EQ(result.output, "done\n");
  EXPECT_EQ(result.Reason(), "left 1 process running, ended now");
  EXPECT_TRUE(IsGone(At("pid")));
}

TEST_F(CommandTest, StopsAFloodOfOutput) {
  CommandSpec spec = Shell("yes");
  spec.limits.output_bytes = 100'000;
  EXPECT_EQ(RunCommand(spec).end, CommandEnd::kOutput);
  // An end right after the flood makes no difference.
  spec = Shell("head -c 300000 /dev/zero");
  spec.limits.output_bytes = 100'000;
  EXPECT_EQ(RunCommand(spec).end, CommandEnd::kOutput);
}

TEST_F(CommandTest, StopsALargeFile) {
  CommandSpec spec = Shell("exec head -c 300000 /dev/zero > " + At("large"));
  spec.limits.file_bytes = 100'000;
  const CommandResult result = RunCommand(spec);
  EXPECT_FALSE(result.ok());
  EXPECT_NE(result.Reason().find("larger"), std::string::npos) << result.Reason();
  EXPECT_LE(std::filesystem::file_size(At("large")), 100'000U);
}

TEST_F(CommandTest, NamesACommandThatKillsItsKeeper) {
  const CommandResult result =
      RunCommand(Shell("kill -9 $PPID; echo $$ > " + At("pid") + "; exec sleep 1000"));
  EXPECT_EQ(result.Reason(), "killed the process that watches it");
}

TEST_F(CommandTest, TakesLinesOfACommandThatStaysAlive) {
  auto command = Command::Start(Shell("while read line; do echo \"<$line>\"; done"));
  ASSERT_TRUE(command.ok());
  for (const std::string text : {"one", "two"}) {
    ASSERT_TRUE(command->Write(text + "\n").ok());
    const Command::Line line = command->ReadLine(20);
    EXPECT_TRUE(line.complete);
    EXPECT_EQ(line.text, "<" + text + ">");
    EXPECT_FALSE(command->HasMoreOutput());
  }
  EXPECT_TRUE(command->ReadLine(0.02).timeout);
  EXPECT_TRUE(command->Stop(20).ok());
}

TEST_F(CommandTest, KnowsThatACommandHasEnded) {
  auto command = Command::Start(Shell("read line"));
  ASSERT_TRUE(command.ok());
  EXPECT_FALSE(command->Ended());
  ASSERT_TRUE(command->Write("end\n").ok());
  EXPECT_TRUE(command->ReadLine(20).ended);
  EXPECT_TRUE(command->Ended());
}

TEST_F(CommandTest, EndsWithTheObject) {
  {
    auto command = Command::Start(Shell("echo $$ > " + At("pid") + "; echo; exec sleep 1000"));
    ASSERT_TRUE(command.ok());
    EXPECT_TRUE(command->ReadLine(20).complete);
  }
  EXPECT_TRUE(IsGone(At("pid")));
}

}  // namespace
}  // namespace tilewright::measure
