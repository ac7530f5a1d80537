#include <gtest/gtest.h>

#include <set>

#include "src/base/random.h"
#include "src/compiler/plan/physical_layout.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {
namespace {

PlanStep Step(std::vector<int> buffers, std::vector<int> may_overwrite = {}) {
  PlanStep step;
  step.buffers = std::move(buffers);
  step.may_overwrite = std::move(may_overwrite);
  return step;
}

Plan PlannedMemory(const std::vector<std::int64_t>& bytes, std::vector<PlanStep> steps) {
  Plan plan;
  for (std::int64_t b : bytes) plan.buffers.push_back({BufferSpace::kArena, b, 0, 0});
  plan.steps = std::move(steps);
  return plan;
}

TEST(PlanMemory, ReusesThePlaceOfDeadBuffers) {
  // A chain 0 -> 1 -> 2 -> 3: two buffers are enough.
  Plan plan = PlannedMemory({640, 640, 640, 640}, {Step({0, 1}), Step({1, 2}), Step({2, 3})});
  PlanMemory(plan);
  EXPECT_EQ(plan.arena_bytes, 1280);
  EXPECT_EQ(plan.buffers[0].offset, plan.buffers[2].offset);
}

TEST(PlanMemory, OverwritesAnOperandThatDies) {
  Plan plan = PlannedMemory({640, 640}, {Step({0}), Step({0, 1}, {0})});
  PlanMemory(plan);
  EXPECT_EQ(plan.arena_bytes, 640);
  EXPECT_EQ(plan.buffers[0].offset, plan.buffers[1].offset);
}

TEST(PlanMemory, OverwritesNoOperandOfAKernelWithRestrictPointers) {
  Plan plan = PlannedMemory({1024, 1024}, {Step({0}), Step({0, 1}, {0})});
  plan.target = *Target::Parse("opencl");
  PlanMemory(plan);
  EXPECT_NE(plan.buffers[0].offset, plan.buffers[1].offset);
  EXPECT_EQ(plan.arena_bytes, 2048);
}

TEST(PlanMemory, KeepsAnOperandThatIsReadLater) {
  Plan plan = PlannedMemory({640, 640, 640}, {Step({0}), Step({0, 1}, {0}), Step({0, 1, 2})});
  PlanMemory(plan);
  EXPECT_EQ(plan.arena_bytes, 3 * 640);
}

TEST(PlanMemory, AlignsOffsets) {
  Plan plan = PlannedMemory({100, 7, 65}, {Step({0, 1, 2})});
  PlanMemory(plan);
  for (const PlanBuffer& buffer : plan.buffers) EXPECT_EQ(buffer.offset % kTensorAlignment, 0);
}

TEST(PlanMemory, PutsPartsIntoTheirWhole) {
  // 0 and 1 are concatenated as 2, which is read after 3 exists; 4 is a part of 1 and read last.
  Plan plan = PlannedMemory({128, 64, 192, 640, 64},
                            {Step({0}), Step({1}, {0}), Step({0, 3}), Step({2, 3}), Step({4, 3})});
  const auto is_part = [&](std::size_t part, int whole, std::int64_t begin) {
    plan.buffers[part].whole = whole;
    plan.buffers[part].begin = begin;
  };
  is_part(0, 2, 0);
  is_part(1, 2, 128);
  is_part(4, 1, 0);
  PlanMemory(plan);
  EXPECT_EQ(plan.buffers[0].offset, plan.buffers[2].offset);
  EXPECT_EQ(plan.buffers[1].offset, plan.buffers[2].offset + 128);
  EXPECT_EQ(plan.buffers[4].offset, plan.buffers[1].offset);
  EXPECT_EQ(plan.arena_bytes, 192 + 640);
}

TEST(PlanMemory, NeverWritesOverAPart) {
  // 0 dies when 2 is computed, but is a part of 1, which is read later.
  Plan plan = PlannedMemory({128, 256, 128}, {Step({0}), Step({0, 2}, {0}), Step({2, 1})});
  plan.buffers[0].whole = 1;
  PlanMemory(plan);
  EXPECT_NE(plan.buffers[0].offset, plan.buffers[2].offset);
  EXPECT_EQ(plan.arena_bytes, 256 + 128);
}

TEST(PlanMemory, NeverWritesOverAnOperandThatIsReadByPartsToo) {
  // 0 may be overwritten by 3, but 2, a part of its part 1, is read at other positions.
  Plan plan = PlannedMemory({256, 128, 64, 256}, {Step({0}), Step({0, 2, 3}, {0}), Step({3})});
  plan.buffers[1].whole = 0;
  plan.buffers[1].begin = 64;
  plan.buffers[2].whole = 1;
  plan.buffers[2].begin = 64;
  PlanMemory(plan);
  EXPECT_EQ(plan.buffers[2].offset, plan.buffers[0].offset + 128);
  EXPECT_EQ(plan.arena_bytes, 512);
}

TEST(PlanMemory, NeverWritesOverAPartOfWhatTookAnothersPlace) {
  // 1 reuses the memory of 0; 3 must not, because 2 is a part of 1.
  Plan plan = PlannedMemory({128, 128, 64, 128},
                            {Step({0}), Step({0, 1}, {0}), Step({2, 1, 3}, {1}), Step({3})});
  plan.buffers[2].whole = 1;
  PlanMemory(plan);
  EXPECT_EQ(plan.buffers[1].offset, plan.buffers[0].offset);
  EXPECT_EQ(plan.arena_bytes, 256);
}

TEST(PlanMemory, NeverLetsLivingBuffersOverlap) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> bytes;
    std::vector<PlanStep> steps;
    const int count = 3 + static_cast<int>(random.Below(30));
    for (int i = 0; i < count; ++i) {
      bytes.push_back(64 * static_cast<std::int64_t>(1 + random.Below(8)));
      std::vector<int> operands;
      for (int j = 0; i > 0 && j < 2; ++j) {
        operands.push_back(static_cast<int>(random.Below(static_cast<std::uint64_t>(i))));
      }
      std::vector<int> may_overwrite;
      if (i > 0 && operands[0] != operands[1]) may_overwrite.push_back(operands[0]);
      operands.push_back(i);
      steps.push_back(Step(operands, may_overwrite));
    }
    Plan plan = PlannedMemory(bytes, steps);
    PlanMemory(plan);
    // Executes the steps with a label for each 64 bytes of memory: a read must return the label of
    // its write.
    std::vector<int> memory(static_cast<std::size_t>(plan.arena_bytes / 64), -1);
    for (int i = 0; i < count; ++i) {
      const auto& buffers = plan.steps[static_cast<std::size_t>(i)].buffers;
      for (std::size_t b = 0; b < buffers.size(); ++b) {
        const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(buffers[b])];
        for (std::int64_t at = 0; at < buffer.bytes / 64; ++at) {
          int& label = memory[static_cast<std::size_t>(buffer.offset / 64 + at)];
          if (b + 1 == buffers.size()) {
            label = buffers[b];
          } else {
            ASSERT_EQ(label, buffers[b]) << "round " << round << " step " << i;
          }
        }
      }
    }
  }
}

