// Rescaling as ONNX defines it, for every number: also where a quotient is half way between two
// integers, or where only float32 rounding makes it so.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/base/random.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/node.h"
#include "src/graph/onnx/proto.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

struct ScaledNumbers {
  float scale = 1;
  int zero = 0;
  DataType dtype = kUInt8;

  int least() const { return dtype == kInt8 ? -128 : dtype == kInt16 ? -32768 : 0; }
  int count() const { return dtype == kInt16 ? 65536 : 256; }
  float Real(int number) const {
    const volatile float real = static_cast<float>(number - zero) * scale;
    return real;
  }
  int Number(float real) const {
    const volatile float quotient = real / scale;
    const float number = std::nearbyint(quotient) + static_cast<float>(zero);
    const auto low = static_cast<float>(least());
    return static_cast<int>(std::clamp(number, low, low + static_cast<float>(count() - 1)));
  }
};

std::int32_t QuantizedOnnxType(DataType dtype) {
  if (dtype == kInt16) return onnx::TensorProto::INT16;
  return dtype == kInt8 ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
}

Tensor AllNumbers(const ScaledNumbers& q, Ints shape) {
  return MakeRange(q.dtype, shape, q.least());
}

void AddParameters(OnnxBuilder& model, const std::string& name, const ScaledNumbers& q) {
  model.Initializer(name + "_scale", MakeTensor(kFloat32, {}, {static_cast<double>(q.scale)}));
  model.Initializer(name + "_zero", MakeTensor(q.dtype, {}, {static_cast<double>(q.zero)}));
}

// Scales whose quotients have multiples that are exactly or nearly half way between integers, and
// others.
std::vector<std::pair<float, float>> ScalePairs() {
  std::vector<std::pair<float, float>> pairs = {
      {0.1F, 0.2F},      {0.05F, 0.1F},      {0.3F, 0.2F},     {0.7F, 0.4F},     {0.07F, 0.14F},
      {0.0235F, 0.047F}, {1.1F, 0.2F},       {0.013F, 0.026F}, {0.9F, 0.6F},     {0.11F, 0.02F},
      {3.0F, 2.0F},      {0.0157F, 0.0314F}, {0.333F, 0.666F}, {0.021F, 0.006F}, {0.1F, 0.3F}};
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto part = [&](std::uint64_t which) {
      return 0.001F * static_cast<float>(1 + SeededElement(i, which) % 400U);
    };
    pairs.emplace_back(part(0), part(1));
  }
  return pairs;
}

// A file with many scales is read in bounded time.
TEST(OnnxExactRescale, TriesAreCounted) {
  OnnxImport import;
  const onnx::NodeProto proto;
  OnnxNode node(import, proto);
  EXPECT_TRUE(node.ReserveTries(OnnxImport::kMaxTries - 1));
  EXPECT_FALSE(node.ReserveTries(2));
  EXPECT_TRUE(node.ReserveTries(1));
  EXPECT_FALSE(node.ReserveTries(1));
}

TEST(OnnxExactRescale, OfEveryNumber) {
  int divided = 0, cases = 0;
  for (const auto& [from_scale, to_scale] : ScalePairs()) {
    for (const DataType dtype : {kUInt8, kInt8, kInt16}) {
      if (dtype == kInt16 && ++cases % 8 != 0) continue;
      const ScaledNumbers from{from_scale, dtype == kUInt8 ? 117 : 3, dtype};
      const ScaledNumbers to{to_scale, dtype == kUInt8 ? 100 : -4,
                             dtype == kInt16 ? kInt16 : kInt8};
      for (const bool relu : {false, true}) {
        OnnxBuilder model(21);
        model.Input("x", {from.count()}, QuantizedOnnxType(dtype));
        AddParameters(model, "x", from);
        AddParameters(model, "y", to);
        model.Node("DequantizeLinear", {"x", "x_scale", "x_zero"}, {"real"});
        if (relu) model.Node("Relu", {"real"}, {"bounded"});
        model.Node("QuantizeLinear", {relu ? "bounded" : "real", "y_scale", "y_zero"}, {"y"});
        model.Output("y");
        const auto graph = model.Import();
        ASSERT_TRUE(graph.ok()) << graph.status().message();
        for (const Node& node : graph->nodes()) {
          divided += node.kind == NodeKind::kOperator && node.op.kind == OpKind::kDiv ? 1 : 0;
        }
        const Tensor x = AllNumbers(from, {from.count()});
        const Tensor y = EvaluateModel(model, {&x});
        int wrong = 0;
        for (int i = 0; i < from.count(); ++i) {
          const float real = from.Real(from.least() + i);
          wrong += y.At(i) != to.Number(relu ? std::max(real, 0.0F) : real) ? 1 : 0;
        }
        EXPECT_EQ(wrong, 0) << from_scale << " to " << to_scale << " " << DataTypeName(dtype);
      }
    }
  }
  // For most scales a multiplication is exact.
  EXPECT_GT(divided, 0);
  EXPECT_LT(divided, 80);
}

TEST(OnnxExactRescale, OfEveryPair) {
  const auto pairs = ScalePairs();
  for (std::size_t c = 0; c < pairs.size(); c += 3) {
    for (const char* op : {"Add", "Sub", "Mul"}) {
      const bool product = std::string(op) == "Mul";
      const ScaledNumbers a{pairs[c].first, 120, kUInt8};
      const ScaledNumbers b{c % 2 == 0 ? pairs[c].first : pairs[(c + 1) % pairs.size()].first, -7,
                            kInt8};
      const ScaledNumbers to{product ? pairs[c].second * 40 * pairs[c].first : pairs[c].second * 2,
                             9, kInt8};
      OnnxBuilder model(13);
      model.Input("a", {256, 1}, onnx::TensorProto::UINT8);
      model.Input("b", {1, 256}, onnx::TensorProto::INT8);
      AddParameters(model, "a", a);
      AddParameters(model, "b", b);
      AddParameters(model, "y", to);
      model.Node("DequantizeLinear", {"a", "a_scale", "a_zero"}, {"real_a"});
      model.Node("DequantizeLinear", {"b", "b_scale", "b_zero"}, {"real_b"});
      model.Node(op, {"real_a", "real_b"}, {"joined"});
      model.Node("QuantizeLinear", {"joined", "y_scale", "y_zero"}, {"y"});
      model.Output("y");
      const Tensor all_a = AllNumbers(a, {256, 1}), all_b = AllNumbers(b, {1, 256});
      const Tensor y = EvaluateModel(model, {&all_a, &all_b});
      int wrong = 0;
      for (int i = 0; i < 256; ++i) {
        for (int j = 0; j < 256; ++j) {
          const volatile float x = a.Real(i), z = b.Real(j - 128);
          const volatile float joined = product ? x * z : op[0] == 'A' ? x + z : x - z;
          wrong += y.At(256 * i + j) != to.Number(joined) ? 1 : 0;
        }
      }
      EXPECT_EQ(wrong, 0) << op << " " << a.scale << ", " << b.scale << " to " << to.scale;
    }
  }
}

}  // namespace
}  // namespace tilewright
