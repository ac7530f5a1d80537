// Every operator that is not an anchor: its compute definition, run by an interpreter, compared
// with the reference evaluator.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "src/tensor/compute/compute.h"
#include "src/tensor/operator_names.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/interpreter.h"
#include "tests/support/recurrences.h"
#include "tests/tensor/operator_with.h"

namespace tilewright {
namespace {

struct OperatorCase {
  std::string name;
  Operator op;
  std::vector<TensorType> inputs;
};
void PrintTo(const OperatorCase& c, std::ostream* os) { *os << c.name; }

class OperatorTest : public testing::TestWithParam<OperatorCase> {};

/// Returns inputs in the operator's domain: the second input of a shift or division is positive.
std::vector<Tensor> InputsOf(const OperatorCase& c) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(RandomTensor(c.inputs[i], 10 + i));
    Tensor& input = inputs.back();
    const Domain domain = RowOf(c.op.kind).domain;
    const bool positive =
        domain == Domain::kPositive || (c.op.kind == OpKind::kBatchNorm && i == 4);
    const bool wide = input.dtype() == kInt32 && c.op.kind == OpKind::kFixedPointMultiply;
    const bool scaled = input.dtype().is_float() &&
                        (c.op.kind == OpKind::kSaturateCast || c.op.kind == OpKind::kRoundEven ||
                         c.op.kind == OpKind::kRound || c.op.kind == OpKind::kCast);
    for (std::int64_t j = 0; j < input.elements(); ++j) {
      if (positive) input.Set(j, std::abs(input.At(j)) + 0.25);
      if (wide) input.Set(j, input.At(j) * 15000001);
      // Ties on both sides of zero, and beyond the range of 8 bits.
      if (scaled) input.Set(j, static_cast<double>(static_cast<int>(input.At(j) * 200)) / 2);
      if (domain == Domain::kShift && i == 1) input.Set(j, static_cast<double>(j % 9));
      if (IsComparisonOrSelect(c.op.kind))
        input.Set(j, static_cast<double>((j * 7 + j / 3) % 4 / 2));
      if (c.op.kind == OpKind::kGather && i == 1) input.Set(j, static_cast<double>(j % 5) - 2);
    }
  }
  return inputs;
}

TEST_P(OperatorTest, DefinitionEqualsReference) {
  const OperatorCase& c = GetParam();
  const auto compute = DefineOperator(c.op, c.inputs);
  ASSERT_TRUE(compute.ok()) << compute.status().message();
  const std::vector<Tensor> inputs = InputsOf(c);
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  const auto expected = Evaluate(c.op, pointers);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const Tensor result = Interpret(*compute, pointers);
  ASSERT_EQ(result.type().ToString(), expected->type().ToString());
  const Comparison comparison = Compare(result, *expected, 1e-5);
  EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad << ": "
                             << result.At(std::max<std::int64_t>(comparison.first_bad, 0))
                             << ", expected "
                             << expected->At(std::max<std::int64_t>(comparison.first_bad, 0));
}

TensorType Float(std::vector<std::int64_t> shape) { return {std::move(shape), kFloat32}; }
TensorType Of(DataType dtype, std::vector<std::int64_t> shape) { return {std::move(shape), dtype}; }

std::vector<OperatorCase> ElementwiseCases() {
  std::vector<OperatorCase> cases;
  for (int i = 0; i < static_cast<int>(AllOperators().size()); ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (!IsElementwise(kind)) continue;
    const auto op = With(kind, [](OpAttributes& a) {
      a.a_min = -0.5, a.a_max = 0.25, a.alpha = 0.2, a.beta = 0.5, a.dtype = kInt8;
      a.multiplier = 1466124156, a.shift = -3;
    });
    for (DataType dtype : {kFloat32, kFloat64, kInt8, kUInt8, kInt16, kInt32, kInt64, kUInt32}) {
      std::vector<TensorType> inputs{Of(dtype, {2, 3, 4})};
      if (IsBinary(kind)) inputs.push_back(Of(dtype, {3, 1}));
      if (!InferType(op, inputs).ok()) continue;
      cases.push_back({std::string(OpName(kind)) + "_" + DataTypeName(dtype), op, inputs});
    }
  }
  return cases;
}

