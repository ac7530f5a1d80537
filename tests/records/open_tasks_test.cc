// Records of open tasks: the texts that name their commands and spaces are stored, checked and
// packed with them.

#include <gmock/gmock.h>

#include "records/merge.h"
#include "records/package/build.h"
#include "records/validation/schedules.h"
#include "src/templates/open/open_template.h"
#include "tests/records/sample_trials.h"

namespace tilewright::records {
namespace {

class OpenTasksTest : public SampleStores {
 protected:
  void SetUp() override {
    SampleStores::SetUp();
    Parameter block, scale;
    block.name = "block";
    for (std::int64_t i = 1; i <= 4; ++i) block.values.emplace_back(i);
    scale.name = "scale";
    scale.type = ParameterType::kFloat;
    scale.values = {0.5, 1.5};
    OpenTaskParts parts;
    parts.name = "test";
    parts.space = *OpenSpace::Create("test", {block, scale}, {"block < 4"});
    parts.command = {"run", "{block}", "{scale}"};
    auto task = MakeOpenTask(std::move(parts));
    ASSERT_TRUE(task.ok()) << task.status().message();
    task_ = *std::move(task);
    ASSERT_TRUE(AddOpenTask(templates_, task_).ok());
  }
  Trial TrialOf(std::int64_t index, double seconds) const {
    Trial trial = SampleTrial(0, seconds);
    trial.candidate = {
        {task_.workload, task_.target()}, {}, task_.key, kOpenTaskVersion, task_.knobs.At(index)};
    trial.codegen_version = DeviceTraitsOf(task_.target()).codegen_version;
    return trial;
  }
  /// Returns a store with trials of the configs.
  std::string StoreOf(const std::vector<std::int64_t>& indices) {
    std::vector<Trial> trials;
    for (const std::int64_t index : indices) {
      trials.push_back(TrialOf(index, 0.01 - 0.001 * static_cast<double>(index)));
    }
    Add(Path("open.db"), trials);
    auto store = Store::Open(Path("open.db"), Store::Mode::kReadWrite);
    EXPECT_TRUE(store.ok() && StoreScheduleTexts(*store, templates_).ok());
    return Path("open.db");
  }
  Result<Answer> QueryOf(const std::string& path) const {
    const auto store = Store::Open(path, Store::Mode::kReadOnly);
    TemplateRegistry templates = TemplateRegistry::BuiltIn();
    AddOpenTasks(*ScheduleTextsOf(*store), path, templates);
    return store->Query(templates, task_.workload, task_.target(), SampleDevice());
  }
  OpenTask task_;
  TemplateRegistry templates_ = TemplateRegistry::BuiltIn();
};

TEST_F(OpenTasksTest, AreServedWithTheTextOfTheStore) {
  const auto answer = QueryOf(StoreOf({0, 1, 5}));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_TRUE(answer->record.has_value()) << answer->explanation;
  EXPECT_EQ(answer->record->trial.candidate.config.ToString(),
            R"({"index":5,"values":{"block":2,"scale":1.5}})");
}

// A row may come from anybody: configs that the conditions exclude are never served.
TEST_F(OpenTasksTest, ConfigsThatViolateAConditionAreInvalid) {
  const std::string path = StoreOf({0, 7});
  const auto answer = QueryOf(path);
  ASSERT_TRUE(answer.ok() && answer->record.has_value());
  EXPECT_EQ(answer->record->trial.candidate.config.index, 0);
  EXPECT_THAT(answer->explanation, testing::HasSubstr("violates the condition block < 4"));
  const auto merged = MergeStores(BuiltInTemplates(), Path("into.db"), {path});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(QueryOf(Path("into.db"))->record->trial.candidate.config.index, 0);
}

TEST_F(OpenTasksTest, PackagesCarryTheirTexts) {
  PackageOptions options;
  options.license = "CC0-1.0";
  const auto built = BuildPackages(templates_, {StoreOf({0, 1})}, options);
  ASSERT_TRUE(built.ok()) << built.status().message();
  const auto package = ReadPackage(built->front().bytes, {{}, true});
  ASSERT_TRUE(package.ok()) << package.status().message();
  const auto store = Store::OpenImage(package->database, "package");
  const auto texts = ScheduleTextsOf(*store);
  ASSERT_TRUE(texts.ok());
  EXPECT_THAT(*texts, testing::ElementsAre(std::pair(task_.key, task_.text)));
}

TEST_F(OpenTasksTest, OtherTextsOfTheirNamesAreSkipped) {
  const std::string path = StoreOf({0});
  Sql(path, "UPDATE fact SET value = replace(value, 'run', 'rm') WHERE key LIKE 'open/%'");
  const auto store = Store::Open(path, Store::Mode::kReadOnly);
  TemplateRegistry templates = TemplateRegistry::BuiltIn();
  std::string why;
  AddOpenTasks(*ScheduleTextsOf(*store), "store", templates,
               [&why](const std::string& reason) { why = reason; });
  EXPECT_EQ(why, "the text of " + task_.key + " is another one's");
  EXPECT_EQ(templates.Find(task_.key), nullptr);
}

}  // namespace
}  // namespace tilewright::records
