// Bit operators, integer powers, trigonometry and operators with fixed selections. Expected results
// are computed by hand or by the C library.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

using onnx_definitions::Array;

Array OneRow(const Doubles& values) { return {{static_cast<std::int64_t>(values.size())}, values}; }

struct PairCase {
  const char* op;
  DataType dtype;
  Doubles a, b, expected;
  const char* direction = nullptr;
  std::optional<DataType> second = {};  // if it differs from the first
};

const PairCase kPairs[] = {
    {"BitwiseAnd", kUInt8, {0, 255, 0xA5, 0x5A}, {255, 255, 0x0F, 0xF0}, {0, 255, 0x05, 0x50}},
    {"BitwiseOr", kInt16, {-1, 0x1234, -32768}, {5, 0x0F0F, 1}, {-1, 0x1F3F, -32767}},
    {"BitwiseXor", kInt32, {-1, 0x12345678, 0}, {0, -1, 7}, {-1, -0x12345679, 7}},
    {"BitwiseAnd",
     kInt64,
     {-1, 0x123456789AB},
     {0x1FFFFFFFFFF, -256},
     {0x1FFFFFFFFFF, 0x12345678900}},
    {"BitShift", kUInt8, {1, 129, 255, 3}, {7, 1, 8, 0}, {128, 2, 0, 3}, "LEFT"},
    {"BitShift", kUInt16, {1, 0x8001, 255, 3}, {1, 1, 16, 0}, {0, 0x4000, 0, 3}, "RIGHT"},
    {"BitShift", kInt8, {-8, 4, -1, -8}, {1, 9, -1, 0}, {-4, 0, -1, -8}, "RIGHT"},
    {"BitShift", kInt8, {-8, 1, -1, 64}, {8, 7, -1, 1}, {0, -128, 0, -128}, "LEFT"},
    {"Pow", kInt32, {2, -3, 0, 7, -1, 1}, {10, 3, 0, 1, 1001, 5000}, {1024, -27, 1, 7, -1, 1}},
    {"Pow", kInt64, {2, -2, 5, -1}, {40, -1, -3, -3}, {1099511627776, 0, 0, -1}},
    {"Pow", kInt32, {9, 2, 10}, {0.5, 0.5, 2}, {3, 1, 100}, nullptr, kFloat32},
};

TEST(OnnxBits, Pairs) {
  for (const PairCase& c : kPairs) {
    SCOPED_TRACE(std::string(c.op) + " " + DataTypeName(c.dtype));
    OneOperator op(c.op, OneRow(c.a), 28, c.dtype);
    op.With(OneRow(c.b), c.second.value_or(c.dtype));
    if (c.direction != nullptr) op.model().Text("direction", c.direction);
    ExpectEqual(op.Run(), OneRow(c.expected));
  }
  ExpectEqual(OneOperator("BitwiseNot", OneRow({0, 5, 255}), 18, kUInt8).Run(),
              OneRow({255, 250, 0}));
  ExpectEqual(OneOperator("BitwiseNot", OneRow({0, 5, -7}), 18, kInt32).Run(), OneRow({-1, -6, 6}));
  OneOperator cast("BitCast", OneRow({-1, 7}), 26, kInt32);
  cast.model().Int("to", onnx::TensorProto::UINT32);
  ExpectEqual(cast.Run(), OneRow({4294967295, 7}));
}

struct CurveCase {
  const char* op;
  double (*function)(double);
  Doubles x;
};

const CurveCase kCurves[] = {
    {"Acos", std::acos, {-1, -0.99999, -0.5, 0, 1e-6, 0.7, 0.9999999, 1, 1.5}},
    {"Asin", std::asin, {-1, -0.99999, -0.5, 0, 1e-6, 0.7, 0.9999999, 1, -2}},
    {"Atan", std::atan, {-INFINITY, -1e20, -3, -1, -0.4, 0, 1e-7, 0.41421357, 0.5, 2, 1e10}},
    {"Acosh", std::acosh, {1, 1.0001, 2, 50, 1e8, 1e9, 1e20, 3e38, 0.5, INFINITY}},
    {"Asinh", std::asinh, {-3e38, -1e9, -2, -1e-6, 0, 1e-20, 0.3, 7, 1e12}},
    {"Atanh", std::atanh, {-1, -0.999, -1e-7, 0, 0.25, 0.9999, 1, 1.25}},
    {"Cosh", std::cosh, {-89, -3, -0.1, 0, 1, 20, 89}},
    {"Sinh", std::sinh, {-89, -3, -1, -0.99, -1e-6, 0, 0.5, 20, 89, 100}},
    {"Tan", std::tan, {-1000, -1.5707, -0.5, 0, 1e-6, 1, 1.5708, 3, 4000}},
};

