#include "src/graph/passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "src/graph/ir/describe.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/tensor/synthetic_data.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::ElementsAre;

Operator Conv(std::int64_t pad = 0) {
  Operator op{OpKind::kConv2d, {}};
  op.attributes.padding = {pad, pad, pad, pad};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  return op;
}

// A graph built node by node. Errors end the test program.
class TestGraph {
 public:
  int Input(const std::string& name, Ints shape, DataType dtype = kFloat32) {
    return graph.AddInput(name, TensorType{std::move(shape), dtype});
  }
  int Constant(const std::string& name, Tensor contents) {
    return graph.AddConstant(name, std::move(contents));
  }
  int Op(const std::string& name, const Operator& op, std::vector<int> inputs) {
    auto id = graph.AddOperator(name, op, std::move(inputs));
    EXPECT_TRUE(id.ok()) << id.status().message();
    return *id;
  }
  int Op(const std::string& name, OpKind kind, std::vector<int> inputs) {
    return Op(name, Operator{kind, {}}, std::move(inputs));
  }
  int Cast(const std::string& name, DataType dtype, int input) {
    Operator op{OpKind::kCast, {}};
    op.attributes.dtype = dtype;
    return Op(name, op, {input});
  }
  int BatchNorm(const std::string& name, int data, std::int64_t channels) {
    Operator op{OpKind::kBatchNorm, {}};
    op.attributes.axis = 1;
    op.attributes.epsilon = 1e-3;
    std::vector<int> inputs = {data};
    for (const char* part : {"gamma", "beta", "mean", "var"}) {
      inputs.push_back(Constant(name + "_" + part,
                                MakeRange(kFloat32, {channels}, 0.5, 0.25 * std::ssize(inputs))));
    }
    return Op(name, op, inputs);
  }
  Graph graph;
};

std::vector<std::string> OperatorNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.kind == NodeKind::kOperator) names.emplace_back(OpName(node.op.kind));
  }
  return names;
}

// Returns the outputs of a graph for a fixed input.
std::vector<double> Outputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    inputs.push_back(
        MakeSyntheticInput(graph.node(id).name, graph.node(id).type, SyntheticInputRule::kRandom));
  }
  auto outputs = EvaluateGraph(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return ValuesOf((*outputs)[0]);
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::abs(expected[i]))) << i;
  }
}

// conv with bias -> batch_norm -> mul and add per channel -> relu
TEST(FoldBatchNorm, FoldsEveryScaleAndShiftBehindAConvolution) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 4, 4});
  const int w = t.Constant("w", MakeRange(kFloat32, {3, 2, 3, 3}, -0.3, 0.02));
  const int conv = t.Op("conv", Conv(1), {x, w});
  const int bias = t.Constant("b", MakeRange(kFloat32, {3, 1, 1}, 1));
  const int biased = t.Op("biased", OpKind::kAdd, {bias, conv});
  const int norm = t.BatchNorm("norm", biased, 3);
  const int mul =
      t.Op("mul", OpKind::kMul, {norm, t.Constant("m", MakeRange(kFloat32, {1, 3, 1, 1}, 2))});
  const int sub = t.Op("sub", OpKind::kSub, {mul, t.Constant("s", MakeTensor(kFloat32, {}, {3}))});
  t.graph.SetOutputs({t.Op("y", OpKind::kRelu, {sub})});
  const auto before = Outputs(t.graph);
  auto folded = FoldBatchNorm(std::move(t.graph));
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_THAT(OperatorNames(*folded), ElementsAre("conv2d", "add", "relu"));
  EXPECT_EQ(folded->node(folded->outputs()[0]).name, "y");
  ExpectNear(Outputs(*folded), before);
}

TEST(FoldBatchNorm, FoldsIntoMatrixProductsAndDepthwiseConvolutions) {
  TestGraph t;
  const int x = t.Input("x", {1, 4, 1, 1});
  Operator depthwise = Conv();
  depthwise.attributes.groups = 4;
  const int conv =
      t.Op("dw", depthwise, {x, t.Constant("w", MakeRange(kFloat32, {4, 1, 1, 1}, 1))});
  const int norm = t.BatchNorm("norm", conv, 4);
  Operator flat{OpKind::kReshape, {}};
  flat.attributes.new_shape = {1, 4};
  Operator dense{OpKind::kDense, {}};
  dense.attributes.data_layout = "MK";
  dense.attributes.kernel_layout = "NK";
  const int product =
      t.Op("dense", dense,
           {t.Op("flat", flat, {norm}), t.Constant("v", MakeRange(kFloat32, {2, 4}, -1, 0.3))});
  t.graph.SetOutputs(
      {t.Op("y", OpKind::kDiv, {product, t.Constant("d", MakeRange(kFloat32, {2}, 2))})});
  const auto before = Outputs(t.graph);
  auto folded = FoldBatchNorm(std::move(t.graph));
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_THAT(OperatorNames(*folded), ElementsAre("conv2d", "add", "reshape", "dense"));
  ExpectNear(Outputs(*folded), before);
}

TEST(FoldBatchNorm, BlockedMatrixProductsKeepTheirScale) {
  TestGraph t;
  Operator dense{OpKind::kDense, {}};
  dense.attributes.data_layout = "MK1m16k";
  dense.attributes.kernel_layout = "NK16n16k";
  const int product = t.Op("dense", dense,
                           {t.Input("x", {1, 1, 1, 16}),
                            t.Constant("w", MakeRange(kFloat32, {1, 1, 16, 16}, -1, 0.01))});
  t.graph.SetOutputs(
      {t.Op("y", OpKind::kMul, {product, t.Constant("m", MakeRange(kFloat32, {1, 1, 16}, 2))})});
  const auto before = Outputs(t.graph);
  auto folded = FoldBatchNorm(std::move(t.graph));
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_THAT(OperatorNames(*folded), ElementsAre("dense", "mul"));
  ExpectNear(Outputs(*folded), before);
}

