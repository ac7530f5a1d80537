// Quantized operators of ONNX Runtime's files (QOperator format) compared with their definitions in
// double precision. Scales are powers of two, so that ties are exact. Ties round to the even
// number, before or after the zero point is added, as in ONNX Runtime.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::ElementsAre;

constexpr const char* kRuntime = "com.microsoft";

// x uint8[1,2,2,3] -> y, and scales and zero points by name: sa 0.5 za 7, sb 0.25 zb 12, sy 1 zy 5.
OnnxBuilder QuantizedStart(Ints shape = {1, 2, 2, 3}) {
  OnnxBuilder model(13);
  model.Input("x", std::move(shape), onnx::TensorProto::UINT8).Output("y");
  const auto scalar = [&](const char* name, DataType dtype, double value) {
    model.Initializer(name, MakeTensor(dtype, {}, {value}));
  };
  scalar("sa", kFloat32, 0.5);
  scalar("sb", kFloat32, 0.25);
  scalar("sy", kFloat32, 1);
  scalar("za", kUInt8, 7);
  scalar("zb", kUInt8, 12);
  scalar("zy", kUInt8, 5);
  return model;
}

const Tensor& Numbers() {
  static const Tensor numbers =
      MakeTensor(kUInt8, {1, 2, 2, 3}, {0, 4, 7, 8, 10, 12, 13, 200, 255, 128, 30, 31});
  return numbers;
}

// Rounds half to even and clamps to 0 … 255. `moved`: rounds after adding the zero point 5.
double ToNumber(double value, bool moved) {
  const double rounded = moved ? std::nearbyint(value + 5) : std::nearbyint(value) + 5;
  return std::clamp(rounded, 0.0, 255.0);
}

std::vector<double> ToNumbers(bool moved, const std::function<double(double)>& value) {
  std::vector<double> result;
  for (double number : ValuesOf(Numbers())) result.push_back(ToNumber(value(number), moved));
  return result;
}

TEST(OnnxQLinear, SumsAndProductsAreMovedAndThenRounded) {
  for (const bool sum : {true, false}) {
    OnnxBuilder model = QuantizedStart();
    model.Initializer("b", MakeTensor(kUInt8, {1, 1, 1, 1}, {17}));
    model.Node(sum ? "QLinearAdd" : "QLinearMul", {"x", "sa", "za", "b", "sb", "zb", "sy", "zy"},
               {"y"}, kRuntime);
    const Tensor y = EvaluateModel(model, {&Numbers()});
    EXPECT_EQ(y.dtype(), kUInt8);
    const auto value = [&](double q) {
      return sum ? (q - 7) * 0.5 + 5 * 0.25 : (q - 7) * 0.5 * (5 * 0.25);
    };
    EXPECT_EQ(ValuesOf(y), ToNumbers(true, value)) << sum;
  }
}

// 17 * 0.50000026 is not a tie; adding 128 in float32 makes it one.
TEST(OnnxQLinear, AZeroPointMakesNoHalves) {
  const Tensor numbers = MakeTensor(kUInt8, {4}, {24, 25, 23, 27});  // 17, 18, 16 and 20
  for (const double zero : {127, 128}) {
    for (const double step : {0.5, 0.50000026}) {
      OnnxBuilder model = QuantizedStart({4});
      model.Initializer("s", MakeTensor(kFloat32, {}, {step}))
          .Initializer("z", MakeTensor(kUInt8, {}, {zero}))
          .Initializer("b", MakeTensor(kUInt8, {}, {12}));
      model.Node("QLinearAdd", {"x", "s", "za", "b", "sb", "zb", "sy", "z"}, {"y"}, kRuntime);
      const double first = step > 0.5 ? zero + 9 : 136;  // 8.5 + 127 and 8.5 + 128 both go there
      EXPECT_THAT(ValuesOf(EvaluateModel(model, {&numbers})),
                  ElementsAre(first, zero + 9, zero + 8, zero + 10))
          << zero << " " << step;
    }
  }
}

TEST(OnnxQLinear, ConcatRoundsPartsOfAnotherScale) {
  OnnxBuilder model = QuantizedStart();
  model.Initializer("b", MakeTensor(kUInt8, {1, 1, 2, 3}, {9, 8, 7, 6, 5, 4}));
  model.Node("QLinearConcat", {"sy", "zy", "x", "sa", "za", "b", "sy", "zy"}, {"y"}, kRuntime)
      .Int("axis", 1);
  auto expected = ToNumbers(false, [](double q) { return (q - 7) * 0.5; });
  for (double same : {9, 8, 7, 6, 5, 4}) expected.push_back(same);
  EXPECT_EQ(ValuesOf(EvaluateModel(model, {&Numbers()})), expected);
}

