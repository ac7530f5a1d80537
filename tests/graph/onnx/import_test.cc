// Each operator, with numbers small enough to check by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;
using Doubles = std::vector<double>;

// Model of y = op(x, further initializers…), where x has the given contents.
class OneNode {
 public:
  OneNode(std::int64_t opset, const std::string& op, Tensor x) : model_(opset), x_(std::move(x)) {
    const bool is_float = x_.dtype().is_float();
    const auto type = is_float               ? onnx::TensorProto::FLOAT
                      : x_.dtype() == kInt32 ? onnx::TensorProto::INT32
                      : x_.dtype() == kInt8  ? onnx::TensorProto::INT8
                                             : onnx::TensorProto::UINT8;
    model_.Input("x", x_.shape(), type).Output("y").Node(op, {"x"}, {"y"});
  }
  OneNode& With(const Tensor& operand) {
    auto* node = model_.proto().mutable_graph()->mutable_node(0);
    const std::string name = "operand" + std::to_string(node->input_size());
    node->add_input(name);
    model_.Initializer(name, operand);
    return *this;
  }
  OneNode& Skip() {
    model_.proto().mutable_graph()->mutable_node(0)->add_input("");
    return *this;
  }
  OnnxBuilder& model() { return model_; }
  Tensor Run() const { return EvaluateModel(model_, {&x_}); }

 private:
  OnnxBuilder model_;
  Tensor x_;
};

TEST(OnnxImport, ConvPadsEachSideByItself) {
  OneNode conv(13, "Conv", MakeRange(kFloat32, {1, 1, 2, 2}, 1));
  conv.With(MakeTensor(kFloat32, {1, 1, 2, 2}, {1, 10, 100, 1000}));
  conv.With(MakeTensor(kFloat32, {1}, {0.5})).model().IntList("pads", {1, 0, 0, 1});
  const Tensor y = conv.Run();
  EXPECT_THAT(y.shape(), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(ValuesOf(y), ElementsAre(2100.5, 200.5, 4321.5, 402.5));
}

// Weights, a normalization, scalars and a matrix product in half precision, as such models contain
// them.
TEST(OnnxImport, TakesModelsInHalfPrecision) {
  OnnxBuilder model;
  const Tensor x = MakeRange(kFloat16, {1, 2, 4, 4}, -1, 0.0625);
  model.Input("x", x.shape(), onnx::TensorProto::FLOAT16).Output("y");
  model.Initializer("w", MakeRange(kFloat16, {8, 2, 3, 3}, -0.5, 0.0078125));
  model.Initializer("b", MakeRange(kFloat16, {8}, 0, 0.25));
  model.Node("Conv", {"x", "w", "b"}, {"c"}).IntList("pads", {1, 1, 1, 1});
  for (const char* name : {"gamma", "beta", "mean", "var"}) {
    model.Initializer(name, MakeRange(kFloat16, {8}, 1, 0.125));
  }
  model.Node("BatchNormalization", {"c", "gamma", "beta", "mean", "var"}, {"n"});
  model.Initializer("low", MakeTensor(kFloat16, {}, {0}));
  model.Initializer("high", MakeTensor(kFloat16, {}, {6}));
  model.Node("Clip", {"n", "low", "high"}, {"r"});
  model.Node("GlobalAveragePool", {"r"}, {"p"}).Node("Flatten", {"p"}, {"f"});
  model.Initializer("m", MakeRange(kFloat16, {8, 4}, -1, 0.0625));
  model.Node("MatMul", {"f", "m"}, {"d"}).Node("Softmax", {"d"}, {"y"});

  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto tasks = ExtractTasks(*graph);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 2U);
  EXPECT_EQ((*tasks)[0].workload.Key(),
            "conv2d(float16[1,2,4,4]NCHW,float16[8,2,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float16");
  EXPECT_EQ((*tasks)[0].epilogue.ToString(),
            "add(channel:float16);mul(channel:float16);add(channel:float16);clip(0,6)");
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_EQ(y.dtype(), kFloat16);
  double sum = 0;
  for (const double value : ValuesOf(y)) sum += value;
  EXPECT_NEAR(sum, 1, 0.002);
}

TEST(OnnxImport, ConvResolvesAutoPad) {
  for (const auto& [mode, first] : {std::pair("SAME_UPPER", 4.0), std::pair("SAME_LOWER", 1.0)}) {
    OneNode conv(13, "Conv", MakeTensor(kFloat32, {1, 1, 2, 2}, {1, 1, 1, 1}));
    conv.With(MakeTensor(kFloat32, {1, 1, 2, 2}, {1, 1, 1, 1})).model().Text("auto_pad", mode);
    const Tensor y = conv.Run();
    EXPECT_THAT(y.shape(), ElementsAre(1, 1, 2, 2));
    EXPECT_EQ(y.At(0), first) << mode;
  }
}

