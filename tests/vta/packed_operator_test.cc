// Operators on packed tensors other than plain convolutions: schedules of AutoTVM's spaces give the
// results of plain loops, and rejections state the reason.

#include "src/vta/kernels/packed_operator.h"

#include <gtest/gtest.h>

#include "src/vta/encoding.h"
#include "tests/vta/conv_reference.h"

namespace tilewright::vta {
namespace {

/// Builds, encodes, runs and compares.
void ExpectEqualsPlainLoops(const Design& design, const PlainLoops& loops,
                            const Result<PackedOperator>& op,
                            const std::vector<EpilogueStep>& epilogue) {
  ASSERT_TRUE(op.ok()) << op.status().message();
  const auto stream = BuildPackedOperator(design, *op, epilogue);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  const Encoding encoding(design);
  const auto bytes = encoding.EncodeStream(stream->instructions);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const auto decoded = encoding.DecodeStream(*bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, stream->instructions);
  const ConvCase test = RandomCase(design, loops, epilogue, 5);
  RunOptions options;
  options.allow_tokens_left = op->tiles.threads() == 1;
  const ConvRun run = RunCase(test, *stream, options);
  ASSERT_TRUE(run.result.status().ok()) << run.result.status().message();
  EXPECT_EQ(run.output, Expected(test));
}

struct GroupCase {
  const char* name;
  PackedConv2d conv;
  PackedConv2dTiles tiles;
};
class PackedGroupConv2dTest : public testing::TestWithParam<GroupCase> {};

TEST_P(PackedGroupConv2dTest, EqualsPlainLoops) {
  for (const char* name : {"sim", "pynq_4x8"}) {
    ExpectEqualsPlainLoops(PresetDesign(name), LoopsOf(GetParam().conv),
                           SchedulePackedConv2d(GetParam().conv, GetParam().tiles),
                           Requantize(true, true, 9));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Schedules, PackedGroupConv2dTest,
    testing::Values(
        GroupCase{"AGroupAtATime", {1, 1, 4, 6, 6, 3, 3, 1, 1, 1, 1, 4}, {3, 6, 1, 1, 2, 1}},
        GroupCase{"PartOfAGroup", {1, 2, 4, 6, 6, 3, 3, 2, 2, 1, 1, 2}, {3, 3, 1, 1, 1, 1}},
        GroupCase{"WholeGroups", {1, 1, 4, 6, 6, 3, 3, 1, 1, 0, 0, 4}, {4, 4, 1, 2, 2, 1}},
        GroupCase{"WholeGroupsOfSeveral", {2, 2, 8, 6, 6, 1, 1, 1, 1, 0, 0, 4}, {6, 6, 2, 4, 2, 1}},
        GroupCase{"Rows", {1, 1, 2, 8, 5, 3, 3, 1, 1, 1, 1, 2}, {4, 5, 1, 1, 1, 2}}),
    [](const auto& tested) { return tested.param.name; });

struct TransposeCase {
  const char* name;
  PackedConv2dTranspose conv;
  PackedConv2dTiles tiles;
};
class PackedConv2dTransposeTest : public testing::TestWithParam<TransposeCase> {};

TEST_P(PackedConv2dTransposeTest, EqualsPlainLoops) {
  for (const char* name : {"sim", "pynq_4x8"}) {
    ExpectEqualsPlainLoops(PresetDesign(name), LoopsOf(GetParam().conv),
                           SchedulePackedConv2dTranspose(GetParam().conv, GetParam().tiles),
                           Requantize(true, true, 9));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Schedules, PackedConv2dTransposeTest,
    testing::Values(
        TransposeCase{"Doubles", {1, 2, 4, 4, 4, 4, 4, 2, 2, 1, 1, 8, 8}, {4, 8, 1, 2, 2, 1}},
        TransposeCase{"Rows", {1, 1, 2, 4, 5, 4, 4, 2, 2, 1, 1, 8, 10}, {2, 10, 1, 2, 1, 2}},
        TransposeCase{"OddSize", {1, 2, 2, 4, 4, 3, 3, 2, 2, 1, 1, 7, 7}, {7, 7, 1, 2, 1, 1}},
        TransposeCase{"OutputPadding", {1, 2, 2, 4, 4, 3, 3, 2, 2, 1, 1, 8, 8}, {8, 4, 1, 2, 1, 1}},
        TransposeCase{"Stride1", {2, 1, 3, 5, 4, 3, 3, 1, 1, 1, 1, 5, 4}, {5, 2, 1, 3, 1, 1}},
        TransposeCase{"Unpadded", {1, 4, 2, 3, 3, 2, 2, 2, 2, 0, 0, 6, 6}, {6, 6, 2, 1, 2, 1}},
        TransposeCase{"OneBlock", {1, 2, 1, 4, 4, 3, 3, 1, 1, 1, 1, 4, 4}, {4, 4, 1, 1, 1, 1}},
        TransposeCase{
            "OneBlockDoubled", {1, 2, 1, 4, 4, 3, 3, 2, 2, 1, 1, 8, 8}, {8, 8, 1, 1, 1, 1}},
        TransposeCase{"Wide", {1, 1, 2, 3, 4, 5, 3, 3, 1, 1, 1, 9, 4}, {9, 2, 1, 2, 1, 1}}),
    [](const auto& tested) { return tested.param.name; });

struct DenseCase {
  const char* name;
  PackedDense dense;
  PackedDenseTiles tiles;
};
class PackedDenseTest : public testing::TestWithParam<DenseCase> {};

TEST_P(PackedDenseTest, EqualsPlainLoops) {
  auto epilogue = Requantize(true, true, 9);
  epilogue.push_back({AluOp::kMax, EpilogueStep::Operand::kTensor, 0});
  for (const char* name : {"sim", "pynq_4x8"}) {
    ExpectEqualsPlainLoops(PresetDesign(name), LoopsOf(GetParam().dense),
                           SchedulePackedDense(GetParam().dense, GetParam().tiles), epilogue);
  }
}
INSTANTIATE_TEST_SUITE_P(Schedules, PackedDenseTest,
                         testing::Values(DenseCase{"OneTile", {1, 2, 2}, {1, 2, 2, 1}},
                                         DenseCase{"Slices", {1, 8, 4}, {1, 2, 2, 1}},
                                         DenseCase{"Threads", {1, 8, 8}, {1, 4, 2, 2}},
                                         DenseCase{"Batches", {4, 4, 6}, {2, 4, 3, 1}},
                                         DenseCase{"BatchesInSlices", {6, 6, 4}, {3, 2, 1, 2}}),
                         [](const auto& tested) { return tested.param.name; });

TEST(PackedOperatorTest, LoadsWeightsForEachBatchOfATile) {
  const Design design = PresetDesign("sim");
  const PackedDense dense = {4, 16, 8};
  for (const std::int64_t b : {1, 4}) {
    const auto op = SchedulePackedDense(dense, {b, 16, 8, 1});
    ASSERT_TRUE(op.ok()) << op.status().message();
    const auto stream = BuildPackedOperator(design, *op, Requantize(false, false, 8));
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    const Statistics statistics = Summarize(design, stream->instructions).statistics;
    EXPECT_EQ(statistics.inp_load_nbytes, 4 * 16 * 16);
    EXPECT_EQ(statistics.wgt_load_nbytes, 4 * 16 * 8 * 256);
    EXPECT_EQ(statistics.gemm_counter, 4 * 16 * 8);
    EXPECT_EQ(LoadedBytes(design, *op), statistics.inp_load_nbytes + statistics.wgt_load_nbytes);
  }
}

TEST(PackedOperatorTest, TransposedConvolutionsMultiplyNoInsertedZeros) {
  const Design design = PresetDesign("sim");
  const PackedConv2dTranspose conv = {1, 2, 4, 4, 4, 4, 4, 2, 2, 1, 1, 8, 8};
  const auto op = SchedulePackedConv2dTranspose(conv, {8, 8, 1, 4, 1, 1});
  ASSERT_TRUE(op.ok()) << op.status().message();
  const auto stream = BuildPackedOperator(design, *op, Requantize(false, false, 8));
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  // Each result uses 4 of the 16 taps.
  const Statistics statistics = Summarize(design, stream->instructions).statistics;
  EXPECT_EQ(statistics.gemm_counter, 2 * 4 * 8 * 8 * 4);
  EXPECT_EQ(statistics.inp_load_nbytes, 2 * 4 * 4 * 16);
}

TEST(PackedOperatorTest, RandomSchedulesEqualPlainLoops) {
  Random random(8);
  const Design designs[] = {PresetDesign("pynq"), PresetDesign("pynq_4x8")};
  int legal = 0;
  for (int n = 0; n < 60; ++n) {
    const Design& design = designs[random.Below(2)];
    const auto kind = random.Below(3);
    PlainLoops loops;
    Result<PackedOperator> op = PackedOperator();
    if (kind == 0) {
      const PackedConv2d conv = RandomGroupConv(random);
      loops = LoopsOf(conv);
      op = SchedulePackedConv2d(conv, RandomTiles(random, loops, conv.ci));
    } else if (kind == 1) {
      const PackedConv2dTranspose conv = RandomTranspose(random);
      loops = LoopsOf(conv);
      op = SchedulePackedConv2dTranspose(conv, RandomTiles(random, loops, conv.ci));
    } else {
      const PackedDense dense = RandomDense(random);
      loops = LoopsOf(dense);
      op = SchedulePackedDense(dense, RandomTiles(random, dense));
    }
    const auto epilogue = RandomEpilogue(random, loops, design.block());
    if (!op.ok() || !BuildPackedOperator(design, *op, epilogue).ok()) continue;
    ++legal;
    ExpectEqualsPlainLoops(design, loops, op, epilogue);
  }
  EXPECT_GT(legal, 15);
}

TEST(PackedOperatorTest, RefusesWithReasons) {
  const PackedConv2d groups = {1, 1, 6, 8, 8, 3, 3, 1, 1, 1, 1, 2};
  const PackedConv2dTranspose conv = {1, 2, 4, 4, 4, 4, 4, 2, 2, 1, 1, 8, 8};
  PackedConv2dTranspose small = conv, padded = conv;
  small.kernel_h = small.pad_h = 1;
  padded.pad_w = 4;
  PackedConv2d uneven = groups;
  uneven.groups = 4;
  for (const auto& [op, message] :
       {std::pair{SchedulePackedConv2d(groups, {8, 8, 1, 2, 1, 1}),
                  "tile_co: 2 channel blocks are neither part of a group of 3 nor whole groups"},
        std::pair{SchedulePackedConv2d(uneven, {}), "groups: 4 do not divide 6"},
        std::pair{SchedulePackedConv2dTranspose(conv, {1, 8, 1, 1, 1, 1}),
                  "tile_h: tiles of 1 with stride 2, expected a multiple or one tile"},
        std::pair{SchedulePackedConv2dTranspose(small, {8, 8, 1, 1, 1, 1}),
                  "padding: 1, expected 0 to 0, less than the kernel"},
        std::pair{SchedulePackedConv2dTranspose(padded, {8, 8, 1, 1, 1, 1}),
                  "padding: 4, expected 0 to 3, less than the kernel"},
        std::pair{SchedulePackedDense({4, 8, 8}, {3, 8, 8, 1}), "tile_b: 3 does not divide 4"},
        std::pair{SchedulePackedDense({4, 0, 8}, {}), "ci: 0, expected 1 to 32768"}}) {
    ASSERT_FALSE(op.ok()) << message;
    EXPECT_EQ(op.status().message(), message);
  }
}

}  // namespace
}  // namespace tilewright::vta