TEST(FoldBatchNorm, ChainEndsWhereAValueIsReadTwice) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2});
  const int conv =
      t.Op("conv", Conv(), {x, t.Constant("w", MakeRange(kFloat32, {2, 2, 1, 1}, -1))});
  const int norm = t.BatchNorm("norm", conv, 2);
  t.graph.SetOutputs({t.Op("y", OpKind::kAdd, {norm, conv})});
  const auto before = Outputs(t.graph);
  auto folded = FoldBatchNorm(std::move(t.graph));
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_THAT(OperatorNames(*folded), ElementsAre("conv2d", "mul", "add", "add"));
  ExpectNear(Outputs(*folded), before);
}

TEST(FoldBatchNorm, MissingContentsStayMissing) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2});
  const int w = t.graph.AddConstant("w", TensorType{{2, 2, 1, 1}, kFloat32});
  t.graph.SetOutputs({t.BatchNorm("y", t.Op("conv", Conv(), {x, w}), 2)});
  auto folded = FoldBatchNorm(std::move(t.graph));
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_THAT(OperatorNames(*folded), ElementsAre("conv2d", "add"));
  const Node& anchor = folded->node(folded->node(folded->outputs()[0]).inputs[0]);
  EXPECT_FALSE(folded->HasContents(anchor.inputs[1]));
}

TEST(FoldConstants, EvaluatesOperatorsOnConstants) {
  TestGraph t;
  const int x = t.Input("x", {2});
  const int c = t.Op("c", OpKind::kNegate, {t.Constant("one", MakeTensor(kFloat32, {2}, {1, 2}))});
  const int unknown = t.Op("u", OpKind::kNegate, {t.graph.AddConstant("m", {{2}, kFloat32})});
  t.graph.SetOutputs({t.Op("y", OpKind::kAdd, {t.Op("s", OpKind::kAdd, {x, c}), unknown})});
  auto folded = FoldConstants(std::move(t.graph));
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_THAT(OperatorNames(*folded), ElementsAre("add", "add"));
  EXPECT_EQ(folded->node(1).name, "c");
  EXPECT_THAT(ValuesOf(*folded->Contents(1)), ElementsAre(-1, -2));
  EXPECT_EQ(folded->Contents(2), nullptr);
}

TEST(Simplify, DropsWhatDoesNothing) {
  TestGraph t;
  const int x = t.Input("x", {2, 3});
  Operator transpose{OpKind::kTranspose, {}};
  transpose.attributes.axes = {1, 0};
  Operator flat{OpKind::kReshape, {}}, square{OpKind::kReshape, {}};
  flat.attributes.new_shape = {6};
  square.attributes.new_shape = {3, 2};
  const int there = t.Op("there", transpose, {t.Op("id", OpKind::kIdentity, {x})});
  const int back = t.Op("back", transpose, {there});
  const int relu = t.Op("relu", OpKind::kRelu, {back});
  const int cast = t.Cast("same", kFloat32, relu);
  t.graph.SetOutputs({t.Op("y", square, {t.Op("flat", flat, {cast})})});
  auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple), ElementsAre("relu", "reshape"));
}

TEST(Simplify, CountsAxesFromEitherEnd) {
  TestGraph t;
  const int x = t.Input("x", {3, 3, 2});
  Operator turn{OpKind::kTranspose, {}}, swap{OpKind::kTranspose, {}};
  turn.attributes.axes = {-2, 0, -1};  // the original order of the dimensions
  swap.attributes.axes = {0, 2, -2};
  const int turned = t.Op("turn", turn, {x});
  const int once = t.Op("once", swap, {t.Op("relu", OpKind::kRelu, {turned})});
  t.graph.SetOutputs(
      {t.Op("twice", swap, {t.Op("again", OpKind::kRelu, {once})}), t.Op("back", swap, {once})});
  const auto before = Outputs(t.graph);
  auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  ExpectNear(Outputs(*simple), before);
}

// A three-dimensional product as an import creates it: x [6, 4] * w, reshaped to [2, 3, 5].
int ReshapedProduct(TestGraph& t) {
  const int x = t.Input("x", {6, 4});
  Operator dense{OpKind::kDense, {}}, reshape{OpKind::kReshape, {}};
  reshape.attributes.new_shape = {2, 3, 5};
  const int product =
      t.Op("p#1", dense, {x, t.Constant("w", MakeRange(kFloat32, {5, 4}, -1, 0.1))});
  return t.Op("p", reshape, {product});
}

TEST(Simplify, ReshapesOfProductsSinkBelowWhatIsElementwise) {
  TestGraph t;
  const int p = ReshapedProduct(t);
  const int biased =
      t.Op("biased", OpKind::kAdd, {t.Constant("b", MakeRange(kFloat32, {1, 1, 5})), p});
  const int other = t.Input("other", {2, 3, 5});
  const int sum = t.Op("sum", OpKind::kSub, {biased, other});
  const int gate = t.Op("gate", OpKind::kSigmoid, {sum});
  const int gated = t.Op("gated", OpKind::kMul, {sum, gate});
  Operator halves{OpKind::kReshape, {}};
  halves.attributes.new_shape = {2, 15};
  const int scalar = t.Constant("s", MakeTensor(kFloat32, {1, 1, 1}, {3}));
  t.graph.SetOutputs({t.Op("y", halves, {t.Op("scaled", OpKind::kDiv, {gated, scalar})})});
  const auto before = Outputs(t.graph);
  auto simple = Optimize(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple),
              ElementsAre("dense", "add", "reshape", "sub", "sigmoid", "mul", "div", "reshape"));
  EXPECT_EQ(simple->node(simple->outputs()[0]).name, "y");
  std::set<std::string> names;
  for (const Node& node : simple->nodes()) {
    EXPECT_TRUE(names.insert(node.name).second) << node.name;
  }
  ExpectNear(Outputs(*simple), before);
}

