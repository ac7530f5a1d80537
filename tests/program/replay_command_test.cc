#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "python_free_cli/command.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/plugins/registries.h"

namespace tilewright::cli {
namespace {

/// Results of 4 x 4 configs, of which one fails.
std::string Results(double factor) {
  Json results = Json::array();
  for (int x = 0; x < 4; ++x) {
    for (int y = 0; y < 4; ++y) {
      const bool fails = x == 3 && y == 3;
      Json measurement = {{"name", "time"}, {"value", 1 + factor * x + y}, {"unit", "ms"}};
      results.push_back({{"configuration", {{"x", x}, {"y", y}}},
                         {"invalidity", fails ? "runtime" : "correct"},
                         {"measurements", Json::array({std::move(measurement)})}});
    }
  }
  return Json{{"metadata", Json::object()}, {"results", std::move(results)}}.dump();
}

class ReplayCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("replay_command");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(std::move(*folder));
    ASSERT_TRUE(WriteFile(Path("made.A.T4.json"), Results(2)).ok());
    ASSERT_TRUE(WriteFile(Path("made.B.T4.json"), Results(3)).ok());
  }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }

  Result<int> Run(std::vector<std::string> arguments) {
    const auto command = MakeReplayCommand();
    CLI::App app;
    command->Declare(app);
    std::ranges::reverse(arguments);
    app.parse(arguments);
    const plugins::Registries registries;
    command->Use(registries);
    testing::internal::CaptureStdout();
    Result<int> code = command->Run();
    printed_ = testing::internal::GetCapturedStdout();
    return code;
  }

  std::unique_ptr<ScopedTempDir> folder_;
  std::string printed_;
};

TEST_F(ReplayCommandTest, PrintsQualitiesAndWritesRuns) {
  const auto code =
      Run({Path("made.A.T4.json"), Path("made.B.T4.json"), "--strategy", "grid", "--strategy",
           "random", "--seeds", "2", "--evaluations", "16", "--runs", Path("runs.jsonl")});
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_THAT(printed_, testing::HasSubstr("Q(4)"));
  EXPECT_THAT(printed_, testing::ContainsRegex("made.A +1.000 +1.000 +1.000"));
  EXPECT_THAT(printed_, testing::HasSubstr("geometric mean"));
  const auto runs = ReadFile(Path("runs.jsonl"));
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(std::ranges::count(*runs, '\n'), 2 * 2 * 2);
  EXPECT_EQ(runs->substr(0, runs->find("\"configs\"")),
            R"({"space":"made.A","strategy":"grid","seed":0,)");
}

TEST_F(ReplayCommandTest, BeginsWithTheBestOfOtherDevices) {
  const auto code = Run({Path("made.A.T4.json"), "--records", Path("made.A.T4.json"), "--records",
                         Path("made.B.T4.json"), "--seeds", "1", "--evaluations", "1", "--json"});
  ASSERT_TRUE(code.ok()) << code.status().message();
  const auto json = ParseJson(printed_);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)[0]["strategy"], "auto");
  EXPECT_EQ((*json)[0]["quality"][0], 1.0);
}

TEST_F(ReplayCommandTest, NamesWhatIsMissing) {
  EXPECT_EQ(Run({Path("made.A.T4.json"), "--strategy", "bogus"}).status().message(),
            "no strategy 'bogus'");
  EXPECT_EQ(Run({Path("none.json")}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tilewright::cli
