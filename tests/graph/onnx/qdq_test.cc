// Conversion of float operators between DequantizeLinear and QuantizeLinear into integer operators.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "tests/graph/onnx/builder.h"
#include "tests/graph/onnx/definitions.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Model in which every value can be quantized and dequantized again.
class QdqModel {
 public:
  explicit QdqModel(Ints input, std::int32_t type = onnx::TensorProto::UINT8) : model_(13) {
    model_.Input("x", std::move(input), type);
  }
  OnnxBuilder& model() { return model_; }
  void Parameters(const std::string& value, const std::vector<double>& scales, double zero,
                  DataType dtype) {
    const Ints shape = scales.size() == 1 ? Ints() : Ints{static_cast<std::int64_t>(scales.size())};
    model_.Initializer(value + "_scale", MakeTensor(kFloat32, shape, scales));
    const std::vector<double> zeros(scales.size(), zero);
    model_.Initializer(value + "_zero", MakeTensor(dtype, shape, zeros));
  }
  // value -> value_q -> value_dq
  QdqModel& Quantize(const std::string& value, double scale, double zero, DataType dtype = kUInt8) {
    Parameters(value, {scale}, zero, dtype);
    model_.Node("QuantizeLinear", {value, value + "_scale", value + "_zero"}, {value + "_q"});
    return Dequantize(value);
  }
  QdqModel& Dequantize(const std::string& value, std::int64_t axis = 0) {
    model_.Node("DequantizeLinear", {value + "_q", value + "_scale", value + "_zero"},
                {value + "_dq"});
    model_.Int("axis", axis);
    return *this;
  }
  // Dequantizes the input x.
  QdqModel& DequantizeInput(double scale, double zero) {
    Parameters("x", {scale}, zero, kUInt8);
    model_.Node("DequantizeLinear", {"x", "x_scale", "x_zero"}, {"x_dq"});
    return *this;
  }
  // Dequantizes a constant of quantized numbers.
  QdqModel& Constant(const std::string& value, const Array& numbers, DataType dtype,
                     const std::vector<double>& scales, std::int64_t axis = 0) {
    Parameters(value, scales, 0, dtype);
    model_.Initializer(value + "_q", MakeTensor(dtype, numbers.shape, numbers.v));
    return Dequantize(value, axis);
  }
  Graph Import(const LoadOptions& options = {}) {
    auto graph = ImportOnnx(model_.Bytes(), "test", options);
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return graph.ok() ? *std::move(graph) : Graph();
  }

 private:
  OnnxBuilder model_;
};

std::vector<double> Evaluated(const Graph& graph, const Array& x, DataType dtype = kUInt8) {
  std::vector<Tensor> inputs;
  inputs.push_back(MakeTensor(dtype, x.shape, x.v));
  auto outputs = EvaluateGraph(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return outputs.ok() ? ValuesOf((*outputs)[0]) : std::vector<double>();
}

// Expects no float convolution or product, and no float operator that moves or compares data.
void ExpectIntegersOnly(const Graph& graph) {
  EXPECT_THAT(graph.notes, IsEmpty());
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOperator || IsElementwise(node.op.kind)) continue;
    EXPECT_FALSE(node.type.dtype.is_float()) << node.name << " " << OpName(node.op.kind);
  }
}

const Array kImage = Array::Made({1, 4, 6, 6}, 1, 0, 255);
const Array kWeight = Array::Made({4, 4, 3, 3}, 2, -127, 127);
const Array kBias = Array::Made({4}, 3, -3000, 3000);
const std::vector<double> kScales = {0.01, 0.02, 0.005, 0.04};  // scales of the weight

std::vector<double> BiasScales(double x_scale) {
  std::vector<double> scales;
  for (double scale : kScales) {
    scales.push_back(static_cast<double>(static_cast<float>(x_scale) * static_cast<float>(scale)));
  }
  return scales;
}

// x -> Conv -> `activation` -> y, all quantized.
QdqModel ConvModel(const std::string& activation = "Relu") {
  QdqModel m({1, 4, 6, 6});
  m.DequantizeInput(0.5, 100).Constant("w", kWeight, kInt8, kScales);
  m.Constant("b", kBias, kInt32, BiasScales(0.5));
  m.model().Node("Conv", {"x_dq", "w_dq", "b_dq"}, {"c"}).IntList("pads", {1, 1, 1, 1});
  m.model().Node(activation, {"c"}, {"y"});
  m.Quantize("y", 2, 30);
  m.model().Output("y_q");
  return m;
}

