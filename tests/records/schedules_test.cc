// Records of text schedules: stores and packages contain the texts of their records and no others.

#include "records/validation/schedules.h"

#include <gmock/gmock.h>

#include "records/merge.h"
#include "records/package/build.h"
#include "src/templates/text/text_template.h"
#include "tests/records/sample_trials.h"

namespace tilewright::records {
namespace {

constexpr const char* kSampleText =
    "schedule rows for conv2d on llvm\n"
    "knob tile = {1, 2, 4}\n"
    "s = stage(\"reduce\")\n"
    "h, w = split(axis(s, 2), tile)\n";

class SchedulesTest : public SampleStores {
 protected:
  void SetUp() override {
    SampleStores::SetUp();
    auto text = ParseScheduleText(kSampleText);
    ASSERT_TRUE(text.ok()) << text.status().message();
    key_of_text_ = text->key;
    text_ = text->text;
    ASSERT_TRUE(AddScheduleText(templates_, *std::move(text)).ok());
    ASSERT_TRUE(AddScheduleText(templates_, *ParseScheduleText(
                                                "schedule unused for dense on llvm\nknob a = {1}"))
                    .ok());
  }
  /// Returns a store whose fastest trial belongs to the text.
  std::string TextStore() {
    Trial trial = SampleTrial(1, 0.001);
    trial.candidate.template_key = key_of_text_;
    trial.candidate.template_version = kScheduleTextVersion;
    trial.candidate.config =
        templates_.Find(key_of_text_)->define_space(SampleConv(), SampleTarget())->At(2);
    Add(Path("texts.db"), {trial, SampleTrial(3, 0.002)});
    auto store = Store::Open(Path("texts.db"), Store::Mode::kReadWrite);
    EXPECT_TRUE(store.ok() && StoreScheduleTexts(*store, templates_).ok());
    return Path("texts.db");
  }
  std::string key_of_text_, text_;
  TemplateRegistry templates_ = TemplateRegistry::BuiltIn();
};

TEST_F(SchedulesTest, AreServedWhereTheTextIs) {
  const auto store = Store::Open(TextStore(), Store::Mode::kReadOnly);
  ASSERT_TRUE(store.ok());
  auto answer = store->Query(templates_, SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(answer.ok() && answer->record.has_value());
  EXPECT_EQ(answer->record->trial.candidate.template_key, key_of_text_);
  answer = store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(answer.ok() && answer->record.has_value());
  EXPECT_NE(answer->record->trial.candidate.template_key, key_of_text_);
}

TEST_F(SchedulesTest, PackagesCarryWhatTheirRecordsNeed) {
  PackageOptions options;
  options.license = "CC0-1.0";
  const auto built = BuildPackages(templates_, {TextStore()}, options);
  ASSERT_TRUE(built.ok()) << built.status().message();
  const TrustPolicy anybody{{}, true};
  const auto package = ReadPackage(built->front().bytes, anybody);
  ASSERT_TRUE(package.ok()) << package.status().message();
  const auto store = Store::OpenImage(package->database, "package");
  ASSERT_TRUE(store.ok());
  const auto texts = ScheduleTextsOf(*store);
  ASSERT_TRUE(texts.ok());
  ASSERT_THAT(*texts, testing::SizeIs(1));
  EXPECT_EQ(texts->front(), std::pair(key_of_text_, text_));

  // A package that was changed after it was built is rejected, even if its digests are correct.
  for (const auto& [sql, message] : std::vector<std::pair<std::string, std::string>>{
           {"DELETE FROM fact", "it has no text of the schedule schedule/rows-"},
           {"UPDATE fact SET value = replace(value, '4', '8')", "is that of another one"},
           {"UPDATE fact SET value = value || '#'", "is that of another one"},
           {"UPDATE fact SET value = 'schedule'", "its schedule:1:9: the end"},
           {"INSERT INTO fact VALUES ('schedule/x-1', 'y')", "holds what no package holds"},
           {"INSERT INTO fact VALUES ('store_id', 'y')", "holds what no package holds"}}) {
    ASSERT_TRUE(WriteFile(Path("forged.db"), package->database).ok());
    Sql(Path("forged.db"), sql);
    const std::string database = *ReadFile(Path("forged.db"));
    PackageManifest manifest = package->manifest;
    manifest.database_bytes = static_cast<std::int64_t>(database.size());
    manifest.database_sha256 = Sha256Hex(database);
    const auto forged = ReadPackage(*PackageBytes(manifest, database, nullptr), anybody);
    ASSERT_FALSE(forged.ok()) << sql;
    EXPECT_THAT(forged.status().message(), testing::HasSubstr(message)) << sql;
  }
}

// Records from before texts were named by SHA-256 are packed and served under their former names.
TEST_F(SchedulesTest, FormerNamesAreRead) {
  auto text = *ParseScheduleText(text_);
  const std::string former = LegacyScheduleKey(text);
  ASSERT_NE(former, key_of_text_);
  EXPECT_FALSE(AcceptScheduleKey("schedule/rows-other", text));
  EXPECT_EQ(text.key, key_of_text_);
  ASSERT_TRUE(AcceptScheduleKey(former, text));
  EXPECT_EQ(text.key, former);
  ASSERT_TRUE(AddScheduleText(templates_, std::move(text)).ok());
  key_of_text_ = former;
  PackageOptions options;
  options.license = "CC0-1.0";
  const auto built = BuildPackages(templates_, {TextStore()}, options);
  ASSERT_TRUE(built.ok()) << built.status().message();
  const auto package = ReadPackage(built->front().bytes, {{}, true});
  ASSERT_TRUE(package.ok()) << package.status().message();
  const auto store = Store::OpenImage(package->database, "package");
  const auto answer = store->Query(templates_, SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(answer.ok() && answer->record.has_value());
  EXPECT_EQ(answer->record->trial.candidate.template_key, former);
}

TEST_F(SchedulesTest, MergedStoresKeepThem) {
  const std::string from = TextStore();
  Add(Path("into.db"), {SampleTrial(0, 0.004)});
  ASSERT_TRUE(MergeStores(BuiltInTemplates(), Path("into.db"), {from}).ok());
  const auto store = Store::Open(Path("into.db"), Store::Mode::kReadOnly);
  const auto texts = ScheduleTextsOf(*store);
  ASSERT_TRUE(texts.ok());
  EXPECT_THAT(*texts, testing::Contains(std::pair(key_of_text_, text_)));
}

}  // namespace
}  // namespace tilewright::records
