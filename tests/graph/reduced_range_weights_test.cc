// Which operators are marked as having reduced-range weights: those with checked constants.

#include <gtest/gtest.h>

#include <cmath>

#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

/// Dense layers in sequence. Each weight has one nonzero element, from `values`; with kNone the
/// weight has no contents.
constexpr int kNone = 1000;
Graph Layers(const std::vector<int>& values) {
  Graph graph;
  int data = graph.AddInput("data", {{1, 8}, kUInt8});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = "w" + std::to_string(i);
    Tensor weight(TensorType{{8, 8}, kInt8});
    if (values[i] != kNone) weight.Set(63, values[i]);
    const int constant = values[i] == kNone ? graph.AddConstant(name, weight.type())
                                            : graph.AddConstant(name, std::move(weight));
    OpAttributes attributes;
    attributes.dtype = kInt32;
    auto sums =
        graph.AddOperator("v" + std::to_string(i), {OpKind::kDense, attributes}, {data, constant});
    EXPECT_TRUE(sums.ok()) << sums.status().message();
    OpAttributes cast;
    cast.dtype = kUInt8;
    auto bytes = graph.AddOperator("b" + std::to_string(i), {OpKind::kCast, cast}, {*sums});
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    data = *bytes;
  }
  graph.SetOutputs({data});
  return graph;
}

TEST(SetReducedRangeWeights, LooksAtEveryWeight) {
  auto stated = SetReducedRangeWeights(Layers({64, 65, -64, -65, 127, -128, kNone, 0}));
  ASSERT_TRUE(stated.ok()) << stated.status().message();
  std::string said;
  for (const Node& node : stated->nodes()) {
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kDense) continue;
    said += node.op.attributes.reduced_range_weights ? 'n' : '-';
  }
  EXPECT_EQ(said, "n-n----n");
  const auto tasks = ExtractTasks(*stated);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 2U);
  EXPECT_EQ((*tasks)[0].workload.Key(), "dense(uint8[1,8]MK,int8[8,8]NK,w64)->int32");
  EXPECT_EQ((*tasks)[1].workload.Key(), "dense(uint8[1,8]MK,int8[8,8]NK)->int32");
}

// A model of one product whose weight contains `value` among others nearer to `zero`, as importers
// see it: "MatMul" and "Conv" between DequantizeLinear and QuantizeLinear, as ONNX Runtime's static
// quantization writes them, or an integer product.
OnnxBuilder OneProduct(const std::string& op, DataType dtype, double zero, double value) {
  const bool image = op == "ConvInteger" || op == "Conv";
  const bool integers = op.ends_with("Integer");
  OnnxBuilder model(13);
  model.Input("x", image ? Ints{1, 6, 9} : Ints{2, 6}, onnx::TensorProto::UINT8);
  Tensor weight = MakeRange(dtype, image ? Ints{4, 6, 3} : Ints{6, 4}, zero - 9, 0.25);
  weight.Set(weight.elements() - 2, value);
  model.Initializer("w", weight).Initializer("x_zero", MakeTensor(kUInt8, {}, {7}));
  const Ints channels = integers ? Ints{} : Ints{4};
  const std::vector<double> zeros(integers ? 1 : 4, zero), scales(zeros.size(), 0.02);
  model.Initializer("w_zero", MakeTensor(dtype, channels, zeros));
  if (integers) {
    model.Node(op, {"x", "w", "x_zero", "w_zero"}, {"y"}).Output("y");
    return model;
  }
  model.Initializer("w_scale", MakeTensor(kFloat32, channels, scales));
  model.Initializer("scale", MakeTensor(kFloat32, {}, {0.5}));
  model.Node("DequantizeLinear", {"x", "scale", "x_zero"}, {"x_dq"});
  model.Node("DequantizeLinear", {"w", "w_scale", "w_zero"}, {"w_dq"}).Int("axis", image ? 0 : 1);
  model.Node(op, {"x_dq", "w_dq"}, {"sums"});
  model.Node("QuantizeLinear", {"sums", "scale", "x_zero"}, {"y"}).Output("y");
  return model;
}

TEST(SetReducedRangeWeights, LooksThroughWhatImportersDoToWeights) {
  const struct {
    const char* op;
    DataType dtype;
    double zero;
  } cases[] = {
      {"MatMulInteger", kInt8, 0},     // transposed
      {"MatMulInteger", kUInt8, 128},  // widened, centered, narrowed, transposed
      {"MatMul", kInt8, 0},           {"MatMul", kUInt8, 128},
      {"ConvInteger", kInt8, 0},  // one-dimensional: reshaped
      {"ConvInteger", kUInt8, 128},   {"Conv", kInt8, 0},
  };
  for (const auto& c : cases) {
    for (const double value : {64.0, 65.0, -64.0, -65.0}) {
      SCOPED_TRACE(testing::Message() << c.op << " of " << DataTypeName(c.dtype) << ": " << value);
      auto graph = OneProduct(c.op, c.dtype, c.zero, c.zero + value).Import();
      ASSERT_TRUE(graph.ok()) << graph.status().message();
      auto stated = SetReducedRangeWeights(*std::move(graph));
      ASSERT_TRUE(stated.ok()) << stated.status().message();
      // The mark from before folding is kept after folding.
      auto folded = Optimize(*std::move(stated));
      ASSERT_TRUE(folded.ok()) << folded.status().message();
      int products = 0;
      for (const Node& node : folded->nodes()) {
        if (node.kind != NodeKind::kOperator) continue;
        if (node.op.kind != OpKind::kDense && node.op.kind != OpKind::kConv2d) continue;
        ++products;
        EXPECT_EQ(node.op.attributes.reduced_range_weights, std::abs(value) < 65);
        const Tensor* weight = folded->Contents(node.inputs[1]);
        ASSERT_NE(weight, nullptr);
        EXPECT_EQ(weight->dtype(), kInt8);
      }
      EXPECT_EQ(products, 1);
    }
  }
}

// Weights that are computed from an input or from constants without contents are unknown.
TEST(SetReducedRangeWeights, LooksThroughNothingThatIsNotConstant) {
  OnnxBuilder model(13);
  model.Input("x", {2, 6}, onnx::TensorProto::UINT8).Input("w", {6, 4}, onnx::TensorProto::UINT8);
  model.Initializer("x_zero", MakeTensor(kUInt8, {}, {7}));
  model.Initializer("w_zero", MakeTensor(kUInt8, {}, {128}));
  model.Node("MatMulInteger", {"x", "w", "x_zero", "w_zero"}, {"y"}).Output("y");
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto stated = SetReducedRangeWeights(*std::move(graph));
  ASSERT_TRUE(stated.ok()) << stated.status().message();
  int products = 0;
  for (const Node& node : stated->nodes()) {
    if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kDense) continue;
    ++products;
    EXPECT_FALSE(node.op.attributes.reduced_range_weights);
  }
  EXPECT_EQ(products, 1);
}

TEST(SetReducedRangeWeights, StaysWhenTheGraphIsOptimized) {
  auto stated = SetReducedRangeWeights(Layers({64, 1, -3}));
  ASSERT_TRUE(stated.ok()) << stated.status().message();
  auto optimized = Optimize(*std::move(stated));
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  int layers = 0;
  for (const Node& node : optimized->nodes()) {
    if (node.op.kind != OpKind::kDense) continue;
    EXPECT_TRUE(node.op.attributes.reduced_range_weights);
    ++layers;
  }
  EXPECT_EQ(layers, 3);
}

}  // namespace
}  // namespace tilewright