Array ConvSums() {
  const def::Window window{.pads = {1, 1, 1, 1}};
  return def::AddPerChannel(def::Conv(kImage, kWeight, window, 100), kBias.v);
}

TEST(OnnxQdq, ConvBiasAndReluAreOneIntegerKernel) {
  const Graph graph = ConvModel().Import();
  ExpectIntegersOnly(graph);
  Array expected = def::Requantize(ConvSums(), 0.5, kScales, 2, 30, 1, "uint8");
  for (double& value : expected.v) value = std::max(value, 30.0);
  EXPECT_EQ(Evaluated(graph, kImage), expected.v);
  auto tasks = ExtractTasks(graph);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 1U);
  EXPECT_THAT((*tasks)[0].workload.Key(), HasSubstr("uint8[1,4,8,8]NCHW,int8[4,4,3,3]OIHW"));
  EXPECT_EQ((*tasks)[0].epilogue.ToString(),
            "sub(channel:int32);add(channel:int32);cast(float32);mul(channel:float32);round_even;"
            "add(30);clip(30,255);saturate_cast(uint8)");
}

// Integer rounding, computed in exact arithmetic: floor(sum * multiplier / 2^shift + 1/2).
TEST(OnnxQdq, RequantizesByIntegersWhereAsked) {
  const Graph graph = ConvModel().Import({Requantize::kByIntegers});
  const Array sums = ConvSums();
  std::vector<double> expected;
  for (std::size_t i = 0; i < sums.v.size(); ++i) {
    const float factor = 0.5F * static_cast<float>(kScales[i / 36]) / 2.0F;
    int exponent = 0;
    const double multiplier = std::round(std::frexp(factor, &exponent) * 0x1p31);
    const long double product = static_cast<long double>(sums.v[i]) * multiplier;
    const auto rounded =
        static_cast<double>(std::floor(product / std::exp2l(31 - exponent) + 0.5L));
    expected.push_back(std::clamp(rounded + 30, 30.0, 255.0));
  }
  EXPECT_EQ(Evaluated(graph, kImage), expected);
  for (const Node& node : graph.nodes()) {
    const bool computes_floats = node.kind == NodeKind::kOperator && node.type.dtype.is_float();
    EXPECT_FALSE(computes_floats) << node.name;
  }
}

TEST(OnnxQdq, ReluOfSixBoundsTheNumbers) {
  QdqModel m({1, 4, 6, 6});
  m.DequantizeInput(0.5, 100);
  m.model().Initializer("low", MakeTensor(kFloat32, {}, {0}));
  m.model().Initializer("high", MakeTensor(kFloat32, {}, {6}));
  m.model().Node("Clip", {"x_dq", "low", "high"}, {"y"});
  m.Quantize("y", 0.5, 100);
  m.model().Output("y_q");
  const Graph graph = m.Import();
  ExpectIntegersOnly(graph);
  std::vector<double> expected = kImage.v;
  for (double& value : expected) value = std::clamp(value, 100.0, 112.0);
  EXPECT_EQ(Evaluated(graph, kImage), expected);
}

// Two branches with different scales. No exact result is half way between two integers.
TEST(OnnxQdq, AddSubAndMulTakeIntegers) {
  for (const std::string op : {"Add", "Sub", "Mul"}) {
    QdqModel m({1, 4, 6, 6});
    m.DequantizeInput(0.5, 100);
    m.model().Node("Relu", {"x_dq"}, {"r"});
    m.Quantize("r", 0.25, 7);
    m.model().Node(op, {"x_dq", "r_dq"}, {"y"});
    m.Quantize("y", 1.37, 20);
    m.model().Output("y_q");
    const Graph graph = m.Import();
    ExpectIntegersOnly(graph);
    std::vector<double> expected;
    for (double q : kImage.v) {
      const double a = 0.5 * (q - 100);
      const double b = 0.25 * std::min(std::round(std::max(a, 0.0) / 0.25), 248.0);
      const double real = op == "Add" ? a + b : op == "Sub" ? a - b : a * b;
      expected.push_back(std::clamp(std::nearbyint(real / 1.37) + 20, 0.0, 255.0));
    }
    EXPECT_EQ(Evaluated(graph, kImage), expected) << op;
  }
}

// A product that is added before any quantization: only the sum is rounded, not each side.
struct SumCase {
  const char* op;
  bool product_first, per_channel;
  const char* bias;  // "", "integers" or "floats"
};

