// Weights of few bits in blocks: MatMulNBits, GatherBlockQuantized, and DequantizeLinear with
// blocks in front of products, compared with their definitions in double precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "src/graph/ir/evaluate.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {
namespace block_quantized {

using testing::HasSubstr;

constexpr std::int64_t kRows = 2, kN = 5, kK = 64, kBlock = 16, kBlocks = kK / kBlock;

double IntegerAt(std::int64_t i, int bits) { return static_cast<double>(i * 29 % (1 << bits)); }
double ScaleAt(std::int64_t i) { return static_cast<double>(1 + i % 5) / 8; }
double DataAt(std::int64_t i) { return static_cast<double>(i * 7 % 33) / 8 - 2; }

/// Rows of integers in whole bytes, the first in the lowest bits.
Tensor Packed(std::int64_t rows, std::int64_t count, int bits,
              const std::function<double(std::int64_t)>& integer) {
  const std::int64_t per_byte = 8 / bits, bytes = (count + per_byte - 1) / per_byte;
  Tensor packed(TensorType{{rows, bytes}, kUInt8});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < count; ++i) {
      auto& byte = packed.As<std::uint8_t>()[static_cast<std::size_t>(r * bytes + i / per_byte)];
      const int value = static_cast<int>(integer(r * count + i)) << (i % per_byte * bits);
      byte = static_cast<std::uint8_t>(byte | value);
    }
  }
  return packed;
}

Tensor Made(DataType dtype, Ints shape, const std::function<double(std::int64_t)>& value) {
  Tensor tensor(TensorType{std::move(shape), dtype});
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.Set(i, value(i));
  return tensor;
}

struct Case {
  int bits = 4;
  bool zeros = false, bias = false;
  std::int64_t level = 0;
};

double ZeroOf(const Case& c, std::int64_t i) {
  return c.zeros ? IntegerAt(i + 3, c.bits) : static_cast<double>(1 << (c.bits - 1));
}

OnnxBuilder ModelOf(const Case& c) {
  OnnxBuilder model(17);
  model.Input("x", {1, kRows, kK});
  Tensor weight = Packed(kN, kK, c.bits, [&](std::int64_t i) { return IntegerAt(i, c.bits); });
  weight.Reshape({kN, kBlocks, kBlock * c.bits / 8});
  model.Initializer("b", weight);
  model.Initializer("s", Made(kFloat32, {kN, kBlocks}, ScaleAt));
  Strings inputs = {"x", "b", "s"};
  if (c.zeros || c.bias) inputs.emplace_back(c.zeros ? "z" : "");
  if (c.zeros) {
    model.Initializer("z",
                      Packed(kN, kBlocks, c.bits, [&](std::int64_t i) { return ZeroOf(c, i); }));
  }
  if (c.bias) {
    model.Initializer("c", Made(kFloat32, {kN}, DataAt));
    inputs.insert(inputs.end(), {"", "c"});
  }
  model.Node("MatMulNBits", inputs, {"y"}, "com.microsoft");
  model.Int("K", kK).Int("N", kN).Int("bits", c.bits).Int("block_size", kBlock);
  if (c.level != 0) model.Int("accuracy_level", c.level);
  model.Output("y");
  return model;
}

/// Returns the product of the data and (integer - zero) * scale.
double Expected(const Case& c, std::int64_t m, std::int64_t n) {
  double sum = c.bias ? DataAt(n) : 0;
  for (std::int64_t k = 0; k < kK; ++k) {
    const std::int64_t block = n * kBlocks + k / kBlock;
    sum += DataAt(m * kK + k) * (IntegerAt(n * kK + k, c.bits) - ZeroOf(c, block)) * ScaleAt(block);
  }
  return sum;
}

TEST(OnnxBlockQuantizedTest, MatMulNBitsIsTheProduct) {
  const Tensor x = Made(kFloat32, {1, kRows, kK}, DataAt);
  for (const int bits : {2, 4, 8}) {
    for (const bool zeros : {false, true}) {
      for (const std::int64_t level : {0, 1, 4}) {
        const Case c{bits, zeros, bits == 4, level};
        const Tensor y = EvaluateModel(ModelOf(c), {&x});
        ASSERT_EQ(y.shape(), (Ints{1, kRows, kN}));
        // Quantized data are off by 1/254 of the largest of a block.
        const double error = level == 4 ? 0.02 * (1 << bits) * 8 : 1e-3;
        for (std::int64_t i = 0; i < kRows * kN; ++i) {
          EXPECT_NEAR(y.At(i), Expected(c, i / kN, i % kN), error)
              << bits << " bits, level " << level;
        }
      }
    }
  }
}

using Change = std::function<void(onnx::ModelProto&)>;
std::string Refusal(const Change& change) {
  OnnxBuilder model = ModelOf({});
  change(model.proto());
  const auto graph = model.Import();
  EXPECT_FALSE(graph.ok());
  return graph.ok() ? "" : std::string(graph.status().message());
}