TEST(PhysicalLayout, KnowsWhichLayoutsShareBytes) {
  const TensorType image{{1, 32, 7, 7}, kFloat32}, pixel{{2, 32, 1, 1}, kFloat32};
  EXPECT_FALSE(SameBytes(image, "NCHW", "NCHW", "NCHW16c"));
  EXPECT_TRUE(SameBytes(pixel, "NCHW", "NCHW", "NCHW16c"));
  EXPECT_TRUE(SameBytes(pixel, "NCHW", "NCHW8c", "NCHW16c"));
  EXPECT_TRUE(SameBytes(pixel, "NCHW", "NHWC", "NCHW"));
  const TensorType odd{{2, 20, 1, 1}, kFloat32};
  EXPECT_FALSE(SameBytes(odd, "NCHW", "NCHW", "NCHW16c"));
  const TensorType packed{{1, 2, 7, 7, 1, 16}, kInt8};
  EXPECT_TRUE(SameBytes(packed, "NCHW1n16c", "NCHW1n16c", "NCHW16c"));
  EXPECT_TRUE(Canonical(packed, {"NCHW1n16c", "NCHW16c"}).is_logical());
  EXPECT_TRUE(IsRounded(odd, {"NCHW", "NCHW16c"}));
  EXPECT_FALSE(IsRounded(image, {"NCHW", "NCHW16c"}));
}

TEST(PhysicalLayout, SeesALayoutChangeInAReshapeAndATranspose) {
  const TensorType image{{1, 64, 5, 6}, kInt32};
  const auto blocked = MemoryOrder(image, "NCHW", "NCHW16c");
  EXPECT_EQ(TransposedOrder(image, "NCHW", {1, 1, 4, 16, 5, 6}, {0, 2, 4, 5, 1, 3}), blocked);
  EXPECT_NE(TransposedOrder(image, "NCHW", {1, 1, 16, 4, 5, 6}, {0, 2, 4, 5, 1, 3}), blocked);
  // The channel parts in reverse order: a shuffle.
  const auto shuffled = TransposedOrder(image, "NCHW", {1, 4, 16, 5, 6}, {0, 2, 1, 3, 4});
  EXPECT_EQ(shuffled, MemoryOrder(image, "NCHW", "N16cCHW"));
  EXPECT_NE(shuffled, MemoryOrder(image, "NCHW", "N4cCHW"));
  EXPECT_NE(shuffled, MemoryOrder(image, "NCHW", "NCHW"));
  EXPECT_FALSE(SameBytes(image, "NCHW", "NCHW", "N16cCHW"));
  // Three parts in an order that no layout expresses.
  EXPECT_TRUE(TransposedOrder(image, "NCHW", {1, 4, 4, 4, 5, 6}, {0, 2, 1, 3, 4, 5}).empty());
  // Not a split of dimensions.
  EXPECT_TRUE(TransposedOrder(image, "NCHW", {1, 5, 64, 6}, {0, 1, 2, 3}).empty());
}

TEST(PhysicalLayout, BlocksOperandsThatBroadcast) {
  const TensorType value{{1, 32, 7, 7}, kFloat32};
  const PhysicalLayout layouts{"NCHW", "NCHW16c"};
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(*BroadcastShape({{32, 1, 1}, kFloat32}, value, layouts), (Shape{1, 2, 1, 1, 16}));
  EXPECT_EQ(*BroadcastShape({{1, 1, 7, 7}, kFloat32}, value, layouts), (Shape{1, 1, 7, 7, 1}));
  EXPECT_EQ(*BroadcastShape({{}, kFloat32}, value, layouts), (Shape{1, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace tilewright
