#include "src/templates/open/problem.h"

#include <gmock/gmock.h>

#include <cmath>

#include "src/templates/open/environment.h"
#include "src/templates/open/open_task.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

Problem Of(const char* json) {
  auto problem = ParseProblem(json);
  EXPECT_TRUE(problem.ok()) << json << ": " << problem.status().message();
  return problem.ok() ? *problem : Problem();
}

TEST(ProblemTest, FieldsAreSortedAndParseBack) {
  const Problem problem = Of(R"({"m":512,"dtype":"half","fused":true,"alpha":0.5})");
  EXPECT_EQ(ProblemText(problem), "alpha=0.5 dtype=half fused=true m=512");
  EXPECT_EQ(ProblemJson(problem), R"({"alpha":0.5,"dtype":"half","fused":true,"m":512})");
  EXPECT_EQ(Of(ProblemJson(problem).c_str()), problem);
}

TEST(ProblemTest, DistanceIsThatOfTheSizes) {
  const Problem asked = Of(R"({"m":512,"n":64,"t":"half"})");
  EXPECT_EQ(ProblemDistance(asked, asked), 0);
  EXPECT_NEAR(ProblemDistance(asked, Of(R"({"m":256,"n":256,"t":"half"})")), 3, 1e-12);
  EXPECT_EQ(ProblemDistance(asked, Of(R"({"m":512,"n":64,"t":"float"})")), HUGE_VAL);
  EXPECT_EQ(ProblemDistance(asked, Of(R"({"m":512,"n":64})")), HUGE_VAL);
  EXPECT_EQ(ProblemDistance(asked, Of(R"({"m":512,"n":0,"t":"half"})")), HUGE_VAL);
  EXPECT_EQ(ProblemDistance(asked, Of(R"({"m":512,"x":64,"t":"half"})")), HUGE_VAL);
}

TEST(ProblemTest, HostileTextsAreErrors) {
  const std::string long_name(65, 'a');
  for (const std::string& json :
       {std::string("["), std::string("[]"), std::string("{\"a\":null}"), std::string("{\"\":1}"),
        std::string("{\"a b\":1}"), std::string("{\"a\":\"\\u202e\"}"), "{\"" + long_name + "\":1}",
        "{\"a\":\"" + long_name + "\"}", std::string("{\"a\":1e999}"),
        std::string("{\"a\":18446744073709551615}")}) {
    EXPECT_FALSE(ParseProblem(json).ok()) << json;
  }
}

TEST(EnvironmentTest, FieldsThatMatchAreRequiredAndOthersAreTheModel) {
  const auto one = ParseEnvironment(R"({"differ":{"driver":535},"match":{"gpu":"A100"}})");
  const auto other = ParseEnvironment(R"({"match":{"gpu":"A100","ecc":true}})");
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_TRUE(IsEnvironment(*one));
  EXPECT_EQ(one->model, "driver=535 gpu=A100");
  EXPECT_EQ(EnvironmentJson(*one), R"({"match":{"gpu":"A100"},"differ":{"driver":"535"}})");
  EXPECT_TRUE(other->Includes(*one));
  EXPECT_FALSE(one->Includes(*other));
  EXPECT_EQ(*DeviceFingerprint::Parse(one->ToString()), *one);
  EXPECT_FALSE(IsEnvironment(DeviceFingerprint()));
}

TEST(EnvironmentTest, HostileTextsAreErrors) {
  for (const char* json : {"", "1", "{}", R"({"match":1})", R"({"match":{}})", R"({"other":{}})",
                           R"({"match":{"a":[]}})", R"({"match":{"a":1},"differ":{"a":1}})"}) {
    EXPECT_FALSE(ParseEnvironment(json).ok()) << json;
  }
}

TEST(CallerTaskTest, HasNoCommandAndParsesBack) {
  OpenTaskParts parts;
  parts.name = "gemm";
  parts.input = OpenInput::kCaller;
  parts.problem = Of(R"({"m":512})");
  Parameter parameter;
  parameter.name = "out";  // reserved in tasks with commands only
  parameter.values = {std::int64_t{1}};
  parts.space = *OpenSpace::Create("", {parameter}, {});
  const auto task = MakeOpenTask(parts);
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_THAT(task->text, HasSubstr(R"("input":"caller")"));
  const auto parsed = ParseOpenTask(task->text, "test");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->key, task->key);
  EXPECT_EQ(parsed->problem, parts.problem);
  parts.problem = Of(R"({"m":256})");
  EXPECT_NE(MakeOpenTask(parts)->workload, task->workload);
  parts.command = {"true"};
  EXPECT_THAT(MakeOpenTask(parts).status().message(), HasSubstr("has none"));
  parts.input = OpenInput::kJson;
  EXPECT_FALSE(MakeOpenTask(parts).ok());
}

}  // namespace
}  // namespace tilewright
