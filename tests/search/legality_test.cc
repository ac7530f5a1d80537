#include "search/legality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/space.h"
#include "search/tuner.h"
#include "src/templates/text/text_template.h"
#include "tests/support/built_in.h"

namespace tilewright::search {
namespace {

using testing::HasSubstr;

TuneTask SmallDenseTask() {
  TuneTask task;
  task.task.workload = *Workload::Parse("dense(float32[4,32]MK,float32[48,32]NK)->float32");
  task.task.target = *Target::Parse("llvm -mcpu=core-avx2");
  return task;
}

/// Adds a text schedule to the built-in templates; returns its key.
std::string AddText(const std::string& text, TemplateRegistry& templates) {
  auto schedule = ParseScheduleText(text, "test.tws");
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  const std::string key = schedule->key;
  EXPECT_TRUE(AddScheduleText(templates, *std::move(schedule)).ok());
  return key;
}

TEST(LegalityTest, SaysWhyNoConfigIsLegal) {
  TemplateRegistry templates = TemplateRegistry::BuiltIn();
  // The vectorized loop is around the reduction in every config.
  const std::string key = AddText(
      "schedule bad for dense on llvm\nknob rows = {1, 2, 4}\n"
      "require rows < 4 else \"too many rows\"\n"
      "sum = stage(\"reduce\")\no, i = split(axis(sum, 0), rows)\nvectorize(axis(sum, 1))\n",
      templates);
  const Status status = CheckTemplate(templates, key, {SmallDenseTask()});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(key + ": none of 3 configs is legal: "));
  EXPECT_THAT(status.message(), HasSubstr("is not innermost (2 configs)"));
  EXPECT_THAT(status.message(), HasSubstr("too many rows (1 config)"));
}

TEST(LegalityTest, OneLegalConfigIsEnough) {
  TemplateRegistry templates = TemplateRegistry::BuiltIn();
  const std::string key = AddText(
      "schedule good for dense on llvm\nknob rows = {1, 2, 4}\nrequire rows == 4\n"
      "sum = stage(\"reduce\")\no, i = split(axis(sum, 0), rows)\n",
      templates);
  EXPECT_TRUE(CheckTemplate(templates, key, {SmallDenseTask()}).ok());
  const auto space = MakeSearchSpace(templates, SmallDenseTask().task, {});
  ASSERT_TRUE(space.ok());
  EXPECT_GT(CheckConfigs(*space).legal, 0);
  // It serves none of these tasks, which is not an error of legality.
  TuneTask other = SmallDenseTask();
  other.task.workload = *Workload::Parse(
      "conv2d(float32[1,8,8,8]NCHW,float32[8,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  EXPECT_TRUE(CheckTemplate(templates, key, {other}).ok());
}

}  // namespace
}  // namespace tilewright::search
