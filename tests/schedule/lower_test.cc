#include "src/schedule/lower/lower.h"

#include <gtest/gtest.h>

#include "tests/schedule/computes.h"
#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

/// Executes the lowered schedule, compares it with its Compute, and returns its pseudocode.
std::string LoweredText(const Schedule& schedule) {
  const auto program = Lower(schedule, "kernel");
  if (!program.ok()) return program.status().message();
  Random random(1);
  const auto inputs = RandomInputs(schedule.compute(), &random);
  const Interpreted expected = EvaluateCompute(schedule.compute(), PointersTo(inputs));
  EXPECT_EQ(expected.error, "");
  const Interpreted got = ExecuteProgram(*program, PointersTo(inputs));
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(NumbersOf(got.result), NumbersOf(expected.result));
  return ToString(*program);
}

TEST(LowerTest, PlainMatmulIsThreeLoops) {
  EXPECT_EQ(LoweredText(Schedule(MakeMatmul(4, 5, 6))),
            R"(kernel(A: float32[4, 6], B: float32[6, 5] -> C: float32[4, 5]):
  for i in 0..4:
    for j in 0..5:
      C[i, j] = 0.0f
      for k in 0..6:
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
)");
}

TEST(LowerTest, TiledMatmulKeepsItsTileInALocalBuffer) {
  Schedule s(MakeMatmul(8, 16, 6));
  const StageId c = s.Stage("matmul");
  const StageId tile = s.CacheWrite(c, Scope::kLocal);
  const auto [io, ii] = s.Split(c, s.SpatialAxis(c, 0), 2);
  const auto [jo, ji] = s.Split(c, s.SpatialAxis(c, 1), 8);
  s.Reorder(c, {io, jo, ii, ji});
  s.Parallel(c, s.Fuse(c, io, jo));
  s.Vectorize(c, ji);
  s.ComputeAt(tile, c, s.Leaves(c)[0]);
  const LoopId i = s.SpatialAxis(tile, 0);
  const LoopId j = s.SpatialAxis(tile, 1);
  s.Reorder(tile, {s.ReductionAxis(tile, 0), i, j});
  s.Unroll(tile, i);
  s.Vectorize(tile, j);
  ASSERT_TRUE(s.status().ok()) << s.status().message();
  EXPECT_EQ(LoweredText(s), R"(kernel(A: float32[8, 6], B: float32[6, 16] -> C: float32[8, 16]):
  for i.o.j.o in 0..8 parallel:
    allocate matmul.local: float32[2, 8] local
    for i in 0..2 unrolled:
      for j in 0..8 vectorized:
        matmul.local[i, j] = 0.0f
    for k in 0..6:
      for i in 0..2 unrolled:
        for j in 0..8 vectorized:
          matmul.local[i, j] = matmul.local[i, j] + A[floordiv(i.o.j.o, 2)*2 + i, k] * B[k, floormod(i.o.j.o, 2)*8 + j]
    for i.i in 0..2:
      for j.i in 0..8 vectorized:
        C[floordiv(i.o.j.o, 2)*2 + i.i, floormod(i.o.j.o, 2)*8 + j.i] = matmul.local[i.i, j.i]
)");
}

// Scalar loads have no indices to rewrite, but another buffer.
TEST(LowerTest, KeptStageIsMadeWhereItIsReadFirst) {
  Schedule s(MakeSoftmaxLike(3, 8));
  const StageId sum = s.Stage("sum"), shifted = s.Stage("shifted");
  s.ComputeAt(shifted, sum, s.SpatialAxis(sum, 0));
  s.Keep(shifted);
  ASSERT_TRUE(s.status().ok()) << s.status().message();
  EXPECT_EQ(LoweredText(s), R"(kernel(x: float32[3, 8] -> result: float32[3, 8]):
  allocate max: float32[3] global
  allocate shifted: float32[3, 8] global
  allocate sum: float32[3] global
  for r in 0..3:
    max[r] = -inf
    for k in 0..8:
      max[r] = max(max[r], x[r, k])
  for r in 0..3:
    for c in 0..8:
      shifted[r, c] = x[r, c] - max[r]
    sum[r] = 0.0f
    for k in 0..8:
      sum[r] = sum[r] + shifted[r, k]
  for r in 0..3:
    for c in 0..8:
      result[r, c] = shifted[r, c] + sum[r]
)");
}

