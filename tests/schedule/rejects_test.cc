// Illegal primitives, each with its exact reason.

#include <gtest/gtest.h>

#include <vector>

#include "src/schedule/lower/lower.h"
#include "src/schedule/summary.h"
#include "tests/schedule/computes.h"

namespace tilewright {
namespace {

struct Reject {
  const char* name;
  void (*apply)(Schedule* s);
  const char* message;
};

/// Stages "pad", "conv", "output" (4 spatial axes each; "conv" also has 4 reductions).
Schedule ConvSchedule() { return Schedule(MakeConv({})); }

const Reject kRejects[] = {
    {"UnknownStage", [](Schedule* s) { s->Stage("con"); }, "no stage 'con'"},
    {"NoSuchAxis", [](Schedule* s) { s->SpatialAxis(s->Stage("conv"), 4); },
     "axis of stage 'conv': no spatial axis 4"},
    {"SplitFactor",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Split(c, s->SpatialAxis(c, 1), 0);
     },
     "split of stage 'conv': factor 0 of loop 'oh', expected at least 1"},
    {"SplitTwice",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Split(c, s->SpatialAxis(c, 1), 2);
       s->Split(c, s->SpatialAxis(c, 1), 2);
     },
     "split of stage 'conv': loop 'oh' is none of its leaves"},
    {"SplitOfAnotherStage",
     [](Schedule* s) { s->Split(s->Stage("output"), s->SpatialAxis(s->Stage("conv"), 1), 2); },
     "split of stage 'output': loop 'oh' is none of its leaves"},
    {"SplitAnnotated",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Unroll(c, s->SpatialAxis(c, 1));
       s->Split(c, s->SpatialAxis(c, 1), 2);
     },
     "split of stage 'conv': loop 'oh' is annotated already"},
    {"FuseApart",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Fuse(c, s->SpatialAxis(c, 0), s->SpatialAxis(c, 2));
     },
     "fuse of stage 'conv': loops 'oc' and 'ow' are not adjacent, outer first"},
    {"FuseSpatialWithReduction",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Fuse(c, s->SpatialAxis(c, 3), s->ReductionAxis(c, 0));
     },
     "fuse of stage 'conv': loops 'oi' and 'ic' are spatial and reduction"},
    {"ReorderTwice",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Reorder(c, {s->SpatialAxis(c, 0), s->SpatialAxis(c, 0)});
     },
     "reorder of stage 'conv': loop 'oc' is named twice"},
    {"ReorderUnknown", [](Schedule* s) { s->Reorder(s->Stage("conv"), {LoopId{999}}); },
     "reorder of stage 'conv': loop '?' is none of its leaves"},
    {"ParallelReduction",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Parallel(c, s->ReductionAxis(c, 0));
     },
     "parallel of stage 'conv': loop 'ic' is a reduction"},
    {"VectorizeReduction",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Vectorize(c, s->ReductionAxis(c, 3));
     },
     "vectorize of stage 'conv': loop 'ii' is a reduction"},
    {"VectorizeTwo",
     [](Schedule* s) {
       const StageId c = s->Stage("output");
       s->Vectorize(c, s->SpatialAxis(c, 3));
       s->Vectorize(c, s->SpatialAxis(c, 2));
     },
     "vectorize of stage 'output': loop 'oi' is so already"},
    {"BindSerial",
     [](Schedule* s) {
       const StageId c = s->Stage("output");
       s->Bind(c, s->SpatialAxis(c, 0), LoopKind::kParallel);
     },
     "bind of stage 'output': not a block, thread or virtual thread"},
    {"ComputeAtNoReader",
     [](Schedule* s) {
       const StageId c = s->Stage("output");
       s->ComputeAt(s->Stage("pad"), c, s->SpatialAxis(c, 0));
     },
     "compute_at of stage 'pad': stage 'output' does not read it"},
    {"ComputeAtOfTheResult",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->ComputeAt(s->Stage("output"), c, s->SpatialAxis(c, 0));
     },
     "compute_at of stage 'output': it is the result"},
    {"InlineReduction", [](Schedule* s) { s->ComputeInline(s->Stage("conv")); },
     "compute_inline of stage 'conv': it is a reduction"},
    {"InlineTheResult", [](Schedule* s) { s->ComputeInline(s->Stage("output")); },
     "compute_inline of stage 'output': it is the result"},
    {"LoopsOfInlined",
     [](Schedule* s) {
       s->ComputeInline(s->Stage("pad"));
       s->SpatialAxis(s->Stage("pad"), 0);
     },
     "axis of stage 'pad': the stage is inlined and has no loops"},
    {"CacheWriteAfterSplit",
     [](Schedule* s) {
       const StageId c = s->Stage("output");
       s->Split(c, s->SpatialAxis(c, 2), 2);
       s->CacheWrite(c, Scope::kLocal);
     },
     "cache_write of stage 'output': its loops are split or fused already"},
    {"CacheReadOfNothing",
     [](Schedule* s) { s->CacheRead("weight", Scope::kLocal, s->Stage("output")); },
     "cache_read of stage 'output': it does not read 'weight'"},
    {"SkipTapsOfNoSum", [](Schedule* s) { s->SkipZeroTaps(s->Stage("output")); },
     "skip_zero_taps of stage 'output': the stage is not a sum or maximum"},
    {"PrefetchUnknown",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Prefetch(c, "pad", s->ReductionAxis(c, 0), 1);
     },
     "prefetch of stage 'conv': no input 'pad'"},
    {"TensorizeUnknown",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Tensorize(c, s->SpatialAxis(c, 3), "dot3");
     },
     "tensorize of stage 'conv': dot3: no such intrinsic"},
    {"TensorizeShape",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Tensorize(c, s->SpatialAxis(c, 3), "dot2.s16");
     },
     "tensorize of stage 'conv': dot2.s16: inside loop 'oi' must be one reduction of extent 2"},
    {"TensorizeTypes",
     [](Schedule* s) {
       const StageId c = s->Stage("conv");
       s->Reorder(c, {s->ReductionAxis(c, 0), s->ReductionAxis(c, 1), s->ReductionAxis(c, 2),
                      s->SpatialAxis(c, 3)});
       s->Tensorize(c, s->SpatialAxis(c, 3), "dot2.s16");
     },
     "tensorize of stage 'conv': dot2.s16: the sum is float32, expected int32"},
    {"OwnReason", [](Schedule* s) { s->Refuse("tile of 4096 bytes, expected at most 2048"); },
     "tile of 4096 bytes, expected at most 2048"},
};