TEST(Simplify, ReshapesOfProductsSinkBelowRows) {
  TestGraph t;
  const int p = ReshapedProduct(t);
  Operator mean{OpKind::kReduceMean, {}}, softmax{OpKind::kSoftmax, {}};
  mean.attributes.axes = {2};
  mean.attributes.keepdims = true;
  softmax.attributes.axis = -1;
  const int centred = t.Op("centred", OpKind::kSub, {p, t.Op("mean", mean, {p})});
  const int y = t.Op("y", softmax, {centred});
  Operator columns{OpKind::kSoftmax, {}};
  columns.attributes.axis = 1;
  t.graph.SetOutputs({y, t.Op("columns", columns, {centred})});
  const auto before = Outputs(t.graph);
  auto simple = Optimize(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple), ElementsAre("dense", "reduce_mean", "sub", "reshape",
                                                  "softmax", "reshape", "softmax"));
  ExpectNear(Outputs(*simple), before);
}

// A third operator combines two products of different shapes: the pass must terminate.
TEST(Simplify, ReshapedProductsOfTwoShapesMeet) {
  TestGraph t;
  const int p = ReshapedProduct(t);
  Operator product{OpKind::kBatchMatmul, {}}, reshape{OpKind::kReshape, {}};
  reshape.attributes.new_shape = {2, 3, 5};
  const int q = t.Op("q#1", product, {t.Input("a", {3, 2, 4}), t.Input("b", {3, 5, 4})});
  const int sum = t.Op("sum", OpKind::kAdd, {p, t.Op("q", reshape, {q})});
  t.graph.SetOutputs({sum});
  const auto before = Outputs(t.graph);
  auto simple = Optimize(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  ExpectNear(Outputs(*simple), before);
}

TEST(Simplify, FollowersOfA1dConvolutionStayImages) {
  TestGraph t;
  const int x = t.Input("x", {1, 4, 5});
  Operator image{OpKind::kReshape, {}}, sequence{OpKind::kReshape, {}};
  image.attributes.new_shape = {1, 4, 1, 5};
  sequence.attributes.new_shape = {1, 4, 5};
  const int weight = t.Constant("w", MakeRange(kFloat32, {4, 4, 1, 1}));
  const int conv = t.Op("conv", Conv(), {t.Op("image", image, {x}), weight});
  const int flat = t.Op("flat", sequence, {conv});
  t.graph.SetOutputs({t.Op("y", OpKind::kAdd, {t.Op("r", OpKind::kRelu, {flat}), x})});
  const auto expected = Outputs(t.graph);
  auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple), ElementsAre("reshape", "conv2d", "relu", "add", "reshape"));
  EXPECT_EQ(Outputs(*simple), expected);
}

TEST(Simplify, ReshapesStayBeforeWhatTellsTheirDimensionsApart) {
  TestGraph t;
  const int p = ReshapedProduct(t);
  const int rows = t.Constant("r", MakeRange(kFloat32, {3, 1}));
  const int wide = t.Input("wide", {4, 2, 3, 5});
  t.graph.SetOutputs({t.Op("sum", OpKind::kAdd, {p, rows}), t.Op("more", OpKind::kMul, {p, wide})});
  const auto before = Outputs(t.graph);
  auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple), ElementsAre("dense", "reshape", "add", "mul"));
  ExpectNear(Outputs(*simple), before);
}

TEST(Simplify, SquaresAreProducts) {
  TestGraph t;
  const int x = t.Input("x", {2, 3});
  const int two = t.Constant("two", MakeTensor(kFloat32, {}, {2}));
  const int three = t.Constant("three", MakeTensor(kFloat32, {}, {3}));
  t.graph.SetOutputs(
      {t.Op("square", OpKind::kPow, {x, two}), t.Op("cube", OpKind::kPow, {x, three})});
  auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple), ElementsAre("mul", "pow"));
}

TEST(Simplify, OutputsKeepTheirNames) {
  TestGraph t;
  const int x = t.Input("x", {2});
  const int relu = t.Op("relu", OpKind::kRelu, {x});
  t.graph.SetOutputs({t.Op("a", OpKind::kIdentity, {relu}), t.Op("b", OpKind::kIdentity, {relu}),
                      t.Op("c", OpKind::kIdentity, {x})});
  auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple), ElementsAre("relu", "identity", "identity"));
  std::vector<std::string> names;
  for (int id : simple->outputs()) names.push_back(simple->node(id).name);
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

TEST(Simplify, ComputesEqualOperatorsOnceButKeepsAnchors) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2});
  const int w = t.Constant("w", MakeRange(kFloat32, {2, 2, 1, 1}));
  const int left = t.Op("c1", Conv(), {t.Op("r1", OpKind::kRelu, {x}), w});
  const int right = t.Op("c2", Conv(), {t.Op("r2", OpKind::kRelu, {x}), w});
  t.graph.SetOutputs({t.Op("y", OpKind::kAdd, {left, right})});
  auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple), ElementsAre("relu", "conv2d", "conv2d", "add"));
}

// Operators of one value in such a number that comparing all pairs would be too slow for the test.
TEST(Simplify, ComputesThousandsOfOperatorsOfOneValueOnceEach) {
  TestGraph t;
  const int x = t.Input("x", {4});
  std::vector<int> clips;
  constexpr int kDifferent = 5000;
  for (int i = 0; i < 2 * kDifferent; ++i) {
    Operator clip{OpKind::kClip, {}};
    clip.attributes.a_max = 1 + i % kDifferent;
    clips.push_back(t.Op("clip" + std::to_string(i), clip, {x}));
  }
  t.graph.SetOutputs({t.Op("y", {OpKind::kConcat, {}}, clips)});
  const auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_EQ(OperatorNames(*simple).size(), static_cast<std::size_t>(kDifferent + 1));
}

