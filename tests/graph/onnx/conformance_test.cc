// Every combination of attributes of an operator, compared with the definitions in definitions.h.
// composed_test.cc and resize_test.cc test the operators that are built from others.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/graph/onnx/proto.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;
using def::Window;

std::string Describe(const Window& w) {
  std::string text = w.auto_pad + " group " + std::to_string(w.group);
  for (const auto& [name, values] :
       {std::pair("kernel", w.kernel), std::pair("strides", w.strides), std::pair("pads", w.pads),
        std::pair("dilations", w.dilations), std::pair("output_padding", w.output_padding)}) {
    text += std::string(" ") + name;
    for (std::int64_t value : values) text += " " + std::to_string(value);
  }
  if (w.ceil_mode) text += " ceil_mode";
  if (w.count_include_pad) text += " count_include_pad";
  return text;
}

// Strides, pads, dilations and auto_pad in every combination that ONNX permits.
std::vector<Window> Windows() {
  std::vector<Window> windows;
  for (const Ints& strides : {Ints{1, 1}, Ints{2, 1}, Ints{2, 3}}) {
    for (const Ints& dilations : {Ints{1, 1}, Ints{2, 1}}) {
      Window w{.kernel = {3, 2}, .strides = strides, .dilations = dilations};
      for (const Ints& pads : {Ints{0, 0, 0, 0}, Ints{1, 1, 1, 1}, Ints{0, 1, 2, 0}}) {
        w.pads = pads;
        windows.push_back(w);
      }
      w.pads = {0, 0, 0, 0};
      for (const char* mode : {"VALID", "SAME_UPPER", "SAME_LOWER"}) {
        w.auto_pad = mode;
        windows.push_back(w);
      }
    }
  }
  return windows;
}

TEST(OnnxConformance, Conv) {
  const Array x = Array::Made({2, 4, 6, 5}, 1, -9, 9);
  const Doubles bias = {1, -2, 3, -4, 5, -6, 7, -8};
  for (Window window : Windows()) {
    for (std::int64_t group : {1, 2, 4}) {
      window.group = group;
      SCOPED_TRACE(Describe(window));
      const Array w = Array::Made({8, 4 / group, 3, 2}, 2, -5, 5);
      OneOperator conv("Conv", x);
      conv.With(w).Attributes(window, false);
      const Array expected = def::Conv(x, w, window);
      ExpectEqual(conv.Run(), expected);
      conv.Vector(bias);
      ExpectEqual(conv.Run(), def::AddPerChannel(expected, bias));
    }
  }
}

TEST(OnnxConformance, ConvTranspose) {
  const Array x = Array::Made({1, 4, 4, 3}, 3, -9, 9);
  std::vector<Window> windows;
  for (const Ints& strides : {Ints{1, 1}, Ints{2, 3}}) {
    for (const Ints& pads : {Ints{0, 0, 0, 0}, Ints{1, 0, 0, 1}}) {
      for (const Ints& dilations : {Ints{1, 1}, Ints{2, 2}}) {
        windows.push_back({.strides = strides, .pads = pads, .dilations = dilations});
      }
    }
  }
  windows.push_back({.strides = {2, 3}, .output_padding = {1, 2}});
  windows.push_back({.strides = {2, 2}, .output_shape = {7, 6}});
  windows.push_back({.strides = {2, 2}, .auto_pad = "SAME_UPPER", .output_shape = {8, 5}});
  windows.push_back({.strides = {2, 2}, .auto_pad = "SAME_UPPER"});
  windows.push_back({.strides = {2, 2}, .auto_pad = "SAME_LOWER"});
  windows.push_back({.strides = {2, 2}, .auto_pad = "VALID"});
  for (const Window& window : windows) {
    SCOPED_TRACE(Describe(window));
    const Array w = Array::Made({4, 3, 3, 3}, 4, -5, 5);
    OneOperator conv("ConvTranspose", x);
    conv.With(w).Attributes(window, false);
    ExpectEqual(conv.Run(), def::ConvTranspose(x, w, window));
    conv.Vector({1, 2, 3});
    ExpectEqual(conv.Run(), def::AddPerChannel(def::ConvTranspose(x, w, window), {1, 2, 3}));
  }
}

