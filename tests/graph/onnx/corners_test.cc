// Small operators and corner cases of larger ones. Expected results are computed by hand or by a
// formula in this file.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/proto.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

using onnx_definitions::Array;

TEST(OnnxCorners, ClipWithBoundsInTheWrongOrderGivesTheUpperOne) {
  const Array x{{3}, {-9, 2, 9}}, expected{{3}, {-1, -1, -1}};
  OneOperator known("Clip", x);
  ExpectEqual(known.Scalar(3).Scalar(-1).Run(), expected);
  OneOperator old("Clip", x, 7);
  old.model().Float("min", 3).Float("max", -1);
  ExpectEqual(old.Run(), expected);
}

// Both outputs of a Dropout. The second is numeric up to opset 9 and boolean since opset 10.
TEST(OnnxCorners, DropoutKeepsEverythingAndSaysSo) {
  for (const std::int64_t opset : {7, 13, 22}) {
    OnnxBuilder model(opset);
    model.Input("x", {2}).Output("y").Output("mask").Node("Dropout", {"x"}, {"y", "mask"});
    auto graph = model.Import();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    std::vector<Tensor> x;
    x.push_back(MakeTensor(kFloat32, {2}, {-3, 4}));
    const auto outputs = EvaluateGraph(*graph, x);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_EQ(ValuesOf((*outputs)[0]), (Doubles{-3, 4}));
    EXPECT_EQ((*outputs)[1].dtype(), opset < 10 ? kFloat32 : kBool);
    EXPECT_EQ(ValuesOf((*outputs)[1]), (Doubles{1, 1}));
  }
  OneOperator nothing("Dropout", {{2}, {-3, 4}});  // training mode, but ratio 0
  ExpectEqual(nothing.Scalar(0).Scalar(1, kBool).Run(), {{2}, {-3, 4}});
}

// An attribute without effect here (for training, for float8, or for a mode that is not selected)
// does not cause a rejection.
TEST(OnnxCorners, AttributesWithoutEffect) {
  const auto imports = [](OnnxBuilder& model) {
    const auto graph = model.Import();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
  };
  OnnxBuilder old(7);
  old.Input("x", {1, 2, 4, 4}).Output("y").Initializer("s", MakeTensor(kFloat32, {2}, {1, 2}));
  old.Node("Dropout", {"x"}, {"a"}).Float("ratio", 0.5F);
  old.Node("BatchNormalization", {"a", "s", "s", "s", "s"}, {"y"}).Float("momentum", 0.9F);
  imports(old.Int("spatial", 1).IntList("consumed_inputs", {0, 0, 0, 1, 1}));
  OnnxBuilder recent(24);
  recent.Input("x", {1, 2, 4, 4}).Output("y").Node("Dropout", {"x"}, {"a"}).Int("seed", 3);
  recent.Node("Cast", {"a"}, {"b"}).Int("to", onnx::TensorProto::FLOAT16).Int("saturate", 0);
  recent.Initializer("s", MakeTensor(kFloat32, {4}, {1, 1, 2, 2}));
  recent.Initializer("r", MakeRange(kFloat16, {8}));
  recent.Node("Resize", {"b", "r", "s"}, {"c"}).Float("extrapolation_value", 1);
  recent.Text("keep_aspect_ratio_policy", "stretch").Text("nearest_mode", "floor");
  recent.Initializer("g", MakeRange(kFloat16, {8}));
  recent.Node("LayerNormalization", {"c", "g"}, {"d"}).Int("stash_type", 1);
  recent.Node("ReduceSum", {"d"}, {"e"}).Int("noop_with_empty_axes", 0).Int("keepdims", 1);
  recent.Initializer("q", MakeTensor(kFloat16, {}, {1}))
      .Initializer("z", MakeTensor(kInt8, {}, {1}));
  recent.Node("QuantizeLinear", {"e", "q", "z"}, {"y"}).Int("saturate", 0).Int("axis", 0);
  imports(recent.Int("block_size", 0).Int("output_dtype", onnx::TensorProto::INT8));
}

