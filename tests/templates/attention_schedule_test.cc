// Attention as one kernel: which operators it accepts, and that its results are correct.

#include "src/templates/attention_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/random.h"
#include "src/tensor/compute/define_list.h"
#include "src/tensor/operator_list.h"
#include "src/tensor/reference/evaluate_list.h"
#include "src/tensor/reference/reference.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

struct AttentionCase {
  const char* name;
  std::int64_t heads, rows, keys, width, values;  ///< values: width of those
  bool plain = false;                             ///< only the softmax between the products
  DataType factors = kFloat32;                    ///< of the products
};

/// Builder of an operator list.
class ListWriter {
 public:
  int Add(OpKind kind, std::vector<int> operands, OpAttributes attributes = {}) {
    auto value = list.AddOperator({kind, std::move(attributes)}, std::move(operands));
    TW_CHECK(value.ok(), value.status().message());
    return *value;
  }
  int Turned(int value, std::vector<std::int64_t> axes) {
    OpAttributes turned;
    turned.axes = std::move(axes);
    return Add(OpKind::kTranspose, {value}, turned);
  }
  int Product(int a, int b) {
    OpAttributes sums;
    sums.dtype = kFloat32;
    return Add(OpKind::kBatchMatmul, {a, b}, sums);
  }
  int Cast(int value, DataType dtype) {
    OpAttributes cast;
    cast.dtype = dtype;
    return dtype == kFloat32 ? value : Add(OpKind::kCast, {value}, cast);
  }
  int Softmax(int value) {
    OpAttributes along;
    along.axis = -1;
    return Add(OpKind::kSoftmax, {value}, along);
  }
  OperatorList list;
};

/// Queries, keys and values as [position, head, width]; a mask that broadcasts over heads; the
/// result by positions again.
OperatorList MaskedHeads(const AttentionCase& c) {
  ListWriter w;
  const auto parameter = [&](std::int64_t positions, std::int64_t width) {
    return w.list.AddParameter({{positions, c.heads, width}, c.factors});
  };
  const int q = parameter(c.rows, c.width), k = parameter(c.keys, c.width);
  const int v = parameter(c.keys, c.values);
  const int mask = w.list.AddParameter({{1, c.rows, c.keys}, kFloat32});
  int scores = w.Product(w.Turned(q, {1, 0, 2}), w.Turned(k, {1, 0, 2}));
  scores = w.Add(OpKind::kDiv, {scores, w.list.AddScalar({{}, kFloat32}, {3, 0})});
  const int chances = w.Cast(w.Softmax(w.Add(OpKind::kAdd, {scores, mask})), c.factors);
  const int seen = w.Product(chances, w.Turned(v, {1, 2, 0}));
  w.Turned(w.Cast(seen, c.factors), {1, 0, 2});
  return w.list;
}

/// Operands in the layouts of the products.
OperatorList PlainHeads(const AttentionCase& c) {
  ListWriter w;
  const int q = w.list.AddParameter({{c.heads, c.rows, c.width}, c.factors});
  const int k = w.list.AddParameter({{c.heads, c.keys, c.width}, c.factors});
  const int v = w.list.AddParameter({{c.heads, c.values, c.keys}, c.factors});
  w.Product(w.Cast(w.Softmax(w.Product(q, k)), c.factors), v);
  return w.list;
}

std::optional<Schedule> ScheduleOf(const OperatorList& list, const Target& target) {
  auto compute = DefineList(list);
  TW_CHECK(compute.ok(), compute.status().message());
  return AttentionSchedule(*std::move(compute), target);
}

