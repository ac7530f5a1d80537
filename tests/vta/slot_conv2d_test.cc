#include "src/vta/kernels/slot_conv2d.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/vta/encoding.h"
#include "src/vta/kernels/slot_conv2d_space.h"
#include "src/vta/simulator/timing.h"
#include "tests/vta/conv_reference.h"

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;
using enum UnrolledLoop;

struct PlanCase {
  const char* name;
  const char* design;
  PackedConv2d conv;
  SlotConv2dPlan plan;
};

class OwnConv2dTest : public testing::TestWithParam<PlanCase> {};

/// Encodes, runs and compares. The stream must have no faults and no remaining tokens.
void ExpectSlotsEqualPlainLoops(const ConvCase& test, const Stream& stream) {
  const Encoding encoding(test.design);
  const auto bytes = encoding.EncodeStream(stream.instructions);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const auto decoded = encoding.DecodeStream(*bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, stream.instructions);
  const ConvRun run = RunCase(test, stream);
  ASSERT_TRUE(run.result.status().ok()) << run.result.status().message();
  EXPECT_EQ(run.output, Expected(test));
}

std::vector<EpilogueStep> WithResidual(std::vector<EpilogueStep> steps) {
  steps.push_back({AluOp::kAdd, Operand::kTensorInt8, 0});
  steps.push_back({AluOp::kMax, Operand::kImmediate, 0});
  steps.push_back({AluOp::kMin, Operand::kImmediate, 127});
  steps.push_back({AluOp::kMax, Operand::kImmediate, -127});
  return steps;
}