TEST(OnnxCorners, ModTakesTheSignOfTheDivisorOrOfTheDividend) {
  const Array a{{6}, {-4, 7, 5, 4, -7, 8}}, b{{6}, {2, -3, 8, -2, 3, 5}};
  for (const DataType dtype : {kInt8, kInt32, kInt64}) {
    OneOperator floored("Mod", a, 13, dtype);
    ExpectEqual(floored.With(b, dtype).Run(), {{6}, {0, -2, 5, 0, 2, 3}});
    OneOperator truncated("Mod", a, 13, dtype);
    truncated.With(b, dtype).model().Int("fmod", 1);
    ExpectEqual(truncated.Run(), {{6}, {0, 1, 5, 0, -1, 3}});
  }
  OneOperator whole("Mod", {{3}, {255, 7, 100}}, 13, kUInt8);
  ExpectEqual(whole.With({{3}, {16, 9, 100}}, kUInt8).Run(), {{3}, {15, 7, 0}});
}

// fmod is exact for any quotient.
TEST(OnnxCorners, ModOfFloatsIsExact) {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  const double least = std::exp2(-149), most = static_cast<double>(3.4028234e38F);
  const double third = static_cast<double>(1.0F / 3), many = static_cast<double>(1e20F);
  const Array a{{11}, {-4.3, 7.2, 5, 4.3, -7.2, 8, most, many, -1, 1.5 * least, -0.25}};
  const Array b{{11}, {2.1, -3.4, 8, -2.1, 3.4, 5, 3 * least, third, -kAll, least, 0.25}};
  Array expected = a;
  const auto rounded = [](double v) { return static_cast<double>(static_cast<float>(v)); };
  for (std::size_t i = 0; i < a.v.size(); ++i) {
    expected.v[i] = std::fmod(rounded(a.v[i]), rounded(b.v[i]));
  }
  OneOperator floats("Mod", a, 13);
  floats.With(b).model().Int("fmod", 1);
  ExpectEqual(floats.Run(), expected);
  OneOperator floored("Mod", {{4}, {-4.5, 7.5, -1, 6}}, 13);
  ExpectEqual(floored.With({{4}, {2.25, -3.25, kAll, -3}}).Run(), {{4}, {0, -2.25, kAll, 0}});
  OneOperator halves("Mod", {{3}, {-4.5, 65504, 7}}, 13, kFloat16);
  halves.With({{3}, {2.25, 0.375, -3}}, kFloat16).model().Int("fmod", 1);
  ExpectEqual(halves.Run(), {{3}, {0, std::fmod(65504, 0.375), 1}});
  OneOperator none("Mod", {{3}, {1, kAll, std::nan("")}}, 13);
  none.With({{3}, {0, 2, 2}}).model().Int("fmod", 1);
  for (double value : ValuesOf(none.Run())) EXPECT_TRUE(std::isnan(value));
}

// Blocks of two along the second dimension; the last block is cut off.
TEST(OnnxCorners, ScalesPerBlock) {
  const Array x{{2, 5}, {1, 2, 3, 4, 5, -1, -2, -3, -4, -5}};
  const Array scales{{2, 3}, {0.5, 0.25, 2, 1, 4, 0.125}}, zeros{{2, 3}, {1, 2, 3, 4, 5, 6}};
  const Array numbers{{2, 5}, {3, 5, 14, 18, 5, 3, 2, 4, 4, -34}};
  OneOperator quantize("QuantizeLinear", x, 21);
  quantize.With(scales).With(zeros, kInt8).model().Int("axis", -1).Int("block_size", 2);
  ExpectEqual(quantize.Run(), numbers);
  OneOperator back("DequantizeLinear", numbers, 21, kInt8);
  back.With(scales).With(zeros, kInt8).model().Int("axis", 1).Int("block_size", 2);
  ExpectEqual(back.Run(), {{2, 5}, {1, 2, 3, 4, 4, -1, -2, -4, -4, -5}});
}