TEST(Simplify, FindsHardSwishInItsSpellings) {
  for (int spelling = 0; spelling < 3; ++spelling) {
    TestGraph t;
    const int x = t.Input("x", {4});
    const int six = t.Constant("six", MakeTensor(kFloat32, {}, {6}));
    int y = -1;
    if (spelling == 0) {
      Operator sigmoid{OpKind::kHardSigmoid, {}};
      sigmoid.attributes.alpha = 1.0F / 6;
      sigmoid.attributes.beta = 0.5;
      y = t.Op("y", OpKind::kMul, {x, t.Op("gate", sigmoid, {x})});
    } else {
      Operator clip{OpKind::kClip, {}};
      clip.attributes.a_max = 6;
      const int three = t.Constant("three", MakeTensor(kFloat32, {}, {3}));
      const int gate = t.Op("clip", clip, {t.Op("add", OpKind::kAdd, {x, three})});
      y = spelling == 1 ? t.Op("y", OpKind::kDiv, {t.Op("mul", OpKind::kMul, {x, gate}), six})
                        : t.Op("y", OpKind::kMul, {t.Op("div", OpKind::kDiv, {gate, six}), x});
    }
    t.graph.SetOutputs({y});
    const auto before = Outputs(t.graph);
    auto simple = Simplify(std::move(t.graph));
    ASSERT_TRUE(simple.ok()) << simple.status().message();
    EXPECT_THAT(OperatorNames(*simple), ElementsAre("hard_swish")) << spelling;
    ExpectNear(Outputs(*simple), before);
  }
}

TEST(Simplify, DropsAClipOfClippedValues) {
  TestGraph t;
  const int x = t.Input("x", {1, 1, 4, 4}, kInt32);
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_min = -127;
  clip.attributes.a_max = 127;
  Operator pool{OpKind::kMaxPool2d, {}};
  pool.attributes.pool_size = {2, 2};
  pool.attributes.data_layout = "NCHW";
  const int narrow = t.Cast("narrow", kInt8, t.Op("clip", clip, {x}));
  t.graph.SetOutputs({t.Op("y", clip, {t.Op("pool", pool, {narrow})})});
  auto simple = Simplify(std::move(t.graph));
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  EXPECT_THAT(OperatorNames(*simple), ElementsAre("clip", "cast", "max_pool2d"));
  EXPECT_EQ(simple->node(simple->outputs()[0]).name, "y");
}

// The fill value of padding is not a clipped value.
TEST(Simplify, KeepsAClipBehindWindowsOfPaddingAlone) {
  struct Case {
    std::array<std::int64_t, 2> pool, strides, dilation;
    std::array<std::int64_t, 4> padding;
    bool dropped;
  };
  for (const Case& tested : {Case{{2, 2}, {2, 2}, {1, 1}, {0, 0, 2, 2}, false},
                             Case{{2, 2}, {1, 1}, {5, 5}, {1, 1, 1, 1}, false},
                             Case{{3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, true}}) {
    TestGraph t;
    Operator clip{OpKind::kClip, {}};
    clip.attributes.a_max = 100;
    Operator pool{OpKind::kMaxPool2d, {}};
    pool.attributes.data_layout = "NCHW";
    std::ranges::copy(tested.pool, pool.attributes.pool_size.begin());
    std::ranges::copy(tested.strides, pool.attributes.strides.begin());
    std::ranges::copy(tested.dilation, pool.attributes.dilation.begin());
    std::ranges::copy(tested.padding, pool.attributes.padding.begin());
    const int x = t.Input("x", {1, 1, 4, 4}, kInt8);
    t.graph.SetOutputs({t.Op("y", clip, {t.Op("pool", pool, {t.Op("clip", clip, {x})})})});
    const auto before = Outputs(t.graph);
    auto simple = Simplify(std::move(t.graph));
    ASSERT_TRUE(simple.ok()) << simple.status().message();
    EXPECT_EQ(OperatorNames(*simple).size(), tested.dropped ? 2U : 3U);
    ExpectNear(Outputs(*simple), before);
  }
}

TEST(Simplify, KeepsWhatOnlyLooksLikeHardSwish) {
  for (const bool integers : {false, true}) {
    TestGraph t;
    const DataType dtype = integers ? kInt32 : kFloat32;
    const int x = t.Input("x", {3, 4}, dtype);
    const Ints shape = integers ? Ints{} : Ints{1, 1, 1, 1};  // the result has its dimensions
    Operator clip{OpKind::kClip, {}};
    clip.attributes.a_max = 6;
    const int sum =
        t.Op("add", OpKind::kAdd, {x, t.Constant("three", MakeTensor(dtype, shape, {3}))});
    const int product = t.Op("mul", OpKind::kMul, {x, t.Op("clip", clip, {sum})});
    t.graph.SetOutputs(
        {t.Op("y", OpKind::kDiv, {product, t.Constant("six", MakeTensor(dtype, {}, {6}))})});
    const TensorType type = t.graph.node(t.graph.outputs()[0]).type;
    const auto before = Outputs(t.graph);
    auto simple = Simplify(std::move(t.graph));
    ASSERT_TRUE(simple.ok()) << simple.status().message();
    EXPECT_EQ(simple->node(simple->outputs()[0]).type, type);
    ExpectNear(Outputs(*simple), before);
  }
}

// Returns "nodes of the group -> epilogue", or "(alias)", for each group.
std::vector<std::string> Describe(const Graph& graph, const std::vector<FusedGroup>& groups) {
  std::vector<std::string> lines;
  for (const FusedGroup& group : groups) {
    std::string line;
    for (int id : group.nodes) line += (line.empty() ? "" : " ") + graph.node(id).name;
    if (group.alias) line += " (alias)";
    if (group.anchor) line += " -> " + group.epilogue.ToString();
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> Fuse(const Graph& graph) {
  auto groups = FuseGroups(graph);
  EXPECT_TRUE(groups.ok());
  return Describe(graph, *groups);
}

TEST(FuseGroups, AnchorTakesItsFollowers) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2});
  const int conv = t.Op("conv", Conv(), {x, t.Constant("w", MakeRange(kFloat32, {2, 2, 1, 1}))});
  const int bias = t.Constant("b", MakeRange(kFloat32, {2, 1, 1}));
  const int sum = t.Op("sum", OpKind::kAdd, {conv, bias});
  const int three = t.Constant("three", MakeTensor(kFloat32, {1}, {3}));
  const int sub = t.Op("sub", OpKind::kSub, {three, sum});
  const int same = t.Op("same", OpKind::kIdentity, {sub});
  t.graph.SetOutputs({t.Op("y", OpKind::kRelu, {same})});
  auto groups = FuseGroups(t.graph);
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 1U);
  const FusedGroup& group = (*groups)[0];
  EXPECT_THAT(group.nodes, ElementsAre(conv, sum, sub, same, t.graph.outputs()[0]));
  EXPECT_THAT(group.inputs, ElementsAre(x, t.graph.node(conv).inputs[1], bias));
  ASSERT_EQ(group.epilogue.steps.size(), 3U);
  EXPECT_EQ(group.epilogue.steps[0].operand, OperandKind::kChannel);
  EXPECT_EQ(group.epilogue.steps[1].scalar, 3);
  EXPECT_TRUE(group.epilogue.steps[1].operand_first);
  EXPECT_EQ(group.output, t.graph.outputs()[0]);
}