TEST(OnnxConformance, MaxPool) {
  const Array x = Array::Made({2, 3, 8, 7}, 5, -99, -1);  // padding must not win
  for (Window window : Windows()) {
    window.kernel = {3, 2};
    for (bool ceil_mode : {false, true}) {
      if (ceil_mode && window.auto_pad != "NOTSET") continue;
      window.ceil_mode = ceil_mode;
      SCOPED_TRACE(Describe(window));
      OneOperator pool("MaxPool", x);
      pool.Attributes(window, true);
      ExpectEqual(pool.Run(), def::MaxPool(x, window));
    }
  }
}

TEST(OnnxConformance, MaxPoolOfQuantizedNumbers) {
  for (const char* type : {"int8", "uint8"}) {
    const auto [low, high] = def::RangeOf(type);
    const Array x = Array::Made({1, 2, 5, 5}, 6, low, high);
    const Window window{.kernel = {2, 2}, .strides = {2, 2}, .pads = {1, 1, 0, 0}};
    OneOperator pool("MaxPool", x, 13, TypeNamed(type));
    pool.Attributes(window, true);
    ExpectEqual(pool.Run(), def::MaxPool(x, window));
  }
}

TEST(OnnxConformance, AveragePool) {
  const Array x = Array::Made({2, 3, 8, 7}, 7, -50, 50);
  for (Window window : Windows()) {
    window.dilations = {1, 1};
    for (int modes = 0; modes < 4; ++modes) {
      window.ceil_mode = (modes & 1) != 0;
      window.count_include_pad = (modes & 2) != 0;
      if (window.ceil_mode && window.auto_pad != "NOTSET") continue;
      SCOPED_TRACE(Describe(window));
      OneOperator pool("AveragePool", x);
      pool.Attributes(window, true);
      ExpectEqual(pool.Run(), def::AveragePool(x, window), 1e-6);
    }
  }
}

TEST(OnnxConformance, GlobalPools) {
  const Array x = Array::Made({2, 3, 4, 5}, 8, -50, 50);
  const Window whole{.kernel = {4, 5}};
  ExpectEqual(OneOperator("GlobalAveragePool", x).Run(), def::AveragePool(x, whole), 1e-6);
  ExpectEqual(OneOperator("GlobalMaxPool", x).Run(), def::MaxPool(x, whole));
}

TEST(OnnxConformance, Gemm) {
  for (int modes = 0; modes < 4; ++modes) {
    const bool trans_a = (modes & 1) != 0, trans_b = (modes & 2) != 0;
    const Array a = Array::Made(trans_a ? Ints{5, 3} : Ints{3, 5}, 9, -9, 9);
    const Array b = Array::Made(trans_b ? Ints{4, 5} : Ints{5, 4}, 10, -9, 9);
    for (const Ints& shape : {Ints{0}, Ints{}, Ints{4}, Ints{1, 4}, Ints{3, 1}, Ints{3, 4}}) {
      const Array c = shape == Ints{0} ? Array() : Array::Made(shape, 11, -9, 9);
      for (const auto& [alpha, beta] :
           {std::pair(1.0, 1.0), std::pair(0.5, 2.0), std::pair(2.0, 0.0)}) {
        SCOPED_TRACE("modes " + std::to_string(modes) + ", C of " + std::to_string(shape.size()) +
                     " dimensions, alpha " + std::to_string(alpha));
        OneOperator gemm("Gemm", a);
        gemm.With(b);
        if (!c.v.empty()) gemm.With(c);
        gemm.model().Int("transA", trans_a).Int("transB", trans_b);
        gemm.model()
            .Float("alpha", static_cast<float>(alpha))
            .Float("beta", static_cast<float>(beta));
        ExpectEqual(gemm.Run(), def::Gemm(a, b, c, trans_a, trans_b, alpha, beta));
      }
    }
  }
}

TEST(OnnxConformance, MatMul) {
  const std::pair<Ints, Ints> kShapes[] = {{{3, 4}, {4, 2}},
                                           {{2, 3, 4}, {4, 2}},
                                           {{2, 3, 4}, {2, 4, 2}},
                                           {{2, 1, 3, 4}, {1, 5, 4, 2}},
                                           {{3, 4}, {2, 4, 2}}};
  for (const auto& [left, right] : kShapes) {
    const Array a = Array::Made(left, 12, -9, 9), b = Array::Made(right, 13, -9, 9);
    OneOperator product("MatMul", a);
    product.With(b);
    ExpectEqual(product.Run(), def::MatMul(a, b));
  }
}