std::vector<OperatorCase> CastCases() {
  std::vector<OperatorCase> cases;
  for (OpKind kind : {OpKind::kCast, OpKind::kSaturateCast}) {
    for (DataType from : {kFloat32, kFloat64, kInt8, kUInt8, kInt16, kInt32, kInt64, kUInt32}) {
      for (DataType to : {kFloat32, kInt8, kUInt8, kInt16, kInt32, kInt64, kBool}) {
        // The cast of a float that does not fit the integer type is undefined.
        if (kind == OpKind::kCast && from.is_float() && to.code == TypeCode::kUInt) continue;
        if (kind == OpKind::kCast && from.is_float() && to.bits < 16 && !to.is_bool()) continue;
        cases.push_back(
            {std::string(OpName(kind)) + "_" + DataTypeName(from) + "_to_" + DataTypeName(to),
             With(kind, [&](OpAttributes& a) { a.dtype = to; }),
             {Of(from, {50})}});
      }
    }
  }
  for (std::int64_t shift : {-30, -8, -1, 0, 1, 2, 5}) {
    for (std::int64_t multiplier : {1 << 30, (1 << 30) + 12345, 0}) {
      cases.push_back(
          {"fixed_point_" + std::to_string(shift + 40) + "_" + std::to_string(multiplier),
           With(OpKind::kFixedPointMultiply,
                [&](OpAttributes& a) {
                  a.shift = shift;
                  a.multiplier = multiplier;
                }),
           {Of(kInt32, {60})}});
    }
  }
  return cases;
}

/// Repeats the float32 cases in float16: sums are computed in float32 and rounded once.
std::vector<OperatorCase> AlsoInHalf(std::vector<OperatorCase> cases) {
  const std::size_t count = cases.size();
  for (std::size_t i = 0; i < count; ++i) {
    OperatorCase half = cases[i];
    if (half.inputs[0].dtype != kFloat32) continue;
    half.name += "_half";
    for (TensorType& input : half.inputs) input.dtype = kFloat16;
    cases.push_back(std::move(half));
  }
  return cases;
}

std::vector<OperatorCase> PoolCases() {
  std::vector<OperatorCase> cases;
  struct Shape {
    const char* name;
    const char* layout;
    std::vector<std::int64_t> shape;
  };
  const Shape shapes[] = {{"nchw", "NCHW", {2, 3, 7, 6}},
                          {"nhwc", "NHWC", {2, 7, 6, 3}},
                          {"blocked", "NCHW4c", {1, 2, 7, 6, 4}},
                          {"default", "", {1, 2, 7, 6}}};
  for (const Shape& s : shapes) {
    for (OpKind kind : {OpKind::kMaxPool2d, OpKind::kAvgPool2d, OpKind::kGlobalAvgPool2d,
                        OpKind::kGlobalMaxPool2d}) {
      for (DataType dtype : {kFloat32, kInt8, kInt32, kUInt8}) {
        const auto op = With(kind, [&](OpAttributes& a) {
          a.data_layout = s.layout;
          a.pool_size = {3, 2}, a.strides = {2, 1}, a.padding = {1, 0, 2, 1};
        });
        cases.push_back({std::string(OpName(kind)) + "_" + s.name + "_" + DataTypeName(dtype),
                         op,
                         {Of(dtype, s.shape)}});
      }
    }
  }
  const auto variant = [&](std::string name, auto set) {
    for (OpKind kind : {OpKind::kMaxPool2d, OpKind::kAvgPool2d}) {
      cases.push_back({std::string(OpName(kind)) + "_" + name,
                       With(kind,
                            [&](OpAttributes& a) {
                              a.pool_size = {3, 3}, a.strides = {2, 2};
                              set(a);
                            }),
                       {Float({1, 2, 8, 9})}});
    }
  };
  variant("ceil", [](OpAttributes& a) { a.ceil_mode = true; });
  variant("ceil_padded", [](OpAttributes& a) { a.ceil_mode = true, a.padding = {1, 1, 1, 1}; });
  variant("include_pad", [](OpAttributes& a) {
    a.count_include_pad = true, a.padding = {1, 2, 0, 1};
  });
  variant("ceil_include_pad", [](OpAttributes& a) {
    a.ceil_mode = a.count_include_pad = true, a.padding = {1, 0, 1, 0};
  });
  variant("dilated", [](OpAttributes& a) { a.dilation = {2, 3}, a.padding = {2, 2, 2, 2}; });
  variant("wide_padding", [](OpAttributes& a) { a.padding = {4, 0, 4, 0}; });
  return AlsoInHalf(std::move(cases));
}