TEST(OnnxCorners, CumSum) {
  for (std::int64_t extent : {1, 2, 5, 8}) {
    const Array x = Array::Made({2, extent, 3}, 61, -9, 9);
    for (const bool reverse : {false, true}) {
      for (const bool exclusive : {false, true}) {
        SCOPED_TRACE(std::to_string(extent) + (reverse ? " reverse" : "") +
                     (exclusive ? " exclusive" : ""));
        Array expected = Array::Filled(x.shape);
        onnx_definitions::ForEach(x.shape, [&](const Ints& at) {
          for (Ints i = {at[0], 0, at[2]}; i[1] < extent; ++i[1]) {
            const bool before = reverse ? i[1] > at[1] : i[1] < at[1];
            if (before || (!exclusive && i[1] == at[1])) expected.At(at) += x.At(i);
          }
        });
        for (const DataType dtype : {kFloat32, kInt64}) {
          OneOperator sum("CumSum", x, 14, dtype);
          sum.Scalar(-2, kInt64).model().Int("reverse", reverse).Int("exclusive", exclusive);
          ExpectEqual(sum.Run(), expected);
        }
      }
    }
  }
}

TEST(OnnxCorners, ReduceProdWithoutAxesMayDoNothing) {
  OneOperator nothing("ReduceProd", {{2, 2}, {2, 3, 4, 5}}, 18);
  nothing.model().Int("noop_with_empty_axes", 1);
  ExpectEqual(nothing.Run(), {{2, 2}, {2, 3, 4, 5}});
}

TEST(OnnxCorners, SwishScalesItsArgument) {
  OneOperator swish("Swish", {{3}, {-2, 0, 4}}, 24);
  swish.model().Float("alpha", 0.5F);
  ExpectEqual(swish.Run(), {{3}, {-2 / (1 + std::exp(1.0)), 0, 4 / (1 + std::exp(-2.0))}}, 1e-6);
}

TEST(OnnxCorners, ExtremesOfInfiniteElements) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Array low{{1, 1, 1, 2}, {-kInf, -kInf}}, high{{2}, {kInf, kInf}};
  for (const DataType dtype : {kFloat32, kFloat16}) {
    ExpectEqual(OneOperator("ReduceMax", low, 13, dtype).Run(), {{1, 1, 1, 1}, {-kInf}});
    ExpectEqual(OneOperator("ReduceMin", high, 13, dtype).Run(), {{1}, {kInf}});
    ExpectEqual(OneOperator("GlobalMaxPool", low, 13, dtype).Run(), {{1, 1, 1, 1}, {-kInf}});
    OneOperator padded("MaxPool", low, 13, dtype);
    padded.model().IntList("kernel_shape", {1, 2}).IntList("pads", {0, 1, 0, 0});
    ExpectEqual(padded.Run(), {{1, 1, 1, 2}, {-kInf, -kInf}});
  }
}

TEST(OnnxCorners, SinAndCos) {
  Array x{{1001}, {}};
  for (int i = -500; i <= 500; ++i) x.v.push_back(i * std::abs(i) / 16.0);  // up to 2^14
  Array sines = x, cosines = x;
  for (std::size_t i = 0; i < x.v.size(); ++i) {
    sines.v[i] = std::sin(x.v[i]);
    cosines.v[i] = std::cos(x.v[i]);
  }
  ExpectEqual(OneOperator("Sin", x).Run(), sines, 1e-6);
  ExpectEqual(OneOperator("Cos", x).Run(), cosines, 1e-6);
  const Tensor half = OneOperator("Cos", {{2}, {0, 1}}, 22, kFloat16).Run();
  EXPECT_EQ(half.dtype(), kFloat16);
  ExpectEqual(half, {{2}, {1, std::cos(1.0)}}, 1e-3);
}

