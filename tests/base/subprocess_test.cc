#include "src/base/process/subprocess.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace tilewright {
namespace {

/// Reads the output of a child until it closes its end.
std::string ReadAll(int fd) {
  std::string text;
  char buffer[256];
  while (true) {
    pollfd watched{fd, POLLIN, 0};
    if (::poll(&watched, 1, 10'000) <= 0) return text + "<nothing came for 10 s>";
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

SubprocessOptions Command(std::vector<std::string> words) {
  SubprocessOptions options;
  options.command = std::move(words);
  return options;
}

TEST(Subprocess, WhatIsWrittenComesBack) {
  auto child = Subprocess::Start(Command({"/bin/cat"}));
  ASSERT_TRUE(child.ok()) << child.status().message();
  ASSERT_EQ(::write(child->input(), "hello\n", 6), 6);
  child->CloseInput();
  EXPECT_EQ(ReadAll(child->output()), "hello\n");
  const auto ended = child->Wait(10);
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->ok());
  EXPECT_EQ(child->Wait(0), ended) << "waiting again tells the same";
}

TEST(Subprocess, ExitCodeAndErrorOutputAreKept) {
  auto child = Subprocess::Start(Command({"/bin/cat", "/no/such/file"}));
  ASSERT_TRUE(child.ok());
  EXPECT_NE(ReadAll(child->error()).find("/no/such/file"), std::string::npos);
  const auto ended = child->Wait(10);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->ToString(), "exit code 1");
}

TEST(Subprocess, AProgramThatIsNotThereIsReportedAtOnce) {
  auto child = Subprocess::Start(Command({"/no/such/program"}));
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(child.status().message(),
            "/no/such/program: cannot be executed: No such file or directory");
}

TEST(Subprocess, KillEndsTheWholeGroup) {
  auto child = Subprocess::Start(Command({"/bin/sh", "-c", "sleep 600 & echo $!; wait"}));
  ASSERT_TRUE(child.ok());
  pollfd watched{child->output(), POLLIN, 0};
  ASSERT_EQ(::poll(&watched, 1, 10'000), 1);
  char text[32] = {};
  ASSERT_GT(::read(child->output(), text, sizeof(text) - 1), 0);
  EXPECT_FALSE(child->Wait(0).has_value());
  child->KillGroup();
  const auto ended = child->Wait(10);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->ToString(), "signal 9 (SIGKILL)");
  // The grandchild held the other end of the pipe: the end of file shows that it was killed too.
  EXPECT_EQ(ReadAll(child->output()), "");
}

TEST(Subprocess, TheAddressSpaceIsLimited) {
  SubprocessOptions options = Command({"/usr/bin/env", "cat", "/proc/self/limits"});
  options.address_space_bytes = std::int64_t{1} << 30;
  auto child = Subprocess::Start(options);
  ASSERT_TRUE(child.ok());
  const std::string limits = ReadAll(child->output());
  EXPECT_NE(limits.find("Max address space         1073741824"), std::string::npos) << limits;
  EXPECT_NE(limits.find("Max core file size        0"), std::string::npos) << limits;
}

TEST(Subprocess, ItRunsWhereItIsTold) {
  const std::vector<int> cores = AllowedCores();
  ASSERT_FALSE(cores.empty());
  SubprocessOptions options = Command({"/usr/bin/env", "cat", "/proc/self/status"});
  options.cores = {cores.back()};
  auto child = Subprocess::Start(options);
  ASSERT_TRUE(child.ok());
  const std::string status = ReadAll(child->output());
  EXPECT_NE(status.find("Cpus_allowed_list:\t" + std::to_string(cores.back()) + "\n"),
            std::string::npos)
      << status;
}

TEST(Subprocess, ItsEnvironmentIsTheInheritedOneButForWhatIsGiven) {
  ASSERT_EQ(::setenv("TW_TEST_KEPT", "kept", 1), 0);
  ASSERT_EQ(::setenv("TW_TEST_GIVEN", "inherited", 1), 0);
  SubprocessOptions options = Command({"/bin/sh", "-c", "echo $TW_TEST_KEPT $TW_TEST_GIVEN"});
  options.environment = {"TW_TEST_GIVEN=given"};
  auto child = Subprocess::Start(options);
  ASSERT_TRUE(child.ok()) << child.status().message();
  EXPECT_EQ(ReadAll(child->output()), "kept given\n");
}

// Otherwise a file that another part of the program has open would stay open as long as the child
// lives.
TEST(Subprocess, ItHasNoneOfOurFiles) {
  const int ours = ::dup2(STDERR_FILENO, 57);
  ASSERT_EQ(ours, 57);
  auto child = Subprocess::Start(Command({"/bin/sh", "-c", "test -e /dev/fd/57 && echo there"}));
  ::close(ours);
  ASSERT_TRUE(child.ok()) << child.status().message();
  EXPECT_EQ(ReadAll(child->output()), "");
}

TEST(Subprocess, NamesSignals) {
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV");
  EXPECT_EQ((ExitStatus{true, SIGSEGV}).ToString(), "signal 11 (SIGSEGV)");
}

TEST(Subprocess, NamesThisProgramWithoutItsFolder) {
  ASSERT_FALSE(OwnArguments().empty());
  EXPECT_EQ(OwnArguments().front().find('/'), std::string::npos);
}

TEST(ShellCommandTest, QuotesOnlyWhereAShellWouldNotKeepTheText) {
  EXPECT_EQ(ShellCommand({"tilewright", "tune", "net-1.onnx#3", "--shape=x=1,2", "", "it's $1"}),
            R"(tilewright tune 'net-1.onnx#3' --shape=x=1,2 '' 'it'\''s $1')");
}

}  // namespace
}  // namespace tilewright
