// Tensor intrinsics: exact for all values and widths, on every runnable target.

#include <algorithm>

#include "src/tensor/half.h"
#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

class DotTest : public testing::TestWithParam<std::string> {};

/// acc[l] = 5 + sum over d < depth, s < steps of a[s, d] * b[s, l, d].
Program DotProgram(const char* name, DataType a_type, DataType b_type, std::int64_t lanes,
                   std::int64_t depth, std::int64_t steps, bool narrow, DataType sum = kInt32) {
  const Buffer a = MakeBuffer("a", a_type, {steps, depth});
  BufferNode weight{"b", b_type, {steps, lanes, depth}};
  weight.narrow = narrow;
  const auto b = std::make_shared<const BufferNode>(std::move(weight));
  const Buffer out = MakeBuffer("out", sum, {lanes});
  const Buffer acc = MakeBuffer("acc", sum, {lanes}, Scope::kLocal);
  const Expr i = MakeVar("i"), s = MakeVar("s"), o = MakeVar("o");
  std::vector<Stmt> body;
  body.push_back(MakeFor(i, lanes, LoopKind::kVectorized, MakeStore(acc, {i}, MakeConst(sum, 5))));
  body.push_back(MakeFor(s, steps, LoopKind::kSerial,
                         MakeIntrinsic(name, {{acc, {Expr(0)}, {lanes}},
                                              {a, {s, Expr(0)}, {1, depth}},
                                              {b, {s, Expr(0), Expr(0)}, {1, lanes, depth}}})));
  body.push_back(MakeFor(o, lanes, LoopKind::kVectorized, MakeStore(out, {o}, MakeLoad(acc, {o}))));
  return {"dot", {a, b, out}, 1, MakeAllocate(acc, MakeBlock(std::move(body)))};
}

template <typename A, typename B>
void CheckDot(const std::string& target, const char* name, DataType a_type, DataType b_type,
              std::int64_t depth, bool narrow = false) {
  constexpr std::int64_t kSteps = 6;
  const B least = narrow ? -kReducedRangeMagnitude : std::numeric_limits<B>::min();
  const B largest = narrow ? kReducedRangeMagnitude : std::numeric_limits<B>::max();
  for (const std::int64_t lanes : {1, 4, 7, 8, 16, 24, 32}) {
    Result<KernelRunner> kernel = KernelRunner::Build(
        DotProgram(name, a_type, b_type, lanes, depth, kSteps, narrow), *Target::Parse(target));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    A* a = kernel->Data<A>(0);
    B* b = kernel->Data<B>(1);
    // Half of the values are extreme, so that sums of pairs would saturate in 16 bits.
    for (std::int64_t i = 0; i < kSteps * depth; ++i) {
      a[i] = i % 2 == 0 ? std::numeric_limits<A>::max() : static_cast<A>(Seeded(1, i, 127));
    }
    for (std::int64_t i = 0; i < kSteps * depth * lanes; ++i) {
      b[i] = i % 3 == 0   ? least
             : i % 3 == 1 ? largest
                          : static_cast<B>(Seeded(2, i, narrow ? kReducedRangeMagnitude : 127));
    }
    // One lane has the largest possible sums of pairs, and another the smallest.
    for (std::int64_t i = 0; i < kSteps * depth; ++i) {
      const std::int64_t step = i / depth * lanes * depth + i % depth;
      b[step] = largest;
      b[step + (lanes - 1) * depth] = least;
      if (i / depth == 0) a[i] = std::numeric_limits<A>::max();
    }
    kernel->Run();
    for (std::int64_t l = 0; l < lanes; ++l) {
      std::int64_t sum = 5;
      for (std::int64_t s = 0; s < kSteps; ++s) {
        for (std::int64_t d = 0; d < depth; ++d) {
          sum += std::int64_t{a[s * depth + d]} * b[(s * lanes + l) * depth + d];
        }
      }
      ASSERT_EQ(kernel->Data<std::int32_t>(2)[l], static_cast<std::int32_t>(sum))
          << name << " lane " << l << " of " << lanes;
    }
  }
}

TEST_P(DotTest, SumsFourBytesExactly) {
  CheckDot<std::uint8_t, std::int8_t>(GetParam(), "dot4.u8s8", kUInt8, kInt8, 4);
}

TEST_P(DotTest, SumsFourBytesOfWhichOneIsNarrowExactly) {
  CheckDot<std::uint8_t, std::int8_t>(GetParam(), "dot4.u8s8", kUInt8, kInt8, 4, true);
}

TEST_P(DotTest, SumsTwoWordsExactly) {
  CheckDot<std::int16_t, std::int16_t>(GetParam(), "dot2.s16", kInt16, kInt16, 2);
}