// In one loop over the rows of the result, whose memory holds one row.
TEST(LowerTest, KeptStageOfOneRow) {
  Schedule s(MakeSoftmaxLike(3, 8));
  const StageId sum = s.Stage("sum"), shifted = s.Stage("shifted"), result = s.Stage("result");
  const LoopId row = s.SpatialAxis(result, 0);
  s.ComputeAt(sum, result, row);
  s.ComputeAt(shifted, sum, s.SpatialAxis(sum, 0));
  s.Keep(shifted);
  s.ComputeAt(s.Stage("max"), result, row);
  EXPECT_EQ(s.status().message(), "");
  EXPECT_NE(LoweredText(s).find("allocate shifted: float32[1, 8]"), std::string::npos);
}

TEST(LowerTest, LoadsOfANumberAreFromWhereItsStageIsKept) {
  Compute compute;
  const Buffer in = MakeBuffer("in", kFloat32, {4});
  const Axis i{MakeVar("i"), 4, false}, k{MakeVar("k"), 4, true};
  ComputeOp total, out;
  total.name = "total";
  total.output = MakeBuffer("total", kFloat32, {});
  total.reduce_axes = {k};
  total.combiner = Combiner::kSum;
  total.body = MakeLoad(in, {k.var});
  out.name = "out";
  out.output = MakeBuffer("out", kFloat32, {4});
  out.axes = {i};
  out.body = MakeLoad(in, {i.var}) - MakeLoad(total.output, {});
  compute.inputs = {in};
  compute.stages = {total, out};
  Schedule s(compute);
  s.SetScope(s.Stage("total"), Scope::kLocal);
  LoweredText(s);  // compares the results
}

TEST(LowerTest, LoadsOfScalarsAreReplacedLikeOthers) {
  Compute compute;
  const Buffer in = MakeBuffer("in", kFloat32, {});
  compute.inputs = {in};
  ComputeOp twice;
  twice.name = "twice";
  twice.output = MakeBuffer("twice", kFloat32, {});
  twice.body = MakeLoad(in, {}) * MakeFloat(kFloat32, 2);
  ComputeOp out;
  out.name = "out";
  out.output = MakeBuffer("out", kFloat32, {3});
  out.axes = {{MakeVar("i"), 3, false}};
  out.body = MakeLoad(twice.output, {}) + MakeLoad(twice.output, {});
  compute.stages = {twice, out};
  Schedule s(std::move(compute));
  s.ComputeInline(s.Stage("twice"));
  EXPECT_EQ(LoweredText(s), R"(kernel(in: float32[] -> out: float32[3]):
  for i in 0..3:
    out[i] = in[] * 2.0f + in[] * 2.0f
)");
}

TEST(LowerTest, GuardIsHoistedAsFarAsItsVariablesAllow) {
  Schedule s(MakeMatmul(7, 2, 3));
  const StageId c = s.Stage("matmul");
  s.Split(c, s.SpatialAxis(c, 0), 4, Tail::kGuard);
  EXPECT_EQ(LoweredText(s), R"(kernel(A: float32[7, 3], B: float32[3, 2] -> C: float32[7, 2]):
  for i.o in 0..2:
    for i.i in 0..4:
      if i.o*4 + i.i < 7:
        for j in 0..2:
          C[i.o*4 + i.i, j] = 0.0f
          for k in 0..3:
            C[i.o*4 + i.i, j] = C[i.o*4 + i.i, j] + A[i.o*4 + i.i, k] * B[k, j]
)");
}

TEST(LowerTest, PeeledReductionInitialisesOnce) {
  Schedule s(MakeMatmul(1, 2, 7));
  const StageId c = s.Stage("matmul");
  const auto [ko, ki] = s.Split(c, s.ReductionAxis(c, 0), 3, Tail::kPeel);
  s.Reorder(c, {ko, ki, s.SpatialAxis(c, 1)});
  EXPECT_EQ(LoweredText(s), R"(kernel(A: float32[1, 7], B: float32[7, 2] -> C: float32[1, 2]):
  for j in 0..2:
    C[0, j] = 0.0f
  for k.o in 0..2:
    for k.i in 0..3:
      for j in 0..2:
        C[0, j] = C[0, j] + A[0, k.o*3 + k.i] * B[k.o*3 + k.i, j]
  for j in 0..2:
    C[0, j] = C[0, j] + A[0, 6] * B[6, j]
)");
}

