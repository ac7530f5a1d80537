#include "src/base/files/locked_temp_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

TEST(LockedTempDir, OnlyWhatNobodyHoldsIsRemoved) {
  const auto root = ScopedTempDir::Create("tilewright-work-folder-test");
  ASSERT_TRUE(root.ok());
  // No process has this number: its owner is in another container.
  const std::string held = root->path() + "/tilewright-measure-999999999.abcdef";
  const std::string abandoned = root->path() + "/tilewright-measure-1.abcdef";
  const std::string linked = root->path() + "/tilewright-link.tmpabcdef";
  // A folder of the user, although its name begins like a temporary directory of Tilewright.
  const std::string other = root->path() + "/tilewright-main.backup";
  for (const std::string& path : {held, abandoned, linked, other}) {
    std::filesystem::create_directories(path + "/sub");
  }
  const int owner = ::open(held.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(owner, LOCK_EX), 0);
  LockedTempDir::RemoveAbandoned(root->path());
  EXPECT_TRUE(FileExists(held + "/sub"));
  EXPECT_FALSE(FileExists(abandoned));
  EXPECT_FALSE(FileExists(linked));
  EXPECT_TRUE(FileExists(other + "/sub"));
  ::close(owner);
  LockedTempDir::RemoveAbandoned(root->path());
  EXPECT_FALSE(FileExists(held));
}

TEST(LockedTempDir, IsHeldWhileItIsThere) {
  std::string path;
  {
    auto folder = LockedTempDir::Create("tilewright-test");
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    const LockedTempDir moved = *std::move(folder);
    path = moved.path();
    LockedTempDir::RemoveAbandoned(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(FileExists(path));
  }
  EXPECT_FALSE(FileExists(path));
}

TEST(LockedTempDir, WhatAKilledProcessLeavesIsRemovedByTheNext) {
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto folder = LockedTempDir::Create("tilewright-test");
    const std::string path = folder.ok() ? folder->path() : std::string("none");
    (void)!::write(told[1], path.data(), path.size());
    while (true) ::pause();
  }
  char path[256] = {};
  ASSERT_GT(::read(told[0], path, sizeof(path) - 1), 0);
  const std::string root = std::filesystem::path(path).parent_path();
  LockedTempDir::RemoveAbandoned(root);
  EXPECT_TRUE(FileExists(path));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  LockedTempDir::RemoveAbandoned(root);
  EXPECT_FALSE(FileExists(path)) << path;
  ::close(told[0]);
  ::close(told[1]);
}

}  // namespace
}  // namespace tilewright