TEST(OnnxConformance, SoftmaxAndItsLogarithm) {
  const Array x = Array::Made({2, 3, 4}, 14, -3, 3);
  for (std::int64_t opset : {11, 13}) {
    for (std::int64_t axis : {-3, -2, -1, 0, 1, 2}) {
      const Array expected = def::Softmax(x, axis < 0 ? axis + 3 : axis, opset < 13);
      Array logarithm = expected;
      for (double& value : logarithm.v) value = std::log(value);
      for (const bool log : {false, true}) {
        SCOPED_TRACE("set " + std::to_string(opset) + " axis " + std::to_string(axis));
        OneOperator softmax(log ? "LogSoftmax" : "Softmax", x, opset);
        softmax.model().Int("axis", axis);
        ExpectEqual(softmax.Run(), log ? logarithm : expected, 1e-5);
      }
    }
  }
}

TEST(OnnxConformance, BatchNormalization) {
  const Array x = Array::Made({2, 3, 2, 2}, 15, -9, 9);
  const Doubles scale = {1, 0.5, -2}, bias = {0, 1, 2}, mean = {-1, 0, 3}, variance = {1, 4, 0.25};
  for (std::int64_t opset : {7, 9, 14, 15}) {
    for (double epsilon : {0.0, 0.5}) {
      OneOperator norm("BatchNormalization", x, opset);
      norm.Vector(scale).Vector(bias).Vector(mean).Vector(variance);
      if (epsilon > 0) norm.model().Float("epsilon", static_cast<float>(epsilon));
      const double used = epsilon > 0 ? epsilon : 1e-5;
      ExpectEqual(norm.Run(), def::BatchNormalization(x, scale, bias, mean, variance, used), 1e-5);
    }
  }
}

TEST(OnnxConformance, Pad) {
  const Array x = Array::Made({1, 2, 3, 4}, 16, -9, 9);
  for (const Ints& pads : {Ints{0, 0, 1, 2, 0, 0, 3, 0}, Ints{0, 1, -1, 0, 2, 0, 0, -2}}) {
    OneOperator old("Pad", x, 10);
    old.model().IntList("pads", pads).Float("value", 1.5F);
    ExpectEqual(old.Run(), def::Pad(x, pads, 1.5));
    const Array list{{8}, Doubles(pads.begin(), pads.end())};
    OneOperator zeros("Pad", x, 11);
    ExpectEqual(zeros.With(list, kInt64).Run(), def::Pad(x, pads, 0));
    OneOperator filled("Pad", x, 13);
    ExpectEqual(filled.With(list, kInt64).Scalar(-7).Run(), def::Pad(x, pads, -7));
  }
  OnnxBuilder computed(18);  // the fill value
  computed.Input("x", x.shape).Input("v", {}).Output("y");
  computed.Initializer("p", MakeTensor(kInt64, {8}, {0, 1, -1, 0, 2, 0, 0, -2}));
  computed.Node("Pad", {"x", "p", "v"}, {"y"});
  const Tensor data = TensorOf(x), fill = MakeTensor(kFloat32, {}, {4.5});
  ExpectEqual(EvaluateModel(computed, {&data, &fill}),
              def::Pad(x, {0, 1, -1, 0, 2, 0, 0, -2}, 4.5));
  OneOperator axes("Pad", x, 18);
  axes.With({{4}, {1, 2, 3, 4}}, kInt64).Scalar(9).With({{2}, {3, -2}}, kInt64);
  ExpectEqual(axes.Run(), def::Pad(x, {0, 0, 2, 1, 0, 0, 4, 3}, 9));
}