std::vector<OperatorCase> ReduceCases() {
  std::vector<OperatorCase> cases;
  const std::vector<std::vector<std::int64_t>> axes{{}, {1}, {-1, 0}, {0, 1, 2}};
  for (const OperatorRow* row : AllOperators()) {
    const OpKind kind = row->kind;
    if (row->family != OpFamily::kReduction) continue;
    for (DataType dtype : {kFloat32, kInt8, kInt32}) {
      for (std::size_t i = 0; i < axes.size(); ++i) {
        for (bool keepdims : {false, true}) {
          cases.push_back(
              {std::string(OpName(kind)) + "_" + DataTypeName(dtype) + "_" + std::to_string(i) +
                   (keepdims ? "_keep" : ""),
               With(kind, [&](OpAttributes& a) { a.axes = axes[i], a.keepdims = keepdims; }),
               {Of(dtype, {3, 4, 5})}});
        }
      }
    }
  }
  for (OpKind kind : {OpKind::kSoftmax, OpKind::kLogSoftmax}) {
    for (int axis : {-1, 0, 1}) {
      for (bool flatten : {false, true}) {
        cases.push_back({std::string(OpName(kind)) + "_" + std::to_string(axis + 1) +
                             (flatten ? "_flatten" : ""),
                         With(kind, [&](OpAttributes& a) { a.axis = axis, a.flatten = flatten; }),
                         {Float({3, 4, 5})}});
      }
    }
    cases.push_back(
        {std::string(OpName(kind)) + "_vector", With(kind, [](OpAttributes&) {}), {Float({7})}});
  }
  for (int size : {1, 4, 5}) {
    cases.push_back(
        {"lrn_" + std::to_string(size),
         With(OpKind::kLrn,
              [&](OpAttributes& a) { a.size = size, a.alpha = 0.1, a.beta = 0.75, a.bias = 1; }),
         {Float({2, 6, 2, 3})}});
  }
  for (int axis : {1, -1}) {
    const std::int64_t channels = axis == 1 ? 3 : 5;
    cases.push_back(
        {axis == 1 ? "batch_norm" : "batch_norm_last",
         With(OpKind::kBatchNorm, [&](OpAttributes& a) { a.axis = axis, a.epsilon = 1e-5; }),
         {Float({2, 3, 4, 5}), Float({channels}), Float({channels}), Float({channels}),
          Float({channels})}});
  }
  return AlsoInHalf(std::move(cases));
}

std::vector<OperatorCase> DataCases() {
  using A = OpAttributes;
  const auto reshape = [](std::vector<std::int64_t> shape) {
    return With(OpKind::kReshape, [&](A& a) { a.new_shape = shape; });
  };
  const auto transform = [](const char* from, const char* to,
                            std::vector<std::int64_t> shape = {}) {
    return With(OpKind::kLayoutTransform,
                [&](A& a) { a.src_layout = from, a.dst_layout = to, a.new_shape = shape; });
  };
  const auto gather = [](int axis) { return With(OpKind::kGather, [&](A& a) { a.axis = axis; }); };
  return {
      {"reshape_flatten", reshape({2, 60}), {Float({2, 3, 4, 5})}},
      {"reshape_split", reshape({2, 3, 2, 2, 5}), {Float({6, 20})}},
      {"reshape_straddle", reshape({4, 3}), {Of(kInt8, {2, 6})}},
      {"reshape_scalar", reshape({}), {Float({1, 1})}},
      {"reshape_from_scalar", reshape({1, 1}), {Float({})}},
      {"transpose",
       With(OpKind::kTranspose,
            [](A& a) {
              a.axes = {2, 0, -2};
            }),
       {Float({2, 3, 4})}},
      {"broadcast_to",
       With(OpKind::kBroadcastTo,
            [](A& a) {
              a.new_shape = {4, 2, 3};
            }),
       {Float({2, 1})}},
      {"concat",
       With(OpKind::kConcat, [](A& a) { a.axis = 1; }),
       {Float({2, 3, 2}), Float({2, 1, 2}), Float({2, 4, 2})}},
      {"concat_last",
       With(OpKind::kConcat, [](A& a) { a.axis = -1; }),
       {Of(kInt64, {2, 3}), Of(kInt64, {2, 0}), Of(kInt64, {2, 2})}},
      {"slice",
       With(OpKind::kSlice,
            [](A& a) {
              a.begin = {1, 4, 0}, a.end = {3, -1, 5}, a.steps = {1, -2, 2};
            }),
       {Float({3, 5, 5})}},
      {"pad",
       With(OpKind::kPad,
            [](A& a) {
              a.pad_width = {0, 0, 1, 2}, a.pad_value = 3.5;
            }),
       {Float({2, 3})}},
      {"pad_int8",
       With(OpKind::kPad,
            [](A& a) {
              a.pad_width = {1, 0}, a.pad_value = -7;
            }),
       {Of(kInt8, {4})}},
      {"layout_block", transform("NCHW", "NCHW4c"), {Float({1, 8, 2, 3})}},
      {"layout_round_up", transform("NCHW", "NCHW8c"), {Float({2, 3, 2, 2})}},
      {"layout_unblock", transform("NCHW4c", "NCHW"), {Float({1, 2, 2, 3, 4})}},
      {"layout_crop", transform("NCHW4c", "NHWC", {1, 2, 3, 5}), {Float({1, 2, 2, 3, 4})}},
      {"layout_reblock", transform("NCHW4c", "NCHW16c"), {Float({1, 5, 2, 2, 4})}},
      {"layout_permute", transform("NHWC", "NCHW"), {Of(kInt8, {2, 3, 4, 5})}},
      {"layout_vnni", transform("OIHW", "OIHW2i16o4i"), {Of(kInt8, {10, 6, 1, 2})}},
      {"gather_first", gather(0), {Float({5, 3}), Of(kInt64, {2, 2})}},
      {"gather_middle", gather(1), {Float({2, 5, 3}), Of(kInt32, {4})}},
      {"gather_scalar", gather(-1), {Of(kInt8, {2, 5}), Of(kInt32, {})}},
      {"identity", With(OpKind::kIdentity, [](A&) {}), {Of(kBool, {2, 3})}},
      {"add_scalar", With(OpKind::kAdd, [](A&) {}), {Float({2, 3}), Float({})}},
      {"mul_both_broadcast", With(OpKind::kMul, [](A&) {}), {Float({3, 1, 5}), Float({4, 1})}},
  };
}