std::string RefusalWith(const std::string& attribute, std::int64_t value) {
  return Refusal([&](onnx::ModelProto& model) {
    for (auto& one : *model.mutable_graph()->mutable_node(0)->mutable_attribute()) {
      if (one.name() == attribute) return one.set_i(value);
    }
    auto* added = model.mutable_graph()->mutable_node(0)->add_attribute();
    added->set_name(attribute);
    added->set_type(onnx::AttributeProto::INT);
    added->set_i(value);
  });
}

TEST(OnnxBlockQuantizedTest, MalformedNodesAreRefused) {
  EXPECT_THAT(RefusalWith("block_size", 24),
              HasSubstr("block_size is 24, expected a power of two from 16 to 256"));
  EXPECT_THAT(RefusalWith("block_size", 512), HasSubstr("block_size is 512"));
  EXPECT_THAT(RefusalWith("block_size", -1), HasSubstr("block_size is -1, expected 1 to"));
  EXPECT_THAT(RefusalWith("bits", 3), HasSubstr("bits is 3, expected 2, 4 or 8"));
  EXPECT_THAT(RefusalWith("K", 72), HasSubstr("K is 72, expected a multiple of block_size 16"));
  EXPECT_THAT(RefusalWith("N", 0), HasSubstr("N is 0, expected 1 to"));
  EXPECT_THAT(RefusalWith("N", 6), HasSubstr("input 1 (B) is uint8[5,4,8], expected uint8[6,4,8]"));
  EXPECT_THAT(RefusalWith("accuracy_level", 5), HasSubstr("accuracy_level is 5, expected 0 to 4"));
  EXPECT_THAT(RefusalWith("weight_prepacked", 1), HasSubstr("weight_prepacked is set"));
  EXPECT_THAT(Refusal([](onnx::ModelProto& model) {
                auto* node = model.mutable_graph()->mutable_node(0);
                node->add_input("");
                node->add_input("s");
              }),
              HasSubstr("input 4 (g_idx) orders the groups"));
  EXPECT_THAT(Refusal([](onnx::ModelProto& model) {
                model.mutable_graph()->mutable_node(0)->set_input(2, "b");
              }),
              HasSubstr("input 2 (scales) is uint8[5,4,8], expected"));
  EXPECT_THAT(Refusal([](onnx::ModelProto& model) {
                model.mutable_graph()->mutable_node(0)->set_input(1, "x");
              }),
              HasSubstr("input 1 (B) is computed at run time, expected a constant"));
  EXPECT_THAT(Refusal([](onnx::ModelProto& model) {
                auto* scales = model.mutable_graph()->add_initializer();
                scales->set_name("bytes");
                scales->set_data_type(onnx::TensorProto::UINT8);
                scales->add_dims(kN);
                scales->add_dims(kBlocks);
                scales->set_raw_data(std::string(kN * kBlocks, 1));
                model.mutable_graph()->mutable_node(0)->set_input(2, "bytes");
              }),
              HasSubstr("input 2 (scales) is uint8[5,4], expected floats"));
}

// A file of a few bytes must not take gigabytes.
TEST(OnnxBlockQuantizedTest, LargeFillsAreRefused) {
  OnnxBuilder model(17);
  model.Input("x", {1, kK});
  model.Initializer("shape", Made(kInt64, {1}, [](std::int64_t) { return std::int64_t{1} << 30; }));
  model.Node("ConstantOfShape", {"shape"}, {"b"});
  model.Node("MatMulNBits", {"x", "b", "b"}, {"y"}, "com.microsoft");
  model.Int("K", kK).Int("N", kN).Int("block_size", kBlock).Output("y");
  EXPECT_THAT(model.Import().status().message(), HasSubstr("input 1 (B) is float32[1073741824], "
                                                           "too many bytes"));
}

/// y = MatMul(x, DequantizeLinear(int4 weight)) with int8 zero points `zeros` [blocks, kN].
OnnxBuilder ModelOfInt4(const Ints& zero_shape, double zero) {
  constexpr int kInt4 = 22;  // of TensorProto
  OnnxBuilder model(21);
  model.Input("x", {kRows, kK});
  for (const auto& [name, shape] :
       {std::pair<std::string, Ints>{"b", {kK, kN}}, {"z", zero_shape}}) {
    auto* integers = model.proto().mutable_graph()->add_initializer();
    integers->set_name(name);
    const bool bytes = name == "z" && zero < -8;
    integers->set_data_type(bytes ? onnx::TensorProto::INT8 : kInt4);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) integers->add_dims(extent), count *= extent;
    const auto value = static_cast<std::int8_t>(zero);
    integers->set_raw_data(std::string(static_cast<std::size_t>(bytes ? count : (count + 1) / 2),
                                       bytes ? static_cast<char>(value) : '\x21'));
  }
  model.Initializer("s", Made(kFloat32, {kBlocks, kN}, ScaleAt));
  model.Node("DequantizeLinear", {"b", "s", "z"}, {"w"}).Int("axis", 0).Int("block_size", kBlock);
  model.Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  return model;
}

