#include "src/session/query/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/built_in.h"

namespace tilewright::session {
namespace {

using testing::HasSubstr;

constexpr const char* kTuple =
    "('dense_nopack.x86', ('TENSOR', (1, 512), 'float32'), ('TENSOR', (1000, 512), 'float32'), "
    "None, 'float32')";

TEST(QuestionTest, ATupleIsAskedForAsWritten) {
  const auto question = QuestionOfTuple(kTuple);
  ASSERT_TRUE(question.ok()) << question.status().message();
  EXPECT_TRUE(question->task.has_value());
  EXPECT_EQ(question->uses, 1);
  EXPECT_FALSE(QuestionOfTuple("('dense'").ok());
}

TEST(QuestionTest, WithoutSourcesEveryAnswerIsAMiss) {
  const auto workload = Workload::Parse("dense(float32[1,512]MK,float32[1000,512]NK)->float32");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  const auto target = Target::Parse("llvm -mcpu=core-avx2");
  ASSERT_TRUE(target.ok());
  const Question one{workload->Key(), "dense", *workload};
  const std::vector<Question> questions = {one, one};
  const auto device = DeviceAsked("", *target);
  ASSERT_TRUE(device.ok()) << device.status().message();
  records::LookupRequest terms;
  terms.templates = &BuiltInTemplates();
  terms.target = &*target;
  terms.device = &*device;
  records::Catalog catalog;
  const auto answers = AnswerAll(questions, terms, catalog);
  ASSERT_TRUE(answers.ok()) << answers.status().message();
  ASSERT_EQ(answers->size(), 2U);
  for (const auto& answer : *answers) EXPECT_EQ(answer.level, records::AnswerLevel::kMiss);
  records::Preference prefer;
  EXPECT_TRUE(SumsOf(questions, *answers, *target, prefer).empty());
  prefer.minimized = "seconds";
  const MetricSums sums = SumsOf(questions, *answers, *target, prefer);
  ASSERT_TRUE(sums.contains("seconds"));
  EXPECT_EQ(sums.at("seconds").unknown, 2);
}

TEST(QuestionTest, AnEnvironmentIsTheDeviceOfAQuestion) {
  const auto target = Target::Parse("llvm -mcpu=core-avx2");
  ASSERT_TRUE(target.ok());
  EXPECT_TRUE(DeviceAsked(R"({"match": {"gpu": "A100"}})", *target).ok());
  EXPECT_FALSE(DeviceAsked("A100", *target).ok());
}

}  // namespace
}  // namespace tilewright::session
