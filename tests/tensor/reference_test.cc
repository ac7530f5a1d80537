// The reference evaluator compared with plain loops that follow the definitions.
#include "src/tensor/reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/tensor/layout.h"
#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

/// Convolution over NCHW and OIHW as defined, in double.
std::vector<double> NaiveConvolution(const ConvShape& s, const Tensor& data, const Tensor& weight) {
  std::vector<double> out;
  const std::int64_t in_per_group = s.c / s.groups, out_per_group = s.k / s.groups;
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t k = 0; k < s.k; ++k) {
      for (std::int64_t oh = 0; oh < s.oh; ++oh) {
        for (std::int64_t ow = 0; ow < s.ow; ++ow) {
          double sum = 0;
          for (std::int64_t c = 0; c < in_per_group; ++c) {
            for (std::int64_t r = 0; r < s.r; ++r) {
              for (std::int64_t q = 0; q < s.s; ++q) {
                const std::int64_t h = oh * s.stride_h - s.pad_top + r * s.dilation_h;
                const std::int64_t w = ow * s.stride_w - s.pad_left + q * s.dilation_w;
                if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
                const std::int64_t channel = k / out_per_group * in_per_group + c;
                sum += data.At(((n * s.c + channel) * s.h + h) * s.w + w) *
                       weight.At(((k * in_per_group + c) * s.r + r) * s.s + q);
              }
            }
          }
          out.push_back(sum);
        }
      }
    }
  }
  return out;
}

/// Transposed convolution over NCHW and IOHW: every input value is added to the outputs of its
/// window.
std::vector<double> NaiveTransposed(const ConvShape& s, const Tensor& data, const Tensor& weight) {
  std::vector<double> out(static_cast<std::size_t>(s.n * s.k * s.oh * s.ow), 0);
  const std::int64_t in_per_group = s.c / s.groups, out_per_group = s.k / s.groups;
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t c = 0; c < s.c; ++c) {
      for (std::int64_t o = 0; o < out_per_group; ++o) {
        const std::int64_t k = c / in_per_group * out_per_group + o;
        for (std::int64_t h = 0; h < s.h; ++h) {
          for (std::int64_t w = 0; w < s.w; ++w) {
            for (std::int64_t r = 0; r < s.r; ++r) {
              for (std::int64_t q = 0; q < s.s; ++q) {
                const std::int64_t oh = h * s.stride_h - s.pad_top + r * s.dilation_h;
                const std::int64_t ow = w * s.stride_w - s.pad_left + q * s.dilation_w;
                if (oh < 0 || oh >= s.oh || ow < 0 || ow >= s.ow) continue;
                out[static_cast<std::size_t>(((n * s.k + k) * s.oh + oh) * s.ow + ow)] +=
                    data.At(((n * s.c + c) * s.h + h) * s.w + w) *
                    weight.At(((c * out_per_group + o) * s.r + r) * s.s + q);
              }
            }
          }
        }
      }
    }
  }
  return out;
}

class ConvolutionTest : public testing::TestWithParam<const char*> {};

