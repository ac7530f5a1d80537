// Which register tile computes which size, from a few measured times.

#include "src/compiler/open/block_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::ElementsAre;

/// Tile of a layer with one row for each entry.
TileTime Tile(int weight, std::int64_t rows, double vectors, std::int64_t measured,
              double seconds) {
  return {weight, weight, rows, vectors, measured, seconds};
}

TEST(BlockRule, OneTileServesAllSizes) {
  const TileTime tiles[] = {Tile(0, 4, 3, 8, 1e-4)};
  const BlockRule rule = ChooseTiles(tiles, {"n", 1, 5}, 1);
  EXPECT_THAT(rule.tiles, ElementsAre(0));
  EXPECT_THAT(rule.choice, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(rule.gains, ElementsAre(0));
}

// The second form is faster at 64 rows, but slower at 8.
constexpr double kUnit = 1e-5;
const TileTime kTwoForms[] = {Tile(0, 4, 3, 8, 8 * kUnit), Tile(0, 4, 3, 64, 70 * kUnit),
                              Tile(1, 4, 2, 8, 12 * kUnit), Tile(1, 6, 2, 64, 60 * kUnit)};

TEST(BlockRule, ObservedSizesChooseTheForm) {
  const auto form = [](SizeCounts counts) {
    const BlockRule rule = ChooseTiles(kTwoForms, {"n", 1, 64, std::move(counts)}, 1);
    return kTwoForms[rule.tiles.front()].weight;
  };
  EXPECT_EQ(form({{8, 1}}), 0);
  EXPECT_EQ(form({{64, 1}}), 1);
  EXPECT_EQ(form({{8, 1000}, {64, 1}}), 0);
  EXPECT_EQ(form({{8, 1}, {64, 1000}}), 1);
}

TEST(BlockRule, AllTilesHaveOneForm) {
  const BlockRule rule = ChooseTiles(kTwoForms, {"n", 1, 512}, 1);
  for (const std::size_t tile : rule.tiles) {
    EXPECT_EQ(kTwoForms[tile].weight, kTwoForms[rule.tiles.front()].weight);
  }
  EXPECT_EQ(rule.choice.size(), 512U);
}

TEST(BlockRule, SizesTakeTheTileThatIsFasterThere) {
  // Templates with one form: one is faster for one row, the other one for many.
  const TileTime tiles[] = {{0, 0, 1, 2, 1, 1 * kUnit},
                            {0, 0, 1, 2, 64, 200 * kUnit},
                            {0, 1, 1, 2, 1, 2 * kUnit},
                            {0, 1, 6, 2, 64, 60 * kUnit}};
  const BlockRule rule = ChooseTiles(tiles, {"n", 1, 64}, 1);
  ASSERT_GE(rule.tiles.size(), 2U);
  EXPECT_EQ(rule.tiles[rule.choice[0]], 0U);
  EXPECT_EQ(rule.tiles[rule.choice[63]], 3U);
  EXPECT_DOUBLE_EQ(rule.gains[0], 0);
  EXPECT_GT(rule.gains[1], 0.005);
}

// Blocks of a size are those of the tile's rows shared evenly: 9 entries take 3, 3 and 3.
TEST(BlockRule, BlocksOfFewerRowsCountByTheTilesMeasuredWithThem) {
  // In blocks of four, nine entries would take as long as twelve; in blocks of three, as nine.
  const TileTime tiles[] = {{0, 0, 4, 3, 36, 9 * 4 * kUnit}, {0, 0, 3, 3, 36, 12 * 5 * kUnit}};
  const BlockRule nine = ChooseTiles(tiles, {"n", 1, 9, {{9, 1}}}, 1);
  EXPECT_EQ(nine.tiles.size(), 1U) << "both take three blocks of three";
  const BlockRule eight = ChooseTiles(tiles, {"n", 1, 8, {{8, 1}}}, 1);
  EXPECT_EQ(eight.tiles, std::vector<std::size_t>{0});
}

TEST(BlockRule, ThereAreAtMostFourTiles) {
  std::vector<TileTime> tiles;
  for (std::int64_t rows = 1; rows <= 10; ++rows) {
    tiles.push_back(Tile(0, rows, 1, rows, static_cast<double>(10 + rows) * kUnit));
  }
  const BlockRule rule = ChooseTiles(tiles, {"n", 1, 64}, 1);
  EXPECT_LE(rule.tiles.size(), kMaxTiles);
  EXPECT_EQ(rule.gains.size(), rule.tiles.size());
}

// At one row only the first form was measured; memory makes it slower than the products are.
TEST(BlockRule, NoFormIsAssumedToBeFasterThanTheFastest) {
  const TileTime tiles[] = {Tile(0, 1, 3, 1, 10 * kUnit), Tile(0, 4, 3, 64, 64 * kUnit),
                            Tile(1, 4, 3, 64, 64.1 * kUnit)};
  const BlockRule rule = ChooseTiles(tiles, {"n", 1, 64, {{1, 1}}}, 1);
  EXPECT_EQ(tiles[rule.tiles.front()].weight, 0);
}

}  // namespace
}  // namespace tilewright
