// Integers that double cannot represent, as bounds, fill values and literals of a file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/proto.h"
#include "src/graph/passes/passes.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using onnx::TensorProto;
using testing::ElementsAre;

constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
const DataType kUInt64{TypeCode::kUInt, 64};

Tensor Integers(Ints shape, const Ints& values, DataType dtype = kInt64) {
  Tensor tensor(TensorType{std::move(shape), dtype});
  std::ranges::copy(values, tensor.As<std::int64_t>().begin());
  return tensor;
}

// Results of the imported graph, and of the graph after the folding and simplifying passes.
std::vector<Ints> ResultsOf(const OnnxBuilder& model, const Tensor& x) {
  std::vector<Ints> results;
  for (const bool optimized : {false, true}) {
    auto graph = model.Import();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    if (graph.ok() && optimized) graph = Optimize(*std::move(graph));
    if (!graph.ok()) return {};
    std::vector<Tensor> inputs;
    inputs.push_back(x.Clone());
    const auto outputs = EvaluateGraph(*graph, inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status().message();
    if (!outputs.ok()) return {};
    const auto elements = outputs->front().As<std::int64_t>();
    results.emplace_back(elements.begin(), elements.end());
  }
  return results;
}

OnnxBuilder Of(const Ints& shape, std::int32_t type = TensorProto::INT64) {
  OnnxBuilder model;
  model.Input("x", shape, type).Output("y");
  return model;
}

TEST(OnnxExactIntegers, BoundsOfClip) {
  OnnxBuilder both = Of({4});
  both.Initializer("low", Integers({}, {-kOdd})).Initializer("high", Integers({}, {kOdd}));
  both.Node("Clip", {"x", "low", "high"}, {"y"});
  const Tensor x = Integers({4}, {-kOdd - 2, -kOdd + 2, kOdd, kMax});
  const Ints clipped = {-kOdd, -kOdd + 2, kOdd, kOdd};
  EXPECT_THAT(ResultsOf(both, x), ElementsAre(clipped, clipped));
  OnnxBuilder one = Of({4});
  one.Initializer("high", Integers({}, {kOdd})).Node("Clip", {"x", "", "high"}, {"y"});
  const Ints below = {-kOdd - 2, -kOdd + 2, kOdd, kOdd};
  EXPECT_THAT(ResultsOf(one, x), ElementsAre(below, below));
  OnnxBuilder low = Of({4});
  low.Initializer("low", Integers({}, {kMax})).Node("Clip", {"x", "low"}, {"y"});
  const Ints most = {kMax, kMax, kMax, kMax};
  EXPECT_THAT(ResultsOf(low, x), ElementsAre(most, most));
}

TEST(OnnxExactIntegers, BoundsOfClipWithoutSign) {
  OnnxBuilder model = Of({2}, TensorProto::UINT64);
  model.Initializer("high", Integers({}, {-2}, kUInt64));  // 2^64 - 2
  model.Node("Clip", {"x", "", "high"}, {"y"});
  const Ints clipped = {kOdd, -2};
  EXPECT_THAT(ResultsOf(model, Integers({2}, {kOdd, -1}, kUInt64)), ElementsAre(clipped, clipped));
}

TEST(OnnxExactIntegers, WhatIsPaddedWith) {
  for (const std::int64_t fill : {kOdd, kMax, -kOdd}) {
    OnnxBuilder model = Of({2});
    model.Initializer("pads", Integers({2}, {1, 1})).Initializer("fill", Integers({}, {fill}));
    model.Node("Pad", {"x", "pads", "fill"}, {"y"});
    const Ints padded = {fill, 5, kOdd, fill};
    EXPECT_THAT(ResultsOf(model, Integers({2}, {5, kOdd})), ElementsAre(padded, padded));
  }
}

TEST(OnnxExactIntegers, WhatShapesAreFilledWith) {
  OnnxBuilder model = Of({3});
  model.Initializer("shape", Integers({1}, {3})).Node("ConstantOfShape", {"shape"}, {"c"});
  model.Contents("value", Integers({1}, {kOdd})).Node("Add", {"x", "c"}, {"y"});
  const Ints sums = {kOdd + 1, kOdd + 2, kOdd + 3};
  EXPECT_THAT(ResultsOf(model, Integers({3}, {1, 2, 3})), ElementsAre(sums, sums));
}

TEST(OnnxExactIntegers, Ranges) {
  OnnxBuilder model = Of({3});
  model.Initializer("start", Integers({}, {kMax - 2})).Initializer("limit", Integers({}, {kMax}));
  model.Initializer("delta", Integers({}, {1}));
  model.Node("Range", {"start", "limit", "delta"}, {"r"});
  model.Initializer("axis", Integers({1}, {0})).Node("ReduceMax", {"r"}, {"m"}).Int("keepdims", 0);
  model.Node("Min", {"x", "m"}, {"y"});
  const Ints least = {5, kMax - 1, kMax - 1};
  EXPECT_THAT(ResultsOf(model, Integers({3}, {5, kMax - 1, kMax})), ElementsAre(least, least));
}

TEST(OnnxExactIntegers, DifferentOnesAreUnique) {
  OnnxBuilder model = Of({3});
  model.Initializer("list", Integers({4}, {kOdd + 1, kOdd, kOdd + 1, kOdd - 1}));
  model.Node("Unique", {"list"}, {"u"}).Node("Max", {"x", "u"}, {"y"});
  const Ints unique = {kOdd - 1, kOdd, kOdd + 1};
  EXPECT_THAT(ResultsOf(model, Integers({3}, {0, 0, 0})), ElementsAre(unique, unique));
}

TEST(OnnxExactIntegers, ValuesOfTheCommandLine) {
  const auto wide = TensorOfText("18446744073709551615", TensorType{{}, kUInt64});
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  EXPECT_EQ(wide->As<std::uint64_t>()[0], std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(TensorOfText("-1", TensorType{{}, kUInt64}).ok());
  EXPECT_FALSE(TensorOfText("18446744073709551616", TensorType{{}, kUInt64}).ok());
}

}  // namespace
}  // namespace tilewright