// Sums of 8-bit products, less a zero point and times a scale that are computed at run time.
TEST(FuseGroups, ComputedScalesAndZeroPointsJoinIntegerSums) {
  TestGraph t;
  const int x = t.Input("x", {3, 8}, kUInt8), w = t.Constant("w", MakeRange(kInt8, {5, 8}));
  Operator dense{OpKind::kDense, {}};
  dense.attributes.dtype = kInt32;
  const int sums = t.Op("sums", dense, {x, w});
  const int columns = t.Input("columns", {5}, kInt32), rows = t.Input("rows", {3, 1}, kInt32);
  const int less = t.Op("less", OpKind::kSub, {sums, columns});
  const int lower = t.Op("lower", OpKind::kSub, {less, rows});
  const int real = t.Cast("real", kFloat32, lower);
  const int scaled = t.Op("scaled", OpKind::kMul, {real, t.Input("scale", {})});
  t.graph.SetOutputs({t.Op("y", OpKind::kDiv, {scaled, t.Input("divisor", {5})})});
  EXPECT_THAT(Fuse(t.graph),
              ElementsAre("sums less lower real scaled -> sub(channel:int32);"
                          "sub(broadcast[0]:int32);cast(float32);mul(broadcast[]:float32)",
                          "y"));
}

TEST(FuseGroups, ComputedScalesStayOutsideOfFloatSums) {
  TestGraph t;
  const int x = t.Input("x", {3, 8}), w = t.Constant("w", MakeRange(kFloat32, {5, 8}));
  const int sums = t.Op("sums", Operator{OpKind::kDense, {}}, {x, w});
  t.graph.SetOutputs({t.Op("y", OpKind::kMul, {sums, t.Input("scale", {})})});
  EXPECT_THAT(Fuse(t.graph), ElementsAre("sums -> ", "y"));
}

TEST(FuseGroups, ResidualSumBelongsToTheLaterConvolution) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2});
  const int w = t.Constant("w", MakeRange(kFloat32, {2, 2, 1, 1}));
  const int left = t.Op("left", OpKind::kRelu, {t.Op("c1", Conv(), {x, w})});
  const int right = t.Op("c2", Conv(), {x, w});
  t.graph.SetOutputs({t.Op("y", OpKind::kAdd, {right, left})});
  EXPECT_THAT(Fuse(t.graph), ElementsAre("c1 left -> relu", "c2 y -> add(tensor:float32)"));
}

TEST(FuseGroups, CastOfTheResidualIsPartOfTheSum) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2}, kInt8);
  Operator conv = Conv();
  conv.attributes.dtype = kInt32;
  const int c = t.Op("conv", conv, {x, t.Constant("w", MakeRange(kInt8, {2, 2, 1, 1}))});
  const int wide = t.Cast("wide", kInt32, x);
  const int narrow = t.Cast("narrow", kInt8, c);
  const int sum = t.Op("sum", OpKind::kAdd, {wide, t.Cast("again", kInt32, narrow)});
  t.graph.SetOutputs({t.Op("y", OpKind::kRelu, {sum})});
  auto groups = FuseGroups(t.graph);
  ASSERT_TRUE(groups.ok());
  EXPECT_THAT(Describe(t.graph, *groups),
              ElementsAre("conv wide narrow again sum y -> "
                          "cast(int8);cast(int32);add(tensor:int8);relu"));
  EXPECT_EQ((*groups)[0].inputs.back(), x);
}

// The quantized operand is read directly from memory. Subtracting the zero point of the other chain
// is a separate step.
TEST(FuseGroups, ZeroPointsOfTheResidualArePartOfTheSum) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2}, kUInt8);
  Operator conv = Conv();
  conv.attributes.dtype = kInt32;
  const int c = t.Op("conv", conv, {x, t.Constant("w", MakeRange(kInt8, {2, 2, 1, 1}))});
  const auto less = [&](const std::string& name, int numbers, double zero) {
    const int wide = t.Cast(name + "_wide", kFloat32, numbers);
    return t.Op(name, OpKind::kSub,
                {wide, t.Constant(name + "_zero", MakeTensor(kFloat32, {}, {zero}))});
  };
  const int other = less("other", x, 128);
  const int main = less("main", t.Cast("narrow", kInt8, c), 5);
  t.graph.SetOutputs({t.Op("y", OpKind::kRelu, {t.Op("sum", OpKind::kSub, {main, other})})});
  auto groups = FuseGroups(t.graph);
  ASSERT_TRUE(groups.ok());
  EXPECT_THAT(Describe(t.graph, *groups),
              ElementsAre("conv other_wide other narrow main_wide main sum y -> cast(int8);"
                          "cast(float32);sub(5);sub(tensor:uint8,less:128);relu"));
  EXPECT_EQ((*groups)[0].inputs.back(), x);
}

TEST(FuseGroups, StopsWhereAValueIsReadTwiceOrIsAnOutput) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2});
  const int conv = t.Op("conv", Conv(), {x, t.Constant("w", MakeRange(kFloat32, {2, 2, 1, 1}))});
  const int relu = t.Op("relu", OpKind::kRelu, {conv});
  const int left = t.Op("left", OpKind::kSigmoid, {relu});
  const int right = t.Op("right", OpKind::kTanh, {relu});
  const int out = t.Op("out", OpKind::kMul, {left, right});
  t.graph.SetOutputs({out, t.Op("y", OpKind::kTanh, {out})});
  EXPECT_THAT(Fuse(t.graph), ElementsAre("conv relu -> relu", "left", "right out", "y"));
}

