// Networks at sizes between and beyond two that were read.

#include "src/graph/open/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace tilewright {
namespace {
namespace resized_graphs {

using testing::ElementsAre;
using testing::HasSubstr;

using Extent = std::function<std::int64_t(std::int64_t)>;

// A row of extent(size) elements, and a table of as many numbers from first(size)
// on.
Graph At(std::int64_t size, const Extent& extent, const Extent& first) {
  Graph graph;
  const int x = graph.AddInput("x", {{1, extent(size)}, kFloat32});
  Tensor contents(TensorType{{extent(size)}, kFloat32});
  for (std::int64_t i = 0; i < contents.elements(); ++i) {
    contents.Set(i, static_cast<double>(first(size) + i));
  }
  const int table = graph.AddConstant("table", std::move(contents));
  OpAttributes attributes;
  attributes.new_shape = {extent(size)};
  const auto row = graph.AddOperator("row", Operator{OpKind::kReshape, attributes}, {x});
  EXPECT_TRUE(row.ok());
  const auto sum = graph.AddOperator("sum", Operator{OpKind::kAdd, {}}, {*row, table});
  EXPECT_TRUE(sum.ok());
  graph.SetOutputs({*sum});
  return graph;
}

std::int64_t Twice(std::int64_t size) { return 2 * size + 1; }
std::int64_t Zero(std::int64_t) { return 0; }

struct Pair {
  explicit Pair(const Extent& extent, const Extent& first = Zero)
      : small(At(5, extent, first)), large(At(8, extent, first)) {}
  SizedGraphs graphs() const { return {&range, &small, 5, &large, 8}; }
  SizeRange range{"n", 1, 8};
  Graph small, large;
};

TEST(ResizedTest, ExtentsAreOnTheLineAndTablesBegin) {
  const Pair pair(Twice);
  const auto made = Resized(pair.graphs(), 3, 100);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(made->node(0).type.shape, ElementsAre(1, 7));
  EXPECT_THAT(made->node(2).op.attributes.new_shape, ElementsAre(7));
  EXPECT_THAT(made->node(3).type.shape, ElementsAre(7));
  ASSERT_NE(made->Contents(1), nullptr);
  EXPECT_EQ(made->Contents(1)->At(6), 6);
  EXPECT_EQ(Resized(pair.graphs(), 3, 6)->Contents(1), nullptr);  // larger than wanted
  EXPECT_THAT(Resized(pair.graphs(), 0, 100)->node(0).type.shape, ElementsAre(1, 1));
}

TEST(ResizedTest, RefusesByName) {
  EXPECT_THAT(Resized(Pair([](std::int64_t n) { return n * n + n % 2; }).graphs(), 3, 100)
                  .status()
                  .message(),
              HasSubstr("--dim n=1..8: value x is not linear in it"));
  EXPECT_THAT(
      Resized(Pair(Twice, [](std::int64_t n) { return n; }).graphs(), 3, 100).status().message(),
      HasSubstr("value table is a constant that depends on it"));
  EXPECT_THAT(Resized(Pair(Twice).graphs(), -1, 100).status().message(),
              HasSubstr("value x has no elements with -1"));
  EXPECT_THAT(Resized(Pair(Twice).graphs(), 9, 100).status().message(),
              HasSubstr("value table is a constant that ends before 9"));
}

TEST(ResizedTest, ReadNetworksAreCompared) {
  const Pair pair(Twice);
  EXPECT_TRUE(CheckResized(pair.graphs(), 2, At(2, Twice, Zero)).ok());
  const auto capped = [](std::int64_t n) { return std::max<std::int64_t>(Twice(n), 7); };
  EXPECT_THAT(CheckResized(pair.graphs(), 2, At(2, capped, Zero)).message(),
              HasSubstr("value x is another operator with 2"));
  const auto later = [](std::int64_t n) { return std::int64_t{n < 4}; };
  EXPECT_THAT(CheckResized(pair.graphs(), 2, At(2, Twice, later)).message(),
              HasSubstr("value table is another constant with 2"));
}

}  // namespace resized_graphs
}  // namespace
}  // namespace tilewright