TEST(LowerTest, PeeledTileUnderAParallelLoopIsABranch) {
  Schedule s(MakeMatmul(3, 10, 2));
  const StageId c = s.Stage("matmul");
  const StageId tile = s.CacheWrite(c, Scope::kLocal);
  const auto [jo, ji] = s.Split(c, s.SpatialAxis(c, 1), 4, Tail::kPeel);
  const LoopId outer = s.Fuse(c, s.SpatialAxis(c, 0), jo);
  s.Parallel(c, outer);
  s.Vectorize(c, ji);
  s.ComputeAt(tile, c, outer);
  s.Reorder(tile, {s.ReductionAxis(tile, 0), s.SpatialAxis(tile, 1)});
  EXPECT_EQ(LoweredText(s), R"(kernel(A: float32[3, 2], B: float32[2, 10] -> C: float32[3, 10]):
  for i.j.o in 0..9 parallel:
    if floormod(i.j.o, 3) < 2:
      allocate matmul.local: float32[1, 4] local
      for j in 0..4:
        matmul.local[0, j] = 0.0f
      for k in 0..2:
        for j in 0..4:
          matmul.local[0, j] = matmul.local[0, j] + A[floordiv(i.j.o, 3), k] * B[k, floormod(i.j.o, 3)*4 + j]
      for j.i in 0..4 vectorized:
        C[floordiv(i.j.o, 3), floormod(i.j.o, 3)*4 + j.i] = matmul.local[0, j.i]
    else:
      allocate matmul.local: float32[1, 2] local
      for j in 0..2:
        matmul.local[0, j] = 0.0f
      for k in 0..2:
        for j in 0..2:
          matmul.local[0, j] = matmul.local[0, j] + A[floordiv(i.j.o, 3), k] * B[k, j + 8]
      for j.i in 0..2 vectorized:
        C[floordiv(i.j.o, 3), j.i + 8] = matmul.local[0, j.i]
)");
}

TEST(LowerTest, DotProductTakesRegions) {
  Schedule s(MakeDenseU8S8(2, 8, 8));
  const StageId c = s.Stage("dense");
  const LoopId i = s.SpatialAxis(c, 0);
  const LoopId j = s.SpatialAxis(c, 1);
  s.Reorder(c, {s.ReductionAxis(c, 0), i, j, s.ReductionAxis(c, 1)});
  s.Unroll(c, i);
  s.Tensorize(c, j, "dot4.u8s8");
  ASSERT_TRUE(s.status().ok()) << s.status().message();
  EXPECT_EQ(LoweredText(s), R"(kernel(A: uint8[2, 8], B: int8[2, 8, 4] -> C: int32[2, 8]):
  for i in 0..2 unrolled:
    for j in 0..8 vectorized:
      C[i, j] = 0
  for k in 0..2:
    for i in 0..2 unrolled:
      dot4.u8s8(C[i, 0 :: 8], A[i, k*4 :: 4], B[k, 0 :: 8, 0 :: 4])
)");
}

TEST(LowerTest, PaddingStaysAStageWhereItIsNeeded) {
  ConvCase conv;
  conv.height = 4;
  conv.width = 4;
  conv.output_blocks = 1;
  Schedule s(MakeConv(conv));
  const StageId out = s.Stage("output");
  const StageId sum = s.Stage("conv");
  const StageId pad = s.Stage("pad");
  s.ComputeAt(sum, out, s.SpatialAxis(out, 2));
  s.SetScope(sum, Scope::kLocal);
  s.ComputeAt(pad, sum, s.SpatialAxis(sum, 1));
  s.SetScope(pad, Scope::kLocal);
  ASSERT_TRUE(s.status().ok()) << s.status().message();
  EXPECT_EQ(
      LoweredText(s),
      R"(kernel(data: float32[1, 4, 4, 2], weight: float32[1, 1, 3, 3, 2, 4], bias: float32[1, 4] -> output: float32[1, 4, 4, 4]):
  for oh in 0..4:
    for ow in 0..4:
      allocate conv: float32[1, 1, 1, 4] local
      allocate pad: float32[1, 3, 3, 2] local
      for h in 0..3:
        for w in 0..3:
          for ci in 0..2:
            pad[0, h, w, ci] = select(1 <= oh + h && oh + h < 5 && 1 <= ow + w && ow + w < 5, data[0, oh + h - 1, ow + w - 1, ci], 0.0f)
      for oi in 0..4:
        conv[0, 0, 0, oi] = 0.0f
        for kh in 0..3:
          for kw in 0..3:
            for ii in 0..2:
              conv[0, 0, 0, oi] = conv[0, 0, 0, oi] + pad[0, kh, kw, ii] * weight[0, 0, kh, kw, ii, oi]
      for oi in 0..4:
        output[0, oh, ow, oi] = max(conv[0, 0, 0, oi] + bias[0, oi], 0.0f)
)");
}

