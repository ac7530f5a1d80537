// Operators that are not tuned: the results of their fixed schedule are compared with the
// reference.

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/templates/registry.h"
#include "src/tensor/compute/define_list.h"
#include "src/tensor/operator_list.h"
#include "src/tensor/reference/evaluate_list.h"
#include "src/tensor/reference/reference.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

struct FixedCase {
  std::string name;
  OpKind kind;
  OpAttributes attributes;
  std::vector<TensorType> inputs;
};

std::vector<FixedCase> Cases() {
  const auto with = [](auto set) {
    OpAttributes attributes;
    set(attributes);
    return attributes;
  };
  const TensorType image{{1, 20, 9, 9}, kFloat32}, blocked{{1, 2, 9, 9, 16}, kFloat32};
  const auto pool = [&](const char* layout) {
    return with([layout](OpAttributes& a) {
      a.pool_size = {3, 3};
      a.strides = {2, 2};
      a.padding = {1, 1, 1, 1};
      a.data_layout = layout;
    });
  };
  return {
      {"MaxPool", OpKind::kMaxPool2d, pool("NCHW"), {image}},
      {"MaxPoolBlocked", OpKind::kMaxPool2d, pool("NCHW16c"), {blocked}},
      {"MaxPoolBlockedBytes", OpKind::kMaxPool2d, pool("NCHW16c"), {{{1, 2, 9, 9, 16}, kInt8}}},
      {"AvgPool", OpKind::kAvgPool2d, pool("NCHW"), {image}},
      {"AvgPoolBlocked", OpKind::kAvgPool2d, pool("NCHW16c"), {blocked}},
      {"GlobalAvgPool",
       OpKind::kGlobalAvgPool2d,
       with([](OpAttributes& a) { a.data_layout = "NCHW"; }),
       {image}},
      {"GlobalAvgPoolBlocked",
       OpKind::kGlobalAvgPool2d,
       with([](OpAttributes& a) { a.data_layout = "NCHW16c"; }),
       {blocked}},
      {"Softmax",
       OpKind::kSoftmax,
       with([](OpAttributes& a) { a.axis = 1; }),
       {{{3, 37}, kFloat32}}},
      {"Add", OpKind::kAdd, {}, {image, image}},
      {"AddBroadcast", OpKind::kAdd, {}, {image, {{20, 1, 1}, kFloat32}}},
      {"Sigmoid", OpKind::kSigmoid, {}, {image}},
      {"Concat",
       OpKind::kConcat,
       with([](OpAttributes& a) { a.axis = 1; }),
       {image, {{1, 7, 9, 9}, kFloat32}, image}},
      {"Transpose",
       OpKind::kTranspose,
       with([](OpAttributes& a) {
         a.axes = {0, 2, 3, 1};
       }),
       {image}},
      {"TransposeToColumnsOfOne",
       OpKind::kTranspose,
       with([](OpAttributes& a) {
         a.axes = {0, 2, 1, 3};
       }),
       {{{1, 33, 20, 1}, kFloat32}}},
      {"MaxPoolOfColumnsOfOne",
       OpKind::kMaxPool2d,
       with([](OpAttributes& a) {
         a.pool_size = {3, 1};
         a.strides = {2, 1};
         a.padding = {1, 0, 1, 0};
         a.data_layout = "NCHW";
       }),
       {{{1, 5, 41, 1}, kFloat32}}},
      {"AddOfOneElement", OpKind::kAdd, {}, {{{1, 1}, kFloat32}, {{1, 1}, kFloat32}}},
      {"Reshape",
       OpKind::kReshape,
       with([](OpAttributes& a) {
         a.new_shape = {1, 1620};
       }),
       {image}},
      {"LayoutTransform",
       OpKind::kLayoutTransform,
       with([](OpAttributes& a) { a.src_layout = "NCHW16c", a.dst_layout = "NCHW"; }),
       {blocked}},
      {"Pad",
       OpKind::kPad,
       with([](OpAttributes& a) {
         a.pad_width = {0, 0, 0, 0, 1, 2, 3, 0};
         a.pad_value = 0.5;
       }),
       {image}},
      {"Slice",
       OpKind::kSlice,
       with([](OpAttributes& a) {
         a.begin = {0, 3, 0, 1}, a.end = {1, 19, 9, 8}, a.steps = {1, 2, 1, 1};
       }),
       {image}},
      {"ReduceMean",
       OpKind::kReduceMean,
       with([](OpAttributes& a) {
         a.axes = {2, 3}, a.keepdims = true;
       }),
       {image}},
      {"Lrn",
       OpKind::kLrn,
       with([](OpAttributes& a) { a.size = 5, a.alpha = 1e-4, a.beta = 0.75, a.bias = 1; }),
       {image}},
      {"LrnOfAnotherPower",
       OpKind::kLrn,
       with([](OpAttributes& a) { a.size = 3, a.alpha = 0.5, a.beta = 0.6, a.bias = 1; }),
       {image}},
      {"SaturateCast",
       OpKind::kSaturateCast,
       with([](OpAttributes& a) { a.dtype = kInt8; }),
       {image}},
  };
}