TEST_P(ConvolutionTest, EqualsNaiveLoops) {
  const auto workload = Workload::Parse(GetParam());
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  const Workload& w = *workload;
  const Tensor data = RandomTensor(w.data, 1), weight = RandomTensor(w.weight, 2);
  const bool transposed = w.op == OpKind::kConv2dTranspose;
  const Tensor plain_data = *TransformLayout(data, w.data_layout, "NCHW");
  const Tensor plain_weight =
      *TransformLayout(weight, w.kernel_layout, transposed ? "IOHW" : "OIHW");
  const ConvShape shape = *ConvShapeOf(w);
  const std::vector<double> expected = transposed
                                           ? NaiveTransposed(shape, plain_data, plain_weight)
                                           : NaiveConvolution(shape, plain_data, plain_weight);
  for (int threads : {1, 3}) {
    const auto result = EvaluateAnchor(w, {}, data, weight, {}, threads);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Tensor plain = *TransformLayout(*result, *w.OutputLayout(), "NCHW");
    ASSERT_EQ(plain.elements(), static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double tolerance = w.out_dtype.is_float() ? 1e-6 * (1 + std::abs(expected[i])) : 0;
      ASSERT_NEAR(plain.At(static_cast<std::int64_t>(i)), expected[i], tolerance) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ConvolutionTest,
    testing::Values(
        "conv2d(float32[2,3,9,8]NCHW,float32[20,3,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
        "conv2d(float32[1,5,9,8]NCHW,float32[33,5,3,2]OIHW,s2x3,p0x2x3x1,d2x1,g1)->float32",
        "conv2d(float64[1,2,5,5]NCHW,float64[3,2,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float64",
        "conv2d(float32[1,5,6,4]NHWC,float32[3,3,4,6]HWIO,s1x1,p1x1x1x1,d1x1,g1)->float32",
        "conv2d(int8[1,16,8,9]NCHW,int8[17,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
        "conv2d(uint8[1,4,5,14]NCHW,int8[8,4,3,3]OIHW,s1x1,p1x0x1x0,d1x1,g1)->int32",
        "conv2d(int16[1,2,5,5,4]NCHW4c,int16[3,2,3,3,4,8]OIHW4i8o,s1x1,p1x1x1x1,d1x1,g1)->int32",
        "conv2d(int8[1,2,5,5,1,16]NCHW1n16c,int8[3,2,3,3,16,16]OIHW16o16i,s2x2,p1x1x1x1,d1x1,g1)->"
        "int32",
        "depthwise_conv2d(float32[2,20,7,7]NCHW,float32[20,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g20)->"
        "float32",
        "depthwise_conv2d(int16[1,2,5,5,8]NCHW8c,int16[2,1,3,3,1,8]OIHW1i8o,s1x1,p0x1x2x3,d1x2,g16)"
        "->int32",
        "group_conv2d(float32[1,6,5,5]NCHW,float32[18,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g6)->float32",
        "group_conv2d(float32[1,8,5,5]NCHW,float32[40,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)->float32",
        "group_conv2d(int8[1,12,4,4]NCHW,int8[6,4,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g3)->int32",
        "conv2d_transpose(float32[1,3,4,5]NCHW,float32[3,4,3,3]IOHW,s2x2,p1x1x1x1,d1x1,g1,o1x0)->"
        "float32",
        "conv2d_transpose(float32[2,4,3,3]NCHW,float32[4,3,3,2]IOHW,s1x3,p0x1x0x0,d2x1,g2,o0x0)->"
        "float32",
        "conv2d_transpose(float32[1,6,4,4]NCHW,float32[6,1,4,4]IOHW,s2x2,p1x1x1x1,d1x1,g6,o0x0)->"
        "float32",
        "conv2d_transpose(int8[1,2,6,6]NCHW,int8[2,2,2,2]IOHW,s2x2,p2x2x2x2,d1x1,g1,o0x0)->int32"));

class ProductTest : public testing::TestWithParam<const char*> {};

TEST_P(ProductTest, EqualsNaiveLoops) {
  const Workload w = *Workload::Parse(GetParam());
  const bool batched = w.op == OpKind::kBatchMatmul;
  const Tensor data = RandomTensor(w.data, 1), weight = RandomTensor(w.weight, 2);
  const Tensor a = *TransformLayout(data, w.data_layout, batched ? "BMK" : "MK");
  const Tensor b = *TransformLayout(weight, w.kernel_layout, batched ? "BNK" : "NK");
  const std::size_t skip = batched ? 1 : 0;
  const std::int64_t batch = batched ? a.shape()[0] : 1;
  const std::int64_t m = a.shape()[skip], k = a.shape()[skip + 1], n = b.shape()[skip];
  const auto result = EvaluateAnchor(w, {}, data, weight, {}, 2);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Tensor plain = *TransformLayout(*result, *w.OutputLayout(), batched ? "BMN" : "MN");
  std::int64_t position = 0;
  for (std::int64_t g = 0; g < batch; ++g) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += a.At((g * m + i) * k + p) * b.At((g * n + j) * k + p);
        }
        ASSERT_NEAR(plain.At(position++), sum, w.out_dtype.is_float() ? 1e-5 : 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ProductTest,
    testing::Values("dense(float32[7,37]MK,float32[10,37]NK)->float32",
                    "dense(int8[1,64]MK,int8[3,64]NK)->int32",
                    "dense(uint8[5,19]MK,int8[4,19]NK)->int32",
                    "dense(float32[5,3]KM,float32[5,6]KN)->float32",
                    "dense(int8[1,2,1,16]MK1m16k,int8[3,2,16,16]NK16n16k)->int32",
                    "batch_matmul(float32[3,4,9]BMK,float32[3,5,9]BNK)->float32"));

TEST(ReferenceTest, IntegerSumsWrap) {
  const Workload w = *Workload::Parse("dense(int32[1,4]MK,int32[1,4]NK)->int32");
  Tensor data(w.data), weight(w.weight);
  for (std::int64_t i = 0; i < 4; ++i) {
    data.Set(i, 2147483647);
    weight.Set(i, 2147483647);
  }
  // 2147483647^2 is 1 modulo 2^32.
  EXPECT_EQ(EvaluateAnchor(w, {}, data, weight, {})->At(0), 4);
}

/// Returns the result of an operator on one vector of numbers of a type.
std::vector<double> Apply(const Operator& op, DataType dtype, std::vector<double> values,
                          std::vector<double> second = {}) {
  const auto make = [&](const std::vector<double>& contents) {
    Tensor tensor(TensorType{{static_cast<std::int64_t>(contents.size())}, dtype});
    for (std::size_t i = 0; i < contents.size(); ++i) {
      tensor.Set(static_cast<std::int64_t>(i), contents[i]);
    }
    return tensor;
  };
  const Tensor a = make(values), b = make(second);
  std::vector<const Tensor*> inputs{&a};
  if (!second.empty()) inputs.push_back(&b);
  const auto result = Evaluate(op, inputs);
  TW_CHECK(result.ok(), result.status().message());
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < result->elements(); ++i) numbers.push_back(result->At(i));
  return numbers;
}

Operator CastTo(OpKind kind, DataType dtype) {
  Operator op{kind, {}};
  op.attributes.dtype = dtype;
  return op;
}

using Numbers = std::vector<double>;

TEST(ReferenceTest, RoundingRules) {
  const Numbers halves{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5};
  EXPECT_EQ(Apply({OpKind::kRound, {}}, kFloat32, halves), (Numbers{-3, -2, -1, 1, 2, 3}));
  EXPECT_EQ(Apply({OpKind::kRoundEven, {}}, kFloat32, halves), (Numbers{-2, -2, -0.0, 0, 2, 2}));
  EXPECT_EQ(Apply(CastTo(OpKind::kCast, kInt32), kFloat32, halves), (Numbers{-2, -1, 0, 0, 1, 2}));
  EXPECT_EQ(Apply(CastTo(OpKind::kSaturateCast, kInt8), kFloat32, {-2.5, 1.5, 300, -300}),
            (Numbers{-2, 2, 127, -128}));
  EXPECT_EQ(Apply(CastTo(OpKind::kCast, kInt8), kInt32, {200, -129, 5}), (Numbers{-56, 127, 5}));
  EXPECT_EQ(Apply(CastTo(OpKind::kSaturateCast, kUInt8), kInt32, {200, -129, 500}),
            (Numbers{200, 0, 255}));
}

TEST(ReferenceTest, IntegerArithmetic) {
  EXPECT_EQ(Apply({OpKind::kShiftRight, {}}, kInt32, {-7, 7, -1, -8}, {1, 1, 31, 40}),
            (Numbers{-4, 3, -1, -1}));
  EXPECT_EQ(Apply({OpKind::kDiv, {}}, kInt32, {-7, 7, 5, -2147483648.0}, {2, -2, 0, -1}),
            (Numbers{-3, -3, 0, -2147483648.0}));
  EXPECT_EQ(Apply({OpKind::kAdd, {}}, kInt8, {127, -128}, {1, -1}), (Numbers{-128, 127}));
}

TEST(ReferenceTest, FixedPointMultiply) {
  Operator op{OpKind::kFixedPointMultiply, {}};
  // 0.68272 from a published per-tensor requantization.
  op.attributes.multiplier = 1466124156;
  EXPECT_EQ(Apply(op, kInt32, {1000, -1000, 3, 0}), (Numbers{683, -683, 2, 0}));
  op.attributes.shift = -4;
  EXPECT_EQ(Apply(op, kInt32, {1000}), (Numbers{43}));
  // A power of two is a plain shift that rounds ties upwards; shift 1 is the identity.
  op.attributes.multiplier = std::int64_t{1} << 30;
  op.attributes.shift = 0;
  EXPECT_EQ(Apply(op, kInt32, {3, -3, 5}), (Numbers{2, -1, 3}));
  op.attributes.shift = 1;
  EXPECT_EQ(Apply(op, kInt32, {3, -3, 5}), (Numbers{3, -3, 5}));
  op.attributes.shift = 3;
  EXPECT_EQ(Apply(op, kInt32, {3}), (Numbers{12}));
}

TEST(ReferenceTest, GlobalAverageOfIntegersTruncates) {
  Tensor data(TensorType{{1, 1, 1, 2}, kInt32});
  data.Set(0, -3);
  data.Set(1, -4);
  const Tensor* pointer = &data;
  EXPECT_EQ(Evaluate({OpKind::kGlobalAvgPool2d, {}}, {&pointer, 1})->At(0), -3);
}

TEST(ReferenceTest, MaxPoolPadsWithTheLowestValue) {
  Operator op{OpKind::kMaxPool2d, {}};
  op.attributes.pool_size = {2, 2};
  op.attributes.padding = {1, 1, 0, 0};
  Tensor data(TensorType{{1, 1, 1, 1}, kInt8});
  data.Set(0, -100);
  const Tensor* pointer = &data;
  EXPECT_EQ(Evaluate(op, {&pointer, 1})->At(0), -100);
}

// All tensors of the cases fit in memory. The first amount of work of each pair is just accepted.
TEST(ReferenceTest, RefusesWorkOfYears) {
  const auto check = [](const Operator& op, const std::vector<TensorType>& inputs) {
    const auto type = InferType(op, inputs);
    EXPECT_TRUE(type.ok()) << type.status().message();
    return CheckWork(op, inputs, *type);
  };
  const auto pool = [&](OpKind kind, std::int64_t window) {
    Operator op{kind, {}};
    op.attributes.pool_size = {window, window};
    const std::int64_t size = window + (1 << 9) - 1;  // 2^18 windows
    return check(op, {{{1, 1, size, size}, kFloat32}});
  };
  EXPECT_TRUE(pool(OpKind::kAvgPool2d, 1 << 9).ok());
  EXPECT_EQ(pool(OpKind::kMaxPool2d, (1 << 9) + 1).code(), StatusCode::kUnsupported);
  EXPECT_EQ(pool(OpKind::kAvgPool2d, 1 << 14).message(),
            "avg_pool2d of float32[1,1,16895,16895]: 7.04e+13 elements of windows, the reference "
            "evaluator does at most 6.87e+10");
  Operator lrn{OpKind::kLrn, {}};
  lrn.attributes.size = 1 << 20;
  EXPECT_TRUE(check(lrn, {{{1, 1 << 18}, kFloat32}}).ok());
  EXPECT_FALSE(check(lrn, {{{2, 1 << 18}, kFloat32}}).ok());
  const auto dense = [&](std::int64_t rows) {
    return check({OpKind::kDense, {}},
                 {{{rows, 1 << 14}, kFloat32}, {{1 << 13, 1 << 14}, kFloat32}});
  };
  EXPECT_TRUE(dense(1 << 13).ok());
  EXPECT_EQ(dense((1 << 13) + 1).code(), StatusCode::kUnsupported);
}

TEST(ReferenceTest, AGlobalPoolLooksAtEachElementOnce) {
  const std::vector<TensorType> image = {{{1, 1, 1 << 17, 1 << 20}, kInt8}};
  const Operator op{OpKind::kGlobalAvgPool2d, {}};
  EXPECT_TRUE(CheckWork(op, image, *InferType(op, image)).ok());
}

TEST(ReferenceTest, HalfPrecisionRoundsOnce) {
  EXPECT_EQ(Apply({OpKind::kAdd, {}}, kFloat16, {1, 2048}, {0.0009765625, 1}),
            (Numbers{1.0009765625, 2048}));
}

TEST(ReferenceTest, HalfPrecisionIsSummedInSinglePrecision) {
  Tensor data(TensorType{{1, 3}, kFloat16}), weight(TensorType{{1, 3}, kFloat16});
  for (int i = 0; i < 3; ++i) data.Set(i, 1);
  weight.Set(0, 2048);
  weight.Set(1, 1);
  weight.Set(2, 2);
  for (const auto& [type, expected] : {std::pair("float32", 2051), std::pair("float16", 2052)}) {
    const Workload w =
        *Workload::Parse(std::string("dense(float16[1,3]MK,float16[1,3]NK)->") + type);
    EXPECT_EQ(EvaluateAnchor(w, {}, data, weight, {})->At(0), expected) << type;
  }
}

TEST(CompareTest, AGivenToleranceCountsForHalfPrecisionToo) {
  Tensor a(TensorType{{2}, kFloat16}), b(TensorType{{2}, kFloat16});
  a.Set(0, 1);
  b.Set(0, 1);
  a.Set(1, 0x1p-9);
  EXPECT_TRUE(Compare(a, b).ok);
  EXPECT_FALSE(Compare(a, b, 1e-4).ok);
  EXPECT_TRUE(Compare(a, b, 1e-2).ok);
}

TEST(ReferenceTest, ACastInAnEpilogueRounds) {
  Tensor data(TensorType{{1, 1}, kFloat16}), weight(TensorType{{1, 1}, kFloat16});
  data.Set(0, 2048);
  weight.Set(0, 1);
  struct Case {
    const char* type;
    const char* epilogue;
  };
  for (const Case& c :
       {Case{"float32", "add(1);cast(float16);cast(float32)"},
        Case{"float32", "add(1);saturate_cast(float16);saturate_cast(float32)"},
        Case{"float16", "add(1);cast(float32)"}, Case{"float16", "add(1);cast(float16)"},
        Case{"float32", "add(1);cast(float16);add(1)"}}) {
    const Workload w =
        *Workload::Parse(std::string("dense(float16[1,1]MK,float16[1,1]NK)->") + c.type);
    const Tensor value = *EvaluateAnchor(w, *Epilogue::Parse(c.epilogue), data, weight, {});
    EXPECT_EQ(value.At(0), 2048) << c.epilogue;
  }
}

TEST(ReferenceTest, AnEpilogueRoundsToHalfPrecisionOnce) {
  Tensor data(TensorType{{1, 1}, kFloat16}), weight(TensorType{{1, 1}, kFloat16});
  data.Set(0, 2048);
  weight.Set(0, 1);
  // 2048 + 1 + 1: with intermediate rounding it would stay 2048.
  EXPECT_EQ(EvaluateAnchor(*Workload::Parse("dense(float16[1,1]MK,float16[1,1]NK)->float16"),
                           *Epilogue::Parse("add(1);add(1)"), data, weight, {})
                ->At(0),
            2050);
  const Tensor whole =
      *EvaluateAnchor(*Workload::Parse("dense(float16[1,1]MK,float16[1,1]NK)->float32"),
                      *Epilogue::Parse("add(1.5);cast(float16);cast(int32)"), data, weight, {});
  EXPECT_EQ(whole.dtype(), kInt32);
  EXPECT_EQ(whole.At(0), 2050) << "rounded to float16 before it becomes an integer";
}

TEST(ReferenceTest, EpilogueOperandsAreChecked) {
  const Workload w = *Workload::Parse("dense(float32[1,4]MK,float32[3,4]NK)->float32");
  const Tensor data(w.data), weight(w.weight), bias(TensorType{{4}, kFloat32});
  const Epilogue epilogue = *Epilogue::Parse("add(channel:float32)");
  const Tensor* operand = &bias;
  EXPECT_EQ(EvaluateAnchor(w, epilogue, data, weight, {&operand, 1}).status().message(),
            "operand is float32[4], expected float32[3]");
  EXPECT_EQ(EvaluateAnchor(w, epilogue, data, weight, {}).status().message(),
            "0 epilogue operands, expected 1");
  EXPECT_EQ(EvaluateAnchor(w, {}, data, weight, {&operand, 1}).status().message(),
            "1 epilogue operands, expected 0");
}

TEST(CompareTest, IntegersMustBeEqual) {
  Tensor a(TensorType{{3}, kInt32}), b(TensorType{{3}, kInt32});
  EXPECT_TRUE(Compare(a, b).ok);
  a.Set(2, 1);
  const Comparison comparison = Compare(a, b);
  EXPECT_FALSE(comparison.ok);
  EXPECT_EQ(comparison.first_bad, 2);
  EXPECT_EQ(comparison.max_abs_error, 1);
}

TEST(CompareTest, WideIntegersAreComparedInFull) {
  Tensor a(TensorType{{1}, kInt64}), b(TensorType{{1}, kInt64});
  a.As<std::int64_t>()[0] = (std::int64_t{1} << 60) + 1;
  b.As<std::int64_t>()[0] = std::int64_t{1} << 60;
  EXPECT_FALSE(Compare(a, b).ok);
}

TEST(CompareTest, FloatsMayDifferByAShareOfTheRms) {
  Tensor a(TensorType{{2}, kFloat32}), b(TensorType{{2}, kFloat32});
  b.Set(0, 100);
  b.Set(1, -100);
  a.Set(0, 100.009);
  a.Set(1, -100);
  EXPECT_TRUE(Compare(a, b).ok);
  a.Set(0, 100.011);
  EXPECT_EQ(Compare(a, b).first_bad, 0);
  EXPECT_DOUBLE_EQ(Compare(a, b).reference_rms, 100);
}

TEST(CompareTest, HalfPrecisionMayBeRoundedToNeighbours) {
  Tensor a(TensorType{{2}, kFloat16}), b(TensorType{{2}, kFloat16});
  b.Set(0, 1024);
  b.Set(1, 0);
  a.Set(0, 1030);  // 8 units of the RMS, 724, and one of 1024 are 6.7
  a.Set(1, 0);
  EXPECT_TRUE(Compare(a, b).ok);
  a.Set(0, 1031);
  EXPECT_FALSE(Compare(a, b).ok);
}

TEST(CompareTest, NanOnlyWhereTheReferenceHasIt) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor a(TensorType{{2}, kFloat32}), b(TensorType{{2}, kFloat32});
  b.Set(0, nan);
  a.Set(0, nan);
  EXPECT_TRUE(Compare(a, b).ok);
  a.Set(1, nan);
  EXPECT_EQ(Compare(a, b).first_bad, 1);
  a.Set(1, 0);
  a.Set(0, 0);
  EXPECT_EQ(Compare(a, b).first_bad, 0);
}

TEST(CompareTest, TypesMustAgree) {
  const Tensor a(TensorType{{2}, kFloat32}), b(TensorType{{1, 2}, kFloat32});
  EXPECT_FALSE(Compare(a, b).ok);
}

}  // namespace
}  // namespace tilewright
