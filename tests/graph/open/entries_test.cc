// What FindEntries refuses although the entries of all probed sizes look alike.

#include "src/graph/open/entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright {
namespace {
namespace open_entries {

using testing::HasSubstr;

int Add(Graph& graph, OpKind kind, std::vector<int> inputs, OpAttributes attributes = {}) {
  auto id = graph.AddOperator("v" + std::to_string(graph.size()),
                              Operator{kind, std::move(attributes)}, std::move(inputs));
  EXPECT_TRUE(id.ok()) << id.status().message();
  return id.ok() ? *id : 0;
}

Status Found(const ReadAtSize& read, std::int64_t most) {
  return FindEntries(*read(1), read, {"N", 1, most}).status();
}

// The number of entries is the sum of constants that have the dimension.
TEST(FindEntriesTest, SumsOfConstantsAreRefused) {
  const auto read = [](std::int64_t size) {
    Graph graph;
    const int x = graph.AddInput("x", {{size, 4}, kFloat32});
    const int ones = graph.AddFilledConstant("ones", {{size, 4}, kFloat32}, 1);
    OpAttributes attributes;
    attributes.axes = {0};
    const int number = Add(graph, OpKind::kReduceSum, {ones}, attributes);
    graph.SetOutputs({Add(graph, OpKind::kDiv, {x, number})});
    return Result<Graph>(std::move(graph));
  };
  EXPECT_THAT(Found(read, 8).message(), HasSubstr("joins its entries"));
}

TEST(FindEntriesTest, LimitsAboveTheProbedSizesAreFound) {
  const auto read = [](std::int64_t size) {
    Graph graph;
    const int x = graph.AddInput("x", {{size, 4}, kFloat32});
    OpAttributes attributes;
    attributes.begin = {0, 0};
    attributes.end = {std::min<std::int64_t>(size, 8), 4};
    attributes.steps = {1, 1};
    graph.SetOutputs({Add(graph, OpKind::kSlice, {x}, attributes)});
    return Result<Graph>(std::move(graph));
  };
  EXPECT_THAT(Found(read, 64).message(), HasSubstr("has 8 elements in dimension 0 at size 64"));
  EXPECT_TRUE(Found(read, 8).ok());
}

}  // namespace open_entries
}  // namespace
}  // namespace tilewright
