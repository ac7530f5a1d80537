#include "measure/program/answer.h"

#include <gtest/gtest.h>

namespace tilewright::measure {
namespace {

using Metrics = std::vector<std::string>;

std::string ErrorOf(const std::string& output, const Metrics& metrics = {"seconds"}) {
  return FindAnswer(output, metrics).status().message();
}

std::vector<double> SamplesOf(const std::string& output, const std::string& metric = "seconds") {
  const auto answer = FindAnswer(output, {metric});
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  if (!answer.ok() || !answer->has_value()) return {};
  return (*answer)->samples.at(metric);
}

TEST(AnswerTest, TakesValuesWithUnits) {
  EXPECT_EQ(SamplesOf(R"({"seconds": 0.5})"), std::vector<double>{0.5});
  EXPECT_EQ(SamplesOf("log\n{\"time\": {\"value\": 250, \"unit\": \"ms\"}}\nlog"),
            std::vector<double>{0.25});
  EXPECT_EQ(SamplesOf(R"({"values": {"seconds": [1, 2, 3]}})"), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(SamplesOf(R"({"time": {"samples": [1, 2], "unit": "us"}})"),
            (std::vector<double>{1e-6, 2e-6}));
  EXPECT_EQ(SamplesOf(R"({"size": {"value": 2, "unit": "KiB"}})", "size[B]"),
            std::vector<double>{2048});
  EXPECT_EQ(SamplesOf(R"({"gflops": 4})", "1/gflops"), std::vector<double>{0.25});
}

TEST(AnswerTest, TakesResultsOfT4) {
  const std::string result =
      R"({"invalidity": "correct", "measurements": [{"name": "time", "value": 4, "unit": "ms"}]})";
  EXPECT_EQ(SamplesOf(result), std::vector<double>{0.004});
}

TEST(AnswerTest, TakesOneNumber) {
  EXPECT_EQ(SamplesOf("0.125\n"), std::vector<double>{0.125});
  EXPECT_EQ(SamplesOf("12.5 ms\n"), std::vector<double>{0.0125});
  for (const char* other : {"", "done", "1 2 3", "time 3"}) {
    const auto none = FindAnswer(other, {"seconds"});
    ASSERT_TRUE(none.ok()) << other;
    EXPECT_FALSE(none->has_value()) << other;
  }
}

TEST(AnswerTest, TakesSeveralMetrics) {
  const auto answer =
      FindAnswer(R"({"seconds": 2, "energy": {"value": 3, "unit": "mJ"}})", {"seconds", "joules"});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ((*answer)->samples.at("joules"), std::vector<double>{3e-3});
  EXPECT_EQ(ErrorOf(R"({"seconds": 2})", {"seconds", "joules"}), "answer: no \"joules\"");
}

TEST(AnswerTest, TakesMetricsWithNamesOfMembers) {
  const std::vector<std::string> metrics = {"seconds", "error"};
  const auto listed =
      ParseAnswer(R"({"error": 0.001, "values": {"seconds": 1, "error": 0.5}})", metrics);
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_EQ(listed->samples.at("error"), std::vector<double>{0.5});
  EXPECT_EQ(listed->max_abs_error, 0.001);
  EXPECT_EQ(ErrorOf(R"({"error": 0.001, "values": {"seconds": 1}})", metrics),
            "answer: no \"error\"");
  const auto bare = ParseAnswer(R"({"seconds": 1, "error": 0.3})", metrics);
  ASSERT_TRUE(bare.ok()) << bare.status().message();
  EXPECT_EQ(bare->samples.at("error"), std::vector<double>{0.3});
}

TEST(AnswerTest, TakesFailures) {
  const auto outcome = [](const std::string& json) {
    const auto answer = ParseAnswer(json, {"seconds"});
    EXPECT_TRUE(answer.ok()) << json;
    return answer->outcome;
  };
  EXPECT_EQ(outcome(R"({"failed": "compile", "reason": "no registers"})"), Outcome::kBuildFailed);
  EXPECT_EQ(outcome(R"({"invalidity": "runtime"})"), Outcome::kRunFailed);
  EXPECT_EQ(outcome(R"({"failed": "timeout"})"), Outcome::kRunTimeout);
  EXPECT_EQ(outcome(R"({"failed": "correctness"})"), Outcome::kWrongResult);
  EXPECT_EQ(outcome(R"({"correct": false})"), Outcome::kWrongResult);
  EXPECT_EQ(outcome(R"({"failed": "constraints"})"), Outcome::kInvalid);
  EXPECT_EQ(ParseAnswer(R"({"failed": "compile", "reason": "no\nway"})", {"seconds"})->reason,
            "no\\nway");
}

TEST(AnswerTest, RejectsTheRest) {
  EXPECT_EQ(ErrorOf("{\"seconds\": 1}\n{\"seconds\": 2}"),
            "it answered twice, expected one line of JSON");
  EXPECT_EQ(ErrorOf(R"({"seconds": 0})"), "answer: \"seconds\" is 0, expected a positive number");
  EXPECT_EQ(ErrorOf(R"({"seconds": -1})"), "answer: \"seconds\" is -1, expected a positive number");
  EXPECT_EQ(ErrorOf(R"({"gflops": 1e-310})", {"1/gflops"}),
            "answer: \"gflops\" is 1e-310, expected a positive number");
  EXPECT_EQ(ErrorOf(R"({"seconds": "fast"})"),
            "answer: \"seconds\" is \"fast\", expected a positive number");
  EXPECT_EQ(ErrorOf(R"({"seconds": []})"), "answer: \"seconds\": 0 samples, expected 1 to 4096");
  EXPECT_EQ(ErrorOf(R"({"time": 3})"),
            "answer: \"time\" has no unit, expected {\"value\": …, \"unit\": \"ms\"}");
  EXPECT_EQ(ErrorOf(R"({"size": {"value": 3, "unit": "KiB"}})", {"size"}),
            "answer: \"size\" has the unit KiB, expected --metric 'size[KiB]'");
  EXPECT_EQ(ErrorOf(R"({"size": {"value": 3, "unit": "ms"}})", {"size[B]"}),
            "answer: \"size\" has the unit ms, expected B, kB, MB, GB, KiB, MiB, GiB");
  EXPECT_EQ(ErrorOf(R"({"time": {"value": 3, "unit": "msec"}})"),
            "answer: \"time\" has the unit msec, expected s, ms, us, \xc2\xb5s, ns, min");
  // Records with shorter times are never served.
  EXPECT_EQ(ErrorOf(R"({"time": {"value": 0.5, "unit": "ns"}})"),
            "answer: \"time\" is 5e-10 s, expected at least 1e-09 s: no device does it faster; for "
            "shorter times, measure several repetitions");
  EXPECT_EQ(ErrorOf(R"({"failed": "moon"})"),
            "answer: \"failed\": 'moon', expected compile, runtime, timeout, correctness or "
            "constraints");
  EXPECT_NE(ErrorOf("{garbage").find("answer: "), std::string::npos);
}

TEST(AnswerTest, TakesTheNumberOfTheConfig) {
  EXPECT_EQ(ParseAnswer(R"({"id": 7, "seconds": 1})", {"seconds"})->id, 7);
  EXPECT_EQ(ParseAnswer(R"({"seconds": 1})", {"seconds"})->id, -1);
}

}  // namespace
}  // namespace tilewright::measure