class OnnxQdqSums : public testing::TestWithParam<SumCase> {};

TEST_P(OnnxQdqSums, AreRoundedOnce) {
  const SumCase& c = GetParam();
  const std::vector<double> weight_scales = c.per_channel ? kScales : std::vector<double>{0.013};
  const auto scale_of = [&](std::size_t channel) {
    const std::size_t i = c.per_channel ? channel : 0;
    return static_cast<double>(static_cast<float>(weight_scales[i])) * 0.5;
  };
  const std::vector<double> bias = {-301.7, 12.3, 0.021, 77.77};
  QdqModel m({1, 4, 6, 6});
  m.DequantizeInput(0.5, 100).Constant("w", kWeight, kInt8, weight_scales);
  std::vector<std::string> inputs = {"x_dq", "w_dq"};
  if (std::string(c.bias) == "integers") {
    std::vector<double> scales(weight_scales.size());
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = scale_of(i);
    m.Constant("b", kBias, kInt32, scales);
    inputs.emplace_back("b_dq");
  } else if (std::string(c.bias) == "floats") {
    m.model().Initializer("b", MakeTensor(kFloat32, {4}, bias));
    inputs.emplace_back("b");
  }
  m.model().Node("Conv", inputs, {"c"}).IntList("pads", {1, 1, 1, 1});
  m.Parameters("other", {0.83}, 31, kUInt8);
  m.model().Node("DequantizeLinear", {"x", "other_scale", "other_zero"}, {"other"});
  m.model().Node(c.op, {c.product_first ? "c" : "other", c.product_first ? "other" : "c"}, {"y"});
  m.Quantize("y", 2.9, 117);
  m.model().Output("y_q");
  const Array sums = def::Conv(kImage, kWeight, def::Window{.pads = {1, 1, 1, 1}}, 100);
  for (const Requantize how : {Requantize::kByFloat, Requantize::kByIntegers}) {
    const bool by_floats = how == Requantize::kByFloat;
    const Graph graph = m.Import({how});
    EXPECT_THAT(graph.notes, IsEmpty());
    const std::vector<double> results = Evaluated(graph, kImage);
    ASSERT_EQ(results.size(), sums.v.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double scale = scale_of(i / 36);
      double product = sums.v[i] * scale;
      if (std::string(c.bias) == "integers") product += kBias.v[i / 36] * scale;
      if (std::string(c.bias) == "floats") {
        const double value = static_cast<double>(static_cast<float>(bias[i / 36]));
        product += by_floats ? value : std::round(value / scale) * scale;
      }
      const double other = static_cast<double>(0.83F) * (kImage.v[i] - 31);
      const double sign = c.product_first ? 1 : -1;
      const double real = std::string(c.op) == "Add" ? product + other : sign * (product - other);
      const double steps = real / static_cast<double>(2.9F);
      if (std::abs(steps - std::floor(steps) - 0.5) < 1e-3) continue;  // half way, or nearly
      EXPECT_EQ(results[i], std::clamp(std::nearbyint(steps) + 117, 0.0, 255.0)) << i;
    }
  }
}

const SumCase kSums[] = {{"Add", true, false, ""},         {"Sub", false, true, ""},
                         {"Sub", true, true, "floats"},    {"Add", true, false, "floats"},
                         {"Add", false, true, "integers"}, {"Sub", false, false, "integers"}};

INSTANTIATE_TEST_SUITE_P(Products, OnnxQdqSums, testing::ValuesIn(kSums));

// If the ratios of the scales are powers of two, results can be half way between two integers. ONNX
// takes the even one. The test adds all pairs of numbers of a row.
TEST(OnnxQdq, SumsHalfWayAreRoundedToEven) {
  QdqModel m({1, 256});
  m.DequantizeInput(0.5, 3).Parameters("other", {0.25}, 250, kUInt8);
  m.model().Node("DequantizeLinear", {"x", "other_scale", "other_zero"}, {"other"});
  m.model().Initializer("axis", MakeTensor(kInt64, {2}, {256, 1}));
  m.model().Node("Reshape", {"other", "axis"}, {"column"});
  m.model().Node("Sub", {"x_dq", "column"}, {"y"});
  m.Quantize("y", 2, 5, kInt8);
  m.model().Output("y_q");
  Array x{{1, 256}, {}};
  for (int i = 0; i < 256; ++i) x.v.push_back(i);
  const std::vector<double> results = Evaluated(m.Import(), x);
  ASSERT_EQ(results.size(), 65536U);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double real = 0.5 * (x.v[i % 256] - 3) - 0.25 * (x.v[i / 256] - 250);
    ASSERT_EQ(results[i], std::clamp(std::nearbyint(real / 2) + 5, -128.0, 127.0)) << i;
  }
}