TEST(OnnxConformance, QuantizeLinear) {
  // Ties, both ends of the range, and values beyond them.
  const Array x{{2, 3, 4},
                {0,   1,   3,   -1,   -3,   5,     7,      2.5,    1e9,    -1e9, 254,   255,
                 256, 509, 511, -255, -257, 65534, -65536, 131070, 131072, 0.99, -0.99, 1.01}};
  for (const char* type : {"uint8", "int8", "uint16", "int16"}) {
    const DataType dtype = TypeNamed(type);
    const double zero = type[0] == 'u' ? 100 : -20;
    OneOperator plain("QuantizeLinear", x, 21);
    ExpectEqual(plain.Scalar(2).Scalar(zero, dtype).Run(),
                def::QuantizeLinear(x, {2}, {zero}, 0, type));
    for (std::int64_t axis : {-3, -2, -1, 0, 1, 2}) {
      SCOPED_TRACE(std::string(type) + " axis " + std::to_string(axis));
      const std::int64_t at = axis < 0 ? axis + 3 : axis;
      const Doubles scales = at == 0   ? Doubles{2, 0.5}
                             : at == 1 ? Doubles{2, 0.5, 3}
                                       : Doubles{2, 0.5, 3, 1};
      Doubles zeros(scales.size());
      for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<double>(i * 11);
      OneOperator per_axis("QuantizeLinear", x, 21);
      per_axis.Vector(scales).Vector(zeros, dtype).model().Int("axis", axis);
      ExpectEqual(per_axis.Run(), def::QuantizeLinear(x, scales, zeros, at, type));
    }
  }
  OneOperator no_zero("QuantizeLinear", x, 13);  // uint8 around 0
  ExpectEqual(no_zero.Scalar(4).Run(), def::QuantizeLinear(x, {4}, {0}, 0, "uint8"));
  OneOperator by_attribute("QuantizeLinear", x, 21);
  by_attribute.Scalar(4).model().Int("output_dtype", onnx::TensorProto::INT8);
  ExpectEqual(by_attribute.Run(), def::QuantizeLinear(x, {4}, {0}, 0, "int8"));
}

TEST(OnnxConformance, DequantizeLinear) {
  for (const char* type : {"uint8", "int8", "uint16", "int16", "int32"}) {
    const DataType dtype = TypeNamed(type);
    const bool wide = dtype == kInt32;  // ONNX permits only a zero point of 0 for int32
    const auto [low, high] = wide ? std::pair(-1e6, 1e6) : def::RangeOf(type);
    const Array x = Array::Made({2, 3, 2, 2}, 17, low, high);
    OneOperator plain("DequantizeLinear", x, 21, dtype);
    plain.Scalar(0.25);
    if (!wide) plain.Scalar(7, dtype);
    ExpectEqual(plain.Run(), def::DequantizeLinear(x, {0.25}, {wide ? 0.0 : 7.0}, 0));
    for (std::int64_t axis : {0, 1, -2}) {
      SCOPED_TRACE(std::string(type) + " axis " + std::to_string(axis));
      const std::int64_t at = axis < 0 ? axis + 4 : axis;
      const Doubles scales = at == 1 ? Doubles{2, 0.5, 0.25} : Doubles{2, 0.5};
      Doubles zeros(scales.size(), 0);
      for (std::size_t i = 0; i < zeros.size() && !wide; ++i) zeros[i] = static_cast<double>(3 * i);
      OneOperator per_axis("DequantizeLinear", x, 21, dtype);
      per_axis.Vector(scales);
      if (!wide) per_axis.Vector(zeros, dtype);
      per_axis.model().Int("axis", axis);
      ExpectEqual(per_axis.Run(), def::DequantizeLinear(x, scales, zeros, at));
    }
  }
}

struct QuantizedCase {
  const char *data, *weight;
  double data_zero;
  Doubles weight_zero, weight_scale;
};

const QuantizedCase kQuantized[] = {
    {"uint8", "int8", 0, {0}, {0.125}},
    {"uint8", "int8", 128, {0}, {0.125, 0.5, 0.03, 0.25}},
    {"uint8", "uint8", 3, {128}, {0.125}},
    {"uint8", "uint8", 255, {17}, {0.125, 0.5, 0.03, 0.25}},
    {"int8", "int8", -5, {0}, {0.02}},
    {"int8", "int8", 0, {1, -2, 0, 127}, {0.125, 0.5, 0.03, 0.25}},
    {"int8", "uint8", 4, {0, 255, 3, 128}, {0.1}},
};