std::vector<OperatorCase> ChoiceCases() {
  std::vector<OperatorCase> cases;
  for (OpKind kind : {OpKind::kEqual, OpKind::kLess, OpKind::kWhere}) {
    for (DataType dtype : {kFloat32, kFloat16, kInt8, kUInt8, kInt64, kBool}) {
      std::vector<TensorType> inputs{Of(dtype, {2, 3, 4}), Of(dtype, {3, 1})};
      if (kind == OpKind::kWhere) inputs.insert(inputs.begin(), Of(kBool, {5, 1, 1, 4}));
      cases.push_back({std::string(OpName(kind)) + "_" + DataTypeName(dtype),
                       With(kind, [](OpAttributes&) {}), inputs});
    }
  }
  return cases;
}

std::vector<OperatorCase> RecurrenceCases() {
  return {{"recurrence", GatedRecurrence(2, 3, false), GatedRecurrenceInputs(4, 2, 3)},
          {"recurrence_backwards", GatedRecurrence(1, 4, true), GatedRecurrenceInputs(3, 1, 4)}};
}

std::vector<OperatorCase> ExpressionCases() {
  auto expression = ParseExpression(
      "input X: float32[4, 6]\ninput b: float32[6]\nS[i: 4] = max(j: 6) X[i, j] * b[j]\n"
      "Y[i: 4, j: 6] = exp(X[i, j] - S[i])");
  return {{"expression",
           With(OpKind::kExpression, [&](OpAttributes& a) { a.expression = *expression; }),
           {Of(kFloat32, {4, 6}), Of(kFloat32, {6})}}};
}