// A sum of 32.500003814697266 steps is 33. Adding the second number together with its zero point,
// 250, would round the sum to 32.5 before the zero point is subtracted. The test adds all pairs of
// a row.
TEST(OnnxQdq, ZeroPointsComeOffBeforeTheSum) {
  QdqModel m({1, 256});
  m.DequantizeInput(0.125, 128).Parameters("other", {1 + 0x1p-19}, 239, kUInt8);
  m.model().Node("DequantizeLinear", {"x", "other_scale", "other_zero"}, {"other"});
  m.model().Initializer("axis", MakeTensor(kInt64, {2}, {256, 1}));
  m.model().Node("Reshape", {"other", "axis"}, {"column"});
  m.model().Node("Add", {"x_dq", "column"}, {"y"});
  m.Quantize("y", 0.5, 5, kInt8);
  m.model().Output("y_q");
  Array x{{1, 256}, {}};
  for (int i = 0; i < 256; ++i) x.v.push_back(i);
  const std::vector<double> results = Evaluated(m.Import(), x);
  ASSERT_EQ(results.size(), 65536U);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double real = 0.125 * (x.v[i % 256] - 128) + (1 + 0x1p-19) * (x.v[i / 256] - 239);
    ASSERT_EQ(results[i], std::clamp(std::nearbyint(real / 0.5) + 5, -128.0, 127.0)) << i;
  }
}

TEST(OnnxQdq, PoolsAndMovesStayOnIntegers) {
  QdqModel m({1, 4, 6, 6});
  m.DequantizeInput(0.5, 100);
  m.model().Node("MaxPool", {"x_dq"}, {"p"}).IntList("kernel_shape", {2, 2});
  m.model().IntList("strides", {2, 2});
  m.model().Node("Transpose", {"p"}, {"t"}).IntList("perm", {0, 2, 3, 1});
  m.model().Node("Concat", {"t", "t"}, {"y"}).Int("axis", 1);
  m.Quantize("y", 0.5, 100);
  m.model().Output("y_q");
  const Graph graph = m.Import();
  ExpectIntegersOnly(graph);
  const Array pooled = def::MaxPool(kImage, {.kernel = {2, 2}, .strides = {2, 2}});
  std::vector<double> expected;
  for (int twice = 0; twice < 2; ++twice) {
    def::ForEach({1, 3, 3, 4}, [&](const Ints& i) {
      expected.push_back(pooled.At({i[0], i[3], i[1], i[2]}));
    });
  }
  EXPECT_EQ(Evaluated(graph, kImage), expected);
}

TEST(OnnxQdq, MeansAreIntegerSums) {
  for (const char* op : {"GlobalAveragePool", "ReduceMean", "AveragePool"}) {
    QdqModel m({1, 4, 6, 6});
    m.DequantizeInput(0.5, 100);
    m.model().Node(op, {"x_dq"}, {"y"});
    if (std::string(op) == "ReduceMean") m.model().IntList("axes", {2, 3});
    if (std::string(op) == "AveragePool") m.model().IntList("kernel_shape", {6, 6});
    m.Quantize("y", 0.125, 90);
    m.model().Output("y_q");
    const Graph graph = m.Import();
    ExpectIntegersOnly(graph);
    std::vector<double> expected;
    for (std::size_t c = 0; c < 4; ++c) {
      float sum = 0;
      for (std::size_t i = 0; i < 36; ++i) sum += static_cast<float>(kImage.v[36 * c + i] - 100);
      const float units = sum * (0.5F / 36.0F / 0.125F);
      expected.push_back(std::clamp(std::nearbyint(static_cast<double>(units)) + 90, 0.0, 255.0));
    }
    EXPECT_EQ(Evaluated(graph, kImage), expected) << op;
  }
}