TEST(OnnxQLinear, FunctionsAreRoundedAndThenMoved) {
  OnnxBuilder leaky = QuantizedStart();
  leaky.Node("QLinearLeakyRelu", {"x", "sa", "za", "sy", "zy"}, {"y"}, kRuntime)
      .Float("alpha", 0.25F);
  EXPECT_EQ(ValuesOf(EvaluateModel(leaky, {&Numbers()})), ToNumbers(false, [](double q) {
              const double x = (q - 7) * 0.5;
              return x < 0 ? x * 0.25 : x;
            }));
  OnnxBuilder sigmoid = QuantizedStart();
  sigmoid.Initializer("s", MakeTensor(kFloat32, {}, {0x1p-7}));
  sigmoid.Node("QLinearSigmoid", {"x", "sa", "za", "s", "zy"}, {"y"}, kRuntime);
  EXPECT_EQ(ValuesOf(EvaluateModel(sigmoid, {&Numbers()})),
            ToNumbers(false, [](double q) { return 128 / (1 + std::exp((7 - q) * 0.5)); }));
  OnnxBuilder where = QuantizedStart();
  where.Initializer("c", MakeTensor(kBool, {3}, {1, 0, 1}));
  where.Initializer("b", MakeTensor(kUInt8, {}, {14}));
  where.Node("QLinearWhere", {"c", "x", "sa", "za", "b", "sb", "zb", "sy", "zy"}, {"y"}, kRuntime);
  const Tensor chosen = EvaluateModel(where, {&Numbers()});
  EXPECT_EQ(chosen.At(0), ToNumber(-3.5, false));
  EXPECT_EQ(chosen.At(1), ToNumber(0.5, false));
}

// Both definitions of Softmax: along the last dimension, or over all dimensions from the second on.
TEST(OnnxQLinear, SoftmaxOfAnOperatorSet) {
  for (const std::int64_t opset : {11, 13}) {
    OnnxBuilder model = QuantizedStart();
    model.Initializer("s", MakeTensor(kFloat32, {}, {0x1p-8}));
    model.Initializer("none", MakeTensor(kUInt8, {}, {0}));
    model.Node("QLinearSoftmax", {"x", "sb", "za", "s", "none"}, {"y"}, kRuntime);
    model.Int("opset", opset).Int("axis", opset == 11 ? 1 : -1);
    const Tensor x = MakeTensor(kUInt8, {1, 2, 2, 3}, {0, 4, 7, 8, 10, 12, 13, 2, 5, 12, 3, 1});
    const Tensor y = EvaluateModel(model, {&x});
    const std::int64_t group = opset == 11 ? 12 : 3;
    for (std::int64_t i = 0; i < 12; ++i) {
      double sum = 0;
      for (std::int64_t k = i / group * group; k < (i / group + 1) * group; ++k) {
        sum += std::exp((x.At(k) - x.At(i)) * 0.25);
      }
      EXPECT_EQ(y.At(i), std::min(std::nearbyint(256 / sum), 255.0)) << i;
    }
  }
}

TEST(OnnxQLinear, PoolsOfBothLayouts) {
  for (const bool last : {false, true}) {
    const Ints shape = last ? Ints{1, 2, 2, 2} : Ints{1, 2, 2, 2};
    // Channels {1, 2, 4, 6} and {9, 200, 3, 8}.
    const Tensor x = last ? MakeTensor(kUInt8, shape, {1, 9, 2, 200, 4, 3, 6, 8})
                          : MakeTensor(kUInt8, shape, {1, 2, 4, 6, 9, 200, 3, 8});
    OnnxBuilder global = QuantizedStart(shape);
    global.Node("QLinearGlobalAveragePool", {"x", "sa", "za", "sy", "zy"}, {"y"}, kRuntime);
    global.Int("channels_last", last ? 1 : 0);
    // (13 - 28) / 8 = -1.875, (220 - 28) / 8 = 24
    EXPECT_THAT(ValuesOf(EvaluateModel(global, {&x})), ElementsAre(3, 29)) << last;
    OnnxBuilder pool = QuantizedStart(shape);
    pool.Node("QLinearAveragePool", {"x", "sa", "za", "sy", "zy"}, {"y"}, kRuntime);
    pool.Int("channels_last", last ? 1 : 0).IntList("kernel_shape", {2, 1});
    // (1,4), (2,6), (9,3), (200,8) minus 7, divided by 4: -2.25, -1.5, -0.5, 48.5; then plus 5.
    const std::vector<double> expected =
        last ? std::vector<double>{3, 4, 4, 54} : std::vector<double>{3, 4, 4, 54};
    EXPECT_EQ(ValuesOf(EvaluateModel(pool, {&x})), expected) << last;
  }
}

