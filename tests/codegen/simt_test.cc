// The SIMT emulator on hand-written programs: correct programs run, and every kind of fault is
// reported.

#include "src/codegen/simt/simt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "src/codegen/codegen.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/workspace_images.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kThreads = 8, kBlocks = 3, kAll = kThreads * kBlocks;

/// output[...] of 24 floats from input[24], by blocks of 8 threads. `body` creates the inside of
/// the loops from the indices of block and thread.
struct Grid {
  Buffer input = MakeBuffer("input", kFloat32, {kAll});
  Buffer output = MakeBuffer("output", kFloat32, {kAll});
  Buffer shared = MakeBuffer("shared", kFloat32, {kThreads}, Scope::kShared);
  Expr block = MakeVar("block.x");
  Expr thread = MakeVar("thread.x");

  Program Make(Stmt body) const {
    Program program;
    program.name = "kernel";
    program.parameters = {input, output};
    program.body =
        MakeFor(block, kBlocks, LoopKind::kBlockX,
                MakeFor(thread, kThreads, LoopKind::kThreadX, MakeAllocate(shared, body)));
    return program;
  }
  Expr Global() const { return block * Expr(kThreads) + thread; }
  Stmt Stage(Expr to) const { return MakeStore(shared, {to}, MakeLoad(input, {Global()})); }
  /// Returns an asynchronous copy of the elements that Stage copies, or of zeros.
  Stmt Copy(Expr to, Expr condition = {}) const {
    return MakeAsyncCopy({shared, {to}, {1}}, {input, {Global()}, {1}}, std::move(condition));
  }
  Stmt Wait(int pending) const { return MakeAsyncWait(pending, {{shared, {Expr(0)}, {kThreads}}}); }
  Stmt Store(Expr from) const { return MakeStore(output, {Global()}, MakeLoad(shared, {from})); }
};

struct Ran {
  Status status;
  std::vector<float> output;
};

Ran RunOn(const Program& program) {
  auto kernel = SimtKernel::Build(program, *Target::Parse("cuda -arch=sm_80"));
  if (!kernel.ok()) return {kernel.status(), {}};
  alignas(64) float input[kAll], output[kAll];
  for (int i = 0; i < kAll; ++i) input[i] = static_cast<float>(i);
  std::fill(std::begin(output), std::end(output), -1.0F);
  void* arguments[] = {input, output};
  Ran ran{kernel->Run(arguments), {}};
  ran.output.assign(std::begin(output), std::end(output));
  return ran;
}

TEST(SimtTest, ThreadsExchangeValuesThroughSharedMemory) {
  const Grid g;
  const Ran ran = RunOn(g.Make(
      MakeBlock({g.Stage(g.thread), MakeBarrier(), g.Store(Expr(kThreads - 1) - g.thread)})));
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  for (int i = 0; i < kAll; ++i) {
    EXPECT_EQ(ran.output[static_cast<std::size_t>(i)], i / 8 * 8 + 7 - i % 8);
  }
}

TEST(SimtTest, AsynchronousCopiesArriveWithTheWaitForThem) {
  const Grid g;
  const Ran ran =
      RunOn(g.Make(MakeBlock({g.Copy(g.thread, Lt(g.thread, Expr(5))), MakeAsyncCommit(), g.Wait(0),
                              MakeBarrier(), g.Store(Expr(kThreads - 1) - g.thread)})));
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  for (int i = 0; i < kAll; ++i) {
    const int from = 7 - i % 8;
    EXPECT_EQ(ran.output[static_cast<std::size_t>(i)], from < 5 ? i / 8 * 8 + from : 0);
  }
}

TEST(SimtTest, AsynchronousCopiesNeedADeviceThatHasThem) {
  const Grid g;
  const Program program = g.Make(MakeBlock(
      {g.Copy(g.thread), MakeAsyncCommit(), g.Wait(0), MakeBarrier(), g.Store(g.thread)}));
  EXPECT_EQ(
      Generate({program}, *Target::Parse("cuda -arch=sm_75"), Emit::kObject).status().message(),
      "kernel: asynchronous copies on sm_75, expected at least sm_80");
  EXPECT_THAT(*Generate({program}, *Target::Parse("cuda -arch=sm_80"), Emit::kObject),
              testing::AllOf(HasSubstr("cp.async.ca.shared.global"),
                             HasSubstr("cp.async.commit_group"), HasSubstr("cp.async.wait_group")));
}