// The last layer of a classifier: its result is float, because no QuantizeLinear follows.
TEST(OnnxQdq, GemmWithoutQuantizeLinearBehindIsAnIntegerProduct) {
  for (bool transposed : {false, true}) {
    QdqModel m({2, 5});
    const Array weight = Array::Made(transposed ? Ints{3, 5} : Ints{5, 3}, 4, -127, 127);
    const std::vector<double> scales = {0.5, 0.25, 2};
    m.DequantizeInput(0.5, 3).Constant("w", weight, kInt8, scales, transposed ? 0 : 1);
    m.model().Initializer("b", MakeTensor(kFloat32, {3}, {1, -2, 0.5}));
    m.model().Node("Gemm", {"x_dq", "w_dq", "b"}, {"y"}).Int("transB", transposed).Output("y");
    const Graph graph = m.Import();
    EXPECT_THAT(graph.notes, IsEmpty());
    auto tasks = ExtractTasks(graph);
    ASSERT_TRUE(tasks.ok());
    EXPECT_THAT((*tasks)[0].workload.Key(), HasSubstr("uint8[2,5]MK,int8[3,5]NK)->int32"));
    const Array x = Array::Made({2, 5}, 5, 0, 255);
    const Array real = def::DequantizeLinear(x, {0.5}, {3}, 0);
    const Array real_weight = def::DequantizeLinear(weight, scales, {0}, transposed ? 0 : 1);
    const Array expected =
        def::Gemm(real, real_weight, {{3}, {1, -2, 0.5}}, false, transposed, 1, 1);
    EXPECT_THAT(Evaluated(graph, x), testing::Pointwise(testing::DoubleNear(1e-3), expected.v));
  }
}

TEST(OnnxQdq, ConvTransposeAndMatMulTakeIntegers) {
  QdqModel m({1, 4, 6, 6});
  const Array weight = Array::Made({4, 2, 2, 2}, 6, -127, 127);
  m.DequantizeInput(0.5, 100).Constant("w", weight, kInt8, {0.25});
  m.model().Node("ConvTranspose", {"x_dq", "w_dq"}, {"y"}).IntList("strides", {2, 2});
  m.Quantize("y", 64, 128);
  m.model().Output("y_q");
  const Graph graph = m.Import();
  ExpectIntegersOnly(graph);
  Array centred = kImage;
  for (double& value : centred.v) value -= 100;
  const Array sums = def::ConvTranspose(centred, weight, {.strides = {2, 2}});
  EXPECT_EQ(Evaluated(graph, kImage), def::Requantize(sums, 0.5, {0.25}, 64, 128, 0, "uint8").v);

  QdqModel product({2, 3, 4});
  const Array b = Array::Made({4, 2}, 7, -127, 127), a = Array::Made({2, 3, 4}, 8, 0, 255);
  product.DequantizeInput(0.5, 9).Constant("w", b, kInt8, {0.25, 0.5}, 1);
  product.model().Node("MatMul", {"x_dq", "w_dq"}, {"y"});
  product.Quantize("y", 32, 128);
  product.model().Output("y_q");
  const Graph products = product.Import();
  ExpectIntegersOnly(products);
  EXPECT_EQ(Evaluated(products, a),
            def::Requantize(def::MatMul(a, b, {9}), 0.5, {0.25, 0.5}, 32, 128, 2, "uint8").v);
}

// A linear layer as some exporters write it: the weight is transposed after DequantizeLinear.
TEST(OnnxQdq, ScalesMoveWithATransposedWeight) {
  QdqModel m({2, 5});
  const Array weight = Array::Made({3, 5}, 9, -127, 127), x = Array::Made({2, 5}, 10, 0, 255);
  const std::vector<double> scales = {0.5, 0.25, 2};
  m.DequantizeInput(0.5, 3).Constant("w", weight, kInt8, scales, 0);
  m.model().Node("Transpose", {"w_dq"}, {"t"}).IntList("perm", {1, 0});
  m.model().Node("MatMul", {"x_dq", "t"}, {"y"});
  m.Quantize("y", 64, 128);
  m.model().Output("y_q");
  const Graph graph = m.Import();
  EXPECT_THAT(graph.notes, IsEmpty());
  Array centred = x;
  for (double& value : centred.v) value -= 3;
  const Array sums = def::Gemm(centred, weight, {}, false, true, 1, 0);
  EXPECT_EQ(Evaluated(graph, x), def::Requantize(sums, 0.5, scales, 64, 128, 1, "uint8").v);
}

struct FloatCase {
  const char* name;
  void (*build)(QdqModel&);  // x_dq -> y
  const char* note;
};

class OnnxQdqNotes : public testing::TestWithParam<FloatCase> {};