TEST_P(OwnConv2dTest, EqualsPlainLoops) {
  const PlanCase& c = GetParam();
  const Design design = PresetDesign(c.design);
  for (const bool residual : {false, true}) {
    auto epilogue = Requantize(true, true, 9);
    if (residual) epilogue = WithResidual(std::move(epilogue));
    SlotConv2dPlan plan = c.plan;
    plan.gemm_adds = plan.gemm_adds && residual;
    const auto stream = BuildSlotConv2d(design, c.conv, plan, epilogue);
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    ExpectSlotsEqualPlainLoops(RandomCase(design, c.conv, epilogue, 11), *stream);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, OwnConv2dTest,
    testing::Values(PlanCase{"OneTile", "sim", {1, 1, 1, 4, 4, 1, 1, 1, 1, 0, 0}, {.h = 4, .w = 4}},
                    PlanCase{"UnequalTiles",
                             "sim",
                             {1, 3, 5, 7, 9, 3, 3, 1, 1, 1, 1},
                             {.h = 4, .w = 5, .ci = 2, .co = 3, .inp_slots = 2, .wgt_slots = 2}},
                    PlanCase{"ResidentWeights",
                             "sim",
                             {1, 2, 2, 8, 8, 3, 3, 1, 1, 1, 1},
                             {.h = 3,
                              .w = 8,
                              .ci = 1,
                              .co = 2,
                              .inp_slots = 2,
                              .wgt_slots = 2,
                              .acc_slots = 2,
                              .unrolled = kOutputChannels}},
                    PlanCase{"ResidentDataBackAndForth",
                             "sim",
                             {2, 4, 4, 5, 5, 3, 3, 1, 1, 1, 1},
                             {.h = 5,
                              .w = 5,
                              .ci = 1,
                              .co = 1,
                              .inp_slots = 3,
                              .wgt_slots = 2,
                              .serpentine = true,
                              .unrolled = kInputChannels}},
                    PlanCase{"ChannelsOuter",
                             "sim",
                             {1, 2, 4, 9, 6, 3, 3, 2, 2, 1, 1},
                             {.h = 2,
                              .w = 3,
                              .ci = 1,
                              .co = 2,
                              .inp_slots = 2,
                              .wgt_slots = 2,
                              .acc_slots = 2,
                              .channels_outer = true,
                              .serpentine = true,
                              .unrolled = kOutputChannels}},
                    PlanCase{"SkippedRows",
                             "sim",
                             {1, 4, 2, 8, 8, 1, 1, 2, 2, 0, 0},
                             {.h = 3, .w = 4, .ci = 2, .co = 2, .inp_slots = 2, .wgt_slots = 2}},
                    PlanCase{"WidePadding",
                             "sim",
                             {1, 1, 2, 3, 4, 5, 5, 1, 1, 4, 4},
                             {.h = 7, .w = 8, .ci = 1, .co = 2, .unrolled = kOutputChannels}},
                    PlanCase{"AddsByGemm",
                             "sim",
                             {1, 2, 4, 7, 7, 3, 3, 1, 1, 1, 1},
                             {.h = 7,
                              .w = 7,
                              .ci = 1,
                              .co = 3,
                              .inp_slots = 2,
                              .wgt_slots = 2,
                              .acc_slots = 2,
                              .gemm_adds = true}},
                    PlanCase{"Design4x8",
                             "pynq_4x8",
                             {1, 3, 4, 6, 6, 3, 3, 1, 1, 1, 1},
                             {.h = 4,
                              .w = 6,
                              .ci = 2,
                              .co = 2,
                              .inp_slots = 2,
                              .wgt_slots = 2,
                              .acc_slots = 2,
                              .gemm_adds = true,
                              .unrolled = kInputChannels}}),
    [](const auto& tested) { return tested.param.name; });

TEST(OwnConv2dTest, RandomPlansEqualPlainLoops) {
  Random random(5);
  const Design designs[] = {PresetDesign("pynq"), PresetDesign("pynq_4x8")};
  int built = 0;
  for (int n = 0; n < 300; ++n) {
    const Design& design = designs[random.Below(2)];
    const PackedConv2d conv = RandomConv(random);
    const auto epilogue = RandomEpilogue(random, conv, design.block());
    const SlotConv2dPlan plan = RandomPlan(random, conv);
    const auto stream = BuildSlotConv2d(design, conv, plan, epilogue);
    if (!stream.ok()) continue;
    ++built;
    ExpectSlotsEqualPlainLoops(RandomCase(design, conv, epilogue, random.Next()), *stream);
  }
  EXPECT_GT(built, 60);
}

TEST(OwnConv2dTest, ResidentTensorsCrossTheBusOnce) {
  const Design design = PresetDesign("pynq");
  const PackedConv2d conv = {1, 4, 4, 14, 14, 3, 3, 1, 1, 1, 1};
  const auto epilogue = Requantize(true, true, 9);
  const SlotConv2dPlan plan = {.h = 14, .w = 14, .ci = 1, .co = 2, .inp_slots = 4, .wgt_slots = 2};
  const auto stream = BuildSlotConv2d(design, conv, plan, epilogue);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  const RunResult run = RunStream(design, stream->instructions, nullptr);
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  const Statistics& statistics = run.summary.statistics;
  EXPECT_EQ(statistics.inp_load_nbytes, 4 * 14 * 14 * 16);
  EXPECT_EQ(statistics.wgt_load_nbytes, 4 * 4 * 9 * 256);
  EXPECT_EQ(statistics.acc_load_nbytes, 4 * 64);
  EXPECT_EQ(statistics.out_store_nbytes, 4 * 14 * 14 * 16);
  // Products with padding are omitted: two of 14 * 3 pairs of result and tap along an axis.
  EXPECT_EQ(statistics.gemm_counter, 4 * 4 * 40 * 40);
  EXPECT_EQ(run.summary.counts.uop, 1);
}

TEST(OwnConv2dTest, DropsOfAnyTokenAreFound) {
  const Design design = PresetDesign("sim");
  const PackedConv2d conv = {1, 2, 4, 6, 6, 3, 3, 1, 1, 1, 1};
  const auto epilogue = WithResidual(Requantize(true, true, 9));
  const SlotConv2dPlan plan = {.h = 4,
                               .w = 6,
                               .ci = 1,
                               .co = 2,
                               .inp_slots = 2,
                               .wgt_slots = 2,
                               .acc_slots = 2,
                               .gemm_adds = true};
  const ConvCase test = RandomCase(design, conv, epilogue, 3);
  const auto stream = BuildSlotConv2d(design, conv, plan, epilogue);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  int tokens_seen = 0;
  for (std::size_t i = 0; i < stream->instructions.size(); ++i) {
    for (bool Tokens::*flag :
         {&Tokens::pop_prev, &Tokens::pop_next, &Tokens::push_prev, &Tokens::push_next}) {
      if (!(stream->instructions[i].tokens.*flag)) continue;
      ++tokens_seen;
      const ConvRun run =
          RunCase(test, *stream, {}, [&](auto& all) { all[i].tokens.*flag = false; });
      EXPECT_TRUE(run.result.fault)
          << Describe(static_cast<std::int64_t>(i), stream->instructions[i]);
    }
  }
  EXPECT_GT(tokens_seen, 40);
}

TEST(OwnConv2dTest, RefusesWithReasons) {
  const Design design = PresetDesign("sim");
  const PackedConv2d conv = {1, 4, 4, 56, 56, 3, 3, 1, 1, 1, 1};
  struct Case {
    PackedConv2d conv;
    SlotConv2dPlan plan;
    const char* message;
  };
  for (const Case& c :
       {Case{conv, {.h = 57}, "tile_h: 57, expected 1 to 56"},
        Case{conv, {.ci = 5}, "tile_ci: 5, expected 1 to 4"},
        Case{conv, {.inp_slots = 0}, "inp_slots: 0, expected 1 to 2048"},
        Case{conv, {.h = 56, .w = 56}, "needs 3136 entries of INP, expected at most 2048"},
        Case{conv, {.h = 16, .w = 56, .co = 3}, "needs 2692 entries of ACC, expected at most 2048"},
        Case{conv, {.co = 4, .wgt_slots = 29}, "needs 1044 entries of WGT, expected at most 1024"},
        Case{{1, 32768, 32768, 32767, 32767, 32767, 32767, 1, 1, 0, 0},
             {.ci = 32768, .co = 32768, .wgt_slots = 2048},
             "needs 35182224637952 entries of INP, expected at most 2048"},
        Case{conv, {.gemm_adds = true}, "gemm_adds: no step adds an int8 tensor"},
        Case{conv, {.h = 10, .w = 56, .co = 3}, "needs more than 8192 micro-ops"},
        Case{conv,
             {.h = 1, .w = 1},
             "kernel 1: micro-ops 0 and 1 both update ACC 0, expected 2 places between"},
        Case{{1, 1, 1, 8, 8, 3, 3, 1, 1, 3, 1},
             {},
             "padding 3x1: expected less than the kernel, 3x3"},
        Case{{1, 1, 0, 8, 8, 3, 3, 1, 1, 0, 1}, {}, "co: 0, expected 1 to 32768"}}) {
    const auto stream = BuildSlotConv2d(design, c.conv, c.plan, Requantize(true, false, 8));
    ASSERT_FALSE(stream.ok()) << c.message;
    EXPECT_EQ(stream.status().message(), c.message);
  }
}

TEST(OwnConv2dSpaceTest, NoPlanIsBetterThanItsBound) {
  const Design design = PresetDesign("pynq");
  const PackedConv2d conv = {1, 3, 4, 9, 10, 3, 3, 2, 2, 1, 1};
  const auto epilogue = WithResidual(Requantize(true, false, 8));
  const CycleModel model = CycleModel::Pynq();
  const auto plans = SlotConv2dPlans(design, conv, epilogue);
  ASSERT_GT(plans.size(), 1000u);
  int built = 0;
  for (std::size_t n = 0; n < plans.size(); n += 97) {
    const auto stream = BuildSlotConv2d(design, conv, plans[n], epilogue);
    if (!stream.ok()) continue;
    ++built;
    const RunResult run = RunStream(design, stream->instructions, nullptr);
    ASSERT_TRUE(run.status().ok()) << run.status().message();
    const SlotConv2dBound bound = LowerBound(design, conv, plans[n], epilogue, model);
    EXPECT_LE(bound.cycles, Simulate(design, stream->instructions, run.pipeline, model).cycles);
    EXPECT_LE(bound.dram_bytes, run.summary.dram_bytes);
    EXPECT_LE(bound.uops, static_cast<std::int64_t>(stream->uops.size()));
  }
  EXPECT_GT(built, 10);
}

}  // namespace
}  // namespace tilewright::vta