TEST(SimtTest, LaunchesRunInOrderOnWorkspace) {
  const Grid g;
  const Buffer doubled = MakeBuffer("doubled", kFloat32, {kAll});
  const auto launch = [&](const Stmt& body) {
    return MakeFor(g.block, kBlocks, LoopKind::kBlockX,
                   MakeFor(g.thread, kThreads, LoopKind::kThreadX, body));
  };
  const Expr value = MakeLoad(g.input, {g.Global()});
  Program program = g.Make(MakeBlock({}));
  program.body = MakeAllocate(
      doubled, MakeBlock({launch(MakeStore(doubled, {g.Global()}, value + value)),
                          launch(MakeStore(g.output, {g.Global()},
                                           MakeLoad(doubled, {Expr(kAll - 1) - g.Global()})))}));
  const Ran ran = RunOn(program);
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  for (int i = 0; i < kAll; ++i) {
    EXPECT_EQ(ran.output[static_cast<std::size_t>(i)], 2 * (kAll - 1 - i));
  }
  EXPECT_THAT(*Generate({program}, *Target::Parse("cuda -arch=sm_80"), Emit::kAssembly),
              testing::AllOf(HasSubstr(".entry kernel("), HasSubstr(".entry kernel_1(")));
}

struct FaultCase {
  const char* name;
  std::function<Stmt(const Grid&)> body;
  const char* message;
};

class SimtFaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(SimtFaultTest, IsNamed) {
  const Grid g;
  const Ran ran = RunOn(g.Make(GetParam().body(g)));
  EXPECT_EQ(ran.status.code(), StatusCode::kCorrupt);
  EXPECT_THAT(ran.status.message(), HasSubstr(GetParam().message));
}

Stmt OnlyThreadZero(const Grid& g, Stmt stmt) {
  return MakeIf(Eq(g.thread, Expr(0)), std::move(stmt));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, SimtFaultTest,
    testing::Values(
        FaultCase{"ReadAfterWrite",
                  [](const Grid& g) {
                    return MakeBlock({g.Stage(g.thread), g.Store(Expr(kThreads - 1) - g.thread)});
                  },
                  "shared"},
        FaultCase{"WriteAfterRead",
                  [](const Grid& g) {
                    return MakeBlock({g.Stage(g.thread), MakeBarrier(), g.Store(Expr(kThreads - 1)),
                                      g.Stage(g.thread)});
                  },
                  "has read without a barrier between"},
        FaultCase{"TwoWriters", [](const Grid& g) { return g.Stage(FloorDiv(g.thread, Expr(2))); },
                  "has written without a barrier between"},
        FaultCase{
            "TwoBlocks",
            [](const Grid& g) { return MakeStore(g.output, {g.thread}, MakeFloat(kFloat32, 1)); },
            "which another block has written"},
        FaultCase{"BehindTheEnd",
                  [](const Grid& g) {
                    return MakeStore(g.output, {g.Global() + Expr(1)}, MakeFloat(kFloat32, 1));
                  },
                  "writes 4 bytes at byte 96 of output, which has 96"},
        FaultCase{"BeforeTheStart",
                  [](const Grid& g) {
                    return MakeStore(g.output, {g.Global()},
                                     MakeLoad(g.input, {g.Global() - Expr(2)}));
                  },
                  "reads 4 bytes at byte -8 of input"},
        FaultCase{"NobodyWrote", [](const Grid& g) { return g.Store(g.thread); },
                  "which nobody has written"},
        FaultCase{"ReadWithoutAWait",
                  [](const Grid& g) {
                    return MakeBlock(
                        {g.Copy(g.thread), MakeAsyncCommit(), MakeBarrier(), g.Store(g.thread)});
                  },
                  "reads element 0 of kernel.shared, to which a copy is under way"},
        FaultCase{"CopyOutsideOfTheGroup",
                  [](const Grid& g) {
                    return MakeBlock({MakeAsyncCommit(), g.Copy(g.thread), g.Wait(0), MakeBarrier(),
                                      g.Store(g.thread)});
                  },
                  "to which a copy is under way"},
        FaultCase{"WaitForTheGroupBefore",
                  [](const Grid& g) {
                    return MakeBlock({g.Copy(g.thread), MakeAsyncCommit(), g.Wait(1), MakeBarrier(),
                                      g.Store(g.thread)});
                  },
                  "to which a copy is under way"},
        FaultCase{
            "ReadOfAnothersCopy",
            [](const Grid& g) {
              // Thread 7 reads an element that thread 0 has waited for, but there was no barrier.
              return MakeBlock({g.Copy(g.thread), MakeAsyncCommit(), g.Wait(0), g.Store(Expr(0))});
            },
            "which thread (0,0,0) of block (0,0,0) has written without a barrier between"},
        FaultCase{"WriteUnderACopy",
                  [](const Grid& g) {
                    return MakeBlock({g.Copy(g.thread), g.Stage(g.thread)});
                  },
                  "writes element 0 of kernel.shared, to which a copy is under way"},
        FaultCase{"CopyOverARead",
                  [](const Grid& g) {
                    return MakeBlock({g.Stage(g.thread), MakeBarrier(), g.Store(Expr(kThreads - 1)),
                                      g.Copy(g.thread), MakeAsyncCommit(), g.Wait(0)});
                  },
                  "has read without a barrier between"},
        FaultCase{"CopyNobodyWaitsFor",
                  [](const Grid& g) {
                    return MakeBlock({g.Copy(g.thread), MakeAsyncCommit()});
                  },
                  "ends without waiting for its copies"},
        FaultCase{"CopyFromOutside",
                  [](const Grid& g) {
                    return MakeAsyncCopy({g.shared, {g.thread}, {1}},
                                         {g.input, {g.Global() - Expr(1)}, {1}});
                  },
                  "reads 4 bytes at byte -4 of input"},
        FaultCase{"NotAllCome",
                  [](const Grid& g) {
                    return MakeBlock({OnlyThreadZero(g, MakeBarrier()), g.Stage(g.thread)});
                  },
                  "do not come to the same barriers"}),
    [](const auto& tested) { return std::string(tested.param.name); });

