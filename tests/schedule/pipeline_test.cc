// Lowering of prefetched asynchronous copies and padded rows, and its rejections.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/schedule/lower/lower.h"
#include "src/schedule/summary.h"
#include "tests/schedule/computes.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

Schedule PipelinedSum(std::int64_t rounds, std::int64_t steps, int copies,
                      DataType dtype = kFloat32) {
  Schedule s = MakeStagedSum(rounds, steps, dtype);
  const StageId copy = s.Stage("in.shared");
  s.Bind(copy, s.SpatialAxis(copy, 1), LoopKind::kThreadX);
  s.Pipeline(copy, copies);
  return s;
}

TEST(PipelineTest, CopiesRunAheadWithOneBarrierForEachStep) {
  auto program = Lower(PipelinedSum(1, 6, 3), "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(ToString(program->body),
            "for thread.x in 0..8 thread.x:\n"
            "  allocate out.local: float32[1] local\n"
            "  out.local[0] = 0.0f\n"
            "  allocate in.shared: float32[3, 16] shared\n"
            "  for a0 in 0..2:\n"
            "    copy(in.shared[0, thread.x + a0*8], in[a0, thread.x]) async=1\n"
            "  async.commit()\n"
            "  for a0 in 0..2:\n"
            "    copy(in.shared[1, thread.x + a0*8], in[a0 + 2, thread.x]) async=1\n"
            "  async.commit()\n"
            "  for k.o.i in 0..6:\n"
            "    async.wait(in.shared[0 :: 3, 0 :: 16]) pending=1\n"
            "    barrier\n"
            "    if k.o.i < 4:\n"
            "      for a0 in 0..2:\n"
            "        copy(in.shared[floormod(k.o.i + 2, 3), thread.x + a0*8], "
            "in[(k.o.i + 2)*2 + a0, thread.x]) ahead=1 async=1\n"
            "    async.commit()\n"
            "    for k.i in 0..2:\n"
            "      out.local[0] = out.local[0] + in.shared[floormod(k.o.i, 3), thread.x + k.i*8]\n"
            "  out[thread.x] = out.local[0]\n");
}

TEST(PipelineTest, TheNextRoundWaitsUntilTheLastStepWasUsed) {
  auto program = Lower(PipelinedSum(3, 4, 2), "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ToString(program->body), HasSubstr("  for k.o.o in 0..3:\n"
                                                 "    allocate in.shared: float32[2, 16] shared\n"
                                                 "    barrier\n"
                                                 "    for a0 in 0..2:\n"
                                                 "      copy(in.shared[0, "));
}

TEST(PipelineTest, TheSummaryCountsAllCopies) {
  const auto summary = Summarize(PipelinedSum(1, 6, 4));
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->stages[0].shared_bytes, 4 * 16 * 4);
}

struct PipelineRefusal {
  const char* name;
  Schedule (*schedule)();
  const char* message;
};

class PipelineRefusalTest : public testing::TestWithParam<PipelineRefusal> {};

TEST_P(PipelineRefusalTest, SaysWhy) {
  EXPECT_THAT(Lower(GetParam().schedule(), "kernel").status().message(),
              HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Pipelines, PipelineRefusalTest,
    testing::Values(PipelineRefusal{"OneStep", [] { return PipelinedSum(1, 1, 2); },
                                    "no loop of several steps copies to it and uses it"},
                    PipelineRefusal{"MoreCopiesThanSteps", [] { return PipelinedSum(4, 2, 3); },
                                    "a pipeline of 3 copies, but 2 steps"},
                    PipelineRefusal{"OneCopy", [] { return PipelinedSum(1, 4, 1); },
                                    "1 copies, expected 2 to 16"},
                    PipelineRefusal{"Bytes", [] { return PipelinedSum(1, 4, 2, kInt8); },
                                    "accesses of 1 bytes, expected a multiple of 4 up to 16"},
                    PipelineRefusal{"TwoWays",
                                    [] {
                                      Schedule s = PipelinedSum(1, 4, 2);
                                      s.DoubleBuffer(s.Stage("in.shared"));
                                      return s;
                                    },
                                    "it is a pipeline already"},
                    PipelineRefusal{"Misaligned",
                                    [] {
                                      Schedule s = MakeStagedSum(1, 4, kInt8);
                                      const StageId copy = s.Stage("in.shared");
                                      const auto [part, run] =
                                          s.Split(copy, s.SpatialAxis(copy, 1), 4);
                                      s.Bind(copy, part, LoopKind::kThreadX);
                                      s.Vectorize(copy, run);
                                      s.PadRows(copy, 1, 2);
                                      s.Pipeline(copy, 2);
                                      return s;
                                    },
                                    "accesses at multiples of 2 bytes, expected at least 4"},
                    PipelineRefusal{"Reduction",
                                    [] {
                                      Schedule s = MakeStagedSum(1, 4);
                                      const StageId sum = s.Stage("out.local");
                                      s.SetScope(sum, Scope::kShared);
                                      s.Pipeline(sum, 2);
                                      return s;
                                    },
                                    "it is a reduction, no copy"},
                    PipelineRefusal{"Private",
                                    [] {
                                      Schedule s = MakeStagedSum(1, 4);
                                      s.Pipeline(s.Stage("out.local"), 2);
                                      return s;
                                    },
                                    "it is not in shared memory"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(PadRowsTest, LeavesElementsOutAfterSomeRows) {
  Schedule s = MakeStagedSum(1, 4);
  const StageId copy = s.Stage("in.shared");
  s.Bind(copy, s.SpatialAxis(copy, 1), LoopKind::kThreadX);
  s.PadRows(copy, 1, 3);
  auto program = Lower(s, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string text = ToString(program->body);
  EXPECT_THAT(text, HasSubstr("allocate in.shared: float32[22] shared\n"));
  EXPECT_THAT(text, HasSubstr("in.shared[thread.x + a0*11] = in["));
  EXPECT_THAT(text, HasSubstr("+ in.shared[thread.x + k.i*11]"));
  const auto summary = Summarize(s);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->stages[0].shared_bytes, RoundUp(22 * 4, 16));
  const SummaryAccess& read = summary->stages[1].accesses[0];
  ASSERT_EQ(read.buffer, "in.shared");
  EXPECT_THAT(read.strides, testing::ElementsAre(1, 0, 11)) << "threads, steps, rows of a step";
}

}  // namespace
}  // namespace tilewright
