// Quantized operators compared with the definitions of ONNX, computed directly.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/base/random.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::ElementsAre;

Tensor RandomTensor(DataType dtype, Ints shape, int seed, double low, double high) {
  Tensor tensor(TensorType{std::move(shape), dtype});
  Random random(static_cast<std::uint64_t>(seed));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.Set(i,
               low + static_cast<double>(random.Below(static_cast<std::uint64_t>(high - low + 1))));
  }
  return tensor;
}

TEST(OnnxQuantized, QuantizeRoundsHalfToEvenBeforeTheZeroPoint) {
  OnnxBuilder model(13);
  model.Input("x", {6}).Output("y");
  model.Initializer("scale", MakeTensor(kFloat32, {}, {2}));
  model.Initializer("zero", MakeTensor(kUInt8, {}, {3}));
  model.Node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
  const Tensor x = MakeTensor(kFloat32, {6}, {0, 1, 3, -1, -100, 1e6});
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_EQ(y.dtype(), kUInt8);
  EXPECT_THAT(ValuesOf(y), ElementsAre(3, 3, 5, 3, 0, 255));
}

TEST(OnnxQuantized, DequantizeTakesOneScalePerChannel) {
  OnnxBuilder model(13);
  model.Input("x", {2, 2}, onnx::TensorProto::INT8).Output("y");
  model.Initializer("scale", MakeTensor(kFloat32, {2}, {0.5, 2}));
  model.Initializer("zero", MakeTensor(kInt8, {2}, {0, 1}));
  model.Node("DequantizeLinear", {"x", "scale", "zero"}, {"y"}).Int("axis", 0);
  const Tensor x = MakeTensor(kInt8, {2, 2}, {1, -128, 1, 127});
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(0.5, -64, 0, 252));
}

// A uint16 zero point of 505 must not become the fill value of a pad of int8 numbers.
TEST(OnnxQuantized, ZeroPointsAreOfTheTypeOfTheirNumbers) {
  const auto refused = [](const char* op, std::vector<std::string> operands) {
    OnnxBuilder model(13);
    model.Input("x", {1, 2, 4, 4}, onnx::TensorProto::INT8).Output("y");
    model.Initializer("w", MakeTensor(kInt8, {1, 2, 1, 1}, {1, 2}));
    model.Initializer("scale", MakeTensor(kFloat32, {}, {2}));
    model.Initializer("wide", MakeTensor(kUInt16, {}, {505}));
    model.Initializer("zero", MakeTensor(kInt8, {}, {0}));
    model.Node(op, std::move(operands), {"y"});
    const auto imported = model.Import();
    return imported.ok() ? "accepted" : imported.status().message();
  };
  using testing::HasSubstr;
  const auto expected = HasSubstr("expected the type of their integers, int8[1,2");
  EXPECT_THAT(refused("ConvInteger", {"x", "w", "wide"}), expected);
  EXPECT_THAT(refused("ConvInteger", {"x", "w", "zero", "wide"}), expected);
  EXPECT_THAT(refused("MatMulInteger", {"x", "x", "wide"}), expected);
  EXPECT_THAT(refused("DequantizeLinear", {"x", "scale", "wide"}), expected);
  const auto convolution = [&](const char* x_zero, const char* w_zero) {
    return refused("QLinearConv", {"x", "scale", x_zero, "w", "scale", w_zero, "scale", "zero"});
  };
  EXPECT_THAT(convolution("wide", "zero"), expected);
  EXPECT_THAT(convolution("zero", "wide"), expected);
  EXPECT_EQ(convolution("zero", "zero"), "accepted");
}

struct ConvCase {
  const char* name;
  DataType data, weight;
  double data_zero, weight_zero;
  std::int64_t pad;
};

class OnnxQuantizedConv : public testing::TestWithParam<ConvCase> {
 protected:
  static constexpr std::int64_t kChannels = 3, kSize = 5, kOutputs = 4;

  static double Low(DataType dtype) { return dtype == kUInt8 ? 0 : -128; }
  Tensor Data() const {
    const DataType dtype = GetParam().data;
    return RandomTensor(dtype, {1, kChannels, kSize, kSize}, 1, Low(dtype), Low(dtype) + 255);
  }
  Tensor Weight() const {
    const DataType dtype = GetParam().weight;
    return RandomTensor(dtype, {kOutputs, kChannels, 3, 3}, 2, Low(dtype), Low(dtype) + 255);
  }
  std::int64_t OutputSize() const { return kSize + 2 * GetParam().pad - 2; }

