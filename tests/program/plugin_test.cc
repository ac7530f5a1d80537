// Plugins as the program loads them: the example of the documentation gives the results of the
// built-in template, and every illegal call of a faulty plugin is rejected with the plugin's name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "records/store.h"
#include "search/space.h"
#include "search/static_analyzer.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/plugins/load_plugin.h"
#include "src/target/device.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kConv =
    "conv2d(float32[1,8,12,12]NCHW,float32[16,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";
const std::string kRough = PLUGIN_ROUGH;

plugins::Registries With(const std::string& file) {
  plugins::Registries registries;
  const Status loaded = plugins::LoadPlugin(file, registries);
  TW_CHECK(loaded.ok(), loaded.message());
  return registries;
}

/// Returns the path of rough.cc compiled with ROUGH_<kind>.
std::string Variant(const std::string& kind) {
  return (std::filesystem::path(kRough).parent_path() / ("lib" + kind + ".so")).string();
}

struct WrongPlugin {
  const char* kind;
  const char* message;
};
class PluginRefusals : public testing::TestWithParam<WrongPlugin> {};
TEST_P(PluginRefusals, NamesTheFileAndWhatIsWrong) {
  plugins::Registries registries;
  const std::string file = Variant(GetParam().kind);
  const Status status = plugins::LoadPlugin(file, registries);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "--plugin " + file + ": " + GetParam().message);
  EXPECT_TRUE(registries.plugins.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, PluginRefusals,
    testing::Values(WrongPlugin{"rough_null", "tw_plugin_main returned null"},
                    WrongPlugin{"rough_version", "made for version 2 of plugin.h, expected 1"},
                    WrongPlugin{"rough_short", "a strategy: struct_size 8, expected at least 56"},
                    WrongPlugin{"rough_lacks", "template 'rough/illegal': a member is null"},
                    WrongPlugin{"rough_key",
                                "key 'other/part', expected one that begins with 'rough/'"},
                    WrongPlugin{"rough_form",
                                "strategy 'rough/a part': expected a key such as 'vendor/name', of "
                                "letters, digits, '_' and '-'"}),
    [](const auto& tested) { return std::string(tested.param.kind); });

TEST(PluginTest, WhatIsNoPluginIsRefused) {
  plugins::Registries registries;
  EXPECT_THAT(plugins::LoadPlugin("/nowhere.so", registries).message(),
              HasSubstr("--plugin /nowhere.so: No such file"));
  EXPECT_THAT(plugins::LoadPlugin("/proc/self/exe", registries).message(),
              HasSubstr("--plugin /proc/self"));
  EXPECT_THAT(plugins::LoadPlugin(PLUGIN_NONE, registries).message(), HasSubstr("tw_plugin_main"));
  registries = With(kRough);
  EXPECT_THAT(plugins::LoadPlugin(kRough, registries).message(), HasSubstr("already"));
}

TEST(PluginTest, ItsTemplateIsTheLastThatServes) {
  const plugins::Registries registries = With(PLUGIN_EXAMPLE);
  const auto conv = *Workload::Parse(kConv);
  const auto entries = registries.templates.For(conv, *Target::Parse("native"));
  ASSERT_GT(entries.size(), 1U);
  EXPECT_EQ(entries.back()->key, "acme/conv_rows");
  EXPECT_EQ(plugins::Registries().templates.Find("acme/conv_rows"), nullptr);
  const auto dense = *Workload::Parse("dense(float32[8,8]MK,float32[8,8]NK)->float32");
  EXPECT_EQ(entries.back()->refuses(dense, *Target::Parse("native")), "only conv2d of float32");
}