INSTANTIATE_TEST_SUITE_P(Expressions, OperatorTest, testing::ValuesIn(ExpressionCases()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Recurrences, OperatorTest, testing::ValuesIn(RecurrenceCases()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Choices, OperatorTest, testing::ValuesIn(ChoiceCases()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Elementwise, OperatorTest, testing::ValuesIn(ElementwiseCases()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Casts, OperatorTest, testing::ValuesIn(CastCases()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Pools, OperatorTest, testing::ValuesIn(PoolCases()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Reductions, OperatorTest, testing::ValuesIn(ReduceCases()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Data, OperatorTest, testing::ValuesIn(DataCases()),
                         testing::PrintToStringParamName());

TEST(DefineOperatorTest, EveryKindHasACase) {
  std::set<OpKind> covered;
  for (const auto& cases : {ElementwiseCases(), CastCases(), PoolCases(), ReduceCases(),
                            DataCases(), ChoiceCases(), RecurrenceCases(), ExpressionCases()}) {
    for (const OperatorCase& c : cases) covered.insert(c.op.kind);
  }
  for (int i = 0; i < static_cast<int>(AllOperators().size()); ++i) {
    const auto kind = static_cast<OpKind>(i);
    EXPECT_TRUE(IsAnchor(kind) || covered.contains(kind)) << OpName(kind);
  }
}

// Long sums of floats: their definition, the number of elements per accumulator, and the error of
// the result.
struct LongSum {
  OpKind kind;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> axes;
  DataType dtype = kFloat32;
};

Operator OperatorOfSum(const LongSum& c) {
  Operator op{c.kind, {}};
  op.attributes.axes = c.axes;
  op.attributes.axis = -1;
  op.attributes.keepdims = true;
  if (c.kind == OpKind::kAvgPool2d) {
    op.attributes.pool_size = {19, 17};
    op.attributes.padding = {1, 2, 3, 4};
    op.attributes.strides = {1, 1};
    op.attributes.dilation = {1, 1};
  }
  if (c.kind == OpKind::kAvgPool2d || c.kind == OpKind::kGlobalAvgPool2d) {
    op.attributes.data_layout = "NCHW";
  }
  return op;
}

const LongSum kLongSums[] = {
    {OpKind::kReduceSum, {3, 1009}, {1}},
    {OpKind::kReduceMean, {2, 768}, {1}},
    {OpKind::kReduceSum, {5000, 3}, {0}},
    {OpKind::kReduceMean, {2, 3, 23, 29}, {1, 2, 3}},
    {OpKind::kReduceMean, {2, 67, 5, 8}, {0, 1, 3}},
    {OpKind::kReduceSum, {2, 514, 3}, {1}, kFloat64},
    {OpKind::kReduceSum, {2, 515, 3}, {1}, kFloat16},
    {OpKind::kReduceSum, {2, 515, 3}, {1}, kInt32},
    {OpKind::kReduceMax, {515, 3}, {0}},
    {OpKind::kGlobalAvgPool2d, {1, 3, 37, 41}, {}},
    {OpKind::kAvgPool2d, {1, 2, 24, 23}, {}},
    {OpKind::kSoftmax, {2, 1000}, {}},
    {OpKind::kLogSoftmax, {2, 257}, {}},
    {OpKind::kReduceSum, {100003}, {0}},
};

TEST(LongSumsTest, MeanWhatTheReferenceSays) {
  for (const LongSum& c : kLongSums) {
    const TensorType type{c.shape, c.dtype};
    const Operator op = OperatorOfSum(c);
    SCOPED_TRACE(std::string(OpName(c.kind)) + " of " + type.ToString());
    const auto compute = DefineOperator(op, std::span(&type, 1));
    ASSERT_TRUE(compute.ok()) << compute.status().message();
    for (const ComputeOp& stage : compute->stages) {
      std::int64_t elements = 1;
      for (const Axis& axis : stage.reduce_axes) elements *= axis.extent;
      if (stage.combiner == Combiner::kSum && stage.output->dtype.is_float()) {
        EXPECT_LE(elements, 256) << stage.name;
      }
    }
    const Tensor input = RandomTensor(type, 7);
    const Tensor* pointer = &input;
    const auto expected = Evaluate(op, std::span(&pointer, 1));
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const Tensor result = Interpret(*compute, std::span(&pointer, 1));
    EXPECT_EQ(result.type().ToString(), expected->type().ToString());
    EXPECT_TRUE(Compare(result, *expected, c.dtype == kFloat16 ? 1e-3 : 1e-5).ok);
  }
}

// With a single accumulator, the mean of a million numbers near 1000 would be off by 0.01.
TEST(LongSumsTest, KeepTheirDigits) {
  const TensorType type{{1 << 17}, kFloat32};
  Operator op{OpKind::kReduceMean, {}};
  op.attributes.axes = {0};
  const auto compute = DefineOperator(op, std::span(&type, 1));
  ASSERT_TRUE(compute.ok()) << compute.status().message();
  Tensor input(type);
  double sum = 0;
  for (std::int64_t i = 0; i < input.elements(); ++i) {
    const float value = 1000 + static_cast<float>(i % 1013) / 512;
    input.As<float>()[static_cast<std::size_t>(i)] = value;
    sum += static_cast<double>(value);
  }
  const Tensor* pointer = &input;
  const double mean = Interpret(*compute, std::span(&pointer, 1)).At(0);
  const double exact = sum / static_cast<double>(input.elements());
  EXPECT_LE(std::abs(mean - exact), 5e-7 * exact);
}

}  // namespace
}  // namespace tilewright