/// A result of 2 MB, larger than any private cache.
constexpr std::int64_t kLarge = 512;

/// A convolution, its bias, and the operators that `make` appends.
std::vector<std::string> FuseBehindBias(
    const std::function<std::vector<int>(TestGraph& t, int value)>& make,
    FuseRule rule = FuseRule::kUnrestricted, std::int64_t width = kLarge) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, width, kLarge});
  const int conv = t.Op("conv", Conv(), {x, t.Constant("w", MakeRange(kFloat32, {2, 2, 1, 1}))});
  const int bias = t.Constant("b", MakeRange(kFloat32, {2, 1, 1}));
  t.graph.SetOutputs(make(t, t.Op("sum", OpKind::kAdd, {conv, bias})));
  auto groups = FuseGroups(t.graph, rule);
  EXPECT_TRUE(groups.ok());
  return Describe(t.graph, *groups);
}

int Scalar(TestGraph& t, const char* name, double value) {
  return t.Constant(name, MakeTensor(kFloat32, {}, {value}));
}

TEST(FuseGroups, ActivationsThatReadTheirArgumentTwiceJoin) {
  const auto silu = [](TestGraph& t, int v) {
    const int gate = t.Op("gate", OpKind::kSigmoid, {v});
    return std::vector{t.Op("y", OpKind::kMul, {v, gate})};
  };
  EXPECT_THAT(FuseBehindBias(silu),
              ElementsAre("conv sum gate y -> add(channel:float32);sigmoid;mul(%1)"));
  EXPECT_THAT(FuseBehindBias(silu, FuseRule::kUntilInt8),
              ElementsAre("conv sum -> add(channel:float32)", "gate y"));
  EXPECT_THAT(FuseBehindBias(silu, FuseRule::kUnrestricted, 2),
              ElementsAre("conv sum -> add(channel:float32)", "gate y"))
      << "what is in a near cache is read again for less than compiling it costs";
  const auto gelu = [](TestGraph& t, int v) {
    const int erf =
        t.Op("erf", OpKind::kErf, {t.Op("div", OpKind::kDiv, {v, Scalar(t, "root", 1.5)})});
    const int one = t.Op("one", OpKind::kAdd, {Scalar(t, "1", 1), erf});
    const int whole = t.Op("whole", OpKind::kMul, {v, one});
    return std::vector{t.Op("y", OpKind::kMul, {whole, Scalar(t, "half", 0.5)})};
  };
  EXPECT_THAT(FuseBehindBias(gelu),
              ElementsAre("conv sum div erf one whole y -> "
                          "add(channel:float32);div(1.5);erf;add(1);mul(%1);mul(0.5)"));
}

TEST(FuseGroups, DiamondsMayNestSquareAndReadTensors) {
  const auto both = [](TestGraph& t, int v) {
    const int square = t.Op("square", OpKind::kMul, {v, v});
    const int tanh = t.Op("tanh", OpKind::kTanh, {square});
    const int other = t.Input("other", {1, 2, kLarge, kLarge});
    const int rest = t.Op("rest", OpKind::kSub, {square, tanh});
    const int more = t.Op("more", OpKind::kAdd, {other, rest});
    return std::vector{t.Op("y", OpKind::kMax, {v, more})};
  };
  EXPECT_THAT(FuseBehindBias(both),
              ElementsAre("conv sum square tanh rest more y -> add(channel:float32);mul(%1);tanh;"
                          "sub(%2,first);add(tensor:float32);max(%1)"));
}

TEST(FuseGroups, DiamondsThatDoNotCloseStayOutside) {
  const auto leaves = [](TestGraph& t, int v) {  // an intermediate value is an output
    const int gate = t.Op("gate", OpKind::kSigmoid, {v});
    return std::vector{gate, t.Op("y", OpKind::kMul, {v, gate})};
  };
  EXPECT_THAT(FuseBehindBias(leaves), ElementsAre("conv sum -> add(channel:float32)", "gate", "y"));
  const auto divides = [](TestGraph& t, int v) {  // the divisor may be close to zero
    const int gate = t.Op("gate", OpKind::kTanh, {v});
    return std::vector{t.Op("y", OpKind::kDiv, {gate, v})};
  };
  EXPECT_THAT(FuseBehindBias(divides), ElementsAre("conv sum -> add(channel:float32)", "gate y"));
  const auto casts = [](TestGraph& t, int v) {
    const int whole = t.Cast("whole", kFloat32, t.Cast("cut", kInt32, v));
    return std::vector{t.Op("y", OpKind::kSub, {v, whole})};
  };
  EXPECT_THAT(FuseBehindBias(casts).front(), "conv sum -> add(channel:float32)");
  const auto many = [](TestGraph& t, int v) {  // doubles the expression each time
    for (int i = 0; i < 12; ++i) v = t.Op("v" + std::to_string(i), OpKind::kMul, {v, v});
    return std::vector{v};
  };
  EXPECT_THAT(FuseBehindBias(many).front(),
              "conv sum v0 v1 v2 v3 v4 v5 v6 -> add(channel:float32);mul(%1);mul(%2);mul(%3);"
              "mul(%4);mul(%5);mul(%6);mul(%7)");
}

Operator MeanOfRows() {
  Operator mean{OpKind::kReduceMean, {}};
  mean.attributes.axes = {-1};
  mean.attributes.keepdims = true;
  return mean;
}

// Layer normalization of `x` from basic operators, whose names begin with `name`.
int Normalized(TestGraph& t, const std::string& name, int x) {
  const int mean = t.Op(name + "mean", MeanOfRows(), {x});
  const int centred = t.Op(name + "centred", OpKind::kSub, {x, mean});
  const int square = t.Op(name + "square", OpKind::kMul, {centred, centred});
  const int variance = t.Op(name + "variance", MeanOfRows(), {square});
  const int root = t.Op(name + "root", OpKind::kSqrt, {variance});
  const int unit = t.Op(name + "unit", OpKind::kDiv, {centred, root});
  return t.Op(name + "y", OpKind::kMul, {unit, t.Constant(name + "s", MakeRange(kFloat32, {4}))});
}

