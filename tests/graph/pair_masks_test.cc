// Masks of pairs of positions, made from values of single positions.
#include "src/graph/passes/pair_masks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/ir/evaluate.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

constexpr std::int64_t kPositions = 5;

class PairMasks : public testing::Test {
 protected:
  int Op(const std::string& name, OpKind kind, std::vector<int> inputs) {
    const auto id = graph_.AddOperator(name, {kind, {}}, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : 0;
  }
  int Scores() { return graph_.AddInput("scores", {{3, kPositions, kPositions}, kFloat32}); }
  /// Element (i, j) is `inside` up to the diagonal.
  int Triangle(DataType dtype, std::int64_t diagonal, double inside, double outside) {
    Tensor contents(TensorType{{kPositions, kPositions}, dtype});
    for (std::int64_t i = 0; i < contents.elements(); ++i) {
      contents.Set(i, i % kPositions <= i / kPositions + diagonal ? inside : outside);
    }
    return graph_.AddConstant("triangle", std::move(contents));
  }
  /// Runs the pass and compares the outputs. Returns the constants and values of pairs that remain,
  /// besides those with heads.
  std::int64_t PairsLeft(std::int64_t of_kind) {
    const auto made = ComputePairMasks(graph_.Clone());
    EXPECT_TRUE(made.ok()) << made.status().message();
    std::vector<Tensor> inputs;
    for (int id : graph_.inputs()) {
      inputs.push_back(MakeSyntheticInput(graph_.node(id).name, graph_.node(id).type,
                                          SyntheticInputRule::kRandom));
    }
    const auto expected = EvaluateGraph(graph_, inputs), results = EvaluateGraph(*made, inputs);
    EXPECT_TRUE(expected.ok() && results.ok());
    for (std::size_t i = 0; i < expected->size(); ++i) {
      EXPECT_EQ((*results)[i].type(), (*expected)[i].type());
      for (std::int64_t k = 0; k < (*expected)[i].elements(); ++k) {
        EXPECT_EQ((*results)[i].At(k), (*expected)[i].At(k)) << i << " " << k;
      }
    }
    return std::ranges::count_if(made->nodes(), [&](const Node& node) {
      return node.type.shape == std::vector<std::int64_t>{kPositions, kPositions} &&
             static_cast<std::int64_t>(node.kind) == of_kind;
    });
  }
  std::int64_t ConstantsLeft() { return PairsLeft(static_cast<std::int64_t>(NodeKind::kConstant)); }

  Graph graph_;
};

TEST_F(PairMasks, ReplacesTrianglesOfAllDiagonals) {
  for (const std::int64_t diagonal : {-3, -1, 0, 1, 3}) {
    graph_ = Graph();
    const int triangle = Triangle(kFloat32, diagonal, 0.5, -7);
    graph_.SetOutputs({Op("sum", OpKind::kAdd, {Scores(), triangle})});
    EXPECT_EQ(ConstantsLeft(), 0) << diagonal;
  }
}

TEST_F(PairMasks, ReplacesConditions) {
  for (const double inside : {0, 1}) {
    graph_ = Graph();
    const int scores = Scores(), triangle = Triangle(kBool, 0, inside, 1 - inside);
    const int low = graph_.AddFilledConstant("low", {{1}, kFloat32}, -9);
    graph_.SetOutputs({Op("chosen", OpKind::kWhere, {triangle, scores, low})});
    EXPECT_EQ(ConstantsLeft(), 0) << inside;
  }
}

TEST_F(PairMasks, EachReaderHasAMask) {
  const int scores = Scores(), triangle = Triangle(kFloat32, 0, 1, 2);
  graph_.SetOutputs({Op("sum", OpKind::kAdd, {scores, triangle}),
                     Op("product", OpKind::kMul, {scores, triangle})});
  EXPECT_EQ(PairsLeft(static_cast<std::int64_t>(NodeKind::kOperator)), 4);  // twice less and where
}

TEST_F(PairMasks, RepeatedValuesAreReadAsTheyAre) {
  const int keys = graph_.AddInput("keys", {{1, kPositions}, kFloat32});
  Operator repeat{OpKind::kBroadcastTo, {}};
  repeat.attributes.new_shape = {kPositions, kPositions};
  const int pairs = *graph_.AddOperator("pairs", repeat, {keys});
  graph_.SetOutputs({Op("sum", OpKind::kAdd, {Scores(), Op("tanh", OpKind::kTanh, {pairs})})});
  EXPECT_EQ(PairsLeft(static_cast<std::int64_t>(NodeKind::kOperator)), 0);
}

// The mask has one dimension more than the reader.
TEST_F(PairMasks, MasksMayLoseDimensions) {
  const int keys = graph_.AddInput("keys", {{1, 1, kPositions}, kFloat32});
  Operator more{OpKind::kReshape, {}}, fewer{OpKind::kReshape, {}};
  more.attributes.new_shape = {1, 1, kPositions, kPositions};
  fewer.attributes.new_shape = {1, kPositions, kPositions};
  Operator add_dimension{OpKind::kReshape, {}};
  add_dimension.attributes.new_shape = {1, 1, 1, kPositions};
  const int scores = Scores();
  const int wide = *graph_.AddOperator("wide", more, {Triangle(kFloat32, 0, 1, 2)});
  const int row = *graph_.AddOperator("row", add_dimension, {keys});
  const int mask = *graph_.AddOperator("mask", fewer, {Op("both", OpKind::kAdd, {wide, row})});
  graph_.SetOutputs({Op("sum", OpKind::kAdd, {scores, mask})});
  EXPECT_EQ(ConstantsLeft(), 0);
}

TEST_F(PairMasks, ConstantsOfOneNumberAreThatNumber) {
  const int same = graph_.AddFilledConstant("same", {{kPositions, kPositions}, kFloat32}, 3);
  graph_.SetOutputs({Op("product", OpKind::kMul, {Scores(), same})});
  EXPECT_EQ(ConstantsLeft(), 0);
}

TEST_F(PairMasks, OtherConstantsStay) {
  const int triangle = Triangle(kFloat32, 0, 1, 2);
  Tensor other = graph_.Contents(triangle)->Clone();
  other.Set(3, 1);  // of the first row
  const int changed = graph_.AddConstant("changed", std::move(other));
  graph_.SetOutputs({Op("sum", OpKind::kAdd, {Scores(), changed})});
  EXPECT_EQ(ConstantsLeft(), 1);
}

TEST_F(PairMasks, MasksThatOtherOperatorsReadStay) {
  const int triangle = Triangle(kFloat32, 0, 1, 2);
  Operator turn{OpKind::kTranspose, {}};
  turn.attributes.axes = {1, 0};
  graph_.SetOutputs({*graph_.AddOperator("turned", turn, {triangle}), triangle});
  EXPECT_EQ(ConstantsLeft(), 1);
}

}  // namespace
}  // namespace tilewright
