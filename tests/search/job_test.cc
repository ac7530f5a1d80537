#include "search/job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "src/base/files/file.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

TEST(JobTest, ReadsWhatItPrints) {
  JobSettings settings;
  settings.graph = "models/\"a\".onnx";
  settings.trials = 1000;
  settings.budget_seconds = 1.5;
  settings.strategy = "genetic";
  settings.seed = 18446744073709551615U;
  settings.warm_start = false;
  settings.epsilon = 0.25;
  settings.shape = {"x=1x3x320x320", "y=2"};
  settings.dim = {"height=320"};
  settings.value = {"sr=16000"};
  settings.requantize = "integer";
  settings.float_error = "strict";
  settings.deadline = "2026-11-25T06:00:00Z";
  settings.broker_timeout_seconds = 60;
  settings.space = "space.txt";
  settings.command = "./bench {block}";
  settings.shell = true;
  settings.input = "server";
  settings.env = {"OMP_NUM_THREADS={threads}", "B=2"};
  settings.time_limit = 1.5;
  const auto again = ParseJobSettings(BuiltInStrategies(), ToJson(settings), "printed");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, settings);
}

TEST(JobTest, KeepsTheDefaultsOfWhatIsNotSaid) {
  JobSettings expected;
  expected.budget_seconds = 8 * 3600;
  EXPECT_EQ(*ParseJobSettings(BuiltInStrategies(), R"({"budget_seconds": "8h"})", "job"), expected);
}

// Job names are hashes of the printed settings: names in older stores stay the same.
TEST(JobTest, SaysHowTheFileIsReadOnlyWhereThatWasSaid) {
  const std::string text = ToJson(JobSettings());
  for (const char* key : {"shape", "dim", "value", "requantize", "float_error", "deadline",
                          "broker_timeout_seconds", "space", "command", "build", "check", "name",
                          "shell", "input", "env", "environment", "time_limit", "build_limit"}) {
    EXPECT_EQ(text.find('"' + std::string(key) + '"'), std::string::npos) << key;
  }
}

TEST(JobTest, TakesOneTextForAList) {
  const auto settings = ParseJobSettings(BuiltInStrategies(), R"({"shape": "x=1x8"})", "job");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->shape, std::vector<std::string>{"x=1x8"});
}

TEST(JobTest, TakesAnEnvironmentAsAnObject) {
  const auto settings = ParseJobSettings(BuiltInStrategies(),
                                         R"({"environment": {"match": {"gpu": "A100"}}})", "job");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->environment, R"({"match":{"gpu":"A100"}})");
  EXPECT_EQ(*ParseJobSettings(BuiltInStrategies(), ToJson(*settings), "job"), *settings);
}

