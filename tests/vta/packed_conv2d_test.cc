#include "src/vta/kernels/packed_conv2d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "src/base/json.h"
#include "src/vta/encoding.h"
#include "src/vta/kernels/packed_alu.h"
#include "src/vta/simulator/cycle_model.h"
#include "src/vta/simulator/timing.h"
#include "tests/vta/conv_reference.h"

#define TW_NEEDS_FILE(path) \
  if (!FileExists(path)) GTEST_SKIP() << "needs " << (path)

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;

struct ScheduleCase {
  const char* name;
  const char* design;
  PackedConv2d conv;
  PackedConv2dTiles tiles;
  bool one_thread_leaves_token;
};

class PackedConv2dTest : public testing::TestWithParam<ScheduleCase> {};

TEST_P(PackedConv2dTest, EqualsPlainLoops) {
  const ScheduleCase& c = GetParam();
  const Design design = PresetDesign(c.design);
  std::vector<std::vector<EpilogueStep>> epilogues = {Requantize(true, true, 9),
                                                      Requantize(false, false, 8)};
  epilogues.push_back(Requantize(true, false, 9));
  epilogues.back().push_back({AluOp::kAdd, Operand::kTensorInt8, 0});
  epilogues.back().push_back({AluOp::kMax, Operand::kTensor, 0});
  for (std::size_t e = 0; e < epilogues.size(); ++e) {
    const ConvCase test = RandomCase(design, c.conv, epilogues[e], 7 + e);
    const auto stream = BuildPackedConv2d(design, c.conv, c.tiles, epilogues[e]);
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    // The simulator runs the decoded instructions.
    const Encoding encoding(design);
    const auto bytes = encoding.EncodeStream(stream->instructions);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const auto decoded = encoding.DecodeStream(*bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(*decoded, stream->instructions);
    RunOptions options;
    options.allow_tokens_left = c.one_thread_leaves_token;
    const ConvRun run = RunCase(test, *stream, options);
    ASSERT_TRUE(run.result.status().ok()) << run.result.status().message();
    EXPECT_EQ(run.result.pipeline.tokens_left[3], c.one_thread_leaves_token ? 1 : 0);
    EXPECT_EQ(run.output, Expected(test));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, PackedConv2dTest,
    testing::Values(
        ScheduleCase{
            "OneTile", "sim", {1, 1, 1, 4, 4, 1, 1, 1, 1, 0, 0}, {4, 4, 1, 1, 1, 1}, false},
        ScheduleCase{
            "OneThread", "sim", {1, 2, 2, 6, 6, 3, 3, 1, 1, 1, 1}, {3, 6, 1, 2, 1, 1}, true},
        ScheduleCase{
            "ChannelThreads", "sim", {1, 2, 4, 6, 6, 3, 3, 1, 1, 1, 1}, {3, 6, 1, 1, 2, 1}, false},
        ScheduleCase{
            "RowThreads", "sim", {1, 2, 2, 8, 5, 3, 3, 1, 1, 1, 1}, {2, 5, 1, 2, 1, 2}, false},
        ScheduleCase{
            "OneSlice", "sim", {1, 1, 4, 6, 6, 3, 3, 1, 1, 1, 1}, {3, 3, 1, 1, 2, 1}, false},
        ScheduleCase{
            "Strided", "sim", {1, 3, 2, 9, 11, 3, 3, 2, 2, 1, 1}, {5, 3, 1, 2, 1, 1}, true},
        ScheduleCase{"PointwiseStrided",
                     "sim",
                     {1, 2, 4, 8, 8, 1, 1, 2, 2, 0, 0},
                     {2, 4, 1, 2, 2, 1},
                     false},
        ScheduleCase{
            "Batched", "sim", {2, 2, 4, 4, 4, 3, 3, 1, 1, 1, 1}, {4, 4, 1, 2, 2, 1}, false},
        ScheduleCase{
            "BatchedRows", "sim", {2, 2, 3, 4, 4, 3, 3, 1, 1, 1, 1}, {2, 4, 1, 3, 1, 2}, false},
        ScheduleCase{
            "SlicesOfTwo", "sim", {1, 4, 2, 4, 4, 1, 1, 1, 1, 0, 0}, {4, 4, 2, 2, 1, 1}, false},
        ScheduleCase{
            "Design4x8", "pynq_4x8", {1, 3, 4, 6, 6, 3, 3, 1, 1, 1, 1}, {3, 6, 1, 2, 2, 1}, false}),
    [](const auto& tested) { return tested.param.name; });

TEST(PackedConv2dTest, EveryLegalScheduleOfASpacePlays) {
  // 512 channels of 7 x 7: 576 configs, of which the original VTA compiler builds 40.
  const Design design = PresetDesign("pynq");
  const PackedConv2d conv = {1, 32, 32, 7, 7, 3, 3, 1, 1, 1, 1};
  const auto epilogue = Requantize(true, false, 8);
  int legal = 0;
  for (const std::int64_t h : {1, 7}) {
    for (const std::int64_t w : {1, 7}) {
      for (std::int64_t ci = 1; ci <= 32; ci *= 2) {
        for (std::int64_t co = 1; co <= 32; co *= 2) {
          for (int threads = 0; threads < 4; ++threads) {
            const PackedConv2dTiles tiles = {h, w, ci, co, 1 + threads % 2, 1 + threads / 2};
            const auto stream = BuildPackedConv2d(design, conv, tiles, epilogue);
            if (!stream.ok()) continue;
            ++legal;
            RunOptions options;
            options.allow_tokens_left = tiles.threads() == 1;
            const RunResult run = RunStream(design, stream->instructions, nullptr, options);
            EXPECT_TRUE(run.status().ok()) << run.status().message();
          }
        }
      }
    }
  }
  EXPECT_EQ(legal, 40);
}

TEST(PackedConv2dTest, DropsOfAnyTokenAreFound) {
  const PackedConv2d conv = {1, 2, 4, 6, 6, 3, 3, 1, 1, 1, 1};
  const Design design = PresetDesign("sim");
  const auto epilogue = Requantize(true, true, 9);
  const ConvCase test = RandomCase(design, conv, epilogue, 3);
  const auto stream = BuildPackedConv2d(design, conv, {3, 6, 1, 1, 2, 1}, epilogue);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  const auto flip = [](std::vector<Instruction>& instructions, int which) {
    Tokens& tokens = instructions[static_cast<std::size_t>(which / 4)].tokens;
    bool* flags[] = {&tokens.pop_prev, &tokens.pop_next, &tokens.push_prev, &tokens.push_next};
    *flags[which % 4] = !*flags[which % 4];
  };
  const int count = static_cast<int>(stream->instructions.size());
  for (int which = 0; which < 4 * count; ++which) {
    const ConvRun run = RunCase(test, *stream, {}, [&](auto& all) { flip(all, which); });
    const Instruction& instruction = stream->instructions[static_cast<std::size_t>(which / 4)];
    EXPECT_TRUE(run.result.fault) << which % 4 << " of " << Describe(which / 4, instruction);
  }
}

TEST(PackedConv2dTest, WrongStridesAndPaddingAreFound) {
  const PackedConv2d conv = {1, 2, 4, 6, 6, 3, 3, 1, 1, 1, 1};
  const Design design = PresetDesign("sim");
  const auto epilogue = Requantize(true, true, 9);
  const ConvCase test = RandomCase(design, conv, epilogue, 3);
  const auto stream = BuildPackedConv2d(design, conv, {3, 6, 1, 1, 2, 1}, epilogue);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  const auto expected = Expected(test);
  struct Change {
    const char* name;
    void (*tamper)(std::vector<Instruction>&, int);
  };
  const Change changes[] = {
      {"stride",
       [](std::vector<Instruction>& all, int i) {
         std::get<Transfer>(all[static_cast<std::size_t>(i)].operation).x_stride += 1;
       }},
      {"padding",
       [](std::vector<Instruction>& all, int i) {
         auto& t = std::get<Transfer>(all[static_cast<std::size_t>(i)].operation);
         std::swap(t.x_pad_0, t.y_pad_0);
         t.x_pad_0 += 1;
       }},
      {"sram",
       [](std::vector<Instruction>& all, int i) {
         std::get<Transfer>(all[static_cast<std::size_t>(i)].operation).sram_base += 1;
       }},
      {"dram",
       [](std::vector<Instruction>& all, int i) {
         std::get<Transfer>(all[static_cast<std::size_t>(i)].operation).dram_base += 1;
       }},
  };
  for (int i = 0; i < static_cast<int>(stream->instructions.size()); ++i) {
    const Instruction& instruction = stream->instructions[static_cast<std::size_t>(i)];
    const auto* transfer = std::get_if<Transfer>(&instruction.operation);
    if (transfer == nullptr || transfer->x_size == 0) continue;
    // Kernels of one micro-op may equal their neighbors.
    if (transfer->memory == Memory::kUop && transfer->x_size == 1) continue;
    for (const Change& change : changes) {
      // A single row has no stride.
      if (transfer->y_size == 1 && change.name == std::string("stride")) continue;
      const ConvRun run = RunCase(test, *stream, {}, [&](auto& all) { change.tamper(all, i); });
      EXPECT_TRUE(run.result.fault || run.output != expected)
          << change.name << " of " << Describe(i, instruction);
    }
  }
}

TEST(PackedConv2dTest, RefusesWithReasons) {
  const Design design = PresetDesign("sim");
  const PackedConv2d conv = {1, 4, 4, 56, 56, 3, 3, 1, 1, 1, 1};
  const PackedConv2d plain = {1, 4, 4, 28, 28, 1, 1, 1, 1, 0, 0};
  struct Case {
    PackedConv2d conv;
    PackedConv2dTiles tiles;
    const char* message;
  };
  for (const Case& c :
       {Case{conv, {5, 56, 1, 2, 2, 1}, "tile_h: 5 does not divide 56"},
        Case{conv, {8, 56, 1, 4, 2, 1}, "tile_co: 1 outer iterations for 2 virtual threads"},
        Case{conv,
             {4, 56, 1, 1, 2, 2},
             "oc_nthread and h_nthread are both 2: a micro-op kernel depends on one thread axis"},
        Case{conv, {56, 56, 1, 2, 1, 1}, "needs 3364 entries of INP, expected at most 2048"},
        Case{conv, {28, 28, 1, 2, 2, 1}, "needs 3140 entries of ACC, expected at most 2048"},
        Case{conv,
             {2, 2, 2, 2, 2, 1},
             "loading the data: a padded load of 2 channel blocks: expected one, rows and columns "
             "only"},
        Case{plain,
             {2, 7, 2, 2, 2, 1},
             "loading the data: a copy of 3 dimensions that do not join: a transfer has rows and "
             "elements"},
        Case{{1, 1, 1, 8, 8, 3, 3, 1, 1, 1, 1},
             {2, 2, 1, 1, 1, 1},
             "kernel 1: micro-ops 0 and 2 both update ACC 0, expected 2 places between"},
        Case{{1, 1, 1, 8, 8, 3, 3, 1, 1, 16, 1},
             {2, 2, 1, 1, 1, 1},
             "padding: 16, expected 0 to 15"},
        Case{{1, 1, 1, 8, 8, 9, 3, 1, 1, 0, 1},
             {2, 2, 1, 1, 1, 1},
             "the kernel is larger than the padded data"},
        Case{{1, 1, 0, 8, 8, 9, 3, 1, 1, 0, 1}, {}, "co: 0, expected 1 to 32768"}}) {
    const auto stream = BuildPackedConv2d(design, c.conv, c.tiles, Requantize(true, false, 8));
    ASSERT_FALSE(stream.ok()) << c.message;
    EXPECT_EQ(stream.status().message(), c.message);
  }
}

TEST(PackedAluTest, AddsBlockByBlock) {
  const Design design = PresetDesign("sim");
  const ResultBlocks blocks = {2, 2, 4, 6, 2, 2, 6};
  const std::vector<EpilogueStep> steps = {{AluOp::kAdd, Operand::kTensorInt8, 0},
                                           {AluOp::kMul, Operand::kPerChannel, 0},
                                           {AluOp::kMin, Operand::kImmediate, 127},
                                           {AluOp::kMax, Operand::kImmediate, -127}};
  const auto stream = BuildPackedAlu(design, blocks, true, steps);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  Random random(4);
  const std::int64_t count = 2 * 2 * 4 * 6 * 16;
  const auto a = RandomValues(random, count);
  const auto b = RandomValues(random, count);
  std::vector<std::int32_t> scale(2 * 16);
  for (auto& value : scale) value = static_cast<std::int32_t>(random.Below(7)) - 3;
  Dram dram;
  const std::int64_t addresses[] = {dram.Allocate("a", std::as_bytes(std::span(a)), false),
                                    dram.Allocate("out", count, true),
                                    dram.Allocate("b", std::as_bytes(std::span(b)), false),
                                    dram.Allocate("scale", std::as_bytes(std::span(scale)), false)};
  const auto instructions = Place(design, *stream, dram, addresses);
  ASSERT_TRUE(instructions.ok()) << instructions.status().message();
  RunOptions options;
  options.allow_tokens_left = true;
  const RunResult run = RunStream(design, *instructions, &dram, options);
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  const auto out = dram.Bytes(addresses[1], count);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t channel = i / (4 * 6 * 16) % 2;
    const int value = (a[at] + b[at]) * scale[static_cast<std::size_t>(channel * 16 + i % 16)];
    EXPECT_EQ(static_cast<std::int8_t>(out[at]), std::clamp(value, -127, 127)) << i;
  }
  EXPECT_EQ(BuildPackedAlu(design, blocks, true, {}).status().message(),
            "no ALU operation: hardware would store older data");
  EXPECT_EQ(BuildPackedAlu(design, {2, 2, 4, 6, 2, 3, 6}, true, steps).status().message(),
            "tile_h: 3 does not divide 4");
  EXPECT_EQ(BuildPackedAlu(design, {1, 4, 16, 32, 4, 16, 32}, true, steps).status().message(),
            "needs 4100 entries of ACC, expected at most 2048");
}

/// Cycles by the calibrated model of the board; a change of the model changes the number.
constexpr double kOwnCycles = 48152;

PackedConv2dTiles TilesOf(const Json& config) {
  return {config["tile_h"][1],  config["tile_w"][1],  config["tile_ci"][1],
          config["tile_co"][1], config["oc_nthread"], config["h_nthread"]};
}

Json CountersOf(const Statistics& s) {
  return {{"inp_load_nbytes", s.inp_load_nbytes},
          {"wgt_load_nbytes", s.wgt_load_nbytes},
          {"acc_load_nbytes", s.acc_load_nbytes},
          {"uop_load_nbytes", s.uop_load_nbytes},
          {"out_store_nbytes", s.out_store_nbytes},
          {"gemm_counter", s.gemm_counter},
          {"alu_counter", s.alu_counter}};
}

/// Omits kinds that do not occur in a layer from its row.
Json CountsOf(const InstructionCounts& n, const Json& row) {
  Json counts = {{"total", n.Total()}, {"inp", n.inp},      {"wgt", n.wgt}, {"acc", n.acc},
                 {"uop", n.uop},       {"gemm", n.gemm},    {"alu", n.alu}, {"out", n.out},
                 {"nop", n.idle},      {"finish", n.finish}};
  for (const char* name : {"inp", "wgt", "gemm"}) {
    if (!row.contains(name) && counts[name] == 0) counts.erase(name);
  }
  return counts;
}

PackedConv2d ConvOf(const Json& w) {
  return {1,
          w["in_channels"].get<int>() / 16,
          w["out_channels"].get<int>() / 16,
          w["height"],
          w["width"],
          w["kernel"][0],
          w["kernel"][1],
          w["strides"][0],
          w["strides"][1],
          w["padding"][0],
          w["padding"][1]};
}

Result<Stream> ConvLayer(const Design& design, const Json& layer) {
  const PackedConv2d conv = ConvOf(layer["workload"]);
  const PackedConv2dTiles tiles = TilesOf(layer["config"]);
  const auto epilogue = Requantize(true, layer["epilogue"].size() == 6, 8);
  const auto op = SchedulePackedConv2d(conv, tiles);
  EXPECT_TRUE(op.ok()) << op.status().message();
  const PackedFootprint footprint = FootprintOf(*op, epilogue);
  EXPECT_EQ(footprint.inp, layer["on_chip"]["inp_vectors"].get<std::int64_t>());
  EXPECT_EQ(footprint.wgt, layer["on_chip"]["wgt_tiles"].get<std::int64_t>());
  EXPECT_EQ(footprint.acc, layer["on_chip"]["acc_vectors"].get<std::int64_t>());
  return BuildPackedConv2d(design, conv, tiles, epilogue);
}

/// Adds two int8 tensors, one entry at a time.
Result<Stream> AddLayer(const Design& design, const Json& layer) {
  const Json& shape = layer["workload"]["shape"];
  const ResultBlocks blocks = {shape[0], shape[1], shape[2], shape[3], 1, 1, 1};
  return BuildPackedAlu(design, blocks, true,
                        {{AluOp::kAdd, Operand::kTensorInt8, 0},
                         {AluOp::kMax, Operand::kImmediate, 0},
                         {AluOp::kMin, Operand::kImmediate, 127},
                         {AluOp::kMax, Operand::kImmediate, -127}});
}

// Counted by hand: 2 blocks of 16 channels to 3, 8 x 8, 3 x 3, padded, in tiles of 4 rows.
TEST(PackedConv2dTest, CountersAreThoseOfTheTiles) {
  const Design design = PresetDesign("pynq");
  const std::vector<EpilogueStep> epilogue = {{AluOp::kShr, Operand::kImmediate, 8},
                                              {AluOp::kMin, Operand::kImmediate, 127},
                                              {AluOp::kMax, Operand::kImmediate, 0}};
  const PackedConv2d conv = {1, 2, 3, 8, 8, 3, 3, 1, 1, 1, 1};
  const auto stream = BuildPackedConv2d(design, conv, {4, 8, 1, 1, 1, 1}, epilogue);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  RunOptions options;
  options.allow_tokens_left = true;  // an odd number of tiles
  const RunResult run = RunStream(design, stream->instructions, nullptr, options);
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  const Statistics& counted = run.summary.statistics;
  EXPECT_EQ(counted.gemm_counter, 3 * 2 * 3 * 3 * 8 * 8);
  EXPECT_EQ(counted.alu_counter, 3 * 3 * 8 * 8);
  EXPECT_EQ(counted.out_store_nbytes, 3 * 8 * 8 * 16);
  constexpr int kTiles = 2, kRowsOfTile = 5;  // one of its six is padding, which is not loaded
  EXPECT_EQ(counted.wgt_load_nbytes, kTiles * 3 * 2 * 3 * 3 * 16 * 16);
  EXPECT_EQ(counted.inp_load_nbytes, kTiles * 3 * 2 * kRowsOfTile * 8 * 16);
  EXPECT_EQ(run.summary.dram_bytes % 8, 0);
  const Timing timing = Simulate(design, stream->instructions, run.pipeline, CycleModel::Pynq());
  EXPECT_GT(timing.cycles, static_cast<double>(counted.gemm_counter));  // at best one per cycle
  EXPECT_NEAR(timing.cycles, kOwnCycles, 1e-3 * kOwnCycles);
}

TEST(PackedConv2dTest, PublishedStatisticsOfResNet18) {
  const std::string path = SharedData("expected/vta_resnet18.json");
  TW_NEEDS_FILE(path);
  const auto json = ParseJson(*ReadFile(path));
  ASSERT_TRUE(json.ok());
  const Design design = PresetDesign("sim");
  Statistics total;
  std::int64_t bus_bytes = 0;
  std::int64_t instructions = 0;
  int convolutions = 0;
  for (const Json& layer : (*json)["layers"]) {
    const bool is_conv = layer["kind"] == "conv";
    const auto stream = is_conv ? ConvLayer(design, layer) : AddLayer(design, layer);
    ASSERT_TRUE(stream.ok()) << layer["node"] << ": " << stream.status().message();
    RunOptions options;
    options.allow_tokens_left = !is_conv;
    const RunResult run = RunStream(design, stream->instructions, nullptr, options);
    ASSERT_TRUE(run.status().ok()) << run.status().message();
    EXPECT_EQ(CountersOf(run.summary.statistics), layer["counters"]) << layer["node"];
    EXPECT_EQ(run.summary.dram_bytes, layer["bus_bytes"].get<std::int64_t>()) << layer["node"];
    EXPECT_EQ(CountsOf(run.summary.counts, layer["instructions"]), layer["instructions"])
        << layer["node"];
    total += run.summary.statistics;
    if (!is_conv) continue;
    ++convolutions;
    bus_bytes += run.summary.dram_bytes;
    instructions += run.summary.counts.Total();
  }
  EXPECT_EQ(convolutions, 19);
  EXPECT_EQ(CountersOf(total), (*json)["published_totals"]);
  EXPECT_EQ(bus_bytes, (*json)["bus_bytes"]["convolutions"].get<std::int64_t>());
  EXPECT_EQ(instructions, (*json)["instructions"]["convolutions"].get<std::int64_t>());
}

TEST(PackedConv2dTest, CycleModelReproducesTheCalibration) {
  const std::string path = SharedData("expected/vta_pynq_calibration.json");
  TW_NEEDS_FILE(path);
  const auto json = ParseJson(*ReadFile(path));
  ASSERT_TRUE(json.ok());
  const std::vector<EpilogueStep> epilogue = {{AluOp::kShr, Operand::kImmediate, 8},
                                              {AluOp::kMin, Operand::kImmediate, 127},
                                              {AluOp::kMax, Operand::kImmediate, 0}};
  double worst = 0;
  double squares_1x16 = 0, squares_4x8 = 0;
  int points_1x16 = 0, points_4x8 = 0;
  for (const Json& point : (*json)["points"]) {
    const bool wide = point["design"].get<std::string>().starts_with("4x8");
    const Design design = PresetDesign(wide ? "pynq_4x8" : "pynq");
    ASSERT_EQ(design.Name(), point["design"].get<std::string>());
    const Json& w = point["workload"];
    const PackedConv2d conv = {w["batch_blocks"], w["ci_blocks"],  w["co_blocks"], w["height"],
                               w["width"],        w["kernel"][0],  w["kernel"][1], w["strides"][0],
                               w["strides"][1],   w["padding"][0], w["padding"][1]};
    const auto stream = BuildPackedConv2d(design, conv, TilesOf(point["config"]), epilogue);
    ASSERT_TRUE(stream.ok()) << point.dump() << stream.status().message();
    const RunResult run = RunStream(design, stream->instructions, nullptr);
    ASSERT_TRUE(run.status().ok()) << run.status().message();
    EXPECT_EQ(run.summary.statistics.gemm_counter, point["gemm_counter"].get<std::int64_t>());
    const Timing timing = Simulate(design, stream->instructions, run.pipeline, CycleModel::Pynq());
    const double expected = point["model_cycles"];
    EXPECT_NEAR(timing.cycles, expected, expected * 1e-3) << w.dump();
    worst = std::max(worst, std::abs(std::round(timing.cycles) / expected - 1));
    const double measured = point["measured_cycles_at_100MHz"];
    const double error = timing.cycles / measured - 1;
    (wide ? squares_4x8 : squares_1x16) += error * error;
    ++(wide ? points_4x8 : points_1x16);
  }
  EXPECT_EQ(points_1x16, 10);
  EXPECT_EQ(points_4x8, 32);
  std::printf(
      "farthest from the reference model: %.4f %%; from the board: rms %.2f %% (1x16), "
      "%.2f %% (4x8)\n",
      100 * worst, 100 * std::sqrt(squares_1x16 / points_1x16),
      100 * std::sqrt(squares_4x8 / points_4x8));
}

}  // namespace
}  // namespace tilewright::vta
