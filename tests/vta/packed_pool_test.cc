#include "src/vta/kernels/packed_pool.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/vta/simulator/simulator.h"
#include "tests/vta/vta_test_data.h"

namespace tilewright::vta {
namespace {

constexpr std::int64_t kLanes = 16;

/// Returns the maximum over the inputs inside the image, element by element.
std::vector<std::int8_t> ExpectedPool(const PackedPool& pool, const ResultBlocks& result,
                                      const std::vector<std::int8_t>& data) {
  std::vector<std::int8_t> out;
  const std::int64_t planes = result.batch * result.co;
  for (std::int64_t i = 0; i < planes * result.height * result.width * kLanes; ++i) {
    const std::int64_t lane = i % kLanes, column = i / kLanes % result.width;
    const std::int64_t row = i / kLanes / result.width % result.height;
    const std::int64_t plane = i / kLanes / result.width / result.height;
    int best = -128;
    for (std::int64_t tap = 0; tap < pool.window_h * pool.window_w; ++tap) {
      const std::int64_t y = row * pool.stride_h - pool.pad_top + tap / pool.window_w;
      const std::int64_t x = column * pool.stride_w - pool.pad_left + tap % pool.window_w;
      if (y < 0 || y >= pool.height || x < 0 || x >= pool.width) continue;
      const std::int64_t at = ((plane * pool.height + y) * pool.width + x) * kLanes + lane;
      best = std::max<int>(best, data[static_cast<std::size_t>(at)]);
    }
    out.push_back(static_cast<std::int8_t>(best));
  }
  return out;
}

struct PoolCase {
  const char* name;
  PackedPool pool;
  ResultBlocks result;
};
void PrintTo(const PoolCase& c, std::ostream* os) { *os << c.name; }
class PackedPoolTest : public testing::TestWithParam<PoolCase> {};

TEST_P(PackedPoolTest, EqualsPlainLoops) {
  const auto& [name, pool, result] = GetParam();
  const Design design = PresetDesign("sim");
  const auto stream = BuildPackedPool(design, pool, result);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  Random random(11);
  const auto data =
      RandomValues(random, result.batch * result.co * pool.height * pool.width * kLanes);
  const auto expected = ExpectedPool(pool, result, data);
  const auto bytes = static_cast<std::int64_t>(expected.size());
  Dram dram;
  const std::int64_t addresses[] = {dram.Allocate("data", std::as_bytes(std::span(data)), false),
                                    dram.Allocate("output", bytes, true)};
  const auto instructions = Place(design, *stream, dram, addresses);
  ASSERT_TRUE(instructions.ok()) << instructions.status().message();
  RunOptions options;
  options.allow_tokens_left = true;
  const RunResult run = RunStream(design, *instructions, &dram, options);
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  EXPECT_TRUE(
      std::ranges::equal(dram.Bytes(addresses[1], bytes), std::as_bytes(std::span(expected))));
}

INSTANTIATE_TEST_SUITE_P(
    Pools, PackedPoolTest,
    testing::Values(PoolCase{"OfResNet", {14, 14, 3, 3, 2, 2, 1, 1}, {1, 2, 7, 7, 2, 7, 7}},
                    PoolCase{"InTiles", {14, 14, 3, 3, 2, 2, 1, 1}, {2, 4, 7, 7, 2, 1, 7}},
                    PoolCase{"InColumns", {13, 13, 3, 3, 2, 2, 1, 1}, {1, 1, 7, 7, 1, 7, 1}},
                    PoolCase{"Disjoint", {6, 8, 2, 2, 2, 2, 0, 0}, {1, 3, 3, 4, 3, 1, 2}},
                    PoolCase{"Gaps", {9, 9, 2, 2, 3, 3, 0, 0}, {1, 1, 3, 3, 1, 3, 3}},
                    PoolCase{"Overlapping", {5, 4, 5, 3, 1, 1, 2, 1}, {1, 2, 5, 4, 1, 5, 4}},
                    PoolCase{"OneWindow", {3, 3, 3, 3, 1, 1, 0, 0}, {1, 2, 1, 1, 2, 1, 1}}),
    testing::PrintToStringParamName());

TEST(PackedPool, RefusesWithReasons) {
  const Design design = PresetDesign("sim");
  const PackedPool pool = {112, 112, 3, 3, 2, 2, 1, 1};
  struct Case {
    PackedPool pool;
    ResultBlocks result;
    const char* message;
  };
  PackedPool no_stride = pool, padded = pool;
  no_stride.stride_w = 0;
  padded.pad_left = 3;
  for (const Case& c : {
           Case{pool, {1, 4, 56, 56, 4, 3, 56}, "tile_h: 3 does not divide 56"},
           Case{pool,
                {1, 4, 56, 56, 4, 56, 56},
                "needs 62720 entries of ACC, expected at most 2048"},
           Case{no_stride, {1, 4, 56, 56, 1, 1, 56}, "pool: size 0, expected 1 to 32768"},
           Case{padded, {1, 4, 56, 56, 1, 1, 56}, "pool: a window holds nothing but padding"},
           Case{pool, {1, 4, 58, 56, 1, 1, 56}, "pool: a window holds nothing but padding"},
       }) {
    EXPECT_EQ(BuildPackedPool(design, c.pool, c.result).status().message(), c.message);
  }
}

}  // namespace
}  // namespace tilewright::vta