TEST(OnnxBlockQuantizedTest, ZeroPointsOfBlocksHaveTheirShape) {
  EXPECT_TRUE(ModelOfInt4({kBlocks, kN}, 1).Import().ok());
  EXPECT_THAT(ModelOfInt4({kBlocks * kN}, 1).Import().status().message(),
              HasSubstr("differ in shape"));
}

// int8 zero points of int4 weights can be outside of int4.
TEST(OnnxBlockQuantizedTest, ZeroPointsOutsideOfTheTypeStayFloats) {
  const Tensor x = Made(kFloat32, {kRows, kK}, DataAt);
  const Tensor y = EvaluateModel(ModelOfInt4({kBlocks, kN}, -100), {&x});
  ASSERT_EQ(y.elements(), kRows * kN);
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t m = i / kN, n = i % kN;
    double sum = 0;
    for (std::int64_t k = 0; k < kK; ++k) {
      const double integer = (k * kN + n) % 2 == 0 ? 1 : 2;  // the lower half of a byte is first
      sum += DataAt(m * kK + k) * (integer + 100) * ScaleAt(k / kBlock * kN + n);
    }
    EXPECT_NEAR(y.At(i), sum, 0.5);
  }
}

TEST(OnnxBlockQuantizedTest, DequantizeLinearInBlocksIsAProductOfFewBits) {
  const Tensor x = Made(kFloat32, {kRows, kK}, DataAt);
  for (const bool gemm : {false, true}) {
    OnnxBuilder model(21);
    model.Input("x", {kRows, kK});
    const Ints shape = gemm ? Ints{kN, kK} : Ints{kK, kN};
    const Ints blocks = gemm ? Ints{kN, kBlocks} : Ints{kBlocks, kN};
    model.Initializer("b",
                      Made(kInt8, shape, [](std::int64_t i) { return IntegerAt(i, 8) - 128; }));
    model.Initializer("s", Made(kFloat32, blocks, ScaleAt));
    model.Node("DequantizeLinear", {"b", "s"}, {"w"}).Int("axis", gemm ? 1 : 0);
    model.Int("block_size", kBlock);
    model.Node(gemm ? "Gemm" : "MatMul", {"x", "w"}, {"y"});
    if (gemm) model.Int("transB", 1);
    model.Output("y");
    const auto graph = model.Import();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    int products = 0;
    for (const Node& node : graph->nodes()) {
      products += node.kind == NodeKind::kOperator && node.op.kind == OpKind::kExpression ? 1 : 0;
      EXPECT_FALSE(node.kind == NodeKind::kOperator && node.op.kind == OpKind::kDense);
    }
    EXPECT_EQ(products, 1);
    const Tensor y = EvaluateModel(model, {&x});
    for (std::int64_t i = 0; i < kRows * kN; ++i) {
      const std::int64_t m = i / kN, n = i % kN;
      double sum = 0;
      for (std::int64_t k = 0; k < kK; ++k) {
        const std::int64_t place = gemm ? n * kK + k : k * kN + n;
        const std::int64_t block = gemm ? n * kBlocks + k / kBlock : k / kBlock * kN + n;
        sum += DataAt(m * kK + k) * (IntegerAt(place, 8) - 128) * ScaleAt(block);
      }
      EXPECT_NEAR(y.At(i), sum, 0.02);
    }
  }
}

TEST(OnnxBlockQuantizedTest, GatherBlockQuantizedConvertsRows) {
  const Tensor indices = Made(kInt64, {2, 2}, [](std::int64_t i) { return i * 2 % kN; });
  for (const int bits : {2, 4, 8}) {
    for (const bool zeros : {false, true}) {
      const Case c{bits, zeros};
      OnnxBuilder model(17);
      model.Input("i", {2, 2}, onnx::TensorProto::INT64);
      model.Initializer("d", Packed(kN, kK, bits, [&](auto i) { return IntegerAt(i, bits); }));
      model.Initializer("s", Made(kFloat32, {kN, kBlocks}, ScaleAt));
      Strings inputs = {"d", "i", "s"};
      if (zeros) {
        model.Initializer("z", Packed(kN, kBlocks, bits, [&](auto i) { return ZeroOf(c, i); }));
        inputs.emplace_back("z");
      }
      model.Node("GatherBlockQuantized", inputs, {"y"}, "com.microsoft");
      model.Int("bits", bits).Int("block_size", kBlock).Int("gather_axis", 0);
      model.Int("quantize_axis", 1).Output("y");
      const Tensor y = EvaluateModel(model, {&indices});
      ASSERT_EQ(y.shape(), (Ints{2, 2, kK}));
      for (std::int64_t i = 0; i < y.elements(); ++i) {
        const auto row = static_cast<std::int64_t>(indices.At(i / kK));
        const std::int64_t block = row * kBlocks + i % kK / kBlock;
        EXPECT_EQ(y.At(i),
                  (IntegerAt(row * kK + i % kK, bits) - ZeroOf(c, block)) * ScaleAt(block));
      }
    }
  }
}

}  // namespace block_quantized
}  // namespace
}  // namespace tilewright