TEST(OnnxImport, ConvTakesGroupsAndDilation) {
  OneNode conv(13, "Conv", MakeRange(kFloat32, {1, 2, 3, 3}, 1));
  conv.With(MakeTensor(kFloat32, {2, 1, 2, 2}, {1, 1, 1, 1, 2, 2, 2, 2}));
  conv.model().Int("group", 2).IntList("dilations", {2, 2});
  EXPECT_THAT(ValuesOf(conv.Run()), ElementsAre(1 + 3 + 7 + 9, 2 * (10 + 12 + 16 + 18)));
}

TEST(OnnxImport, GemmScalesAndTransposes) {
  OneNode gemm(13, "Gemm", MakeTensor(kFloat32, {2, 1}, {1, 2}));  // A^T = [1 2]
  gemm.With(MakeTensor(kFloat32, {2, 2}, {1, 2, 3, 4})).With(MakeTensor(kFloat32, {2}, {1, 1}));
  gemm.model().Int("transA", 1).Float("alpha", 2).Float("beta", 10);
  EXPECT_THAT(ValuesOf(gemm.Run()), ElementsAre(2 * 7 + 10, 2 * 10 + 10));
}

TEST(OnnxImport, MatMulOfTwoDimensionsIsDense) {
  OneNode product(13, "MatMul", MakeTensor(kFloat32, {1, 2, 2}, {1, 2, 3, 4}));
  product.With(MakeTensor(kFloat32, {2, 1}, {10, 1}));
  const Tensor y = product.Run();
  EXPECT_THAT(y.shape(), ElementsAre(1, 2, 1));
  EXPECT_THAT(ValuesOf(y), ElementsAre(12, 34));
}

TEST(OnnxImport, MatMulBroadcastsBatches) {
  OneNode product(13, "MatMul", MakeTensor(kFloat32, {2, 1, 2}, {1, 2, 3, 4}));
  product.With(MakeTensor(kFloat32, {1, 2, 2}, {1, 2, 3, 4}));
  const Tensor y = product.Run();
  EXPECT_THAT(y.shape(), ElementsAre(2, 1, 2));
  EXPECT_THAT(ValuesOf(y), ElementsAre(7, 10, 15, 22));
}

TEST(OnnxImport, MatMulDropsVectorDimensions) {
  OneNode product(13, "MatMul", MakeTensor(kFloat32, {2}, {1, 2}));
  product.With(MakeTensor(kFloat32, {2}, {10, 1}));
  const Tensor y = product.Run();
  EXPECT_TRUE(y.shape().empty());
  EXPECT_EQ(y.At(0), 12);
}

TEST(OnnxImport, ClipHasAttributesOrInputs) {
  OneNode old(6 + 1, "Clip", MakeTensor(kFloat32, {3}, {-1, 3, 9}));
  old.model().Float("min", 0).Float("max", 6);
  EXPECT_THAT(ValuesOf(old.Run()), ElementsAre(0, 3, 6));
  OneNode inputs(11, "Clip", MakeTensor(kFloat32, {3}, {-1, 3, 9}));
  inputs.With(MakeTensor(kFloat32, {}, {1})).With(MakeTensor(kFloat32, {}, {4}));
  EXPECT_THAT(ValuesOf(inputs.Run()), ElementsAre(1, 3, 4));
  OneNode upper(11, "Clip", MakeTensor(kFloat32, {3}, {-1, 3, 9}));
  upper.Skip().With(MakeTensor(kFloat32, {}, {4}));
  EXPECT_THAT(ValuesOf(upper.Run()), ElementsAre(-1, 3, 4));
}

// Relay text, for example, has no clip with an infinite bound.
TEST(OnnxImport, InfiniteBoundsAreNone) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double low : {-kInfinity, 0.0}) {
    OneNode node(13, "Clip", MakeTensor(kFloat32, {3}, {-1, 3, 9}));
    node.With(MakeTensor(kFloat32, {}, {low})).With(MakeTensor(kFloat32, {}, {kInfinity}));
    EXPECT_THAT(ValuesOf(node.Run()), ElementsAre(low == 0 ? 0 : -1, 3, 9));
    const auto graph = node.model().Import();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    for (const Node& imported : graph->nodes()) {
      EXPECT_NE(imported.op.kind, OpKind::kClip);
    }
  }
}