TEST(OnnxQLinear, GemmOfQuantizedAndOfFloatResult) {
  // a [2,3] with zero point 7, b [3,2] int8 with one scale and zero point per column.
  const auto start = [] {
    OnnxBuilder model = QuantizedStart({2, 3});
    model.Initializer("w", MakeTensor(kInt8, {3, 2}, {1, -2, 3, 4, -5, 6}));
    model.Initializer("sw", MakeTensor(kFloat32, {2}, {0.5, 0.125}));
    model.Initializer("zw", MakeTensor(kInt8, {2}, {1, 0}));
    model.Initializer("c", MakeTensor(kInt32, {2}, {10, -20}));
    return model;
  };
  const Tensor a = MakeTensor(kUInt8, {2, 3}, {8, 9, 4, 7, 0, 27});
  // Sums: (0,2,-6).(1,2,-3) + 10 = 32 and (-2,4,6).(1,2,-3) - 20 = -32;
  // (0,2,-6).(0,-7,20) + 10 = -124 and (-2,4,6).(0,-7,20) - 20 = 72. Times alpha 0.5 and the
  // scales.
  OnnxBuilder real = start();
  real.Node("QGemm", {"x", "sa", "za", "w", "sw", "zw", "c"}, {"y"}, kRuntime).Float("alpha", 0.5F);
  EXPECT_THAT(ValuesOf(EvaluateModel(real, {&a})), ElementsAre(4, -1, -15.5, 2.25));
  OnnxBuilder model = start();
  model.Node("QGemm", {"x", "sa", "za", "w", "sw", "zw", "c", "sy", "zy"}, {"y"}, kRuntime)
      .Float("alpha", 0.5F);
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&a})), ElementsAre(9, 4, 0, 7));
}

TEST(OnnxQLinear, ResizeOfIntegersTruncates) {
  struct Case {
    DataType dtype;
    std::vector<double> x, expected;
  };
  // Twice as many elements: weights 1/4 and 3/4 between neighbors, ties towards zero.
  const Case cases[] = {
      {kUInt8, {0, 255, 1}, {0, 63, 191, 191, 64, 1}},
      {kInt8, {-128, 127, -1}, {-128, -64, 63, 95, 31, -1}},
      {kInt32, {-1000003, 7, 8}, {-1000003, -750000, -249995, 7, 7, 8}},
  };
  for (const Case& c : cases) {
    OnnxBuilder model(13);
    const std::int32_t code = c.dtype == kUInt8  ? onnx::TensorProto::UINT8
                              : c.dtype == kInt8 ? onnx::TensorProto::INT8
                                                 : onnx::TensorProto::INT32;
    model.Input("x", {1, 3}, code).Output("y");
    model.Initializer("scales", MakeTensor(kFloat32, {2}, {1, 2}));
    model.Node("Resize", {"x", "", "scales"}, {"y"}).Text("mode", "linear");
    const Tensor x = MakeTensor(c.dtype, {1, 3}, c.x);
    const Tensor y = EvaluateModel(model, {&x});
    EXPECT_EQ(y.dtype(), c.dtype);
    EXPECT_EQ(ValuesOf(y), c.expected) << DataTypeName(c.dtype);
  }
  // Interpolating a constant by thirds gives that constant, although no weight is exact.
  OnnxBuilder model(13);
  model.Input("x", {1, 4}, onnx::TensorProto::UINT8).Output("y");
  model.Initializer("scales", MakeTensor(kFloat32, {2}, {1, 3}));
  model.Node("Resize", {"x", "", "scales"}, {"y"}).Text("mode", "linear");
  const Tensor x = MakeTensor(kUInt8, {1, 4}, {99, 99, 99, 99});
  EXPECT_EQ(ValuesOf(EvaluateModel(model, {&x})), std::vector<double>(12, 99));
}

TEST(OnnxQLinear, WhatIsRefused) {
  struct Case {
    Strings inputs;
    const char* message;
  };
  const Case cases[] = {
      {{"x", "sa", "za", "x", "sb", "zb", "computed", "zy"},
       "node 1 (QLinearAdd) making 'y': input 6 (computed) must be one scale or one per channel, "
       "constant at import; it follows from input 'given' (float32[]): if that is the same in "
       "every run, give it: --value given=NUMBER"},
      {{"x", "sa", "za", "sb", "sb", "zb", "sy", "zy"},
       "node 1 (QLinearAdd) making 'y': input 3 is float32[], expected integers of 8 or 16 bits"},
      {{"x", "sa", "za", "x", "sb", "zb"}, "node 1 (QLinearAdd) making 'y': input 6 is missing"},
  };
  for (const Case& c : cases) {
    OnnxBuilder model = QuantizedStart();
    model.Input("given", {});
    model.Node("Abs", {"given"}, {"computed"}).Node("QLinearAdd", c.inputs, {"y"}, kRuntime);
    auto graph = model.Import();
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.status().message(), c.message);
  }
}

}  // namespace
}  // namespace tilewright
