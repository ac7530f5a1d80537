#include "src/session/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/session/target.h"
#include "src/session/tasks.h"
#include "src/tensor/expression/expression.h"

namespace tilewright::session {
namespace {

using testing::ElementsAre;

Workload Parsed(const char* key) {
  auto workload = Workload::Parse(key);
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  return *workload;
}

const char* const kFloat =
    "conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";
const char* const kBlocked =
    "conv2d(float32[1,4,56,56,16]NCHW16c,float32[4,4,3,3,16,16]OIHW16i16o,s1x1,p1x1x1x1,d1x1,g1)"
    "->float32";
const char* const kInt8 =
    "conv2d(int8[1,64,56,56]NCHW,int8[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
const char* const kDense = "dense(float32[1,512]MK,float32[1000,512]NK)->float32";

TEST(DistinctNamesTest, AddsOnlyWhatTellsTasksApart) {
  const Workload one = Parsed(kFloat), two = Parsed(kInt8), three = Parsed(kBlocked),
                 dense = Parsed(kDense);
  EXPECT_THAT(DistinctNames(std::vector<NamedTask>{{&one}, {&dense}}),
              ElementsAre("conv2d 64->64 3x3 56x56", "dense 1x512x1000"));
  EXPECT_THAT(DistinctNames(std::vector<NamedTask>{{&one}, {&two}, {&dense}}),
              ElementsAre("conv2d 64->64 3x3 56x56 float32", "conv2d 64->64 3x3 56x56 int8",
                          "dense 1x512x1000"));
  EXPECT_THAT(DistinctNames(std::vector<NamedTask>{{&one}, {&three}}),
              ElementsAre("conv2d 64->64 3x3 56x56 NCHW", "conv2d 64->64 3x3 56x56 NCHW16c"));
  EXPECT_THAT(
      DistinctNames(std::vector<NamedTask>{{&one}, {&two}, {&three}}),
      ElementsAre("conv2d 64->64 3x3 56x56 float32 NCHW", "conv2d 64->64 3x3 56x56 int8 NCHW",
                  "conv2d 64->64 3x3 56x56 float32 NCHW16c"));
}

TEST(DistinctNamesTest, TargetsAreNamedWhereAWorkloadHasSeveral) {
  const Workload one = Parsed(kFloat), dense = Parsed(kDense);
  const std::string a = "llvm -mcpu=znver4", b = "cuda -arch=sm_80";
  EXPECT_THAT(DistinctNames(std::vector<NamedTask>{{&one, a}, {&one, b}, {&dense, a}}),
              ElementsAre("conv2d 64->64 3x3 56x56 llvm -mcpu=znver4",
                          "conv2d 64->64 3x3 56x56 cuda -arch=sm_80", "dense 1x512x1000"));
}

TEST(DistinctNamesTest, EqualTasksHaveEqualNamesAndOthersNever) {
  const Workload one = Parsed(kFloat), same = Parsed(kFloat);
  EXPECT_THAT(DistinctNames(std::vector<NamedTask>{{&one}, {&same}}),
              ElementsAre("conv2d 64->64 3x3 56x56", "conv2d 64->64 3x3 56x56"));
  // Paddings whose short name, types and layouts agree.
  const Workload padded = Parsed(
      "conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p0x0x2x2,d1x1,g1)->float32");
  EXPECT_THAT(DistinctNames(std::vector<NamedTask>{{&one}, {&padded}}),
              ElementsAre("conv2d 64->64 3x3 56x56 p1x1x1x1", "conv2d 64->64 3x3 56x56 p0x0x2x2"));
}

TEST(DistinctNamesTest, AnExpressionIsCalledByItsFileAndResult) {
  const auto expression = ParseExpression(
      "input X: float32[4, 8]\nP[i: 4] = sum(j: 8) X[i, j]\nQ[i: 4] = P[i] * 2.0\n", "q.tw");
  ASSERT_TRUE(expression.ok()) << expression.status().message();
  EXPECT_EQ(ExpressionName("folder/q.tw", *expression), "q.tw Q 4");
  const auto task = ParseTask({TILEWRIGHT_SOURCE_DIR "/docs/examples/expressions/softmax.tw"},
                              *ParseTarget("llvm -mcpu=x86-64-v3", 1));
  ASSERT_TRUE(task.ok()) << task.status().message();
  const auto names = DistinctNames(std::vector<search::TuneTask>{*task});
  EXPECT_THAT(names.front(), testing::StartsWith("softmax.tw "));
}

}  // namespace
}  // namespace tilewright::session