class FixedScheduleTest : public testing::TestWithParam<FixedCase> {};

TEST_P(FixedScheduleTest, EqualsTheReference) {
  const FixedCase& c = GetParam();
  const Operator op{c.kind, c.attributes};
  Random random(3);
  std::vector<Tensor> inputs;
  std::vector<const Tensor*> pointers;
  for (const TensorType& type : c.inputs) {
    inputs.emplace_back(type);
    for (std::int64_t i = 0; i < inputs.back().elements(); ++i) {
      inputs.back().Set(i, 4 * random.Uniform() - 2);
    }
  }
  for (const Tensor& input : inputs) pointers.push_back(&input);
  auto expected = Evaluate(op, pointers);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  for (const char* text : {"native", "native -num-threads=2"}) {
    const Target target = *Target::Parse(text);
    auto compute = DefineOperator(op, c.inputs);
    ASSERT_TRUE(compute.ok()) << compute.status().message();
    auto schedule = FixedSchedule(*std::move(compute), target);
    ASSERT_TRUE(schedule.ok()) << schedule.status().message();
    std::vector<Tensor> arguments;
    for (const Tensor& input : inputs) arguments.push_back(input.Clone());
    arguments.emplace_back(expected->type());
    auto result = RunSchedule(*schedule, target, arguments);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Comparison comparison = Compare(*result, *expected);
    EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad << ", error "
                               << comparison.max_abs_error;
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, FixedScheduleTest, testing::ValuesIn(Cases()),
                         [](const auto& tested) { return tested.param.name; });

struct RowsCase {
  const char* name;
  std::vector<std::int64_t> shape;
  std::int64_t dimensions = 1;  // of a row
};

int AddTo(OperatorList& list, OpKind kind, std::vector<int> operands, OpAttributes attributes) {
  auto value = list.AddOperator({kind, std::move(attributes)}, std::move(operands));
  TW_CHECK(value.ok(), value.status().message());
  return *value;
}

class RowScheduleTest : public testing::TestWithParam<RowsCase> {};

/// Layer normalization of a sum, a softmax of it with a mask, and elementwise operators after it.
OperatorList NormalizedRows(const std::vector<std::int64_t>& shape) {
  OperatorList list;
  const auto add = [&](OpKind kind, std::vector<int> operands, OpAttributes attributes = {}) {
    return AddTo(list, kind, std::move(operands), std::move(attributes));
  };
  OpAttributes last;
  last.axes = {-1};
  last.keepdims = true;
  OpAttributes along;
  along.axis = -1;
  const int x = list.AddParameter({shape, kFloat32}), other = list.AddParameter({shape, kFloat32});
  const int scale = list.AddParameter({{shape.back()}, kFloat32});
  const int sum = add(OpKind::kAdd, {x, other});
  const int mean = add(OpKind::kReduceMean, {sum}, last);
  const int centred = add(OpKind::kSub, {sum, mean});
  const int square = add(OpKind::kMul, {centred, centred});
  const int variance = add(OpKind::kReduceMean, {square}, last);
  const int safe = add(OpKind::kAdd, {variance, list.AddScalar({{}, kFloat32}, {1e-5, 0})});
  const int unit = add(OpKind::kDiv, {centred, add(OpKind::kSqrt, {safe})});
  const int scaled = add(OpKind::kMul, {unit, scale});
  const int chances = add(OpKind::kSoftmax, {scaled}, along);
  const int least = add(OpKind::kReduceMin, {chances}, last);
  add(OpKind::kSub, {chances, least});
  return list;
}

/// Normalization over several trailing dimensions with a scale for each element of the first of
/// them; rows without deviation stay unchanged.
OperatorList NormalizedImages(const std::vector<std::int64_t>& shape, std::int64_t dimensions) {
  OperatorList list;
  const auto add = [&](OpKind kind, std::vector<int> operands, OpAttributes attributes = {}) {
    return AddTo(list, kind, std::move(operands), std::move(attributes));
  };
  OpAttributes last;
  for (std::int64_t i = -dimensions; i < 0; ++i) last.axes.push_back(i);
  last.keepdims = true;
  std::vector<std::int64_t> factors(shape.end() - dimensions, shape.end());
  std::fill(factors.begin() + 1, factors.end(), 1);
  const int x = list.AddParameter({shape, kFloat32}),
            scale = list.AddParameter({factors, kFloat32});
  const int zero = list.AddScalar({{}, kFloat32}, {}), one = list.AddScalar({{}, kFloat32}, {1, 0});
  const int centred = add(OpKind::kSub, {x, add(OpKind::kReduceMean, {x}, last)});
  const int square = add(OpKind::kMul, {centred, centred});
  const int deviation = add(OpKind::kSqrt, {add(OpKind::kReduceMean, {square}, last)});
  const int divisor = add(OpKind::kWhere, {add(OpKind::kEqual, {deviation, zero}), one, deviation});
  add(OpKind::kMul, {add(OpKind::kDiv, {centred, divisor}), scale});
  return list;
}

TEST_P(RowScheduleTest, IsOneLoopAndEqualsTheReference) {
  const std::int64_t dimensions = GetParam().dimensions;
  const OperatorList list = dimensions > 1 ? NormalizedImages(GetParam().shape, dimensions)
                                           : NormalizedRows(GetParam().shape);
  Random random(5);
  std::vector<Tensor> inputs;
  for (int parameter : list.parameters()) {
    inputs.emplace_back(list.values()[static_cast<std::size_t>(parameter)].type);
    for (std::int64_t i = 0; i < inputs.back().elements(); ++i) {
      inputs.back().Set(i, 4 * random.Uniform() - 2);
    }
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  auto expected = EvaluateList(list, pointers);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  for (const char* text : {"native", "native -num-threads=2", "llvm -mcpu=x86-64"}) {
    const Target target = *Target::Parse(text);
    auto compute = DefineList(list);
    ASSERT_TRUE(compute.ok()) << compute.status().message();
    auto schedule = FixedSchedule(*std::move(compute), target);
    ASSERT_TRUE(schedule.ok()) << schedule.status().message();
    const auto is_root = [&](StageId id) {
      return schedule->stage(id).attach == Schedule::Attach::kRoot;
    };
    EXPECT_EQ(std::ranges::count_if(schedule->order(), is_root), 1);
    std::vector<Tensor> arguments;
    for (const Tensor& input : inputs) arguments.push_back(input.Clone());
    arguments.emplace_back(expected->type());
    auto result = RunSchedule(*schedule, target, arguments);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Comparison comparison = Compare(*result, *expected);
    EXPECT_TRUE(comparison.ok) << text << ": element " << comparison.first_bad << ", error "
                               << comparison.max_abs_error;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rows, RowScheduleTest,
    testing::Values(RowsCase{"Vectors", {3, 4, 64}}, RowsCase{"OddLength", {5, 37}},
                    RowsCase{"HalfVectors", {2, 1, 3, 40}}, RowsCase{"Pairs", {7, 2}},
                    RowsCase{"SumsInBlocks", {2, 768}}, RowsCase{"LongSumsInBlocks", {3, 5000}},
                    RowsCase{"Images", {2, 3, 4, 48}, 2}, RowsCase{"OddImages", {5, 7, 9}, 2},
                    RowsCase{"LongImages", {2, 2, 30, 41}, 2},
                    RowsCase{"Volumes", {3, 2, 5, 32}, 3}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tilewright
