// Operators that are not tuned: their fixed schedule computes what the reference says.

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/templates/registry.h"
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
      {"AvgPool", OpKind::kAvgPool2d, pool("NCHW"), {image}},
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

}  // namespace
}  // namespace tilewright