class AttentionScheduleTest : public testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionScheduleTest, IsOneLoopAndEqualsTheReference) {
  const OperatorList list = GetParam().plain ? PlainHeads(GetParam()) : MaskedHeads(GetParam());
  Random random(7);
  std::vector<Tensor> inputs;
  for (int parameter : list.parameters()) {
    inputs.emplace_back(list.values()[static_cast<std::size_t>(parameter)].type);
    for (std::int64_t i = 0; i < inputs.back().elements(); ++i) {
      inputs.back().Set(i, 2 * random.Uniform() - 1);
    }
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  auto expected = EvaluateList(list, pointers);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  for (const char* text : {"native", "native -num-threads=2", "llvm -mcpu=x86-64"}) {
    const Target target = *Target::Parse(text);
    const auto schedule = ScheduleOf(list, target);
    ASSERT_TRUE(schedule.has_value());
    const auto is_root = [&](StageId id) {
      return schedule->stage(id).attach == Schedule::Attach::kRoot;
    };
    EXPECT_EQ(std::ranges::count_if(schedule->order(), is_root), 1);
    std::vector<Tensor> arguments;
    for (const Tensor& input : inputs) arguments.push_back(input.Clone());
    arguments.emplace_back(expected->type());
    auto result = RunSchedule(*schedule, target, arguments);
    ASSERT_TRUE(result.ok()) << result.status().message();
    // Chances next to a tie may be rounded to the other bfloat16.
    const std::optional<double> tolerance =
        GetParam().factors == kFloat32 ? std::nullopt : std::optional(0x1p-8);
    const Comparison comparison = Compare(*result, *expected, tolerance);
    EXPECT_TRUE(comparison.ok) << text << ": element " << comparison.first_bad << ", error "
                               << comparison.max_abs_error;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Attention, AttentionScheduleTest,
    testing::Values(AttentionCase{"Encoder", 3, 64, 64, 32, 32},
                    AttentionCase{"RowsAndKeysOfOddSizes", 2, 21, 37, 12, 20},
                    AttentionCase{"OneHeadForAllThreads", 1, 96, 48, 64, 64},
                    AttentionCase{"SumsInBlocks", 2, 16, 300, 16, 16},
                    AttentionCase{"Plain", 2, 24, 40, 16, 8, true},
                    AttentionCase{"PairsOfFactors", 2, 40, 50, 64, 32, false, kBFloat16},
                    AttentionCase{"PairsAndOddSums", 2, 21, 37, 12, 20, false, kBFloat16},
                    AttentionCase{"PlainPairs", 2, 24, 40, 16, 8, true, kBFloat16}),
    [](const auto& tested) { return tested.param.name; });

// Each iteration of the outer loop over blocks of rows packs the keys and values of its head again.
TEST(AttentionSchedule, HasNoMoreRunsThanThreadsNeed) {
  const auto outer = [](const AttentionCase& of, const char* target) {
    const auto schedule = ScheduleOf(MaskedHeads(of), *Target::Parse(target));
    if (!schedule) return std::int64_t{0};
    const StageId result = schedule->order().back();
    return schedule->Extent(schedule->stage(result).leaves.front());
  };
  // Eleven blocks of rows: an outer iteration for each would pack eleven times.
  const AttentionCase few = {"", 4, 64, 64, 64, 64};
  EXPECT_EQ(outer(few, "llvm -mcpu=skylake-avx512"), 4);
  EXPECT_EQ(outer(few, "llvm -mcpu=skylake-avx512 -num-threads=2"), 4);
  EXPECT_EQ(outer({"", 1, 96, 48, 64, 64}, "llvm -mcpu=skylake-avx512 -num-threads=2"), 4);
  // 86 blocks, which divide into 2 or 43 iterations: separate kernels keep eight threads busy.
  EXPECT_EQ(outer({"", 2, 512, 64, 64, 64}, "llvm -mcpu=skylake-avx512 -num-threads=8"), 0);
}

TEST(AttentionSchedule, LeavesOtherComputationsAlone) {
  const Target target = *Target::Parse("native");
  EXPECT_FALSE(ScheduleOf(MaskedHeads({"FewRows", 2, 7, 32, 16, 16}), target).has_value());
  EXPECT_FALSE(ScheduleOf(MaskedHeads({"LongRows", 1, 64, 1 << 15, 4, 4}), target).has_value());

  ListWriter without_softmax;
  const int a = without_softmax.list.AddParameter({{2, 16, 16}, kFloat32});
  const int product = without_softmax.Add(OpKind::kBatchMatmul, {a, a});
  without_softmax.Add(OpKind::kBatchMatmul, {without_softmax.Add(OpKind::kRelu, {product}), a});
  EXPECT_FALSE(ScheduleOf(without_softmax.list, target).has_value());

  ListWriter by_rows;  // the second operand of the second product is by rows
  const int b = by_rows.list.AddParameter({{2, 16, 16}, kFloat32});
  const int chances = by_rows.Softmax(by_rows.Add(OpKind::kBatchMatmul, {b, b}));
  by_rows.Add(OpKind::kBatchMatmul, {b, chances});
  EXPECT_FALSE(ScheduleOf(by_rows.list, target).has_value());

  ListWriter one_product;
  one_product.Softmax(one_product.list.AddParameter({{2, 16, 16}, kFloat32}));
  EXPECT_FALSE(ScheduleOf(one_product.list, target).has_value());
}

}  // namespace
}  // namespace tilewright