TEST(OnnxImport, SoftmaxFlattensUpToSet12) {
  OneNode old(12, "Softmax", MakeTensor(kFloat32, {1, 2, 2}, {0, 0, 0, 0}));
  EXPECT_THAT(ValuesOf(old.Run()), ElementsAre(0.25, 0.25, 0.25, 0.25));
  OneNode since(13, "Softmax", MakeTensor(kFloat32, {1, 2, 2}, {0, 0, 0, 0}));
  EXPECT_THAT(ValuesOf(since.Run()), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(OnnxImport, AveragePoolLeavesPaddingOut) {
  OneNode pool(13, "AveragePool", MakeTensor(kFloat32, {1, 1, 1, 2}, {2, 4}));
  pool.model().IntList("kernel_shape", {1, 2}).IntList("pads", {0, 1, 0, 0});
  EXPECT_THAT(ValuesOf(pool.Run()), ElementsAre(2, 3));
  pool.model().Int("count_include_pad", 1);
  EXPECT_THAT(ValuesOf(pool.Run()), ElementsAre(1, 3));
}

TEST(OnnxImport, SplitMakesOneValuePerPart) {
  OnnxBuilder model(13);
  const Tensor x = MakeRange(kFloat32, {1, 6});
  model.Input("x", {1, 6}).Output("y");
  model.Initializer("sizes", MakeTensor(kInt64, {3}, {1, 2, 3}));
  model.Node("Split", {"x", "sizes"}, {"a", "b", "c"}).Int("axis", 1);
  model.Node("Concat", {"c", "a"}, {"y"}).Int("axis", -1);
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(3, 4, 5, 0));
}

TEST(OnnxImport, SliceCountsFromTheEndAndBackwards) {
  OneNode slice(13, "Slice", MakeRange(kFloat32, {2, 4}));
  slice.With(MakeTensor(kInt64, {2}, {-1, -1}));
  slice.With(MakeTensor(kInt64, {2}, {9, -1e9})).With(MakeTensor(kInt64, {2}, {0, 1}));
  slice.With(MakeTensor(kInt64, {2}, {1, -2}));
  EXPECT_THAT(ValuesOf(slice.Run()), ElementsAre(7, 5));
}

TEST(OnnxImport, SliceEndMayBeTheLargestNumber) {
  OneNode slice(9, "Slice", MakeRange(kFloat32, {4}));
  slice.model().IntList("starts", {1});
  slice.model().IntList("ends", {std::numeric_limits<std::int64_t>::max()});
  EXPECT_THAT(ValuesOf(slice.Run()), ElementsAre(1, 2, 3));
}

TEST(OnnxImport, PadSurroundsAndCrops) {
  OneNode pad(13, "Pad", MakeRange(kFloat32, {1, 3}, 1));
  pad.With(MakeTensor(kInt64, {4}, {0, 1, 0, -1})).With(MakeTensor(kFloat32, {}, {9}));
  EXPECT_THAT(ValuesOf(pad.Run()), ElementsAre(9, 1, 2));
}

TEST(OnnxImport, GatherTakesNegativeIndices) {
  OneNode gather(13, "Gather", MakeRange(kFloat32, {3, 2}));
  gather.With(MakeTensor(kInt64, {2}, {-1, 0}));
  EXPECT_THAT(ValuesOf(gather.Run()), ElementsAre(4, 5, 0, 1));
}

TEST(OnnxImport, ReduceMeanKeepsOrDropsDimensions) {
  OneNode keep(13, "ReduceMean", MakeRange(kFloat32, {1, 2, 2}));
  keep.model().IntList("axes", {-1});
  EXPECT_THAT(keep.Run().shape(), ElementsAre(1, 2, 1));
  OneNode drop(18, "ReduceMean", MakeRange(kFloat32, {1, 2, 2}));
  drop.With(MakeTensor(kInt64, {2}, {1, 2})).model().Int("keepdims", 0);
  const Tensor y = drop.Run();
  EXPECT_THAT(y.shape(), ElementsAre(1));
  EXPECT_EQ(y.At(0), 1.5);
}

TEST(OnnxImport, PReluScalesNegativeValues) {
  OneNode prelu(13, "PRelu", MakeTensor(kFloat32, {3}, {-2, 0, 3}));
  prelu.With(MakeTensor(kFloat32, {1}, {0.5}));
  EXPECT_THAT(ValuesOf(prelu.Run()), ElementsAre(-1, 0, 3));
}

TEST(OnnxImport, SqueezeAndUnsqueezeCountAxesFromTheEnd) {
  OneNode squeeze(11, "Squeeze", MakeRange(kFloat32, {1, 2, 1}));
  squeeze.model().IntList("axes", {-1});
  EXPECT_THAT(squeeze.Run().shape(), ElementsAre(1, 2));
  OneNode unsqueeze(13, "Unsqueeze", MakeRange(kFloat32, {2}));
  unsqueeze.With(MakeTensor(kInt64, {2}, {0, -1}));
  EXPECT_THAT(unsqueeze.Run().shape(), ElementsAre(1, 2, 1));
}

TEST(OnnxImport, ReshapeCopiesZeroAndFillsMinusOne) {
  OneNode reshape(13, "Reshape", MakeRange(kFloat32, {2, 3, 4}));
  reshape.With(MakeTensor(kInt64, {3}, {0, -1, 2}));
  EXPECT_THAT(reshape.Run().shape(), ElementsAre(2, 6, 2));
}

// Shape -> Gather -> Concat -> Reshape, which exporters write to flatten all but the first
// dimension.
TEST(OnnxImport, FoldsShapeArithmetic) {
  OnnxBuilder model(13);
  model.Input("x", {2, 3, 4}).Output("y");
  model.Initializer("zero", MakeTensor(kInt64, {}, {0}));
  model.Initializer("rest", MakeTensor(kInt64, {1}, {-1}));
  model.Initializer("axis", MakeTensor(kInt64, {1}, {0}));
  model.Node("Shape", {"x"}, {"shape"}).Node("Gather", {"shape", "zero"}, {"first"});
  model.Node("Unsqueeze", {"first", "axis"}, {"list"});
  model.Node("Concat", {"list", "rest"}, {"target"}).Int("axis", 0);
  model.Node("Reshape", {"x", "target"}, {"y"});
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->size(), 2);  // the input and the reshape
  EXPECT_EQ(graph->node(1).type.ToString(), "float32[2,12]");
}

