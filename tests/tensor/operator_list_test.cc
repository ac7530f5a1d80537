#include "src/tensor/operator_list.h"

#include <gtest/gtest.h>

#include <array>

#include "src/tensor/compute/define_list.h"
#include "src/tensor/reference/evaluate_list.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/interpreter.h"
#include "tests/tensor/operator_with.h"

namespace tilewright {
namespace {

Operator PlainOperator(OpKind kind) { return Operator{kind, {}}; }

/// Compares the definition, run by an interpreter, with the reference, which evaluates the
/// operators.
void ExpectSame(const OperatorList& list, std::span<const Tensor* const> inputs) {
  const auto compute = DefineList(list);
  ASSERT_TRUE(compute.ok()) << compute.status().message();
  ASSERT_EQ(compute->inputs.size(), inputs.size());
  const auto expected = EvaluateList(list, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  EXPECT_EQ(expected->type(), list.result());
  const Comparison comparison = Compare(Interpret(*compute, inputs), *expected);
  EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad;
}

TEST(OperatorList, SoftmaxOfAMaskedSumEqualsTheReference) {
  OperatorList list;
  const int x = list.AddParameter({{2, 3, 8}, kFloat32});
  const int mask = list.AddParameter({{8}, kFloat32});
  const int scale = list.AddScalar({{}, kFloat32}, {.number = 0.25});
  const int scaled = *list.AddOperator(PlainOperator(OpKind::kMul), {x, scale});
  const int masked = *list.AddOperator(PlainOperator(OpKind::kAdd), {scaled, mask});
  const int soft =
      *list.AddOperator(With(OpKind::kSoftmax, [](OpAttributes& a) { a.axis = -1; }), {masked});
  ASSERT_TRUE(list.AddOperator(PlainOperator(OpKind::kMul), {soft, x}).ok());
  EXPECT_EQ(list.parameters(), (std::vector{x, mask}));
  const Tensor data = RandomTensor(list.TypeOf(x), 1), other = RandomTensor(list.TypeOf(mask), 2);
  ExpectSame(list, std::array{&data, &other});
  const Work work = WorkOf(list);
  EXPECT_EQ(work.operations, 48 + 48 + 5 * 48 + 48);
  EXPECT_EQ(work.bytes, 4 * (48 + 8 + 48));
}

TEST(OperatorList, AConvolutionAndWhatFollowsIsAListToo) {
  OperatorList list;
  const int data = list.AddParameter({{1, 3, 5, 5}, kFloat32});
  const int weight = list.AddParameter({{4, 3, 3, 3}, kFloat32});
  const int conv = *list.AddOperator(With(OpKind::kConv2d,
                                          [](OpAttributes& a) {
                                            a.padding = {1, 1, 1, 1};
                                          }),
                                     {data, weight});
  const int gate = *list.AddOperator(PlainOperator(OpKind::kSigmoid), {conv});
  ASSERT_TRUE(list.AddOperator(PlainOperator(OpKind::kMul), {conv, gate}).ok());
  const Tensor a = RandomTensor(list.TypeOf(data), 3), b = RandomTensor(list.TypeOf(weight), 4);
  ExpectSame(list, std::array{&a, &b});
  EXPECT_EQ(WorkOf(list).operations, 2 * 100 * 27 + 100 + 100);
  EXPECT_EQ(DefineList(list)->macs, 100 * 27);
}

TEST(OperatorList, ScalarsOf64BitsKeepAllOfThem) {
  constexpr std::int64_t kWide = (std::int64_t{1} << 53) + 1;  // not representable as a double
  OperatorList list;
  const int x = list.AddParameter({{3}, kInt64});
  const int wide = list.AddScalar({{1}, kInt64}, {.integer = kWide});
  ASSERT_TRUE(list.AddOperator(PlainOperator(OpKind::kAdd), {x, wide}).ok());
  const Tensor data = RandomTensor(list.TypeOf(x), 5);
  const auto sum = EvaluateList(list, std::array{&data});
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->As<std::int64_t>()[1], data.As<std::int64_t>()[1] + kWide);
  const auto compute = DefineList(list);
  EXPECT_NE(compute->stages[0].body->args[0]->int_value == kWide,
            compute->stages[0].body->args[1]->int_value == kWide);
}

TEST(OperatorList, RefusesWhatIsNone) {
  OperatorList list;
  EXPECT_FALSE(DefineList(list).ok());
  const int x = list.AddParameter({{3}, kFloat32});
  EXPECT_EQ(DefineList(list).status().message(), "a list of operators that ends in none");
  EXPECT_EQ(list.AddOperator(PlainOperator(OpKind::kRelu), {1}).status().message(),
            "relu of %1, expected one of 1 values");
  EXPECT_FALSE(list.AddOperator(PlainOperator(OpKind::kRelu), {-1}).ok());
  EXPECT_FALSE(list.AddOperator(PlainOperator(OpKind::kAdd), {x}).ok());
  ASSERT_TRUE(list.AddOperator(PlainOperator(OpKind::kRelu), {x}).ok());
  const Tensor other = RandomTensor({{4}, kFloat32}, 1);
  EXPECT_EQ(EvaluateList(list, std::array{&other}).status().message(),
            "input 0: expected float32[3]");
}

// One operator with an epilogue can also be an operator list: its loops give the same results as
// the reference.
TEST(OperatorList, HoldsAWorkloadWithItsEpilogue) {
  struct Case {
    const char *key, *epilogue;
  };
  for (const Case& c :
       {Case{"conv2d(float32[1,4,5,5]NCHW,float32[8,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
             "add(channel:float32);sigmoid;mul(%1);add(tensor:float32);sub(2,first)"},
        Case{"conv2d(int8[1,2,5,5,1,4]NCHW1n4c,int8[3,2,3,3,4,4]OIHW4o4i,s2x2,p1x1x1x1,d1x1,g1)->"
             "int32",
             "add(channel:int32);add(64);shift_right(7);clip(-127,127);cast(int8);cast(int32);"
             "add(tensor:int8)"},
        Case{"dense(float16[3,1]MK,float16[8,1]NK)->float16",
             "add(channel:float16);tanh;mul(%1);cast(float32);add(0.25);max(%4)"},
        Case{"mul(int32[1,2,3,3,1,4]NCHW1n4c,int8[1,2,3,3,1,4]NCHW1n4c)->int32", "relu"},
        Case{"identity(int8[1,2,3,3,1,4]NCHW1n4c)->int32", ""},
        Case{"max_pool2d(int8[1,2,6,6,1,4]NCHW1n4c,k3x3,s2x2,p1x1x1x1)->int8", ""}}) {
    const auto list = OperatorListOf(*Workload::Parse(c.key), *Epilogue::Parse(c.epilogue));
    ASSERT_TRUE(list.ok()) << c.key << ": " << list.status().message();
    std::vector<Tensor> inputs;
    for (int parameter : list->parameters()) {
      inputs.push_back(RandomTensor(list->TypeOf(parameter), 10 + inputs.size()));
    }
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) pointers.push_back(&input);
    ExpectSame(*list, pointers);
  }
}

TEST(MinSeconds, DependsOnTheDeviceAndTheThreads) {
  const auto least = [](const char* key, const char* target) {
    return MinSeconds(*Workload::Parse(key), *Target::Parse(target));
  };
  const char* large = "dense(float32[1000,1000]MK,float32[1000,1000]NK)->float32";
  EXPECT_DOUBLE_EQ(least(large, "llvm"), 2e9 / 2e14);
  EXPECT_DOUBLE_EQ(least(large, "llvm -num-threads=16"), 2e9 / 2e14 / 16);
  EXPECT_DOUBLE_EQ(least(large, "cuda"), 2e9 / 2e17);
  EXPECT_EQ(least("dense(float32[1,8]MK,float32[8,8]NK)->float32", "llvm"), kMinSeconds);
}

TEST(WorkOf, IsKnownForEveryWorkload) {
  struct Case {
    const char* key;
    double operations;
    std::int64_t bytes;
  };
  for (const Case& c :
       {Case{"dense(int8[2,1280]MK,int8[1000,1280]NK)->int32", 2 * 2560000, 2560 + 1280000 + 8000},
        Case{"add(int8[1,4,7,7,1,16]NCHW1n16c,int8[1,4,7,7,1,16]NCHW1n16c)->int32", 3136,
             2 * 3136 + 4 * 3136},
        Case{"identity(int8[1,4,7,7,1,16]NCHW1n16c)->int32", 3136, 5 * 3136},
        Case{"max_pool2d(int8[1,4,112,112,1,16]NCHW1n16c,k3x3,s2x2,p1x1x1x1)->int8", 9 * 200704,
             802816 + 200704}}) {
    const Work work = WorkOf(*Workload::Parse(c.key));
    EXPECT_EQ(work.operations, c.operations) << c.key;
    EXPECT_EQ(work.bytes, c.bytes) << c.key;
  }
}

}  // namespace
}  // namespace tilewright
