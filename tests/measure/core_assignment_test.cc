#include "measure/supervisor/core_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "src/base/files/file.h"
#include "src/base/process/subprocess.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Fixture with a folder that replaces the system's folder of core locks.
class CoreChoiceTest : public testing::Test {
 protected:
  void MakeCores(const std::vector<int>& cores) {
    for (int core : cores) {
      std::filesystem::create_directory(folder_.path() + "/cpu" + std::to_string(core));
    }
  }
  CoreAssignment Reserve(const std::vector<int>& allowed) const {
    return ReserveCores(allowed, folder_.path(), std::vector{user_folder_.path()});
  }
  ScopedTempDir folder_ = *ScopedTempDir::Create("tilewright-cores");
  ScopedTempDir user_folder_ = *ScopedTempDir::Create("tilewright-cores");
};

// Another user can lock the system's folders indefinitely, but not the files of this user.
TEST_F(CoreChoiceTest, WhoLocksAllCoresDoesNotMakeMeasurersShareOne) {
  MakeCores({0, 1, 2});
  const auto other0 = DeviceLock::TakeCore(0, folder_.path());
  const auto other1 = DeviceLock::TakeCore(1, folder_.path());
  const auto other2 = DeviceLock::TakeCore(2, folder_.path());
  ASSERT_TRUE(other0.ok() && other1.ok() && other2.ok());
  const std::vector<int> allowed = {0, 1, 2};
  const CoreAssignment first = Reserve(allowed), second = Reserve(allowed);
  EXPECT_THAT(first.runner, ElementsAre(2));
  EXPECT_THAT(second.runner, ElementsAre(1));
  EXPECT_THAT(first.note, HasSubstr("times may be disturbed: core 2 is in use by another process"));
}

TEST_F(CoreChoiceTest, ALockFileThatOthersCanOpenIsNotUsed) {
  const std::string name = "/tilewright-core-1-user-" + std::to_string(::geteuid()) + ".lock";
  ASSERT_TRUE(WriteFile(folder_.path() + name, "").ok());
  std::filesystem::permissions(folder_.path() + name, std::filesystem::perms{0644});
  const std::vector<std::string> folders = {folder_.path(), user_folder_.path()};
  ASSERT_TRUE(DeviceLock::TakeCoreOfUser(1, folders).ok());
  EXPECT_TRUE(std::filesystem::exists(user_folder_.path() + name));
  EXPECT_EQ(DeviceLock::TakeCoreOfUser(1, std::vector{folder_.path()}).status().code(),
            StatusCode::kUnsupported);
}

TEST_F(CoreChoiceTest, EachMeasurerHasACoreOfItsOwnUntilItEnds) {
  MakeCores({0, 1, 2, 3});
  const std::vector<int> allowed = {0, 1, 2, 3};
  std::optional<CoreAssignment> first = Reserve(allowed);
  EXPECT_THAT(first->runner, ElementsAre(3));
  EXPECT_THAT(first->builders, ElementsAre(0, 1, 2));
  const CoreAssignment second = Reserve(allowed);
  EXPECT_THAT(second.runner, ElementsAre(2));
  EXPECT_THAT(second.builders, ElementsAre(0, 1)) << "core 3 is measured on";
  EXPECT_EQ(first->note + second.note, "");
  first.reset();
  const CoreAssignment third = Reserve(allowed);
  EXPECT_THAT(third.runner, ElementsAre(3));
}

TEST_F(CoreChoiceTest, BuildersShareTheRunnersCoreWhereThereIsNoOther) {
  MakeCores({0, 1});
  const CoreAssignment first = Reserve({0, 1});
  const CoreAssignment second = Reserve({0, 1});
  EXPECT_THAT(second.runner, ElementsAre(0));
  EXPECT_THAT(second.builders, ElementsAre(0));
}

TEST_F(CoreChoiceTest, WithoutAFreeCoreItSaysSo) {
  MakeCores({4, 5});
  const std::vector<int> allowed = {4, 5};
  const CoreAssignment first = Reserve(allowed);
  const CoreAssignment second = Reserve(allowed);
  const CoreAssignment third = Reserve(allowed);
  EXPECT_THAT(third.runner, ElementsAre(5));
  EXPECT_THAT(third.builders, ElementsAre(4));
  EXPECT_THAT(third.note,
              testing::StartsWith("times may be disturbed, no core could be kept for them: core 4 "
                                  "is in use by another process, which holds " +
                                  user_folder_.path() + "/tilewright-core-4-user-"));
  EXPECT_THAT(third.note, HasSubstr(" (process " + std::to_string(::getpid()) + " of user "));
  const CoreAssignment lost = ReserveCores(allowed, folder_.path() + "/none", {});
  EXPECT_THAT(lost.runner, ElementsAre(5));
  EXPECT_THAT(lost.note, HasSubstr("/none/cpu4: cannot be opened"));
}

TEST_F(CoreChoiceTest, AMeasurerTellsItsCaller) {
  MakeCores({AllowedCores().back()});
  ProcessMeasurerSettings settings = TestSettings();
  settings.core_folder = folder_.path();
  settings.user_lock_folders = {user_folder_.path()};
  std::vector<std::string> notes;
  settings.on_core_shared = [&](const std::string& note) { notes.push_back(note); };
  const auto first = ProcessMeasurer::Create(settings);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(notes.empty());
  const auto second = ProcessMeasurer::Create(settings);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(notes.size(), 1U);
  settings.runner.calibrate = false;
  ASSERT_TRUE(ProcessMeasurer::Create(settings).ok());
  EXPECT_EQ(notes.size(), 1U) << "a simulator needs no core of its own";
}

}  // namespace
}  // namespace tilewright::measure