TEST(OnnxConformance, ConvIntegerAndQLinearConv) {
  const Doubles bias = {100, -2000, 0, 30000};
  std::vector<Window> windows = Windows();
  for (const QuantizedCase& c : kQuantized) {
    const DataType data = TypeNamed(c.data), weight = TypeNamed(c.weight);
    const auto [x_low, x_high] = def::RangeOf(c.data);
    const auto [w_low, w_high] = def::RangeOf(c.weight);
    const Array x = Array::Made({1, 4, 6, 5}, 18, x_low, x_high);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      Window window = windows[i];
      window.group = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 4;
      SCOPED_TRACE(std::string(c.data) + " " + c.weight + " " + Describe(window));
      const Array w = Array::Made({4, 4 / window.group, 3, 2}, 19, w_low, w_high);
      const Array sums = def::Conv(x, w, window, c.data_zero, c.weight_zero);
      OneOperator integer("ConvInteger", x, 13, data);
      integer.With(w, weight).Scalar(c.data_zero, data).Vector(c.weight_zero, weight);
      ExpectEqual(integer.Attributes(window, false).Run(), sums);
      const char* type = i % 2 == 0 ? "uint8" : "int8";
      OneOperator linear("QLinearConv", x, 13, data);
      linear.Scalar(0.5).Scalar(c.data_zero, data);
      linear.With(w, weight).Vector(c.weight_scale).Vector(c.weight_zero, weight);
      linear.Scalar(8).Scalar(20, TypeNamed(type));
      linear.Attributes(window, false);
      ExpectEqual(linear.Run(), def::Requantize(sums, 0.5, c.weight_scale, 8, 20, 1, type));
      linear.Vector(bias, kInt32);
      ExpectEqual(linear.Run(), def::Requantize(def::AddPerChannel(sums, bias), 0.5, c.weight_scale,
                                                8, 20, 1, type));
    }
  }
}

TEST(OnnxConformance, MatMulIntegerAndQLinearMatMul) {
  const std::pair<Ints, Ints> kShapes[] = {
      {{3, 5}, {5, 4}}, {{2, 3, 5}, {5, 4}}, {{2, 3, 5}, {2, 5, 4}}};
  for (const QuantizedCase& c : kQuantized) {
    const DataType data = TypeNamed(c.data), weight = TypeNamed(c.weight);
    const auto [a_low, a_high] = def::RangeOf(c.data);
    const auto [b_low, b_high] = def::RangeOf(c.weight);
    for (const auto& [left, right] : kShapes) {
      SCOPED_TRACE(std::string(c.data) + " " + c.weight + " rank " + std::to_string(left.size()));
      const Array a = Array::Made(left, 20, a_low, a_high);
      const Array b = Array::Made(right, 21, b_low, b_high);
      for (const Doubles& a_zero : {Doubles{c.data_zero}, Doubles{c.data_zero, 1, 2}}) {
        const Array sums = def::MatMul(a, b, a_zero, c.weight_zero);
        OneOperator integer("MatMulInteger", a, 13, data);
        integer.With(b, weight).Vector(a_zero, data).Vector(c.weight_zero, weight);
        ExpectEqual(integer.Run(), sums);
        OneOperator linear("QLinearMatMul", a, 13, data);
        linear.Scalar(0.5).Vector(a_zero, data);
        linear.With(b, weight).Vector(c.weight_scale).Vector(c.weight_zero, weight);
        linear.Scalar(8).Scalar(-3, kInt8);
        const auto axis = static_cast<std::int64_t>(sums.shape.size()) - 1;
        ExpectEqual(linear.Run(), def::Requantize(sums, 0.5, c.weight_scale, 8, -3, axis, "int8"));
      }
    }
  }
}

TEST(OnnxConformance, IntegerProductsWithoutZeroPoints) {
  const Array x = Array::Made({1, 2, 3, 3}, 22, 0, 255),
              w = Array::Made({2, 2, 2, 2}, 23, -128, 127);
  OneOperator conv("ConvInteger", x, 13, kUInt8);
  ExpectEqual(conv.With(w, kInt8).Run(), def::Conv(x, w, Window()));
  const Array a = Array::Made({2, 3}, 24, -128, 127), b = Array::Made({3, 2}, 25, 0, 255);
  OneOperator product("MatMulInteger", a, 13, kInt8);
  ExpectEqual(product.With(b, kUInt8).Run(), def::MatMul(a, b));
}

// Computed by hand: rows with a scale and zero point each, [1 2] and [3 4] times [1 0; 0 2].
TEST(OnnxConformance, QLinearMatMulScalesRows) {
  OneOperator linear("QLinearMatMul", {{2, 2}, {1, 2, 3, 4}}, 13, kUInt8);
  linear.Vector({1, 0.5}).Vector({0, 1}, kUInt8);
  linear.With({{2, 2}, {1, 0, 0, 2}}, kInt8).Scalar(1).Scalar(0, kInt8);
  linear.Scalar(0.5).Scalar(10, kUInt8);
  // (1 4) * 1 / 0.5 + 10; the second row is (2 3) - 1 = (2 3): (2 6) * 0.5 / 0.5 + 10.
  ExpectEqual(linear.Run(), {{2, 2}, {12, 18, 12, 16}});
}

}  // namespace
}  // namespace tilewright
