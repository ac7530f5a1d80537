#include "records/exchange/t4_export.h"

#include <gmock/gmock.h>

#include "src/space/exchange/t4.h"
#include "tests/records/sample_trials.h"

namespace tilewright::records {
namespace {

using ::testing::HasSubstr;

class T4ExportTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-t4-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(*std::move(folder));
    auto store = Store::Open(folder_->path() + "/records.db", Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok());
    store_ = std::make_unique<Store>(*std::move(store));
    store_->SetDurability(Durability::kSystem);
  }
  void Append(const std::vector<Trial>& trials) {
    const auto job = store_->OpenJob("job", "{}", 1);
    ASSERT_TRUE(job.ok());
    const Status stored = store_->Append(job->id, trials, {});
    ASSERT_TRUE(stored.ok()) << stored.message();
  }
  std::unique_ptr<ScopedTempDir> folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(T4ExportTest, TrialsOfATemplateRoundTrip) {
  Trial failed = SampleTrial(3, 0);
  failed.outcome = Outcome::kRunTimeout;
  failed.reason = "too slow";
  failed.samples.clear();
  failed.verified = false;
  Trial joules = SampleTrial(1, 0.25);
  joules.others["joules"] = 2;
  joules.build_seconds = 0.5;
  Append({joules, SampleTrial(2, 0.125), failed, SampleTrial(2, 0.1, SampleConv(32))});
  const auto exported = ExportT4(BuiltInTemplates(), *store_, {});
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_EQ(exported->trials, 4);
  ASSERT_EQ(exported->spaces.size(), 2u);
  EXPECT_NE(exported->spaces[0].name, exported->spaces[1].name);
  const T4File& file = exported->spaces[0].file;
  EXPECT_THAT(file.metadata, HasSubstr(SampleConv().Key()));
  ASSERT_EQ(file.results.size(), 3u);
  EXPECT_EQ(file.results[0].ObjectiveValue(), 0.25);
  EXPECT_EQ(file.results[0].measurements[1].name, "joules");
  EXPECT_EQ(file.results[2].invalidity, "timeout");
  EXPECT_EQ(file.results[2].ObjectiveValue(), std::nullopt);
  const auto parsed = T4File::Parse(file.ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(*parsed, file);
  EXPECT_EQ(parsed->ToString(), file.ToString());
}

TEST_F(T4ExportTest, EachConfigHasTheMeasurementThatCounts) {
  Trial raced = SampleTrial(2, 0.3);
  raced.attempt = 1;
  Trial again = SampleTrial(5, 0.4);
  again.outcome = Outcome::kRunFailed;
  again.reason = "crash";
  again.samples.clear();
  again.verified = false;
  again.attempt = 1;
  Append({SampleTrial(2, 0.2), raced, SampleTrial(5, 0.5), again});
  const auto exported = ExportT4(BuiltInTemplates(), *store_, {});
  ASSERT_TRUE(exported.ok());
  EXPECT_EQ(exported->trials, 2);
  EXPECT_EQ(exported->left.at("another measurement of the config counts"), 2);
  EXPECT_EQ(exported->spaces[0].file.results[0].ObjectiveValue(), 0.3);
  EXPECT_EQ(exported->spaces[0].file.results[1].ObjectiveValue(), 0.5);
}

TEST_F(T4ExportTest, OnlySelectedTasksAreExported) {
  Append({SampleTrial(2, 0.2), SampleTrial(2, 0.1, SampleConv(32))});
  const auto exported =
      ExportT4(BuiltInTemplates(), *store_, *Selection::Parse("", SampleConv(32).Key()));
  ASSERT_TRUE(exported.ok());
  ASSERT_EQ(exported->spaces.size(), 1u);
  EXPECT_EQ(exported->spaces[0].file.results[0].ObjectiveValue(), 0.1);
}

}  // namespace
}  // namespace tilewright::records
