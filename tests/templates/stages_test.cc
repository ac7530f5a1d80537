#include "src/templates/stages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/ir/stmt.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/registry.h"
#include "src/tensor/compute/compute.h"

namespace tilewright {
namespace {

Compute LayoutTransform(const char* from, const char* to, std::vector<std::int64_t> shape) {
  Operator op{OpKind::kLayoutTransform, {}};
  op.attributes.src_layout = from;
  op.attributes.dst_layout = to;
  const TensorType input{std::move(shape), kUInt8};
  auto compute = DefineOperator(op, std::span(&input, 1));
  EXPECT_TRUE(compute.ok()) << compute.status().message();
  return *std::move(compute);
}

std::int64_t CountStages(const std::string& text, const std::string& word) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

std::string PrintedLoopsOf(Compute compute) {
  auto schedule = FixedSchedule(std::move(compute), *Target::Parse("llvm -mcpu=znver4"));
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  auto program = Lower(*schedule, "kernel");
  EXPECT_TRUE(program.ok()) << program.status().message();
  return ToString(*program);
}

TEST(StagesTest, BlocksOfHalfAVectorAreTransposed) {
  constexpr std::int64_t kLanes = 16;
  const Compute compute = LayoutTransform("NCHW8c", "NCHW", {1, 3, 1, 40, 8});
  EXPECT_EQ(AcrossAxis(compute.stages[0], kLanes), 1);
  EXPECT_NE(
      PrintedLoopsOf(LayoutTransform("NCHW8c", "NCHW", {1, 3, 1, 40, 8})).find("in 0..8 unrolled"),
      std::string::npos);
}

TEST(StagesTest, OnlyTheLastBlockOfChannelsHasConditions) {
  const std::string loops = PrintedLoopsOf(LayoutTransform("NCHW", "NCHW8c", {1, 21, 1, 48}));
  EXPECT_EQ(CountStages(loops, "select("), 1) << loops;
  EXPECT_EQ(CountStages(loops, "] = "), 2) << loops;
}

}  // namespace
}  // namespace tilewright
