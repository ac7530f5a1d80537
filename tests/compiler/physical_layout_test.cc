#include "src/compiler/plan/physical_layout.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

const PhysicalLayout kBlocks{"NCHW", "NCHW16c"};

TEST(Forms, HaveTheSameBytesOnlyWhereNoBlockReachesBeyondTheValue) {
  struct Row {
    std::vector<std::int64_t> shape;
    bool same;
  };
  for (const Row& row :
       {Row{{1, 1, 1, 1}, false}, Row{{1, 16, 1, 1}, true}, Row{{1, 16, 2, 1}, false},
        Row{{2, 32, 1, 1}, true}, Row{{1, 20, 1, 1}, false}}) {
    const TensorType type{row.shape, kFloat32};
    EXPECT_EQ(SameBytes(type, "NCHW", "NCHW", "NCHW16c"), row.same) << type.ToString();
    EXPECT_EQ(Canonical(type, kBlocks).is_logical(), row.same) << type.ToString();
  }
}

TEST(Forms, BroadcastOperandsKeepWhatRepeats) {
  const TensorType value{{1, 20, 6, 6}, kFloat32};
  const auto shape = [&](std::vector<std::int64_t> operand) {
    return *BroadcastShape({std::move(operand), kFloat32}, value, kBlocks);
  };
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shape({1, 20, 6, 6}), (Shape{1, 2, 6, 6, 16}));
  EXPECT_EQ(shape({20, 1, 1}), (Shape{1, 2, 1, 1, 16}));
  EXPECT_EQ(shape({1, 1, 6, 6}), (Shape{1, 1, 6, 6, 1}));
}

// With one channel, an operand in a blocked layout looks like a broadcast operand.
TEST(Forms, AValueOfOneChannelIsNotBroadcastInBlocks) {
  const TensorType value{{1, 1, 6, 6}, kFloat32};
  EXPECT_EQ(BroadcastShape(value, value, kBlocks).status().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(BroadcastShape(value, value, PhysicalLayout()).ok());
}

}  // namespace
}  // namespace tilewright