TEST(FuseGroups, RowsAreOneGroup) {
  TestGraph t;
  const int x = t.Input("x", {2, 3, 4});
  const int sum = t.Op("sum", OpKind::kAdd, {x, t.Input("residual", {2, 3, 4})});
  t.graph.SetOutputs({Normalized(t, "", sum)});
  EXPECT_THAT(Fuse(t.graph), ElementsAre("sum mean centred square variance root unit y"));
  auto narrow = FuseGroups(t.graph, FuseRule::kUntilInt8);
  ASSERT_TRUE(narrow.ok());
  EXPECT_GT(narrow->size(), 3u);
}

TEST(FuseGroups, RowsEndWhereSomebodyElseReads) {
  TestGraph t;
  const int x = t.Input("x", {2, 3, 4});
  const int first = Normalized(t, "a_", t.Op("sum", OpKind::kAdd, {x, x}));
  const int second = Normalized(t, "b_", first);
  t.graph.SetOutputs({t.Op("both", OpKind::kAdd, {first, second})});
  EXPECT_THAT(Fuse(t.graph),
              ElementsAre("sum a_mean a_centred a_square a_variance a_root a_unit a_y b_mean "
                          "b_centred b_square b_variance b_root b_unit b_y both"));
  t.graph.SetOutputs({second, first, static_cast<int>(t.graph.size()) - 1});
  EXPECT_THAT(Fuse(t.graph),
              ElementsAre("sum a_mean a_centred a_square a_variance a_root a_unit a_y",
                          "b_mean b_centred b_square b_variance b_root b_unit b_y", "both"));
}

TEST(FuseGroups, RowsTakeNothingThatIsMadeOfThem) {
  TestGraph t;
  const int x = t.Input("x", {6, 4});
  const int y = Normalized(t, "", x);
  Operator dense{OpKind::kDense, {}};
  const int p = t.Op("p", dense, {y, t.Constant("w", MakeRange(kFloat32, {4, 4}))});
  t.graph.SetOutputs({t.Op("sum", OpKind::kAdd, {y, p})});
  EXPECT_THAT(Fuse(t.graph), ElementsAre("mean centred square variance root unit y",
                                         "p sum -> add(tensor:float32)"));
}

TEST(FuseGroups, MaskAndSoftmaxAreOneGroup) {
  for (const std::int64_t axis : {-1, 1}) {
    TestGraph t;
    const int x = t.Input("x", {2, 3, 4});
    const int masked = t.Op("masked", OpKind::kAdd, {x, t.Input("mask", {1, 4})});
    Operator softmax{OpKind::kSoftmax, {}};
    softmax.attributes.axis = axis;
    t.graph.SetOutputs({t.Op("y", softmax, {masked})});
    if (axis == -1) {
      EXPECT_THAT(Fuse(t.graph), ElementsAre("masked y"));
    } else {
      EXPECT_THAT(Fuse(t.graph), ElementsAre("masked", "y"));
    }
  }
}

// Two heads of attention that are split and joined by positions. `also`: one of its values that is
// also an output of the graph.
std::vector<std::string> JoinedNames(std::string_view also) {
  TestGraph t;
  Operator turn{OpKind::kTranspose, {}}, shape{OpKind::kReshape, {}}, softmax{OpKind::kSoftmax, {}};
  turn.attributes.axes = {1, 0, 2};
  shape.attributes.new_shape = {9, 8};
  softmax.attributes.axis = -1;
  const int q = t.Op("q_turned", turn, {t.Input("q", {9, 2, 4})});
  const int k = t.Op("k_turned", turn, {t.Input("k", {7, 2, 4})});
  const int scores = t.Op("scores", OpKind::kBatchMatmul, {q, k});
  const int masked = t.Op("masked", OpKind::kAdd, {scores, t.Input("mask", {1, 1, 7})});
  const int chances = t.Op("chances", softmax, {masked});
  const int seen = t.Op("seen", OpKind::kBatchMatmul, {chances, t.Input("v", {2, 4, 7})});
  const int back = t.Op("back", turn, {seen});
  std::vector<int> outputs{t.Op("joined", shape, {back})};
  for (int id = 0; id < t.graph.size(); ++id) {
    if (t.graph.node(id).name == also) outputs.push_back(id);
  }
  t.graph.SetOutputs(outputs);
  auto groups = FuseGroups(t.graph);
  EXPECT_TRUE(groups.ok()) << groups.status().message();
  std::vector<std::string> names;
  for (const JoinedGroups& joined : FindAttention(t.graph, *groups)) {
    std::string text;
    for (int id : joined.whole.nodes) text += t.graph.node(id).name + " ";
    text += "of";
    for (int id : joined.whole.inputs) text += " " + t.graph.node(id).name;
    names.push_back(text);
    EXPECT_EQ(joined.whole.output, joined.whole.nodes.back());
  }
  return names;
}

TEST(FindAttention, TakesProductsRowsAndMoves) {
  EXPECT_THAT(JoinedNames(""), ElementsAre("q_turned k_turned scores masked chances seen back of "
                                           "q k mask v"));
}

TEST(FindAttention, LeavesWhatOthersRead) {
  EXPECT_THAT(JoinedNames("scores"), ElementsAre());
  EXPECT_THAT(JoinedNames("masked"), ElementsAre());
  EXPECT_THAT(JoinedNames("chances"), ElementsAre());
  EXPECT_THAT(JoinedNames("k_turned"),
              ElementsAre("q_turned scores masked chances seen back of q k_turned mask v"));
  EXPECT_THAT(JoinedNames("seen"), ElementsAre("q_turned k_turned scores masked chances seen of "
                                               "q k mask v"));
}