TEST(OnnxBits, Curves) {
  for (const CurveCase& c : kCurves) {
    SCOPED_TRACE(c.op);
    const Tensor y = OneOperator(c.op, OneRow(c.x), 22).Run();
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      const auto expected = static_cast<float>(c.function(static_cast<float>(c.x[i])));
      const double actual = y.At(static_cast<std::int64_t>(i));
      if (std::isnan(expected) || std::isinf(expected)) {
        EXPECT_EQ(std::isnan(expected), std::isnan(actual)) << c.x[i];
        EXPECT_TRUE(std::isnan(expected) || actual == expected) << c.x[i];
      } else {
        EXPECT_NEAR(actual, expected, 4e-7 * std::abs(expected)) << c.x[i];
      }
    }
  }
}

TEST(OnnxBits, KnownChoices) {
  const Array matrix{{2, 3}, {1, 5, 5, 7, 0, -1}};
  ExpectEqual(OneOperator("Hardmax", matrix).Run(), {{2, 3}, {0, 1, 0, 1, 0, 0}});
  OneOperator rows("Hardmax", matrix);
  rows.model().Int("axis", 0);
  ExpectEqual(rows.Run(), {{2, 3}, {0, 1, 1, 1, 0, 0}});
  OneOperator flat("Hardmax", {{1, 2, 2}, {1, 2, 4, 3}}, 11);
  ExpectEqual(flat.Run(), {{1, 2, 2}, {0, 0, 1, 0}});
  OneOperator kept("Compress", matrix);
  kept.With(OneRow({0, 1, 1}), kBool).model().Int("axis", 1);
  ExpectEqual(kept.Run(), {{2, 2}, {5, 5, 0, -1}});
  OneOperator all("Compress", matrix);
  all.With(OneRow({1, 0, 0, 1, 1}), kBool);
  ExpectEqual(all.Run(), OneRow({1, 7, 0}));
  OneOperator centre("CenterCropPad", matrix, 18);
  centre.List({5, 2});
  ExpectEqual(centre.Run(), {{5, 2}, {0, 0, 1, 5, 7, 0, 0, 0, 0, 0}});
  OneOperator reverse("ReverseSequence", matrix);
  reverse.List({2, 3}).model().Int("batch_axis", 0).Int("time_axis", 1);
  ExpectEqual(reverse.Run(), {{2, 3}, {5, 1, 5, -1, 0, 7}});
  OneOperator eye("EyeLike", matrix);
  eye.model().Int("k", 1).Int("dtype", onnx::TensorProto::INT32);
  ExpectEqual(eye.Run(), {{2, 3}, {0, 1, 0, 0, 0, 1}});
  OneOperator product("CumProd", OneRow({2, 3, 4, 5}), 26);
  product.Scalar(0, kInt64);
  product.model().Int("exclusive", 1).Int("reverse", 1);
  ExpectEqual(product.Run(), OneRow({60, 20, 5, 1}));
  OneOperator shrink("Shrink", OneRow({-2, -1, 0, 1, 2}));
  shrink.model().Float("lambd", 1.5F).Float("bias", 1);
  ExpectEqual(shrink.Run(), OneRow({-1, 0, 0, 0, 1}));
}

TEST(OnnxBits, KnownContents) {
  OnnxBuilder model(13);
  model.Input("x", {1}).Output("y");
  model.Initializer("c", MakeTensor(kFloat32, {2, 3}, {3, 0, 1, 1, 3, 3}));
  model.Node("Unique", {"c"}, {"u", "first", "which", "counts"}).Node("NonZero", {"c"}, {"places"});
  model.Node("Cast", {"u"}, {"u64"}).Int("to", onnx::TensorProto::INT64);
  model.Initializer("flat", MakeTensor(kInt64, {1}, {-1}));
  model.Node("Reshape", {"places", "flat"}, {"list"});
  model.Node("Concat", {"u64", "first", "which", "counts", "list"}, {"y"}).Int("axis", 0);
  const Tensor x = MakeTensor(kFloat32, {1}, {0});
  EXPECT_EQ(ValuesOf(EvaluateModel(model, {&x})),
            (Doubles{0, 1, 3, 1, 2, 0, 2, 0, 1, 1, 2, 2, 1, 2, 3, 0, 0, 1, 1, 1, 0, 2, 0, 1, 2}));
}

