#include <gtest/gtest.h>

#include <limits>

#include "src/tensor/operator.h"
#include "src/tensor/operator_names.h"
#include "src/tensor/operator_table.h"
#include "tests/tensor/operator_with.h"

namespace tilewright {
namespace {

using Attributes = OpAttributes;
using Types = std::vector<TensorType>;

Operator Plain(OpKind kind) { return Operator{kind, {}}; }
TensorType F(std::vector<std::int64_t> shape) { return {std::move(shape), kFloat32}; }
TensorType I8(std::vector<std::int64_t> shape) { return {std::move(shape), kInt8}; }

struct TypeCase {
  const char* name;
  Operator op;
  Types inputs;
  const char* result;  // a type, or the message of the error
};
void PrintTo(const TypeCase& c, std::ostream* os) { *os << c.name; }
class InferTypeTest : public testing::TestWithParam<TypeCase> {};

TEST_P(InferTypeTest, GivesTypeOrReason) {
  const TypeCase& c = GetParam();
  const auto type = InferType(c.op, c.inputs);
  EXPECT_EQ(type.ok() ? type->ToString() : type.status().message(), c.result);
  EXPECT_TRUE(type.ok() || type.status().code() == StatusCode::kInvalidArgument);
}

const Operator kPool = With(OpKind::kMaxPool2d, [](Attributes& a) {
  a.pool_size = {3, 3}, a.strides = {2, 2}, a.data_layout = "NCHW";
});
Operator Reshape(std::vector<std::int64_t> shape) {
  return With(OpKind::kReshape, [&](Attributes& a) { a.new_shape = shape; });
}
Operator AlongAxis(OpKind kind, std::int64_t axis) {
  return With(kind, [&](Attributes& a) { a.axis = axis; });
}
Operator Axes(OpKind kind, std::vector<std::int64_t> axes, bool keepdims = false) {
  return With(kind, [&](Attributes& a) { a.axes = axes, a.keepdims = keepdims; });
}
Operator Slice(std::vector<std::int64_t> begin, std::vector<std::int64_t> end,
               std::vector<std::int64_t> steps) {
  return With(OpKind::kSlice,
              [&](Attributes& a) { a.begin = begin, a.end = end, a.steps = steps; });
}
Operator Transform(const char* from, const char* to, std::vector<std::int64_t> shape = {}) {
  return With(OpKind::kLayoutTransform,
              [&](Attributes& a) { a.src_layout = from, a.dst_layout = to, a.new_shape = shape; });
}

INSTANTIATE_TEST_SUITE_P(
    Elementwise, InferTypeTest,
    testing::Values(
        TypeCase{"Broadcast", Plain(OpKind::kAdd), {F({2, 1, 3}), F({4, 1})}, "float32[2,4,3]"},
        TypeCase{"Scalar", Plain(OpKind::kMul), {F({}), F({})}, "float32[]"},
        TypeCase{"NoBroadcast",
                 Plain(OpKind::kAdd),
                 {F({2, 3}), F({2})},
                 "add: shapes [2,3] and [2] do not broadcast"},
        TypeCase{"MixedTypes",
                 Plain(OpKind::kAdd),
                 {F({2}), I8({2})},
                 "add: inputs are float32[2] and int8[2], expected one element type"},
        TypeCase{"Count", Plain(OpKind::kAdd), {F({2})}, "add: 1 inputs, expected 2"},
        TypeCase{"ShiftOfFloat",
                 Plain(OpKind::kShiftRight),
                 {F({2}), F({2})},
                 "shift_right: input is float32[2], expected an integer type"},
        TypeCase{"Relu", Plain(OpKind::kRelu), {I8({2})}, "int8[2]"},
        TypeCase{"SigmoidOfInt",
                 Plain(OpKind::kSigmoid),
                 {I8({2})},
                 "sigmoid: input is int8[2], expected a float type"},
        TypeCase{"Cast",
                 With(OpKind::kCast, [](Attributes& a) { a.dtype = kInt64; }),
                 {F({2})},
                 "int64[2]"},
        TypeCase{"CastToNothing", Plain(OpKind::kCast), {F({2})}, "cast: no dtype attribute"},
        TypeCase{"ClipOrder",
                 With(OpKind::kClip, [](Attributes& a) { a.a_min = 1; }),
                 {F({2})},
                 "clip: a_min 1, expected at most a_max 0"},
        TypeCase{"FixedPointOfInt8",
                 Plain(OpKind::kFixedPointMultiply),
                 {I8({2})},
                 "fixed_point_multiply: input is int8[2], expected int32"}),
    testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(
    Anchors, InferTypeTest,
    testing::Values(
        TypeCase{"Conv",
                 With(OpKind::kConv2d,
                      [](Attributes& a) {
                        a.padding = {1, 1, 1, 1};
                      }),
                 {F({1, 3, 8, 8}), F({4, 3, 3, 3})},
                 "float32[1,4,8,8]"},
        TypeCase{"ConvInt8",
                 Plain(OpKind::kConv2d),
                 {I8({1, 3, 8, 8}), I8({4, 3, 3, 3})},
                 "int32[1,4,6,6]"},
        TypeCase{"Transposed",
                 With(OpKind::kConv2dTranspose,
                      [](Attributes& a) {
                        a.strides = {2, 2};
                      }),
                 {F({1, 3, 4, 4}), F({3, 5, 2, 2})},
                 "float32[1,5,8,8]"},
        TypeCase{"Channels",
                 Plain(OpKind::kConv2d),
                 {F({1, 3, 8, 8}), F({4, 2, 3, 3})},
                 "conv2d: weight float32[4,2,3,3] in 1 groups takes 2 channels, data "
                 "float32[1,3,8,8] has 3"},
        TypeCase{"Groups",
                 With(OpKind::kConv2d, [](Attributes& a) { a.groups = 3; }),
                 {F({1, 3, 8, 8}), F({4, 1, 3, 3})},
                 "conv2d: 3 groups, expected a divisor of 3 and 4 channels"},
        TypeCase{"Kernel",
                 Plain(OpKind::kConv2d),
                 {F({1, 3, 2, 2}), F({4, 3, 3, 3})},
                 "conv2d: kernel 3x3 is larger than the padded image 2x2"},
        TypeCase{"Stride",
                 With(OpKind::kConv2d,
                      [](Attributes& a) {
                        a.strides = {0, 1};
                      }),
                 {F({1, 3, 8, 8}), F({4, 3, 3, 3})},
                 "conv2d: strides, dilation or groups 0, expected at least 1"},
        TypeCase{"Rank",
                 Plain(OpKind::kConv2d),
                 {F({3, 8, 8}), F({4, 3, 3, 3})},
                 "conv2d: data is float32[3,8,8], expected layout NCHW"},
        TypeCase{"Layout",
                 With(OpKind::kConv2d, [](Attributes& a) { a.data_layout = "NCDHW"; }),
                 {F({1, 3, 1, 8, 8}), F({4, 3, 3, 3})},
                 "conv2d: data layout NCDHW, expected the dimensions NCHW"},
        TypeCase{
            "MixedConv",
            Plain(OpKind::kConv2d),
            {I8({1, 3, 8, 8}), F({4, 3, 3, 3})},
            "conv2d: int8 x float32 -> int32, expected one float type (float16 also with float32 "
            "sums) or integers with int32 sums (matrix products of uint32, int64 and uint64: with "
            "sums of that type)"},
        TypeCase{"DenseUnsigned",
                 Plain(OpKind::kDense),
                 {{{2, 5}, kUInt32}, {{7, 5}, kUInt32}},
                 "uint32[2,7]"},
        TypeCase{"DenseMixedSigns",
                 Plain(OpKind::kDense),
                 {{{2, 5}, kUInt32}, {{7, 5}, kInt32}},
                 "int32[2,7]"},
        TypeCase{"Dense", Plain(OpKind::kDense), {F({2, 5}), F({7, 5})}, "float32[2,7]"},
        TypeCase{"BatchMatmul",
                 Plain(OpKind::kBatchMatmul),
                 {F({3, 2, 5}), F({3, 7, 5})},
                 "float32[3,2,7]"},
        TypeCase{"Batch",
                 Plain(OpKind::kBatchMatmul),
                 {F({3, 2, 5}), F({2, 7, 5})},
                 "batch_matmul: data float32[3,2,5] and weight float32[2,7,5]: expected equal B"}),
    testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(
    Windows, InferTypeTest,
    testing::Values(
        TypeCase{"Pool", kPool, {F({1, 2, 8, 9})}, "float32[1,2,3,4]"},
        TypeCase{"CeilMode",
                 With(OpKind::kAvgPool2d,
                      [](Attributes& a) {
                        a.pool_size = {3, 3}, a.strides = {2, 2}, a.ceil_mode = true;
                      }),
                 {F({1, 2, 8, 9})},
                 "float32[1,2,4,4]"},
        TypeCase{"LastWindowStartsInside",
                 With(OpKind::kMaxPool2d,
                      [](Attributes& a) {
                        a.pool_size = {1, 1}, a.strides = {3, 3};
                        a.ceil_mode = true;
                      }),
                 {F({1, 1, 5, 5})},
                 "float32[1,1,2,2]"},
        TypeCase{"Global",
                 With(OpKind::kGlobalAvgPool2d, [](Attributes& a) { a.data_layout = "NHWC"; }),
                 {I8({1, 7, 6, 3})},
                 "int8[1,1,1,3]"},
        TypeCase{"PoolBlocked",
                 With(OpKind::kGlobalMaxPool2d, [](Attributes& a) { a.data_layout = "NCHW8c"; }),
                 {F({1, 2, 7, 7, 8})},
                 "float32[1,2,1,1,8]"},
        TypeCase{"PoolTooLarge",
                 kPool,
                 {F({1, 2, 2, 2})},
                 "max_pool2d: window 3x3 is larger than the padded image 2x2"},
        TypeCase{"PoolRank",
                 kPool,
                 {F({2, 8, 8})},
                 "max_pool2d: input is float32[2,8,8], expected layout NCHW"},
        TypeCase{"ReduceAll", Axes(OpKind::kReduceMean, {}), {F({2, 3})}, "float32[]"},
        TypeCase{"ReduceKeep", Axes(OpKind::kReduceSum, {-1}, true), {F({2, 3})}, "float32[2,1]"},
        TypeCase{"ReduceTwice",
                 Axes(OpKind::kReduceSum, {1, -1}),
                 {F({2, 3})},
                 "reduce_sum: axis -1 appears twice"},
        TypeCase{"SoftmaxAxis",
                 AlongAxis(OpKind::kSoftmax, 2),
                 {F({2, 3})},
                 "softmax: axis 2, expected -2 to 1"},
        TypeCase{"Lrn", Plain(OpKind::kLrn), {F({1, 2, 3, 3})}, "lrn: size 0, expected at least 1"},
        TypeCase{"BatchNorm",
                 AlongAxis(OpKind::kBatchNorm, 1),
                 {F({1, 2, 3}), F({2}), F({2}), F({3}), F({2})},
                 "batch_norm: input 3 is float32[3], expected float32[2]"}),
    testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(
    Data, InferTypeTest,
    testing::Values(
        TypeCase{"Reshape", Reshape({3, 4}), {F({2, 6})}, "float32[3,4]"},
        TypeCase{"ReshapeCount",
                 Reshape({5}),
                 {F({2, 3})},
                 "reshape: float32[2,3] to [5]: expected 6 elements"},
        TypeCase{"ReshapeNegative",
                 Reshape({-2, -3}),
                 {F({2, 3})},
                 "reshape: float32[-2,-3] has too many elements, expected at most 2^40"},
        TypeCase{"ReshapeHuge",
                 Reshape({std::numeric_limits<std::int64_t>::max(), 4}),
                 {F({2, 3})},
                 "reshape: float32[9223372036854775807,4] has too many elements, expected at most "
                 "2^40"},
        TypeCase{"Transpose", Axes(OpKind::kTranspose, {1, 0}), {F({2, 3})}, "float32[3,2]"},
        TypeCase{"TransposeShort",
                 Axes(OpKind::kTranspose, {1}),
                 {F({2, 3})},
                 "transpose: 1 axes, expected 2"},
        TypeCase{"BroadcastTo",
                 With(OpKind::kBroadcastTo, [](Attributes& a) { a.new_shape = {3}; }),
                 {F({2, 3})},
                 "broadcast_to: float32[2,3] does not broadcast to [3]"},
        TypeCase{"Concat",
                 AlongAxis(OpKind::kConcat, 1),
                 {F({2, 3}), F({2, 4}), F({2, 0})},
                 "float32[2,7]"},
        TypeCase{"ConcatShapes",
                 AlongAxis(OpKind::kConcat, 1),
                 {F({2, 3}), F({3, 3})},
                 "concat: input 1 is float32[3,3], expected float32[2,3] but for dimension 1"},
        TypeCase{"ConcatNothing",
                 AlongAxis(OpKind::kConcat, 0),
                 {},
                 "concat: no inputs, expected at least 1"},
        TypeCase{"Slice", Slice({1, 4}, {3, -1}, {1, -2}), {F({3, 5})}, "float32[2,3]"},
        TypeCase{"SliceRange",
                 Slice({0}, {4}, {1}),
                 {F({3})},
                 "slice: 0 to 4 is outside dimension 0 of float32[3]"},
        TypeCase{
            "SliceStep", Slice({0}, {2}, {0}), {F({3})}, "slice: step 0, expected another number"},
        TypeCase{"Pad",
                 With(OpKind::kPad,
                      [](Attributes& a) {
                        a.pad_width = {1, 2, 0, 0};
                      }),
                 {F({2, 3})},
                 "float32[5,3]"},
        TypeCase{"PadCount",
                 With(OpKind::kPad,
                      [](Attributes& a) {
                        a.pad_width = {1, 2};
                      }),
                 {F({2, 3})},
                 "pad: 2 pad widths, expected 4"},
        TypeCase{"Layout", Transform("NCHW", "NCHW16c"), {F({1, 20, 2, 2})}, "float32[1,2,2,2,16]"},
        TypeCase{"LayoutCrop",
                 Transform("NCHW16c", "NCHW", {1, 20, 2, 2}),
                 {F({1, 2, 2, 2, 16})},
                 "float32[1,20,2,2]"},
        TypeCase{"LayoutCropTooMuch",
                 Transform("NCHW16c", "NCHW", {1, 10, 2, 2}),
                 {F({1, 2, 2, 2, 16})},
                 "layout_transform: new_shape [1,10,2,2] does not fit layout NCHW of sizes "
                 "[1,32,2,2]"},
        TypeCase{"LayoutDimensions",
                 Transform("NCHW", "NK"),
                 {F({1, 2, 2, 2})},
                 "layout_transform: layouts NCHW and NK differ in dimensions"},
        TypeCase{"Gather",
                 AlongAxis(OpKind::kGather, 1),
                 {F({2, 5, 3}), {{4, 1}, kInt64}},
                 "float32[2,4,1,3]"},
        TypeCase{"GatherIndices",
                 AlongAxis(OpKind::kGather, 0),
                 {F({2}), F({1})},
                 "gather: indices are float32[1], expected int32 or int64"},
        TypeCase{"Identity", Plain(OpKind::kIdentity), {I8({2})}, "int8[2]"},
        TypeCase{"Negative",
                 Plain(OpKind::kRelu),
                 {F({2, -1})},
                 "relu: float32[2,-1] has too many elements, expected at most 2^40"}),
    testing::PrintToStringParamName());

TEST(OperatorTest, NamesAreUniqueAndFound) {
  for (int i = 0; i < static_cast<int>(AllOperators().size()); ++i) {
    const auto kind = static_cast<OpKind>(i);
    EXPECT_EQ(OpKindNamed(OpName(kind)), kind);
    EXPECT_LE(IsAnchor(kind) + IsElementwise(kind), 1);
  }
  EXPECT_FALSE(OpKindNamed("conv3d").has_value());
}

}  // namespace
}  // namespace tilewright