class RejectsTest : public testing::TestWithParam<Reject> {};

TEST_P(RejectsTest, ReasonIsNamedAndSticks) {
  Schedule s = ConvSchedule();
  GetParam().apply(&s);
  EXPECT_EQ(s.status().message(), GetParam().message);
  // Nothing after the first rejection has an effect, and the returned handles can still be used.
  const auto [outer, inner] = s.Split({}, {}, 0);
  s.Vectorize({}, inner);
  s.ComputeAt(s.Stage("nothing"), {}, s.Fuse({}, outer, inner));
  EXPECT_EQ(s.SplitBy({}, {}, {1, 2, 3}).size(), 3U);
  EXPECT_EQ(s.Extent(inner), 1);
  EXPECT_EQ(s.status().message(), GetParam().message);
  EXPECT_EQ(Lower(s, "kernel").status().message(), GetParam().message);
  EXPECT_EQ(Summarize(s).status().message(), GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(Primitives, RejectsTest, testing::ValuesIn(kRejects),
                         [](const auto& tested) { return tested.param.name; });

// Schedules whose single steps are legal but whose combination is not.
const Reject kWholeRejects[] = {
    {"VectorizedNotInnermost",
     [](Schedule* s) {
       const StageId c = s->Stage("output");
       s->Vectorize(c, s->SpatialAxis(c, 2));
     },
     "stage 'output': vectorized loop 'ow' is not innermost"},
    {"AttachPointSplit",
     [](Schedule* s) {
       const StageId c = s->Stage("output");
       s->ComputeAt(s->Stage("conv"), c, s->SpatialAxis(c, 2));
       s->Split(c, s->SpatialAxis(c, 2), 2);
     },
     "stage 'conv': computed at loop 'ow' of stage 'output', which was split or fused since"},
    {"AttachedToVector",
     [](Schedule* s) {
       const StageId c = s->Stage("output");
       s->ComputeAt(s->Stage("conv"), c, s->SpatialAxis(c, 3));
       s->Vectorize(c, s->SpatialAxis(c, 3));
     },
     "stage 'conv': computed at loop 'oi' of stage 'output', which is vectorized"},
    {"ParallelInParallel",
     [](Schedule* s) {
       const StageId c = s->Stage("output");
       const StageId sum = s->Stage("conv");
       s->Parallel(c, s->SpatialAxis(c, 0));
       s->ComputeAt(sum, c, s->SpatialAxis(c, 1));
       s->Parallel(sum, s->SpatialAxis(sum, 2));
     },
     "stage 'conv': parallel inside the parallel loop of stage 'output'"},
};

class WholeRejectsTest : public testing::TestWithParam<Reject> {};

TEST_P(WholeRejectsTest, LoweringAndSummaryRefuse) {
  Schedule s = ConvSchedule();
  GetParam().apply(&s);
  EXPECT_EQ(s.status().message(), "");
  EXPECT_EQ(Lower(s, "kernel").status().message(), GetParam().message);
  EXPECT_EQ(Summarize(s).status().message(), GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(Schedules, WholeRejectsTest, testing::ValuesIn(kWholeRejects),
                         [](const auto& tested) { return tested.param.name; });

TEST(RejectsTest, ReaderOutsideTheAttachPoint) {
  Schedule s(MakeSoftmaxLike(4, 5));
  const StageId sum = s.Stage("sum");
  s.ComputeAt(s.Stage("shifted"), sum, s.SpatialAxis(sum, 0));
  EXPECT_EQ(Lower(s, "kernel").status().message(),
            "stage 'shifted': also read by stage 'result', which is not computed inside loop 'r'");
}

TEST(RejectsTest, KeptStageThatIsReadBefore) {
  Schedule s(MakeSoftmaxLike(4, 5));
  const StageId result = s.Stage("result"), shifted = s.Stage("shifted");
  s.ComputeAt(shifted, result, s.SpatialAxis(result, 0));
  s.Keep(shifted);
  EXPECT_EQ(Lower(s, "kernel").status().message(),
            "stage 'shifted': kept, but stage 'sum' does not read it after stage 'result' in the "
            "same loop");
}

TEST(RejectsTest, KeptStageThatIsNotComputedAsAWhole) {
  Schedule s(MakeSoftmaxLike(5, 6));
  const StageId sum = s.Stage("sum"), shifted = s.Stage("shifted");
  const auto [outer, inner] = s.Split(sum, s.SpatialAxis(sum, 0), 2);
  s.ComputeAt(shifted, sum, inner);
  s.Keep(shifted);
  EXPECT_EQ(Lower(s, "kernel").status().message(),
            "stage 'sum': its loops do not compute all of 'shifted', which is kept");
}

TEST(RejectsTest, KeptStageOfItsOwn) {
  Schedule s(MakeSoftmaxLike(4, 5));
  s.Keep(s.Stage("shifted"));
  EXPECT_EQ(s.status().message(),
            "keep of stage 'shifted': it is not computed in a loop of its reader");
}

TEST(RejectsTest, DotProductWhoseOperandsLieWrong) {
  // Lanes of the sum and of b along i, where both are strided.
  Schedule s(MakeDenseU8S8(8, 2, 8));
  const StageId c = s.Stage("dense");
  const LoopId i = s.SpatialAxis(c, 0);
  s.Reorder(c, {s.SpatialAxis(c, 1), s.ReductionAxis(c, 0), i, s.ReductionAxis(c, 1)});
  s.Tensorize(c, i, "dot4.u8s8");
  EXPECT_TRUE(s.status().ok());
  EXPECT_EQ(Lower(s, "kernel").status().message(),
            "stage 'dense': dot4.u8s8: the lanes of the sum are not consecutive in memory");
}

TEST(RejectsTest, DotProductOfFactorsThatACastChanges) {
  const auto status = [](DataType first, DataType second) {
    Compute compute = MakeDenseU8S8(8, 2, 8);
    Expr& body = compute.stages[0].body;
    const Expr a = body->args[0]->args[0], b = body->args[1]->args[0];
    body = MakeCast(kInt32, MakeCast(first, a)) * MakeCast(kInt32, MakeCast(second, b));
    Schedule s(std::move(compute));
    const StageId c = s.Stage("dense");
    const LoopId j = s.SpatialAxis(c, 1);
    s.Reorder(c, {s.SpatialAxis(c, 0), s.ReductionAxis(c, 0), j, s.ReductionAxis(c, 1)});
    s.Tensorize(c, j, "dot4.u8s8");
    return s.status().ok() ? Lower(s, "kernel").status() : s.status();
  };
  EXPECT_EQ(status(kInt16, kInt16).message(), "");
  EXPECT_EQ(status(kInt16, kFloat32).code(), StatusCode::kInvalidArgument);
  const std::string why =
      "tensorize of stage 'dense': dot4.u8s8: a factor is neither a load nor a lossless "
      "cast of one";
  EXPECT_EQ(status(kInt8, kInt16).message(), why);
  EXPECT_EQ(status(kUInt16, kUInt16).message(), why);
}

TEST(RejectsTest, TilesOfOneStepOfAnOuterReduction) {
  // The statement writes sums of all products: in a loop over steps, it would replace those of the
  // step before.
  const auto status = [](bool outside) {
    Schedule s(MakeDenseU8S8(16, 16, 64));
    const StageId c = s.Stage("dense");
    const LoopId i = s.SpatialAxis(c, 0);
    std::vector<LoopId> order = {i, s.SpatialAxis(c, 1), s.ReductionAxis(c, 0),
                                 s.ReductionAxis(c, 1)};
    if (outside) {
      const auto [step, groups] = s.Split(c, order[2], 8);
      order[2] = groups;
      order.insert(order.begin(), step);
    }
    s.Reorder(c, order);
    s.Tensorize(c, i, "tiles.u8s8");
    return s.status().ok() ? Lower(s, "kernel").status() : s.status();
  };
  EXPECT_EQ(status(false).message(), "");
  EXPECT_EQ(status(true).message(),
            "stage 'dense': the loops of intrinsic 'tiles.u8s8' were changed");
}

TEST(RejectsTest, TapsOfDataThatAllLanesShare) {
  Schedule s(MakeDenseU8S8(2, 2, 8));
  const StageId c = s.Stage("dense");
  const LoopId j = s.SpatialAxis(c, 1);
  s.Reorder(c, {s.ReductionAxis(c, 0), j, s.ReductionAxis(c, 1)});
  s.Tensorize(c, j, "taps4.u8s8");
  EXPECT_TRUE(s.status().ok());
  EXPECT_EQ(Lower(s, "kernel").status().message(),
            "stage 'dense': taps4.u8s8: the first factor is not 4 x lanes consecutive elements");
}

}  // namespace
}  // namespace tilewright