// After an illegal schedule call, the config is rejected with the plugin's name and a reason.
TEST(PluginTest, IllegalCallsAreRefused) {
  const plugins::Registries registries = With(kRough);
  const TemplateEntry& entry = *registries.templates.Find("rough/illegal");
  const auto conv = *Workload::Parse(kConv);
  const Target target = *Target::Parse("native");
  const auto space = entry.define_space(conv, target);
  ASSERT_TRUE(space.ok()) << space.status().message();
  ASSERT_EQ(space->size(), 10);
  std::set<std::string> reasons;
  for (std::int64_t i = 0; i < space->size(); ++i) {
    const auto kernel = entry.apply(conv, {}, target, space->At(i));
    ASSERT_FALSE(kernel.ok()) << i;
    EXPECT_EQ(kernel.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(kernel.status().message(), testing::StartsWith("rough/illegal: "));
    reasons.insert(kernel.status().message());
  }
  EXPECT_EQ(reasons.size(), 10U) << testing::PrintToString(reasons);
}

class PluginStrategyTest : public testing::Test {
 protected:
  explicit PluginStrategyTest(const char* file = PLUGIN_EXAMPLE)
      : registries_(With(file)),
        space_(*search::MakeSearchSpace(registries_.templates,
                                        {*Workload::Parse(kConv), *Target::Parse("native")}, {})),
        analyzer_(space_) {}
  std::unique_ptr<search::Strategy> Make(const char* key) const {
    search::StrategyContext context;
    context.space = &space_;
    context.analyzer = &analyzer_;
    context.seed = 7;
    return registries_.strategies.Find(key)->make(context);
  }
  static std::vector<search::Observation> Results(const std::vector<search::Point>& points) {
    std::vector<search::Observation> told;
    for (search::Point point : points) told.push_back({point, Outcome::kOk, 1e-3, false});
    return told;
  }

  plugins::Registries registries_;
  search::SearchSpace space_;
  search::TemplateAnalyzer analyzer_;
};

TEST_F(PluginStrategyTest, ProposesLegalConfigsOnceAndGoesOnAfterAReplay) {
  const auto whole = Make("acme/stride");
  const auto resumed = Make("acme/stride");
  std::set<search::Point> seen;
  for (int round = 0; round < 12; ++round) {
    const auto points = whole->Ask(8);
    ASSERT_EQ(points.size(), 8U);
    for (search::Point point : points) {
      EXPECT_TRUE(seen.insert(point).second);
      EXPECT_TRUE(analyzer_.Check(point).ok());
    }
    if (round < 6) {
      ASSERT_TRUE(resumed->ReplayAsk(points, whole->SaveState()).ok());
    } else {
      EXPECT_EQ(resumed->Ask(8), points) << "round " << round;
    }
    whole->Tell(Results(points));
    resumed->Tell(Results(points));
  }
  EXPECT_TRUE(whole->status().ok());
  const auto other = Make("acme/stride");
  EXPECT_EQ(other->ReplayAsk(std::vector<search::Point>(8), whole->SaveState()).code(),
            StatusCode::kCorrupt);
  EXPECT_EQ(other->ReplayAsk({}, "[]").code(), StatusCode::kCorrupt);
}

class RoughStrategyTest : public PluginStrategyTest {
 protected:
  RoughStrategyTest() : PluginStrategyTest(PLUGIN_ROUGH) {}
};

TEST_F(RoughStrategyTest, WhatItMayNotDoIsItsStatus) {
  const struct {
    const char* key;
    const char* message;
  } cases[] = {
      {"rough/far", "strategy rough/far: proposed config 0 of space 99, which there is not"},
      {"rough/beyond",
       "strategy rough/beyond: proposed config 9223372036854775807 of space 0, "
       "which there is not"},
      {"rough/twice", "strategy rough/twice: proposed config 3 of space 0 twice"},
      {"rough/many", "strategy rough/many: ask says "},
      {"rough/fails", "strategy rough/fails: ask has failed"},
      {"rough/throws", "rough/throws: ask threw: a fit"},
      {"rough/nothing", "strategy rough/nothing: create returned nothing"}};
  for (const auto& c : cases) {
    const auto strategy = Make(c.key);
    EXPECT_TRUE(strategy->Ask(64).empty()) << c.key;
    EXPECT_THAT(strategy->status().message(), HasSubstr(c.message));
    EXPECT_EQ(strategy->status().code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(strategy->Ask(8).empty());
  }
}

// A record of a plugin's template is served only if the plugin is loaded.
TEST_F(PluginStrategyTest, RecordsAreServedWithThePluginAlone) {
  const auto folder = LockedTempDir::Create("tilewright-plugin-test");
  auto store = records::Store::Open(folder->path() + "/r.db", records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto conv = *Workload::Parse(kConv);
  const Target target = *Target::Parse("native");
  const TemplateEntry& entry = *registries_.templates.Find("acme/conv_rows");
  Trial trial;
  trial.candidate = {{conv, target},
                     {},
                     std::string(entry.key),
                     entry.version,
                     entry.define_space(conv, target)->At(1)};
  trial.outcome = Outcome::kOk;
  trial.samples = {1e-3};
  trial.value = 1e-3;
  trial.verified = true;
  trial.device = *DeviceFor(target);
  trial.codegen_version = DeviceTraitsOf(target).codegen_version;
  const auto job = store->OpenJob("job", "{}", 1);
  ASSERT_TRUE(store->Append(job->id, {trial}, {}).ok());
  const auto with = store->Query(registries_.templates, conv, target, trial.device);
  ASSERT_TRUE(with.ok()) << with.status().message();
  EXPECT_EQ(with->kind, records::AnswerKind::kHit);
  EXPECT_EQ(with->record->trial.candidate.config, trial.candidate.config);
  const auto without = store->Query(plugins::Registries().templates, conv, target, trial.device);
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_EQ(without->kind, records::AnswerKind::kMiss);
  EXPECT_THAT(without->explanation,
              HasSubstr("; template acme/conv_rows is of a plugin that is not loaded, so its "
                        "records are left out"));
}

}  // namespace
}  // namespace tilewright::cli