TEST(FuseGroups, PackedBiasIsPerChannel) {
  TestGraph t;
  const int x = t.Input("x", {1, 1, 2, 2, 1, 16}, kInt8);
  Operator conv{OpKind::kConv2d, {}};
  conv.attributes.data_layout = "NCHW1n16c";
  conv.attributes.kernel_layout = "OIHW16o16i";
  conv.attributes.dtype = kInt32;
  const int c = t.Op("conv", conv, {x, t.Constant("w", MakeRange(kInt8, {2, 1, 1, 1, 16, 16}))});
  t.graph.SetOutputs(
      {t.Op("y", OpKind::kAdd, {c, t.Constant("b", MakeRange(kInt32, {2, 1, 1, 1, 16}))})});
  EXPECT_THAT(Fuse(t.graph), ElementsAre("conv y -> add(channel:int32)"));
}

TEST(FuseGroups, OtherOperatorsMakeChains) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 4, 4});
  Operator pool{OpKind::kMaxPool2d, {}};
  pool.attributes.pool_size = {2, 2};
  pool.attributes.data_layout = "NCHW";
  Operator concat{OpKind::kConcat, {}};
  concat.attributes.axis = 1;
  Operator flat{OpKind::kReshape, {}};
  flat.attributes.new_shape = {36};
  const int relu = t.Op("relu", OpKind::kRelu, {t.Op("pool", pool, {x})});
  const int both = t.Op("concat", concat, {relu, relu});
  const int exp = t.Op("exp", OpKind::kExp, {both});
  t.graph.SetOutputs({t.Op("y", OpKind::kIdentity, {t.Op("flat", flat, {exp})})});
  EXPECT_THAT(Fuse(t.graph), ElementsAre("pool relu", "concat", "exp", "flat y (alias)"));
}

TEST(FuseGroups, CutsChainsThatWouldTakeLongToCompile) {
  Graph graph;
  int last = graph.AddInput("x", TensorType{{4}, kFloat32});
  for (int i = 0; i < 300; ++i) {
    const OpKind kind = i % 2 == 0 ? OpKind::kExp : OpKind::kNegate;
    last = *graph.AddOperator("v" + std::to_string(i), Operator{kind, {}}, {last});
  }
  graph.SetOutputs({last});
  const auto groups = FuseGroups(graph);
  ASSERT_TRUE(groups.ok());
  std::vector<std::size_t> sizes;
  for (const FusedGroup& group : *groups) sizes.push_back(group.nodes.size());
  EXPECT_THAT(sizes, ElementsAre(128, 128, 44));
}

// The text of a task's epilogue can be parsed again, also for long chains and for long steps.
TEST(FuseGroups, EpiloguesAreOnesThatParseTakes) {
  const auto check = [](const char* what, const std::function<int(TestGraph&, int, int)>& step,
                        std::size_t most) {
    TestGraph t;
    const int w = t.Constant("w", MakeRange(kFloat32, {2, 2, 1, 1}));
    int value = t.Op("conv", Conv(), {t.Input("x", {1, 2, kLarge, kLarge}), w});
    for (int i = 0; i < 100; ++i) value = step(t, value, i);
    t.graph.SetOutputs({value});
    const auto groups = FuseGroups(t.graph);
    ASSERT_TRUE(groups.ok());
    ASSERT_GE(groups->size(), 2U) << what;
    const Epilogue& epilogue = groups->front().epilogue;
    EXPECT_LE(epilogue.steps.size(), most) << what;
    EXPECT_GE(epilogue.steps.size() + 2, most) << what;
    const auto back = Epilogue::Parse(epilogue.ToString());
    ASSERT_TRUE(back.ok()) << what << ": " << back.status().message();
    EXPECT_EQ(*back, epilogue) << what;
  };
  check(
      "one input",
      [](TestGraph& t, int value, int i) {
        return t.Op("v" + std::to_string(i), i % 2 == 0 ? OpKind::kExp : OpKind::kNegate, {value});
      },
      64);
  check(
      "two inputs",
      [](TestGraph& t, int value, int i) {
        const std::string name = std::to_string(i);
        return t.Op("v" + name, OpKind::kAdd,
                    {value, t.Constant("c" + name, MakeRange(kFloat32, {1}))});
      },
      64);
  check(
      "used again",
      [](TestGraph& t, int value, int i) {
        const std::string name = std::to_string(i);
        const int sigmoid = t.Op("s" + name, OpKind::kSigmoid, {value});
        return t.Op("m" + name, OpKind::kMul, {value, sigmoid});
      },
      14);
}

TEST(ExtractTasks, ChoosesTheMostFrequentEpilogue) {
  TestGraph t;
  int value = t.Input("x", {1, 2, 2, 2});
  const int w = t.Constant("w", MakeRange(kFloat32, {2, 2, 1, 1}));
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i);
    value = t.Op("c" + name, Conv(), {value, w});
    value = t.Op("f" + name, i == 0 ? OpKind::kTanh : OpKind::kRelu, {value});
  }
  t.graph.SetOutputs({value});
  auto tasks = ExtractTasks(t.graph);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 1U);
  EXPECT_THAT((*tasks)[0].sites, ElementsAre("c0", "c1", "c2"));
  EXPECT_EQ((*tasks)[0].epilogue.ToString(), "relu");
}

TEST(DescribeGraph, CountsOperatorsAndParameters) {
  TestGraph t;
  const int x = t.Input("x", {1, 2, 2, 2});
  const int conv = t.Op("conv", Conv(), {x, t.Constant("w", MakeRange(kFloat32, {3, 2, 1, 1}))});
  t.graph.SetOutputs({t.Op("y", OpKind::kRelu, {conv})});
  t.graph.name = "net";
  EXPECT_EQ(DescribeGraph(t.graph),
            "network     net\n"
            "input       x float32[1,2,2,2]\n"
            "output      y float32[1,3,2,2]\n"
            "parameters  6 in 24 B\n"
            "MACs        24\n"
            "operators   2\n"
            "  conv2d                   1\n"
            "  relu                     1\n");
  EXPECT_NE(DescribeGraphJson(t.graph).find("\"macs\": 24"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