TEST(OnnxCorners, LpNormalizationLeavesZerosAlone) {
  const Array x{{2, 3}, {3, 0, -5, -4, 0, 12}};
  const Doubles lengths = {5, 0, 13}, sums = {7, 0, 17};
  for (const std::int64_t p : {1, 2}) {
    Array expected = x;
    for (std::size_t i = 0; i < 6; ++i) {
      const double length = (p == 1 ? sums : lengths)[i % 3];
      expected.v[i] = length == 0 ? 0 : x.v[i] / length;
    }
    OneOperator norm("LpNormalization", x);
    norm.model().Int("axis", 0).Int("p", p);
    ExpectEqual(norm.Run(), expected, 1e-6);
  }
}

TEST(OnnxCorners, RmsNormalization) {
  const Array x = Array::Made({2, 3, 4}, 62, -9, 9);
  for (const std::int64_t axis : {-1, 1}) {
    const std::int64_t inner = axis == 1 ? 12 : 4;
    const Ints shape = axis == 1 ? Ints{3, 4} : Ints{4};
    const Array scale = Array::Made(shape, 63, -3, 3);
    Array expected = x;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const auto group = x.v.begin() + i / inner * inner;
      const double squares = std::inner_product(group, group + inner, group, 0.0);
      const double root = std::sqrt(squares / static_cast<double>(inner) + 0.25);
      const auto at = static_cast<std::size_t>(i);
      expected.v[at] = x.v[at] / root * scale.v[static_cast<std::size_t>(i % inner)];
    }
    OneOperator norm("RMSNormalization", x, 23);
    norm.With(scale).model().Int("axis", axis).Float("epsilon", 0.25F);
    ExpectEqual(norm.Run(), expected, 1e-6);
  }
}

// The squares exceed 65504, the largest float16 number.
TEST(OnnxCorners, NormalizationsOfFloat16AreComputedInFloat32) {
  const Array x{{1, 4}, {1000, -1000, 1000, -1000}}, one{{4}, {1, 1, 1, 1}};
  for (const char* op : {"LayerNormalization", "RMSNormalization"}) {
    OneOperator norm(op, x, 23, kFloat16);
    const Tensor y = norm.With(one, kFloat16).Run();
    EXPECT_EQ(y.dtype(), kFloat16);
    ExpectEqual(y, {{1, 4}, {1, -1, 1, -1}}, 1e-3);
  }
}

TEST(OnnxCorners, DequantizeLinearMakesTheTypeOfItsScale) {
  const Array x{{3}, {-128, 5, 127}}, expected{{3}, {-65, 1.5, 62.5}};
  OneOperator half("DequantizeLinear", x, 19, kInt8);
  const Tensor y = half.Scalar(0.5, kFloat16).Scalar(2, kInt8).Run();
  EXPECT_EQ(y.dtype(), kFloat16);
  ExpectEqual(y, expected);
  OneOperator named("DequantizeLinear", x, 23, kInt8);
  named.Scalar(0.5, kFloat16)
      .Scalar(2, kInt8)
      .model()
      .Int("output_dtype", onnx::TensorProto::FLOAT);
  const Tensor wide = named.Run();
  EXPECT_EQ(wide.dtype(), kFloat32);
  ExpectEqual(wide, expected);
}

// 0.56640625 / 0.1258544921875 is 4.50048…; in float16 it is 4.5, which rounds to the even 4.
TEST(OnnxCorners, QuantizeLinearDividesInTheTypeThatIsAskedFor) {
  const Array x{{1}, {0.56640625}};
  OneOperator half("QuantizeLinear", x, 21, kFloat16);
  ExpectEqual(half.Scalar(0.1258544921875, kFloat16).Scalar(0, kInt8).Run(), {{1}, {4}});
  OneOperator precise("QuantizeLinear", x, 23, kFloat16);
  precise.Scalar(0.1258544921875, kFloat16).Scalar(0, kInt8);
  precise.model().Int("precision", onnx::TensorProto::FLOAT);
  ExpectEqual(precise.Run(), {{1}, {5}});
}

