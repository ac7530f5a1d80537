#include "src/vta/stream_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/vta/encoding.h"
#include "src/vta/kernels/copy_pattern.h"
#include "src/vta/kernels/uop_nest.h"
#include "tests/vta/vta_test_data.h"

namespace tilewright::vta {
namespace {

Transfer Load(std::uint32_t elements) {
  Transfer t;
  t.memory = Memory::kInp;
  t.y_size = 1;
  t.x_size = t.x_stride = elements;
  return t;
}

TEST(StreamBuilderTest, PopsWaitForAnInstruction) {
  StreamBuilder builder(Design::Default());
  const std::int32_t data = builder.AddBuffer("data", false);
  builder.Pop(Engine::kCompute, Engine::kLoad);
  builder.Pop(Engine::kCompute, Engine::kLoad);  // the first one now needs an instruction
  builder.Append(Load(1), data);
  builder.Push(Engine::kLoad, Engine::kCompute);
  builder.Push(Engine::kLoad, Engine::kCompute);  // consumed: one more instruction
  const auto stream = std::move(builder).Finish();
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  EXPECT_EQ(Listing(stream->instructions),
            "     0  load.inp nothing pop_next\n"
            "     1  load.inp sram=0 dram=0 rows=1x1 stride=1 pop_next push_next\n"
            "     2  load.inp nothing push_next\n"
            "     3  store.out nothing push_prev\n"
            "     4  load.inp nothing push_next\n"
            "     5  load.uop nothing pop_prev pop_next\n"
            "     6  finish\n");
}

TEST(StreamBuilderTest, MicroOpLoadsCarryThePop) {
  StreamBuilder builder(Design::Default());
  const Uop uop = {1, 2, 3};
  const std::int32_t kernel = builder.AddKernel({&uop, 1});
  builder.Pop(Engine::kLoad, Engine::kCompute);
  builder.Append(Gemm(), kernel);
  builder.Append(Gemm(), kernel);
  builder.Push(Engine::kCompute, Engine::kStore);
  const auto stream = std::move(builder).Finish();
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  EXPECT_THAT(Listing({stream->instructions.data(), 3}),
              "     0  load.uop sram=0 dram=0 rows=1x1 stride=1 pop_prev\n"
              "     1  gemm uops=0..1 loops=1x1 dst=+0,+0 src=+0,+0 wgt=+0,+0\n"
              "     2  gemm uops=0..1 loops=1x1 dst=+0,+0 src=+0,+0 wgt=+0,+0 push_next\n");
  EXPECT_EQ(stream->uops, std::vector<std::uint32_t>({1u | 2u << 11 | 3u << 22}));
}

TEST(StreamBuilderTest, LoadsAllKernelsAtOnce) {
  StreamBuilder builder(PresetDesign("tsim"));  // 2048 micro-ops
  std::vector<Uop> uops(1000);
  for (std::uint32_t i = 0; i < uops.size(); ++i) uops[i].dst = i;
  const std::int32_t first = builder.AddKernel(uops);
  const std::int32_t second = builder.AddKernel({uops.data(), 3});
  builder.LoadKernels();
  builder.Append(Gemm(), second);
  builder.Append(Gemm(), first);
  const auto stream = std::move(builder).Finish();
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  EXPECT_THAT(Listing({stream->instructions.data(), 3}),
              "     0  load.uop sram=0 dram=0 rows=1x1003 stride=1003\n"
              "     1  gemm uops=1000..1003 loops=1x1 dst=+0,+0 src=+0,+0 wgt=+0,+0\n"
              "     2  gemm uops=0..1000 loops=1x1 dst=+0,+0 src=+0,+0 wgt=+0,+0\n");
  StreamBuilder full(PresetDesign("tsim"));
  for (int i = 0; i < 3; ++i) full.AddKernel(uops);
  full.LoadKernels();
  EXPECT_EQ(std::move(full).Finish().status().message(),
            "3000 micro-ops of all kernels, expected at most 2048");
}

TEST(StreamBuilderTest, KernelsThatMadeRoomAreLoadedAgain) {
  const Design design = PresetDesign("tsim");  // 2048 micro-ops
  StreamBuilder builder(design);
  std::vector<Uop> uops(900);
  for (std::uint32_t i = 0; i < uops.size(); ++i) uops[i].dst = i;
  std::vector<std::int32_t> kernels;
  for (int i = 0; i < 3; ++i) kernels.push_back(builder.AddKernel(uops));
  for (const int i : {0, 1, 0, 2, 1, 0}) {
    builder.Append(Gemm(), kernels[static_cast<std::size_t>(i)]);
  }
  const auto stream = std::move(builder).Finish();
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  // Kernel 0 at 0, 1 at 900. Kernel 2 wraps around to 0 and evicts 0; 1 is still loaded; 0 evicts
  // 1.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> loads;
  for (const Instruction& instruction : stream->instructions) {
    const auto* t = std::get_if<Transfer>(&instruction.operation);
    if (t != nullptr && t->memory == Memory::kUop && t->x_size > 0) {
      loads.emplace_back(t->dram_base / 900, t->sram_base);
    }
  }
  EXPECT_THAT(loads, testing::ElementsAre(testing::Pair(0, 0), testing::Pair(1, 900),
                                          testing::Pair(2, 0), testing::Pair(0, 900)));
}

TEST(StreamBuilderTest, ReportsTheFirstError) {
  const Design design = Design::Default();
  {
    StreamBuilder builder(design);
    const std::vector<Uop> uops = {{0, 0, 0}, {1, 0, 0}, {0, 0, 0}};
    builder.Append(Gemm(), builder.AddKernel(uops));
    EXPECT_EQ(std::move(builder).Finish().status().message(),
              "kernel 0: micro-ops 0 and 2 both update ACC 0, expected 2 places between");
  }
  {
    StreamBuilder builder(design);
    builder.AddKernel({});
    EXPECT_EQ(std::move(builder).Finish().status().message(),
              "kernel 0 has 0 micro-ops, expected 1 to 8192");
  }
  {
    StreamBuilder builder(design);
    const std::int32_t data = builder.AddBuffer("data", false);
    builder.Append(Load(2049), data);
    EXPECT_EQ(std::move(builder).Finish().status().message(),
              "instruction 0 (load.inp sram=0 dram=0 rows=1x2049 stride=2049): reaches element "
              "2048 of INP, expected at most 2047");
  }
  {
    StreamBuilder builder(design);
    const std::int32_t data = builder.AddBuffer("data", false);
    Transfer load = Load(1);
    load.y_pad_0 = 16;
    builder.Append(load, data);
    EXPECT_EQ(std::move(builder).Finish().status().message(),
              "instruction 0 (load.inp sram=0 dram=0 rows=1x1 stride=1 pad=16,0,0,0): y_pad_0: 16, "
              "expected at most 15");
  }
}

TEST(StreamBuilderTest, BindingChecksAddresses) {
  const Design design = Design::Default();
  StreamBuilder builder(design);
  const std::int32_t data = builder.AddBuffer("data", false);
  Transfer load = Load(1);
  load.dram_base = 5;
  builder.Append(load, data);
  const auto stream = std::move(builder).Finish();
  ASSERT_TRUE(stream.ok());
  const std::int64_t good[] = {4096, 8192};
  const auto bound = stream->Bind(design, good);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(std::get<Transfer>((*bound)[0].operation).dram_base, 8192u / 16 + 5);
  const std::int64_t crooked[] = {4096, 8200};
  EXPECT_EQ(stream->Bind(design, crooked).status().message(),
            "data at byte 8200: expected a multiple of the 16 bytes of INP");
  const std::int64_t far[] = {4096, std::int64_t{1} << 36};
  EXPECT_EQ(stream->Bind(design, far).status().message(),
            "data at byte 68719476736: out of reach for instruction 0");
  EXPECT_FALSE(stream->Bind(design, {good, 1}).ok());
}

TEST(CopyPatternTest, MergesDimensions) {
  struct Case {
    std::vector<CopyDimension> dimensions;
    std::uint32_t rows, elements, stride;  // no rows: rejected
  };
  for (const Case& c :
       {Case{{{4, 9}, {1, 3}, {9, 1}}, 1, 36, 36}, Case{{{4, 20}, {2, 5}, {5, 1}}, 4, 10, 20},
        Case{{{3, 20}, {4, 5}, {2, 1}}, 12, 2, 5}, Case{{{3, 20}, {4, 5}, {1, 1}}, 12, 1, 5},
        Case{{{1, 20}, {1, 5}, {1, 1}}, 1, 1, 1}, Case{{{3, 40}, {4, 5}, {2, 1}}, 0, 0, 0},
        Case{{{2, 65536}, {4, 1}}, 0, 0, 0}}) {
    const auto transfer = CopyPattern(c.dimensions);
    ASSERT_EQ(transfer.ok(), c.rows > 0);
    if (!transfer.ok()) continue;
    EXPECT_EQ(transfer->y_size, c.rows);
    EXPECT_EQ(transfer->x_size, c.elements);
    EXPECT_EQ(transfer->x_stride, c.stride);
  }
}

TEST(CopyPatternTest, SplitsWhatDoesNotMerge) {
  const CopyDimension region[] = {{3, 40}, {4, 5}, {2, 1}};
  const auto transfers = CopyPatterns(region);
  ASSERT_TRUE(transfers.ok()) << transfers.status().message();
  ASSERT_EQ(transfers->size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Transfer& transfer = (*transfers)[i];
    EXPECT_EQ(transfer.sram_base, 8 * i);
    EXPECT_EQ(transfer.dram_base, 40 * i);
    EXPECT_EQ(transfer.y_size, 4u);
    EXPECT_EQ(transfer.x_size, 2u);
    EXPECT_EQ(transfer.x_stride, 5u);
  }
  const CopyDimension merged[] = {{4, 9}, {1, 3}, {9, 1}};
  EXPECT_EQ(CopyPatterns(merged)->size(), 1u);
  const CopyDimension too_long[] = {{2, 65536}, {65536, 1}};
  EXPECT_FALSE(CopyPatterns(too_long).ok());
}

TEST(UopNestTest, FoldsTheTwoOutermostLoops) {
  const NestLoop loops[] = {{1, 9, 9, 9}, {3, 1, 2, 0}, {2, 0, 1, 5}, {2, 4, 0, 8}};
  const UopNest nest = FoldNest(loops, {Uop{10, 20, 30}});
  EXPECT_EQ(nest.iter_out, 3u);
  EXPECT_EQ(nest.iter_in, 2u);
  EXPECT_EQ(nest.dst, (Factor{1, 0}));
  EXPECT_EQ(nest.src, (Factor{2, 1}));
  EXPECT_EQ(nest.wgt, (Factor{0, 5}));
  EXPECT_EQ(nest.uops, (std::vector<Uop>{{10, 20, 30}, {14, 20, 38}}));
  EXPECT_EQ(UopCount(loops), 2);
}

}  // namespace
}  // namespace tilewright::vta
