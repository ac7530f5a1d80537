#include "measure/work_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

namespace tilewright::measure {
namespace {

TEST(WorkFolder, OnlyWhatNobodyHoldsIsRemoved) {
  const auto root = TemporaryFolder::Create("tilewright-work-folder-test");
  ASSERT_TRUE(root.ok());
  // No process of this number: its owner is in another container.
  const std::string held = root->path() + "/tilewright-measure-999999999.abcdef";
  const std::string abandoned = root->path() + "/tilewright-measure-1.abcdef";
  const std::string other = root->path() + "/somebody-elses";
  for (const std::string& path : {held, abandoned, other}) {
    std::filesystem::create_directories(path + "/sub");
  }
  const int owner = ::open(held.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(owner, LOCK_EX), 0);
  WorkFolder::RemoveAbandoned(root->path());
  EXPECT_TRUE(FileExists(held + "/sub"));
  EXPECT_FALSE(FileExists(abandoned));
  EXPECT_TRUE(FileExists(other + "/sub"));
  ::close(owner);
  WorkFolder::RemoveAbandoned(root->path());
  EXPECT_FALSE(FileExists(held));
}

TEST(WorkFolder, IsHeldWhileItIsThere) {
  std::string path;
  {
    auto folder = WorkFolder::Create();
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    const WorkFolder moved = *std::move(folder);
    path = moved.path();
    WorkFolder::RemoveAbandoned(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(FileExists(path));
  }
  EXPECT_FALSE(FileExists(path));
}

}  // namespace
}  // namespace tilewright::measure