  // sum (x - zx) * (w - zw) over the taps inside the image
  std::int64_t Sum(const Tensor& x, const Tensor& w, std::int64_t k, std::int64_t oy,
                   std::int64_t ox) const {
    std::int64_t sum = 0;
    for (std::int64_t c = 0; c < kChannels; ++c) {
      for (std::int64_t r = 0; r < 3; ++r) {
        for (std::int64_t s = 0; s < 3; ++s) {
          const std::int64_t iy = oy + r - GetParam().pad, ix = ox + s - GetParam().pad;
          if (iy < 0 || ix < 0 || iy >= kSize || ix >= kSize) continue;
          const double a = x.At((c * kSize + iy) * kSize + ix) - GetParam().data_zero;
          const double b = w.At(((k * kChannels + c) * 3 + r) * 3 + s) - GetParam().weight_zero;
          sum += static_cast<std::int64_t>(a * b);
        }
      }
    }
    return sum;
  }
  OnnxBuilder Model(const Tensor& w) const {
    OnnxBuilder model(13);
    const auto code =
        GetParam().data == kUInt8 ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8;
    model.Input("x", {1, kChannels, kSize, kSize}, code).Output("y").Initializer("w", w);
    model.Initializer("zx", MakeTensor(GetParam().data, {}, {GetParam().data_zero}));
    model.Initializer("zw", MakeTensor(GetParam().weight, {}, {GetParam().weight_zero}));
    return model;
  }
};

TEST_P(OnnxQuantizedConv, ConvIntegerIsExact) {
  const Tensor x = Data(), w = Weight();
  OnnxBuilder model = Model(w);
  const std::int64_t pad = GetParam().pad;
  model.Node("ConvInteger", {"x", "w", "zx", "zw"}, {"y"}).IntList("pads", {pad, pad, pad, pad});
  const Tensor y = EvaluateModel(model, {&x});
  ASSERT_EQ(y.dtype(), kInt32);
  const std::int64_t size = OutputSize();
  ASSERT_THAT(y.shape(), ElementsAre(1, kOutputs, size, size));
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    ASSERT_EQ(y.At(i), Sum(x, w, i / (size * size), i / size % size, i % size)) << i;
  }
}

