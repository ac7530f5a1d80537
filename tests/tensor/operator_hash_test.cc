#include "src/tensor/operator_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "tests/support/recurrences.h"

namespace tilewright {
namespace {

// One change for each attribute: an attribute that the hash ignores gives the same hash twice.
TEST(OperatorHash, EveryAttributeCounts) {
  using A = OpAttributes;
  const std::vector<std::function<void(A&)>> changes = {
      [](A& a) { a.strides[1] = 2; },
      [](A& a) { a.padding[3] = 2; },
      [](A& a) { a.dilation[1] = 2; },
      [](A& a) { a.pool_size[1] = 2; },
      [](A& a) { a.output_padding[1] = 2; },
      [](A& a) { a.groups = 2; },
      [](A& a) { a.reduced_range_weights = true; },
      [](A& a) { a.data_layout = "2"; },
      [](A& a) { a.kernel_layout = "2"; },
      [](A& a) { a.src_layout = "2"; },
      [](A& a) { a.dst_layout = "2"; },
      [](A& a) { a.dtype = kInt8; },
      [](A& a) { a.dtype = kUInt8; },
      [](A& a) { a.dtype = kInt16; },
      [](A& a) { a.axis = 2; },
      [](A& a) { a.axes = {2}; },
      [](A& a) {
        a.axes = {2, 2};
      },
      [](A& a) { a.keepdims = true; },
      [](A& a) { a.ceil_mode = true; },
      [](A& a) { a.count_include_pad = true; },
      [](A& a) { a.flatten = true; },
      [](A& a) { a.new_shape = {2}; },
      [](A& a) { a.begin = {2}; },
      [](A& a) { a.end = {2}; },
      [](A& a) { a.steps = {2}; },
      [](A& a) { a.pad_width = {2}; },
      [](A& a) { a.pad_value = 2; },
      [](A& a) { a.a_min = 2; },
      [](A& a) { a.a_max = 2; },
      [](A& a) { a.alpha = 2; },
      [](A& a) { a.beta = 2; },
      [](A& a) { a.epsilon = 2; },
      [](A& a) { a.bias = 2; },
      [](A& a) { a.size = 2; },
      [](A& a) { a.multiplier = 2; },
      [](A& a) { a.shift = 2; },
      [](A& a) { a.recurrence = GatedRecurrence(1, 2, false).attributes.recurrence; },
      [](A& a) { a.recurrence = GatedRecurrence(1, 2, true).attributes.recurrence; },
      [](A& a) { a.recurrence = RecurrenceValue(Recurrence()); },
  };
  const std::vector<int> inputs = {3, 4};
  std::set<std::uint64_t> hashes = {HashOf({OpKind::kClip, {}}, inputs),
                                    HashOf({OpKind::kAdd, {}}, inputs),
                                    HashOf({OpKind::kClip, {}}, std::vector<int>{4, 3}),
                                    HashOf({OpKind::kClip, {}}, std::vector<int>{3})};
  for (const auto& change : changes) {
    Operator op{OpKind::kClip, {}};
    change(op.attributes);
    hashes.insert(HashOf(op, inputs));
  }
  EXPECT_EQ(hashes.size(), changes.size() + 4);
}

TEST(OperatorHash, EqualOperatorsHaveEqualOnes) {
  Operator positive{OpKind::kClip, {}}, negative = positive;
  negative.attributes.a_min = -0.0;
  ASSERT_EQ(positive, negative);
  EXPECT_EQ(HashOf(positive, {}), HashOf(negative, {}));
}

}  // namespace
}  // namespace tilewright