// A linear layer as ONNX Runtime quantizes it dynamically: the scale and zero point of the data are
// computed at run time, and the sums are multiplied by the product of the scales.
TEST(OnnxCorners, DynamicallyQuantizedLinearLayer) {
  OnnxBuilder model(13);
  model.Input("x", {2, 2}).Output("y").Output("s").Output("z").Output("p");
  model.Initializer("w", MakeTensor(kInt8, {2, 2}, {1, -2, 3, 4}));
  model.Node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"});
  model.Node("MatMulInteger", {"y", "w", "z"}, {"p"});
  auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::vector<Tensor> x;
  x.push_back(MakeTensor(kFloat32, {2, 2}, {-25.5, 0, 5, 102}));  // 127.5 in 255 steps of 0.5
  const auto outputs = EvaluateGraph(*graph, x);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ(ValuesOf((*outputs)[0]), (Doubles{0, 51, 61, 255}));
  EXPECT_EQ(ValuesOf((*outputs)[1]), (Doubles{0.5}));
  EXPECT_EQ(ValuesOf((*outputs)[2]), (Doubles{51}));
  EXPECT_EQ(ValuesOf((*outputs)[3]), (Doubles{-51, 102, 622, 796}));
  x[0] = MakeTensor(kFloat32, {2, 2}, {0, 0, 0, 0});
  const auto nothing = EvaluateGraph(*graph, x);
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(ValuesOf((*nothing)[0]), (Doubles{0, 0, 0, 0}));
  EXPECT_EQ(ValuesOf((*nothing)[1]), (Doubles{1}));
}

TEST(OnnxCorners, ConvIntegerByAZeroPointThatIsComputed) {
  OnnxBuilder model(13);
  model.Input("x", {1, 1, 3}, onnx::TensorProto::UINT8).Input("z", {}, onnx::TensorProto::UINT8);
  model.Initializer("w", MakeTensor(kInt8, {1, 1, 2}, {2, -1})).Output("y");
  model.Node("ConvInteger", {"x", "w", "z"}, {"y"}).IntList("pads", {1, 0});
  const Tensor x = MakeTensor(kUInt8, {1, 1, 3}, {10, 255, 0}), z = MakeTensor(kUInt8, {}, {10});
  // 0 245 -10 after the padding of 0
  EXPECT_EQ(ValuesOf(EvaluateModel(model, {&x, &z})), (Doubles{0, -245, 500}));
}

// A scale and a zero point given as lists of one element do not add a dimension to a scalar.
TEST(OnnxCorners, ScalarsAreQuantizedToScalars) {
  for (const Ints& shape : {Ints{}, Ints{1}}) {
    for (const bool computed : {false, true}) {
      OnnxBuilder model(13);
      model.Input("x", {}).Output("q").Output("y");
      model.Initializer("z", MakeTensor(kInt8, shape, {3}));
      std::vector<Tensor> inputs;
      inputs.push_back(MakeTensor(kFloat32, {}, {7}));
      if (computed) {
        model.Input("s", shape);
        inputs.push_back(MakeTensor(kFloat32, shape, {0.5}));
      } else {
        model.Initializer("s", MakeTensor(kFloat32, shape, {0.5}));
      }
      model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"});
      model.Node("DequantizeLinear", {"q", "s", "z"}, {"y"});
      auto graph = model.Import();
      ASSERT_TRUE(graph.ok()) << graph.status().message();
      const auto outputs = EvaluateGraph(*graph, inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status().message();
      for (const Tensor& output : *outputs) EXPECT_EQ(output.shape(), Ints());
      EXPECT_EQ(ValuesOf((*outputs)[0]), (Doubles{17}));
      EXPECT_EQ(ValuesOf((*outputs)[1]), (Doubles{7}));
    }
  }
}

}  // namespace
}  // namespace tilewright