TEST_P(OnnxQuantizedConv, QLinearConvIsExact) {
  const Tensor x = Data(), w = Weight();
  OnnxBuilder model = Model(w);
  const std::vector<double> scales = {0.01, 0.02, 0.04, 0.005};
  model.Initializer("sx", MakeTensor(kFloat32, {}, {0.5}));
  model.Initializer("sw", MakeTensor(kFloat32, {kOutputs}, scales));
  model.Initializer("sy", MakeTensor(kFloat32, {}, {4}));
  model.Initializer("zy", MakeTensor(kUInt8, {}, {77}));
  model.Initializer("bias", MakeTensor(kInt32, {kOutputs}, {100, -200, 0, 5000}));
  const std::int64_t pad = GetParam().pad;
  model.Node("QLinearConv", {"x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "bias"}, {"y"});
  model.IntList("pads", {pad, pad, pad, pad});
  const std::vector<double> bias = {100, -200, 0, 5000};
  const Tensor y = EvaluateModel(model, {&x});
  ASSERT_EQ(y.dtype(), kUInt8);
  const std::int64_t size = OutputSize();
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t k = i / (size * size);
    const auto channel = static_cast<std::size_t>(k);
    const double sum = static_cast<double>(Sum(x, w, k, i / size % size, i % size)) + bias[channel];
    const float scale = 0.5F * static_cast<float>(scales[channel]) / 4.0F;
    const float rounded = std::nearbyint(static_cast<float>(sum) * scale);
    ASSERT_EQ(y.At(i), std::clamp(static_cast<double>(rounded) + 77, 0.0, 255.0)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(ZeroPoints, OnnxQuantizedConv,
                         testing::Values(ConvCase{"Symmetric", kInt8, kInt8, 0, 0, 1},
                                         ConvCase{"UnsignedData", kUInt8, kInt8, 0, 0, 1},
                                         ConvCase{"DataZeroPoint", kUInt8, kInt8, 121, 0, 1},
                                         ConvCase{"DataZeroPointNoPad", kUInt8, kInt8, 121, 0, 0},
                                         ConvCase{"WeightAround128", kUInt8, kUInt8, 3, 128, 1},
                                         ConvCase{"WeightAround100", kUInt8, kUInt8, 128, 100, 1},
                                         ConvCase{"UnsignedWeight", kUInt8, kUInt8, 0, 0, 0}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(OnnxQuantized, MatMulIntegerIsExact) {
  const Tensor a = RandomTensor(kUInt8, {3, 4}, 3, 0, 255),
               b = RandomTensor(kInt8, {4, 2}, 4, -128, 127);
  OnnxBuilder model(13);
  model.Input("x", {3, 4}, onnx::TensorProto::UINT8).Output("y").Initializer("b", b);
  model.Initializer("za", MakeTensor(kUInt8, {}, {200}));
  model.Initializer("zb", MakeTensor(kInt8, {}, {-7}));
  model.Node("MatMulInteger", {"x", "b", "za", "zb"}, {"y"});
  const Tensor y = EvaluateModel(model, {&a});
  for (std::int64_t m = 0; m < 3; ++m) {
    for (std::int64_t n = 0; n < 2; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < 4; ++k) {
        sum += (a.At(m * 4 + k) - 200) * (b.At(k * 2 + n) + 7);
      }
      EXPECT_EQ(y.At(m * 2 + n), sum);
    }
  }
}

struct BatchCase {
  std::int64_t rows, terms;
  const char* key;  // of the product
};

// Matrices that are both computed: kernels of bytes need 8 rows and terms in fours.
TEST(OnnxQuantized, ProductsOfComputedMatricesAreExact) {
  for (const BatchCase& c : {BatchCase{8, 4, "batch_matmul(uint8[2,8,4]BMK,int8[2,2,4]BNK)->int32"},
                             {8, 5, "batch_matmul(int16[2,8,5]BMK,int16[2,5,2]BKN)->int32"},
                             {3, 4, "batch_matmul(int16[2,3,4]BMK,uint8[2,4,2]BKN)->int32"}}) {
    const Tensor a = RandomTensor(kUInt8, {2, c.rows, c.terms}, 3, 0, 255),
                 b = RandomTensor(kUInt8, {2, c.terms, 2}, 4, 0, 255);
    OnnxBuilder model(13);
    model.Input("a", {2, c.rows, c.terms}, onnx::TensorProto::UINT8);
    model.Input("b", {2, c.terms, 2}, onnx::TensorProto::UINT8).Output("y");
    model.Initializer("za", MakeTensor(kUInt8, {}, {200}));
    model.Initializer("zb", MakeTensor(kUInt8, {}, {7}));
    model.Node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"});
    const Tensor y = EvaluateModel(model, {&a, &b});
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t row = i / 2, first = i / 2 / c.rows * c.terms * 2 + i % 2;
      double sum = 0;
      for (std::int64_t k = 0; k < c.terms; ++k) {
        sum += (a.At(row * c.terms + k) - 200) * (b.At(first + k * 2) - 7);
      }
      EXPECT_EQ(y.At(i), sum) << c.key;
    }
    auto graph = model.Import();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    auto tasks = ExtractTasks(*graph);
    ASSERT_TRUE(tasks.ok()) << tasks.status().message();
    EXPECT_EQ((*tasks)[0].workload.Key(), c.key);
  }
}

TEST(OnnxQuantized, QLinearMatMulSaturates) {
  OnnxBuilder model(13);
  model.Input("x", {1, 2}, onnx::TensorProto::INT8).Output("y");
  model.Initializer("sx", MakeTensor(kFloat32, {}, {1}));
  model.Initializer("zx", MakeTensor(kInt8, {}, {0}));
  model.Initializer("b", MakeTensor(kInt8, {2, 2}, {1, 100, 1, 100}));
  model.Initializer("sb", MakeTensor(kFloat32, {}, {0.5}));
  model.Initializer("zb", MakeTensor(kInt8, {}, {0}));
  model.Initializer("sy", MakeTensor(kFloat32, {}, {1}));
  model.Initializer("zy", MakeTensor(kInt8, {}, {-1}));
  model.Node("QLinearMatMul", {"x", "sx", "zx", "b", "sb", "zb", "sy", "zy"}, {"y"});
  const Tensor x = MakeTensor(kInt8, {1, 2}, {2, 3});
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(1, 127));  // 2.5 rounds to 2
}

// The zero-point correction and the requantization are one epilogue of the convolution.
TEST(OnnxQuantized, RequantizationIsFused) {
  OnnxBuilder model(13);
  model.Input("x", {1, 8, 4, 4}, onnx::TensorProto::UINT8).Output("y");
  model.Initializer("w", MakeTensor(kInt8, {2, 8, 1, 1}, std::vector<double>(16, 3)));
  model.Initializer("sx", MakeTensor(kFloat32, {}, {1}));
  model.Initializer("zx", MakeTensor(kUInt8, {}, {10}));
  model.Initializer("sw", MakeTensor(kFloat32, {2}, {0.5, 0.25}));
  model.Initializer("zw", MakeTensor(kInt8, {}, {0}));
  model.Initializer("sy", MakeTensor(kFloat32, {}, {1}));
  model.Initializer("zy", MakeTensor(kUInt8, {}, {5}));
  model.Initializer("bias", MakeTensor(kInt32, {2}, {1, 2}));
  model.Node("QLinearConv", {"x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "bias"}, {"y"});
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto tasks = ExtractTasks(*graph);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 1U);
  EXPECT_EQ((*tasks)[0].workload.Key(),
            "conv2d(uint8[1,8,4,4]NCHW,int8[2,8,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32");
  EXPECT_EQ((*tasks)[0].epilogue.ToString(),
            "sub(channel:int32);add(channel:int32);cast(float32);mul(channel:float32);round_even;"
            "add(5);saturate_cast(uint8)");
}

}  // namespace
}  // namespace tilewright
