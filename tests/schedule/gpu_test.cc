// Lowering of loops bound to a GPU, and its rejections.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/schedule/lower/gpu_passes.h"
#include "src/schedule/lower/lower.h"
#include "tests/schedule/computes.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

/// out[i] = in[i] + 1 for 64 elements.
Compute AddOne(std::int64_t extent = 64) {
  const Buffer in = MakeBuffer("in", kFloat32, {extent});
  ComputeOp op;
  op.name = "out";
  op.output = MakeBuffer("out", kFloat32, {extent});
  op.axes = {{MakeVar("i"), extent, false}};
  op.body = MakeLoad(in, {op.axes[0].var}) + MakeFloat(kFloat32, 1);
  Compute compute;
  compute.inputs = {in};
  compute.stages = {op};
  return compute;
}

TEST(GpuLowerTest, ThreadsWithoutALoopOfTheirOwnDoNotWrite) {
  // The copy uses 4 threads of the 8 in the launch; the other 4 skip the copy.
  Schedule s(AddOne());
  const StageId out = s.Stage("out");
  const StageId copy = s.CacheRead("in", Scope::kShared, out);
  const auto [block, thread] = s.Split(out, s.SpatialAxis(out, 0), 8);
  s.Bind(out, block, LoopKind::kBlockX);
  s.Bind(out, thread, LoopKind::kThreadX);
  s.ComputeAt(copy, out, block);
  const auto [part, run] = s.SplitParts(copy, s.SpatialAxis(copy, 0), 4);
  s.Bind(copy, part, LoopKind::kThreadX);
  auto program = Lower(s, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(ToString(program->body),
            "for block.x in 0..8 block.x:\n"
            "  for thread.x in 0..8 thread.x:\n"
            "    allocate in.shared: float32[8] shared\n"
            "    if thread.x < 4:\n"
            "      for a0.i in 0..2:\n"
            "        in.shared[thread.x*2 + a0.i] = in[block.x*8 + thread.x*2 + a0.i]\n"
            "    barrier\n"
            "    out[block.x*8 + thread.x] = in.shared[thread.x] + 1.0f\n");
}

TEST(GpuLowerTest, WhatNoLoopDealsOutIsDoneByTheFirstThread) {
  Schedule s(AddOne(8));
  const StageId out = s.Stage("out");
  const StageId copy = s.CacheRead("in", Scope::kShared, out);
  const LoopId axis = s.SpatialAxis(out, 0);
  s.Bind(out, axis, LoopKind::kThreadX);
  s.ComputeAt(copy, out, axis);
  auto program = Lower(s, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ToString(program->body), HasSubstr("    if thread.x == 0:\n"
                                                 "      in.shared[a0] = in[a0]\n"
                                                 "  barrier\n"));
}

// The result reads its thread's row of `shifted`, and `sum` reads the rows of all threads: together
// these are the rows of the block, not of all blocks.
TEST(GpuLowerTest, SharedMemoryHoldsTheRowsOfABlock) {
  Schedule s(MakeSoftmaxLike(8, 16));
  const StageId result = s.Stage("result"), sum = s.Stage("sum"), shifted = s.Stage("shifted");
  const auto [block, row] = s.Split(result, s.SpatialAxis(result, 0), 2);
  s.Bind(result, block, LoopKind::kBlockX);
  s.Bind(result, row, LoopKind::kThreadY);
  s.Bind(result, s.SpatialAxis(result, 1), LoopKind::kThreadX);
  for (const StageId stage : {sum, shifted}) {
    s.SetScope(stage, Scope::kShared);
    s.ComputeAt(stage, result, row);
    s.Bind(stage, s.SpatialAxis(stage, 0), LoopKind::kThreadY);
  }
  s.Bind(shifted, s.SpatialAxis(shifted, 1), LoopKind::kThreadX);
  const auto program = Lower(s, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string text = ToString(program->body);
  EXPECT_THAT(text, HasSubstr("allocate shifted: float32[32] shared"));
  EXPECT_THAT(text, HasSubstr("allocate sum: float32[2] shared"));
}

TEST(GpuLowerTest, VirtualThreadsGetMemoryOfTheirOwnAndShareCopies) {
  Schedule s(AddOne());
  const StageId out = s.Stage("out");
  const StageId own = s.CacheWrite(out, Scope::kLocal);
  const StageId copy = s.CacheRead("in", Scope::kShared, own);
  const std::vector<LoopId> parts = s.SplitBy(out, s.SpatialAxis(out, 0), {2, 2, 8, 2});
  s.Bind(out, parts[0], LoopKind::kBlockX);
  s.VirtualThread(out, parts[1]);
  s.Bind(out, parts[2], LoopKind::kThreadX);
  s.ComputeAt(own, out, parts[2]);
  s.ComputeAt(copy, own, s.SpatialAxis(own, 0));
  auto program = Lower(s, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string text = ToString(program->body);
  EXPECT_THAT(text, HasSubstr("allocate out.local: float32[2, 2] local"));
  EXPECT_THAT(text, HasSubstr("out[block.x*32 + i.o.o.i*16 + thread.x*2 + i.i] = "
                              "out.local[i.o.o.i, i.i]"));
}

TEST(GpuLowerTest, ABarrierThatNotAllThreadsComeToIsRefused) {
  const Buffer shared = MakeBuffer("shared", kFloat32, {8}, Scope::kShared);
  const Buffer out = MakeBuffer("out", kFloat32, {8});
  const Expr thread = MakeVar("thread.x");
  const Stmt exchange = MakeBlock({MakeStore(shared, {thread}, MakeFloat(kFloat32, 1)),
                                   MakeStore(out, {thread}, MakeLoad(shared, {Expr(7) - thread}))});
  const Stmt launch = MakeFor(thread, 8, LoopKind::kThreadX,
                              MakeAllocate(shared, MakeIf(Lt(thread, Expr(4)), exchange)));
  EXPECT_THAT(PlaceBarriers(launch).status().message(), HasSubstr("differs between threads"));
}

TEST(GpuLowerTest, BarriersFollowWhatTheLastIterationLeft) {
  const Buffer shared = MakeBuffer("shared", kFloat32, {8}, Scope::kShared);
  const Buffer in = MakeBuffer("in", kFloat32, {4, 8});
  const Buffer out = MakeBuffer("out", kFloat32, {4, 8});
  const Expr thread = MakeVar("t"), step = MakeVar("k");
  const Stmt copy = MakeStore(shared, {thread}, MakeLoad(in, {step, thread}));
  const Stmt use = MakeStore(out, {step, thread}, MakeLoad(shared, {Expr(7) - thread}));
  const auto loop = [&](const Stmt& body) {
    return MakeFor(thread, 8, LoopKind::kThreadX,
                   MakeAllocate(shared, MakeFor(step, 4, LoopKind::kSerial, body)));
  };
  auto placed = PlaceBarriers(loop(MakeBlock({copy, use})));
  ASSERT_TRUE(placed.ok());
  EXPECT_THAT(ToString(*placed), HasSubstr("  for k in 0..4:\n"
                                           "    barrier\n"
                                           "    shared[t] = in[k, t]\n"
                                           "    barrier\n"
                                           "    out[k, t] = shared[7 - t]\n"));
  // No barrier is needed if no other stage reads.
  auto alone = PlaceBarriers(loop(copy));
  ASSERT_TRUE(alone.ok());
  EXPECT_THAT(ToString(*alone), testing::Not(HasSubstr("barrier")));
}

/// MakeStagedSum with two copies.
Schedule DoubleBufferedSum(std::int64_t rounds, std::int64_t steps) {
  Schedule s = MakeStagedSum(rounds, steps);
  const StageId copy = s.Stage("in.shared");
  s.Bind(copy, s.SpatialAxis(copy, 1), LoopKind::kThreadX);
  s.DoubleBuffer(copy);
  return s;
}

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(GpuLowerTest, DoubleBuffersTakeTurnsWithOneBarrierForEachStep) {
  auto program = Lower(DoubleBufferedSum(1, 6), "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(ToString(program->body),
            "for thread.x in 0..8 thread.x:\n"
            "  allocate out.local: float32[1] local\n"
            "  out.local[0] = 0.0f\n"
            "  allocate in.shared: float32[16] shared\n"
            "  allocate in.shared.next: float32[16] shared\n"
            "  for a0 in 0..2:\n"
            "    in.shared[thread.x + a0*8] = in[a0, thread.x]\n"
            "  barrier\n"
            "  for k.o.i in 0..3:\n"
            "    barrier\n"
            "    for a0 in 0..2:\n"
            "      in.shared.next[thread.x + a0*8] = in[(k.o.i*2 + 1)*2 + a0, thread.x]\n"
            "    for k.i in 0..2:\n"
            "      out.local[0] = out.local[0] + in.shared[thread.x + k.i*8]\n"
            "    barrier\n"
            "    if k.o.i < 2:\n"
            "      for a0 in 0..2:\n"
            "        in.shared[thread.x + a0*8] = in[(k.o.i*2 + 2)*2 + a0, thread.x]\n"
            "    for k.i in 0..2:\n"
            "      out.local[0] = out.local[0] + in.shared.next[thread.x + k.i*8]\n"
            "  out[thread.x] = out.local[0]\n");
}

TEST(GpuLowerTest, AnOddNumberOfStepsEndsWithOneOnItsOwn) {
  auto program = Lower(DoubleBufferedSum(1, 3), "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(CountOf(ToString(program->body), "barrier"), 3U) << ToString(program->body);
}

TEST(GpuLowerTest, LoopsAroundThePipelineStayAsTheyAre) {
  auto program = Lower(DoubleBufferedSum(2, 3), "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string text = ToString(program->body);
  EXPECT_EQ(CountOf(text, "allocate"), 3U) << text;
  EXPECT_EQ(CountOf(text, "= in["), 3U) << text;
  EXPECT_EQ(CountOf(text, "for k"), 1U + 3U) << text;
}

TEST(GpuLowerTest, ASingleStepNeedsNoSecondBuffer) {
  auto program = Lower(DoubleBufferedSum(1, 1), "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(CountOf(ToString(program->body), "next"), 0U);
}

struct RefusalCase {
  const char* name;
  std::int64_t extent;
  std::int64_t threads;
  Scope copy;
  bool bind_copy;
  const char* message;
};

class GpuRefusalTest : public testing::TestWithParam<RefusalCase> {};

TEST_P(GpuRefusalTest, SaysWhy) {
  const RefusalCase& c = GetParam();
  Schedule s(AddOne(c.extent));
  const StageId out = s.Stage("out");
  const StageId copy = s.CacheRead("in", c.copy, out);
  const auto [block, thread] = s.Split(out, s.SpatialAxis(out, 0), c.threads);
  s.Bind(out, block, LoopKind::kBlockY);
  s.Bind(out, thread, LoopKind::kThreadX);
  s.ComputeAt(copy, out, block);
  if (c.bind_copy) s.Bind(copy, s.SpatialAxis(copy, 0), LoopKind::kThreadX);
  EXPECT_THAT(Lower(s, "kernel").status().message(), HasSubstr(c.message));
}

INSTANTIATE_TEST_SUITE_P(
    Limits, GpuRefusalTest,
    testing::Values(
        RefusalCase{"Threads", 4096, 2048, Scope::kShared, true,
                    "2048 threads per block, expected at most 1024"},
        RefusalCase{"Blocks", 70000, 1, Scope::kShared, true,
                    "70000 blocks along y, expected at most 65535"},
        RefusalCase{"Shared", 1 << 15, 1 << 15, Scope::kShared, false, "threads per block"},
        RefusalCase{"Private", 4096, 1024, Scope::kLocal, false,
                    "4096 bytes in the largest array of one thread, expected at most 256"},
        RefusalCase{"BoundPrivate", 64, 8, Scope::kLocal, true, "memory is private"},
        RefusalCase{"Global", 64, 8, Scope::kGlobal, true, "expected shared or local memory"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(GpuLowerTest, AnIndexIsBoundOnce) {
  Schedule s(AddOne());
  const StageId out = s.Stage("out");
  const auto [outer, inner] = s.Split(out, s.SpatialAxis(out, 0), 8);
  s.Bind(out, outer, LoopKind::kThreadX);
  s.Bind(out, inner, LoopKind::kThreadX);
  EXPECT_THAT(s.status().message(), HasSubstr("is so already"));
}

}  // namespace
}  // namespace tilewright
