#include "src/vta/kernels/axis_tile.h"

#include <gtest/gtest.h>

namespace tilewright::vta {
namespace {

TEST(AxisTileTest, EveryTapReadsWhatItShould) {
  for (const ConvAxis& axis :
       {ConvAxis{7, 3, 1, 1, false}, ConvAxis{8, 3, 2, 1, false}, ConvAxis{9, 5, 3, 4, false},
        ConvAxis{8, 1, 2, 0, true}, ConvAxis{8, 1, 2, 0, false}, ConvAxis{3, 3, 1, 2, true}}) {
    for (std::int64_t size = 1; size <= axis.out_extent(); ++size) {
      std::int64_t next = 0;
      for (const AxisTile& tile : SplitAxis(axis, size)) {
        EXPECT_EQ(tile.begin, next);
        next += tile.size;
        for (std::int64_t o = 0; o < tile.size; ++o) {
          for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
            const std::int64_t data = (tile.begin + o) * axis.stride + tap - axis.pad;
            const auto results = tile.ResultsOf(tap);
            const bool reads = o >= results.low && o < results.high;
            EXPECT_EQ(reads, data >= 0 && data < axis.extent);
            const std::int64_t at = tile.shift + o * tile.stride + tap;
            if (!reads) continue;
            EXPECT_GE(at, 0);
            EXPECT_LT(at, tile.count);
            EXPECT_EQ(tile.first + at * tile.step, data);
          }
        }
      }
      EXPECT_EQ(next, axis.out_extent());
    }
  }
}

TEST(AxisTileTest, LeavesOutWhatNobodyReads) {
  const auto skipped = SplitAxis({8, 1, 2, 0, true}, 3);
  ASSERT_EQ(skipped.size(), 2u);
  EXPECT_EQ(skipped[0].count, 3);
  EXPECT_EQ(skipped[1].count, 1);
  EXPECT_EQ(SplitAxis({8, 1, 2, 0, false}, 4).front().count, 7);
  EXPECT_EQ(SplitAxis({8, 3, 1, 1, true}, 4).front().count, 5);
}

}  // namespace
}  // namespace tilewright::vta