struct BadCase {
  const char* name;
  const char* json;
  const char* message;
};
class BadJobTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadJobTest, IsRefusedWithFileAndLine) {
  const auto settings = ParseJobSettings(BuiltInStrategies(), GetParam().json, "night.json");
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(settings.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadJobTest,
    testing::Values(
        BadCase{
            "UnknownKey", "{\n  \"trials\": 10,\n  \"trails\": 20\n}",
            "night.json:3: trails: unknown key, expected one of graph, target, threads, "
            "records, fleet, fleet_class, priority, share, broker_timeout_seconds, shape, dim, "
            "sizes, value, requantize, precision, float_error, space, command, build, check, name, "
            "shell, "
            "input, env, environment, time_limit, build_limit, trials, budget_seconds, deadline, "
            "min_trials_per_task, early_stop_trials, "
            "early_stop_improvement, metric, strategy, seed, batch, epsilon, warm_start, "
            "finalists; did you mean 'trials'?"},
        BadCase{"ShapeAsObject", "{\n\"shape\": {\"x\": 1}}",
                "night.json:2: shape: {\"x\":1}, expected a text or a list of texts"},
        BadCase{"NumberAmongTexts", "{\"dim\": [\"n=3\", 4]}",
                "night.json:1: dim: [\"n=3\",4], expected a text or a list of texts"},
        BadCase{"UnknownFloatError", "{\"float_error\": \"none\"}",
                "night.json:1: float_error: \"none\", expected bounded or strict"},
        BadCase{"UnknownInput", "{\"space\": \"a\",\n\"input\": \"file\"}",
                "night.json:2: input: \"file\", expected none, json or server"},
        BadCase{"EmptyEnvironment", "{\n\"environment\": {}}",
                "night.json:2: environment: expected at least one field"},
        BadCase{"EnvironmentAsList", "{\"environment\": [1]}",
                "night.json:1: environment: [1], expected a text"},
        BadCase{"UnknownRounding", "{\"requantize\": \"int\"}",
                "night.json:1: requantize: \"int\", expected float or integer"},
        BadCase{"TextForNumber", "{\"trials\": \"many\"}",
                "night.json:1: trials: \"many\", expected an integer from 0 to 1000000000"},
        BadCase{"Negative", "{\n\"trials\": -1}",
                "night.json:2: trials: -1, expected an integer from 0 to 1000000000"},
        BadCase{"Fraction", "{\"batch\": 1.5}",
                "night.json:1: batch: 1.5, expected an integer from 1 to 1024"},
        BadCase{"TooLarge", "{\"epsilon\": 2}",
                "night.json:1: epsilon: 2, expected a number from 0 to 1"},
        BadCase{"BadDuration", "{\"budget_seconds\": \"ten minutes\"}",
                "night.json:1: budget_seconds: \"ten minutes\", expected a number from 0 to "
                "1000000000 or a text such as \"10m\""},
        BadCase{"BadDeadline", "{\"deadline\": \"tomorrow\"}",
                "night.json:1: deadline: \"tomorrow\", expected a time such as "
                "2026-11-25T06:00:00Z or a duration such as 8h"},
        BadCase{"ShortBrokerTimeout", "{\"broker_timeout_seconds\": \"5s\"}",
                "night.json:1: broker_timeout_seconds: \"5s\", expected a number from 10 to "
                "1000000000 or a text such as \"10m\""},
        BadCase{"BadFlag", "{\"warm_start\": 1}",
                "night.json:1: warm_start: 1, expected true or false"},
        BadCase{"BadSeed", "{\"seed\": -5}",
                "night.json:1: seed: -5, expected an integer from 0 to 18446744073709551615"},
        BadCase{"UnknownStrategy", "{\"strategy\": \"magic\"}",
                "night.json:1: strategy: \"magic\", expected one of auto, evolve, genetic, grid, "
                "model, random, surrogate"},
        BadCase{"NoObject", "[1]", "night.json:1: [1], expected an object of settings"}),
    [](const auto& tested) { return tested.param.name; });

TEST(JobTest, ChecksSettingsThatAreOfNoFileTheSameWay) {
  JobSettings settings;
  EXPECT_TRUE(CheckJobSettings(BuiltInStrategies(), settings).ok());
  settings.trials = -1;
  EXPECT_EQ(CheckJobSettings(BuiltInStrategies(), settings).message(),
            "trials: -1, expected an integer from 0 to 1000000000");
  settings.trials = 1;
  settings.strategy = "magic";
  EXPECT_EQ(CheckJobSettings(BuiltInStrategies(), settings).message(),
            "strategy: \"magic\", expected one of auto, evolve, genetic, grid, model, random, "
            "surrogate");
}

TEST(JobTest, NamesThePlaceOfMalformedJson) {
  const auto settings = ParseJobSettings(BuiltInStrategies(), "{\n \"trials\": }", "night.json");
  ASSERT_FALSE(settings.ok());
  EXPECT_TRUE(settings.status().message().starts_with("night.json: line 2, column "))
      << settings.status().message();
}

TEST(JobTest, KnowsWhatTheModelIsCalled) {
  const auto settings = ParseJobSettings(BuiltInStrategies(), R"({"model": "net.onnx"})", "j");
  EXPECT_TRUE(settings.status().message().ends_with("; did you mean 'graph'?"))
      << settings.status().message();
}

TEST(JobTest, ReadsDurations) {
  EXPECT_EQ(ParseDuration("90").status().message(),
            "duration \"90\" has no unit, expected 90s, 90m or 90h");
  EXPECT_EQ(*ParseDuration("90s"), 90);
  EXPECT_EQ(*ParseDuration("10m"), 600);
  EXPECT_EQ(*ParseDuration("1.5h"), 5400);
  for (const char* bad : {"", "m", "-1s", "nan", "1d", "1 m", "1e99h"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseDuration("soon").status().message(),
            "duration \"soon\", expected a number with s, m or h, such as 90s or 1.5h");
}

TEST(JobTest, TheShippedJobsAreValid) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TILEWRIGHT_SOURCE_DIR "/configs/jobs")) {
    if (entry.path().extension() != ".json") continue;
    const auto settings = LoadJobSettings(BuiltInStrategies(), entry.path().string());
    EXPECT_TRUE(settings.ok()) << settings.status().message();
    ++count;
  }
  EXPECT_GE(count, 2);
}

TEST(JobTest, NamesAFileThatIsMissing) {
  EXPECT_EQ(LoadJobSettings(BuiltInStrategies(), "/nowhere/job.json").status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace tilewright::search