TEST(OnnxBits, WindowsAndTransforms) {
  OneOperator pool("LpPool", {{1, 1, 2, 3}, {3, 0, 1, 4, 12, 2}}, 18);
  pool.model().IntList("kernel_shape", {2, 2}).IntList("pads", {0, 0, 0, 1});
  ExpectEqual(pool.Run(), {{1, 1, 1, 3}, {13, std::sqrt(149), std::sqrt(5)}}, 1e-6);
  OneOperator cubes("GlobalLpPool", {{1, 1, 3}, {-3, 4, 5}}, 2);
  cubes.model().Int("p", 3);
  ExpectEqual(cubes.Run(), {{1, 1, 1}, {6}}, 1e-6);
  // Blocks of 2 of an image of 4, with stride 2 and with stride 1.
  OneOperator apart("Col2Im", {{1, 2, 2}, {1, 2, 3, 4}}, 18);
  apart.List({4}).List({2}).model().IntList("strides", {2});
  ExpectEqual(apart.Run(), {{1, 1, 4}, {1, 3, 2, 4}});
  OneOperator over("Col2Im", {{1, 2, 3}, {1, 2, 3, 10, 20, 30}}, 18);
  over.List({4}).List({2});
  ExpectEqual(over.Run(), {{1, 1, 4}, {1, 12, 23, 30}});
  OneOperator dft("DFT", {{1, 4, 1}, {1, 2, 3, 5}}, 17);
  ExpectEqual(dft.Run(), {{1, 4, 2}, {11, 0, -2, 3, -3, 0, -2, -3}}, 1e-6);
  OneOperator half("DFT", {{1, 3, 2}, {11, 0, -2, 3, -3, 0}}, 17);
  half.model().Int("inverse", 1).Int("onesided", 1);
  ExpectEqual(half.Run(), {{1, 4, 1}, {1, 2, 3, 5}}, 1e-6);
  OneOperator grid("AffineGrid", {{1, 2, 3}, {2, 0, 1, 0, 1, 0}}, 20);
  grid.List({1, 1, 1, 2});
  ExpectEqual(grid.Run(), {{1, 1, 2, 2}, {0, 0, 2, 0}}, 1e-6);
}

// Rows after those of the selected boxes are -1. Boxes 0 and 1 overlap by two thirds, 2 is
// separate, 3 is box 2 given by its other corners. The scores of class 1 have a lower bound.
TEST(OnnxBits, NonMaxSuppression) {
  const Array boxes{{1, 4, 4}, {0, 0, 1, 2, 0, 0, 1, 3, 5, 5, 6, 6, 6, 6, 5, 5}};
  const Array scores{{1, 2, 4}, {0.5, 0.75, 0.25, 0.625, 0.125, 0, 0.5, 0.5}};
  for (const double overlap : {0.5, 0.75}) {
    OneOperator nms("NonMaxSuppression", boxes, 11);
    nms.With(scores).Scalar(3, kInt64).Scalar(overlap).Scalar(0.25);
    const Array few{{6, 3}, {0, 0, 1, 0, 0, 3, 0, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1}};
    const Array more{{6, 3}, {0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 1, 2, -1, -1, -1, -1, -1, -1}};
    ExpectEqual(nms.Run(), overlap == 0.5 ? few : more);
  }
  OneOperator centres("NonMaxSuppression", {{1, 2, 4}, {1, 0.5, 2, 1, 1.5, 0.5, 3, 1}}, 11);
  centres.With({{1, 1, 2}, {1, 2}}).Scalar(5, kInt64).Scalar(0.5);
  centres.model().Int("center_point_box", 1);
  ExpectEqual(centres.Run(), {{2, 3}, {0, 0, 1, -1, -1, -1}});
}

TEST(OnnxBits, LayersOfTransformers) {
  // (1, 2) rotated by 90 degrees, and (3, 4) unchanged.
  const Array pairs{{1, 1, 2, 2}, {1, 2, 3, 4}};
  for (const bool interleaved : {false, true}) {
    OneOperator rotary("RotaryEmbedding", pairs, 23);
    rotary.With({{2, 1}, {1, 0}}).With({{2, 1}, {0, 1}}).With({{1, 2}, {1, 0}}, kInt64);
    rotary.model().Int("interleaved", interleaved ? 1 : 0);
    ExpectEqual(rotary.Run(), {{1, 1, 2, 2}, {-2, 1, 3, 4}});
  }
  OneOperator causal("CausalConvWithState", {{1, 1, 3}, {1, 2, 3}}, 27);
  causal.With({{1, 1, 2}, {10, 1}}).With({{1}, {0.5}}).With({{1, 1, 1}, {7}});
  ExpectEqual(causal.Run(), {{1, 1, 3}, {71.5, 12.5, 23.5}});
  for (const bool circular : {false, true}) {
    OneOperator scatter("TensorScatter", {{2, 3, 1}, {1, 2, 3, 4, 5, 6}}, 24);
    scatter.With({{2, 2, 1}, {-1, -2, -3, -4}}).List({0, circular ? 2 : 1});
    scatter.model().Text("mode", circular ? "circular" : "linear");
    ExpectEqual(scatter.Run(), circular ? Array{{2, 3, 1}, {-1, -2, 3, -4, 5, -3}}
                                        : Array{{2, 3, 1}, {-1, -2, 3, 4, -3, -4}});
  }
}

}  // namespace
}  // namespace tilewright