TEST_P(OnnxQdqNotes, NameWhatStaysFloatAndWhy) {
  QdqModel m({1, 4, 6, 6});
  m.DequantizeInput(0.5, 100);
  GetParam().build(m);
  m.Quantize("y", 1, 0);
  m.model().Output("y_q");
  EXPECT_THAT(m.Import().notes, ElementsAre(GetParam().note));
}

const FloatCase kFloats[] = {
    {"Softmax", [](QdqModel& m) { m.model().Node("Softmax", {"x_dq"}, {"y"}); },
     "'y' is computed in float32 between quantized values: softmax has no integer form, or its "
     "operands are not quantized"},
    {"Sigmoid", [](QdqModel& m) { m.model().Node("Sigmoid", {"x_dq"}, {"y"}); },
     "'y' is computed in float32 between quantized values: sigmoid has no integer form; it is "
     "computed element by element in the kernel that quantizes it"},
    {"BatchNorm",
     [](QdqModel& m) {
       m.model().Initializer("p", MakeTensor(kFloat32, {4}, {1, 1, 1, 1}));
       m.model().Node("BatchNormalization", {"x_dq", "p", "p", "p", "p"}, {"y"});
     },
     "'y' is computed in float32 between quantized values: batch_norm has no integer form; fold it "
     "into the convolution before quantizing"},
    {"FloatOperand",
     [](QdqModel& m) {
       m.model().Initializer("c", MakeTensor(kFloat32, {4, 1, 1}, {1, 2, 3, 4}));
       m.model().Node("Add", {"x_dq", "c"}, {"y"});
     },
     "'y' is computed in float32 between quantized values: its operand 'c' is not quantized"},
    {"FloatWeight",
     [](QdqModel& m) {
       m.model().Initializer("w", MakeTensor(kFloat32, kWeight.shape, kWeight.v));
       m.model().Node("Conv", {"x_dq", "w"}, {"c"}).Node("Relu", {"c"}, {"d"});
       m.model().Node("GlobalMaxPool", {"d"}, {"y"});
     },
     "Conv 'c' is computed in float32: its weight 'w' is not quantized; export it with "
     "QuantizeLinear and DequantizeLinear on both"},
    {"PaddedAverage",
     [](QdqModel& m) {
       m.model().Node("AveragePool", {"x_dq"}, {"y"}).IntList("kernel_shape", {3, 3});
       m.model().IntList("pads", {1, 1, 1, 1});
     },
     "'y' is computed in float32 between quantized values: its windows differ in size; "
     "average_pool has an integer form without padding, or with count_include_pad, and without "
     "ceil_mode"},
};

INSTANTIATE_TEST_SUITE_P(Operators, OnnxQdqNotes, testing::ValuesIn(kFloats),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(OnnxQdq, ScalesAndZeroPointsAreKeptByName) {
  const Graph graph = ConvModel().Import();
  EXPECT_EQ(graph.quantization.at("x"), (QuantizationParams{{0.5F}, 0, 100}));
  EXPECT_EQ(graph.quantization.at("y_q"), (QuantizationParams{{2.0F}, 0, 30}));
}

// A bound with one element but more dimensions than the bounded value adds dimensions to the
// result.
TEST(OnnxQdq, BoundsOfMoreDimensions) {
  for (const char* op : {"Max", "Min"}) {
    for (const Ints& shape : {Ints{}, Ints{1}, Ints{1, 1, 1}}) {
      for (const bool first : {false, true}) {
        QdqModel m({2, 2});
        m.DequantizeInput(1, 0);
        m.model().Initializer("c", MakeTensor(kFloat32, shape, {3}));
        m.model().Node(op, first ? Strings{"c", "x_dq"} : Strings{"x_dq", "c"}, {"b"});
        m.Quantize("b", 1, 0).model().Node("Identity", {"b_q"}, {"y"}).Output("y");
        const Graph graph = m.Import();
        ASSERT_FALSE(graph.outputs().empty());
        const Ints expected = shape.size() == 3 ? Ints{1, 2, 2} : Ints{2, 2};
        EXPECT_EQ(graph.node(graph.outputs()[0]).type, (TensorType{expected, kUInt8}));
        const bool max = std::string(op) == "Max";
        EXPECT_THAT(Evaluated(graph, {{2, 2}, {1, 2, 4, 5}}),
                    max ? ElementsAre(3, 3, 4, 5) : ElementsAre(1, 2, 3, 3));
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