TEST(LowerTest, SkippedPaddingTellsEdgesFromInside) {
  ConvCase conv;
  conv.height = 1;
  conv.width = 8;
  conv.pad = 1;
  conv.output_blocks = 1;
  conv.channel_block = 1;
  Schedule s(MakeConv(conv));
  const StageId out = s.Stage("output");
  const StageId sum = s.Stage("conv");
  s.ComputeInline(s.Stage("pad"));
  s.SkipZeroTaps(sum);
  const LoopId tile = s.Split(out, s.SpatialAxis(out, 2), 2, Tail::kPeel).first;
  s.ComputeAt(sum, out, tile);
  s.SetScope(sum, Scope::kLocal);
  s.Reorder(sum, {s.ReductionAxis(sum, 1), s.ReductionAxis(sum, 2), s.SpatialAxis(sum, 2),
                  s.SpatialAxis(sum, 3)});
  s.Unroll(sum, s.SpatialAxis(sum, 2));
  s.Vectorize(sum, s.SpatialAxis(sum, 3));
  const std::string text = LoweredText(s);
  const auto count = [&](std::string_view part) {
    int found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("allocate conv"), 3) << text;
  // At the left edge, with the kernel's columns unrolled as well.
  EXPECT_EQ(count("for kw in 0..3 unrolled"), 2) << text;
  EXPECT_EQ(count("if 1 <= ow + kw:"), 1) << text;
  // Inside: two tiles and no condition on columns.
  EXPECT_EQ(count("for ow.o in 0..2:"), 1) << text;
  EXPECT_EQ(count("for kw in 0..3:"), 1) << text;
  EXPECT_EQ(count("if ow + kw + 6 < 9:"), 1) << text;
}

TEST(LowerTest, PrefetchNamesLinesAhead) {
  Schedule s(MakeMatmul(2, 32, 8));
  const StageId c = s.Stage("matmul");
  s.Reorder(c, {s.ReductionAxis(c, 0), s.SpatialAxis(c, 1)});
  s.Prefetch(c, "B", s.ReductionAxis(c, 0), 2, 1);
  EXPECT_EQ(LoweredText(s), R"(kernel(A: float32[2, 8], B: float32[8, 32] -> C: float32[2, 32]):
  for i in 0..2:
    for j in 0..32:
      C[i, j] = 0.0f
    for k in 0..8:
      prefetch B[k + 2, 0] locality=1
      prefetch B[k + 2, 16] locality=1
      for j in 0..32:
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
)");
}

TEST(LowerTest, LimitsAreRefusedWithTheirNumbers) {
  Schedule s(MakeMatmul(64, 64, 2));
  const StageId c = s.Stage("matmul");
  const StageId tile = s.CacheWrite(c, Scope::kLocal);
  s.ComputeAt(tile, c, s.Split(c, s.SpatialAxis(c, 0), 32).first);
  s.Unroll(tile, s.SpatialAxis(tile, 0));
  s.Unroll(tile, s.SpatialAxis(tile, 1));
  const auto message = [&](LowerLimits limits) {
    return Lower(s, "kernel", limits).status().message();
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(
      message({.max_local_bytes = 4096}),
      "stage 'matmul': local buffers of 8192 bytes with 'matmul.local', expected at most 4096");
  EXPECT_EQ(message({.max_statements = 100}),
            "8229 statements when unrolled, expected at most 100");
  EXPECT_EQ(Lower(s, "a b").status().message(), "program name 'a b' is not an identifier");
}

}  // namespace
}  // namespace tilewright
