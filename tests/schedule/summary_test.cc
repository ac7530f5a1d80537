#include "src/schedule/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/schedule/computes.h"

namespace tilewright {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> ExtentsOf(const SummaryStage& stage) {
  std::vector<std::int64_t> extents;
  for (const SummaryLoop& loop : stage.loops) extents.push_back(loop.extent);
  return extents;
}

TEST(SummaryTest, MatmulStridesAndFootprints) {
  Schedule s(MakeMatmul(8, 16, 32));
  const StageId c = s.Stage("matmul");
  const auto [jo, ji] = s.Split(c, s.SpatialAxis(c, 1), 4);
  s.Reorder(c, {jo, s.ReductionAxis(c, 0), ji});
  s.Vectorize(c, ji);
  const auto summary = Summarize(s);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_EQ(summary->stages.size(), 1U);
  const SummaryStage& stage = summary->stages[0];
  EXPECT_THAT(ExtentsOf(stage), ElementsAre(8, 4, 32, 4));
  EXPECT_TRUE(stage.loops[2].reduction);
  EXPECT_EQ(stage.loops[3].kind, LoopKind::kVectorized);
  EXPECT_EQ(stage.arithmetic_ops, 2);
  ASSERT_EQ(stage.accesses.size(), 3U);
  EXPECT_EQ(stage.accesses[0].buffer, "A");
  EXPECT_THAT(stage.accesses[0].strides, ElementsAre(32, 0, 1, 0));
  EXPECT_THAT(stage.accesses[0].footprint_bytes, ElementsAre(1024, 128, 128, 4, 4));
  EXPECT_THAT(stage.accesses[1].strides, ElementsAre(0, 4, 16, 1));
  EXPECT_THAT(stage.accesses[1].footprint_bytes, ElementsAre(2048, 2048, 512, 16, 4));
  EXPECT_TRUE(stage.accesses[2].write);
  EXPECT_THAT(stage.accesses[2].strides, ElementsAre(16, 4, 0, 1));
  EXPECT_THAT(stage.accesses[2].footprint_bytes, ElementsAre(512, 64, 16, 16, 4));
}

TEST(SummaryTest, AttachedStageHasTheLoopsAroundItAndItsPartOnly) {
  ConvCase conv;
  conv.height = 8;
  conv.width = 8;
  Schedule s(MakeConv(conv));
  const StageId out = s.Stage("output");
  const StageId sum = s.Stage("conv");
  s.ComputeInline(s.Stage("pad"));
  const LoopId outer = s.Fuse(out, s.SpatialAxis(out, 0), s.SpatialAxis(out, 1));
  const auto [wo, wi] = s.Split(out, s.SpatialAxis(out, 2), 4);
  s.Parallel(out, outer);
  s.ComputeAt(sum, out, wo);
  s.SetScope(sum, Scope::kLocal);
  s.Reorder(sum, {s.ReductionAxis(sum, 0), s.ReductionAxis(sum, 1), s.ReductionAxis(sum, 2),
                  s.ReductionAxis(sum, 3), s.SpatialAxis(sum, 2), s.SpatialAxis(sum, 3)});
  const auto summary = Summarize(s);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_EQ(summary->stages.size(), 2U);
  const SummaryStage& stage = summary->stages[0];
  EXPECT_EQ(stage.name, "conv");
  EXPECT_EQ(stage.local_bytes, 4 * 4 * 4);
  // oc.oh, ow.o | kh, kw, ii, ow, oi
  EXPECT_THAT(ExtentsOf(stage), ElementsAre(16, 2, 3, 3, 2, 4, 4));
  const SummaryAccess& data = stage.accesses[0];
  EXPECT_EQ(data.buffer, "data");
  // A step of the fused loop is a row; a tile needs 3 rows of 4 + 2 pixels of 2 channels.
  EXPECT_THAT(data.strides, ElementsAre(16, 8, 16, 2, 1, 2, 0));
  EXPECT_EQ(data.footprint_bytes[2], 3 * 6 * 2 * 4);
  EXPECT_EQ(data.footprint_bytes[0], 8 * 8 * 2 * 4);
  const SummaryAccess& write = stage.accesses[2];
  EXPECT_EQ(write.scope, Scope::kLocal);
  EXPECT_THAT(write.strides, ElementsAre(0, 0, 0, 0, 0, 4, 1));
  EXPECT_THAT(write.footprint_bytes, ElementsAre(64, 64, 64, 64, 64, 64, 16, 4));
  EXPECT_EQ(summary->stages[1].accesses[0].buffer, "conv");
  EXPECT_THAT(summary->stages[1].accesses[0].strides, ElementsAre(0, 0, 4, 1));
}

TEST(SummaryTest, DotProductIsSaid) {
  Schedule s(MakeDenseU8S8(2, 8, 8));
  const StageId c = s.Stage("dense");
  s.Reorder(c, {s.ReductionAxis(c, 0), s.SpatialAxis(c, 1), s.ReductionAxis(c, 1)});
  s.Tensorize(c, s.SpatialAxis(c, 1), "dot4.u8s8");
  const auto summary = Summarize(s);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  const SummaryStage& stage = summary->stages[0];
  EXPECT_TRUE(stage.has_dot);
  EXPECT_EQ(stage.loops[2].kind, LoopKind::kVectorized);
  EXPECT_THAT(stage.accesses[1].strides, ElementsAre(0, 32, 4, 1));
}

TEST(SummaryTest, SharedMemoryHoldsWhatAllThreadsOfABlockNeed) {
  Schedule s(MakeMatmul(8, 16, 32));
  const StageId c = s.Stage("matmul");
  const StageId sum = s.CacheWrite(c, Scope::kLocal);
  const StageId a = s.CacheRead("A", Scope::kShared, sum),
                b = s.CacheRead("B", Scope::kShared, sum);
  const auto [block, row] = s.Split(c, s.SpatialAxis(c, 0), 4);
  const auto [virtual_thread, column] = s.Split(c, s.SpatialAxis(c, 1), 8);
  s.Reorder(c, {block, virtual_thread, row, column});
  s.Bind(c, block, LoopKind::kBlockX);
  s.VirtualThread(c, virtual_thread);
  s.Bind(c, row, LoopKind::kThreadY);
  s.Bind(c, column, LoopKind::kThreadX);
  s.ComputeAt(sum, c, column);
  const auto [step, depth] = s.Split(sum, s.ReductionAxis(sum, 0), 4);
  s.Reorder(sum, {step, depth, s.SpatialAxis(sum, 0), s.SpatialAxis(sum, 1)});
  for (const StageId copy : {a, b}) {
    s.ComputeAt(copy, sum, step);
    s.Bind(copy, s.SpatialAxis(copy, 1), LoopKind::kThreadX);
  }
  s.DoubleBuffer(b);
  const auto summary = Summarize(s);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_EQ(summary->stages.size(), 4U);
  const SummaryStage& copy_a = summary->stages[0];
  const SummaryStage& copy_b = summary->stages[1];
  EXPECT_EQ(copy_a.shared_bytes, 4 * 4 * 4);
  EXPECT_EQ(copy_b.shared_bytes, 2 * 4 * 16 * 4) << "two copies";
  // Blocks, then the steps; the surrounding threads are its own.
  EXPECT_THAT(ExtentsOf(copy_a), ElementsAre(2, 1, 1, 1, 8, 4, 4));
  const SummaryStage& products = summary->stages[2];
  EXPECT_EQ(products.local_bytes, 4);
  // Neighboring threads read the same element of A and neighboring elements of B.
  ASSERT_EQ(products.accesses[1].buffer, "B.shared");
  EXPECT_THAT(products.accesses[0].strides, ElementsAre(0, 0, 4, 0, 0, 1));
  EXPECT_THAT(products.accesses[1].strides, ElementsAre(0, 8, 0, 1, 0, 16));
  for (const SummaryStage& stage : summary->stages) EXPECT_EQ(stage.root, copy_a.root);
  LaunchLimits limits;
  limits.shared_bytes = copy_a.shared_bytes + copy_b.shared_bytes;
  EXPECT_TRUE(CheckSharedMemory(*summary, limits).ok());
  --limits.shared_bytes;
  EXPECT_EQ(CheckSharedMemory(*summary, limits).message(),
            "576 bytes of shared memory, expected at most 575");
}

}  // namespace
}  // namespace tilewright