TEST(OnnxImport, ConstantOfShapeTakesNoMemoryUntilRead) {
  OnnxBuilder model(9);
  model.Input("x", {1}).Output("y").Initializer("shape", MakeTensor(kInt64, {2}, {65536, 65536}));
  model.Node("ConstantOfShape", {"shape"}, {"w"}).Contents("value", MakeTensor(kFloat32, {1}, {2}));
  model.Node("Add", {"x", "w"}, {"y"});
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_NE(graph->Fill(1), nullptr);
  EXPECT_EQ(*graph->Fill(1), 2);
  EXPECT_EQ(graph->node(1).name, "w");
}

TEST(OnnxImport, ReadsEveryFormOfConstant) {
  OnnxBuilder model(13);
  model.Input("x", {2}).Output("y");
  auto* typed = model.proto().mutable_graph()->add_initializer();
  typed->set_name("typed");
  typed->set_data_type(onnx::TensorProto::FLOAT);
  typed->add_dims(2);
  typed->add_float_data(1);
  typed->add_float_data(2);
  model.Node("Constant", {}, {"one"}).Float("value_float", 10);
  model.Node("Sum", {"x", "typed", "one"}, {"y"});
  const Tensor x = MakeTensor(kFloat32, {2}, {100, 200});
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(111, 212));
}

TEST(OnnxImport, OrdersNodesThatCameUnsorted) {
  OnnxBuilder model(13);
  model.Input("x", {2}).Output("y").Node("Relu", {"t"}, {"y"}).Node("Neg", {"x"}, {"t"});
  const Tensor x = MakeTensor(kFloat32, {2}, {-3, 4});
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(3, 0));
}

TEST(OnnxImport, SymbolicBatchIsOne) {
  OnnxBuilder model(13);
  model.Input("x", {-1, 3}).Output("y").Node("Relu", {"x"}, {"y"});
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->node(0).type.ToString(), "float32[1,3]");
}

TEST(OnnxImport, DropoutHandsItsInputThrough) {
  OneNode dropout(9, "Dropout", MakeRange(kFloat32, {3}));
  dropout.model().proto().mutable_graph()->mutable_node(0)->add_output("mask");
  EXPECT_THAT(ValuesOf(dropout.Run()), ElementsAre(0, 1, 2));
}

TEST(OnnxImport, RightShiftOfTheOwnDomainIsArithmetic) {
  OnnxBuilder model(13);
  model.Input("x", {2}, onnx::TensorProto::INT32).Output("y");
  model.Initializer("by", MakeTensor(kInt32, {}, {2}));
  model.Node("RightShift", {"x", "by"}, {"y"}, "ai.tilewright");
  const Tensor x = MakeTensor(kInt32, {2}, {-5, 9});
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(-2, 2));
}

TEST(OnnxImport, BiasKeepsTheNameOfTheSource) {
  OneNode conv(13, "Conv", MakeRange(kFloat32, {1, 1, 1, 1}, 1));
  conv.With(MakeTensor(kFloat32, {1, 1, 1, 1}, {2})).With(MakeTensor(kFloat32, {1}, {1}));
  auto graph = conv.model().Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Node& sum = graph->node(graph->outputs()[0]);
  EXPECT_EQ(sum.name, "y");
  EXPECT_EQ(graph->node(sum.inputs[0]).op.kind, OpKind::kConv2d);
  EXPECT_EQ(SourceName(graph->node(sum.inputs[0]).name), "y");
}

}  // namespace
}  // namespace tilewright
