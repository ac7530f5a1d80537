#include "src/optimize/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/locked_temp_dir.h"
#include "src/base/json.h"

namespace tilewright::optimize {
namespace {

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = LockedTempDir::Create("tilewright-journal-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    path_ = folder_->path() + "/records.db";
  }
  Result<Journal> Open(const std::string& job) const { return Journal::Open(path_, job, "{}"); }

  std::optional<LockedTempDir> folder_;
  std::string path_;
};

TEST_F(JournalTest, StepsAreFoundByTheNextRunOfTheSameJob) {
  {
    auto journal = Open("a");
    ASSERT_TRUE(journal.ok()) << journal.status().message();
    EXPECT_EQ(journal->found(), 0U);
    EXPECT_EQ(journal->Find("noise/0"), nullptr);
    ASSERT_TRUE(journal->Put("noise/0", Json{{"noise", 0.5}}).ok());
    ASSERT_NE(journal->Find("noise/0"), nullptr);
  }
  auto again = Open("a");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->found(), 1U);
  ASSERT_NE(again->Find("noise/0"), nullptr);
  EXPECT_EQ(*again->Find("noise/0"), "{\"noise\":0.5}");
  auto other = Open("b");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->found(), 0U);
}

TEST_F(JournalTest, AStepThatIsNoObjectIsCorrupt) {
  {
    auto store = records::Store::Open(path_, records::Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok());
    const auto job = store->OpenJob("a", "{}", 0);
    ASSERT_TRUE(job.ok());
    ASSERT_TRUE(store->Append(job->id, {}, {{"noise/0", "optimize", "[1"}}).ok());
  }
  const auto journal = Open("a");
  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(journal.status().message(), testing::HasSubstr("noise/0"));
}

TEST(JournalWithoutStoreTest, KeepsStepsInMemory) {
  Journal journal;
  ASSERT_TRUE(journal.Put("mode", Json{{"mode", "mse"}}).ok());
  ASSERT_NE(journal.Find("mode"), nullptr);
  EXPECT_TRUE(journal.Finish().ok());
}

}  // namespace
}  // namespace tilewright::optimize