// Products and sums of small whole numbers are exact.
TEST_P(DotTest, SumsTwoBFloat16) {
  constexpr std::int64_t kSteps = 6, kDepth = 2;
  for (const std::int64_t lanes : {1, 4, 7, 8, 16, 24, 32}) {
    Result<KernelRunner> kernel = KernelRunner::Build(
        DotProgram("dot2.bf16", kBFloat16, kBFloat16, lanes, kDepth, kSteps, false, kFloat32),
        *Target::Parse(GetParam()));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    auto* a = kernel->Data<std::uint16_t>(0);
    auto* b = kernel->Data<std::uint16_t>(1);
    const auto left = [](std::int64_t i) { return static_cast<float>(Seeded(1, i, 127)); };
    const auto right = [](std::int64_t i) { return static_cast<float>(Seeded(2, i, 127)) / 64; };
    for (std::int64_t i = 0; i < kSteps * kDepth; ++i) a[i] = FloatToBFloat16(left(i));
    for (std::int64_t i = 0; i < kSteps * kDepth * lanes; ++i) b[i] = FloatToBFloat16(right(i));
    kernel->Run();
    for (std::int64_t l = 0; l < lanes; ++l) {
      float sum = 5;
      for (std::int64_t i = 0; i < kSteps * kDepth; ++i) {
        sum += left(i) * right((i / kDepth * lanes + l) * kDepth + i % kDepth);
      }
      ASSERT_EQ(kernel->Data<float>(2)[l], sum) << "lane " << l << " of " << lanes;
    }
  }
}

/// acc[l] += sum over t < 4 of pixels[w + t, l] * b[l, t], for w from before the first pixel to
/// after the last one.
Program TapsProgram(std::int64_t pixels, std::int64_t lanes, LoopKind loop) {
  const Buffer a = MakeBuffer("a", kUInt8, {pixels, lanes});
  const Buffer b = MakeBuffer("b", kInt8, {lanes, 4});
  const Buffer out = MakeBuffer("out", kInt32, {lanes});
  const Buffer acc = MakeBuffer("acc", kInt32, {lanes}, Scope::kLocal);
  const Expr i = MakeVar("i"), w = MakeVar("w"), o = MakeVar("o");
  std::vector<Stmt> body;
  body.push_back(MakeFor(i, lanes, LoopKind::kVectorized, MakeStore(acc, {i}, MakeInt(kInt32, 5))));
  body.push_back(MakeFor(w, pixels + 6, loop,
                         MakeIntrinsic("taps4.u8s8", {{acc, {Expr(0)}, {lanes}},
                                                      {a, {w - Expr(5), Expr(0)}, {4, lanes}},
                                                      {b, {Expr(0), Expr(0)}, {lanes, 4}}})));
  body.push_back(MakeFor(o, lanes, LoopKind::kVectorized, MakeStore(out, {o}, MakeLoad(acc, {o}))));
  return {"taps", {a, b, out}, 1, MakeAllocate(acc, MakeBlock(std::move(body)))};
}

TEST_P(DotTest, SumsTapsOfEachLaneAndTakesPixelsOutsideForZero) {
  for (const std::int64_t lanes : {4, 8, 16}) {
    for (const std::int64_t pixels : {2, 9}) {
      for (const LoopKind loop : {LoopKind::kSerial, LoopKind::kUnrolled}) {
        Result<KernelRunner> kernel =
            KernelRunner::Build(TapsProgram(pixels, lanes, loop), *Target::Parse(GetParam()));
        ASSERT_TRUE(kernel.ok()) << kernel.status().message();
        auto* a = kernel->Data<std::uint8_t>(0);
        auto* b = kernel->Data<std::int8_t>(1);
        for (std::int64_t i = 0; i < pixels * lanes; ++i) {
          a[i] = static_cast<std::uint8_t>(i % 3 == 0 ? 255 : Seeded(1, i, 127));
        }
        for (std::int64_t i = 0; i < lanes * 4; ++i) {
          b[i] = static_cast<std::int8_t>(i % 5 == 0 ? -128 : Seeded(2, i, 127));
        }
        kernel->Run();
        for (std::int64_t l = 0; l < lanes; ++l) {
          std::int32_t sum = 5;
          for (std::int64_t w = -5; w <= pixels; ++w) {
            for (std::int64_t t = 0; t < 4; ++t) {
              if (w + t >= 0 && w + t < pixels) sum += a[(w + t) * lanes + l] * b[l * 4 + t];
            }
          }
          ASSERT_EQ(kernel->Data<std::int32_t>(2)[l], sum)
              << "lane " << l << " of " << lanes << ", " << pixels << " pixels";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DotTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& tested) { return TargetTestName(tested.param); });

}  // namespace
}  // namespace tilewright
