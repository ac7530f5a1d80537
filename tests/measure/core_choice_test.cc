#include "measure/supervisor/core_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "src/base/files/file.h"
#include "src/base/subprocess.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A folder that stands for the system's one of cores.
class CoreChoiceTest : public testing::Test {
 protected:
  void MakeCores(const std::vector<int>& cores) {
    for (int core : cores) {
      std::filesystem::create_directory(folder_.path() + "/cpu" + std::to_string(core));
    }
  }
  TemporaryFolder folder_ = *TemporaryFolder::Create("tilewright-cores");
};

TEST_F(CoreChoiceTest, EachMeasurerHasACoreOfItsOwnUntilItEnds) {
  MakeCores({0, 1, 2, 3});
  const std::vector<int> allowed = {0, 1, 2, 3};
  std::optional<CoreChoice> first = ReserveCores(allowed, folder_.path());
  EXPECT_THAT(first->runner, ElementsAre(3));
  EXPECT_THAT(first->builders, ElementsAre(0, 1, 2));
  const CoreChoice second = ReserveCores(allowed, folder_.path());
  EXPECT_THAT(second.runner, ElementsAre(2));
  EXPECT_THAT(second.builders, ElementsAre(0, 1)) << "core 3 is measured on";
  EXPECT_EQ(first->note + second.note, "");
  first.reset();
  const CoreChoice third = ReserveCores(allowed, folder_.path());
  EXPECT_THAT(third.runner, ElementsAre(3));
}

TEST_F(CoreChoiceTest, BuildersShareTheRunnersCoreWhereThereIsNoOther) {
  MakeCores({0, 1});
  const CoreChoice first = ReserveCores({0, 1}, folder_.path());
  const CoreChoice second = ReserveCores({0, 1}, folder_.path());
  EXPECT_THAT(second.runner, ElementsAre(0));
  EXPECT_THAT(second.builders, ElementsAre(0));
}

TEST_F(CoreChoiceTest, WithoutAFreeCoreItSaysSo) {
  MakeCores({4, 5});
  const std::vector<int> allowed = {4, 5};
  const CoreChoice first = ReserveCores(allowed, folder_.path());
  const CoreChoice second = ReserveCores(allowed, folder_.path());
  const CoreChoice third = ReserveCores(allowed, folder_.path());
  EXPECT_THAT(third.runner, ElementsAre(5));
  EXPECT_THAT(third.builders, ElementsAre(4));
  EXPECT_EQ(third.note,
            "times may be disturbed, no core could be kept for them: core 4 is in use by another "
            "process, which holds " +
                folder_.path() + "/cpu4");
  const CoreChoice lost = ReserveCores(allowed, folder_.path() + "/none");
  EXPECT_THAT(lost.runner, ElementsAre(5));
  EXPECT_THAT(lost.note, HasSubstr("/none/cpu4: cannot be opened"));
}

TEST_F(CoreChoiceTest, AMeasurerTellsItsCaller) {
  MakeCores({AllowedCores().back()});
  ProcessMeasurerSettings settings = TestSettings();
  settings.core_folder = folder_.path();
  std::vector<std::string> notes;
  settings.on_disturbed = [&](const std::string& note) { notes.push_back(note); };
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