/// A work-item after the last column of an image would read the next row of its memory.
TEST(SimtTest, PlacesOutsideOfAnImageAreFaults) {
  const Grid g;
  const Buffer image = MakeBuffer("image", kFloat32, {kBlocks, 2, 4});
  const auto launch = [&](const Stmt& body) {
    return MakeFor(g.block, kBlocks, LoopKind::kBlockX,
                   MakeFor(g.thread, kThreads, LoopKind::kThreadX, body));
  };
  const Expr column = MakeVar("column"), lane = MakeVar("lane");
  const Expr source = g.block * Expr(kThreads) + column * Expr(4) + lane;
  const auto program = [&](int column_offset) {
    const Stmt texel =
        MakeFor(lane, 4, LoopKind::kVectorized,
                MakeStore(image, {g.block, column, lane}, MakeLoad(g.input, {source})),
                {{kImageRowsAttribute, 1}});
    const Stmt writes = MakeIf(Eq(g.thread, Expr(0)), MakeFor(column, 2, LoopKind::kSerial, texel));
    const Expr place = FloorDiv(g.thread, Expr(4)) + Expr(column_offset);
    const Stmt reads = MakeStore(g.output, {g.Global()},
                                 MakeLoad(image, {g.block, place, FloorMod(g.thread, Expr(4))}));
    Program made = g.Make(MakeBlock({}));
    made.body = MakeAllocate(image, MakeBlock({launch(writes), launch(reads)}));
    return made;
  };
  const Ran ran = RunOn(program(0));
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  for (int i = 0; i < kAll; ++i) EXPECT_EQ(ran.output[static_cast<std::size_t>(i)], i);
  EXPECT_THAT(RunOn(program(1)).status.message(), HasSubstr("of image, which has 96"));
  EXPECT_THAT(RunOn(program(-1)).status.message(), HasSubstr("of image, which has 96"));
}

TEST(SimtTest, OtherTargetsAndCountsAreRefused) {
  const Grid g;
  const Program program = g.Make(g.Stage(g.thread));
  EXPECT_EQ(SimtKernel::Build(program, *Target::Parse("llvm")).status().code(),
            StatusCode::kInvalidArgument);
  auto kernel = SimtKernel::Build(program, *Target::Parse("cuda"));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ(kernel->Run({}).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilewright
