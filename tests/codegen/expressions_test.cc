// Arithmetic, conversions, intrinsic functions and dot products, on every runnable target.

#include <cmath>
#include <functional>
#include <limits>

#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

class ExpressionsTest : public testing::TestWithParam<std::string> {
 protected:
  KernelRunner Build(const Program& program) {
    Result<KernelRunner> runner = KernelRunner::Build(program, *Target::Parse(GetParam()));
    TW_CHECK(runner.ok(), runner.status().message());
    return std::move(*runner);
  }
  /// out[i] = f(in[i]) for i < n, once as a vector loop and once as a serial one (out2).
  KernelRunner BuildMap(DataType from, DataType to, std::int64_t n,
                        const std::function<Expr(const Expr&)>& f) {
    const Buffer in = MakeBuffer("in", from, {n});
    const Buffer out = MakeBuffer("out", to, {n});
    const Buffer out2 = MakeBuffer("out2", to, {n});
    const Expr i = MakeVar("i"), j = MakeVar("j");
    std::vector<Stmt> loops;
    loops.push_back(
        MakeFor(i, n, LoopKind::kVectorized, MakeStore(out, {i}, f(MakeLoad(in, {i})))));
    loops.push_back(MakeFor(j, n, LoopKind::kSerial, MakeStore(out2, {j}, f(MakeLoad(in, {j})))));
    return Build({"map", {in, out, out2}, 2, MakeBlock(std::move(loops))});
  }
};

Expr Call1(const char* name, const Expr& x) { return MakeCall(x.dtype(), name, {x}); }

struct Function {
  const char* name;
  double (*reference)(double);
  double low, high;
  double tolerance;  // relative
};

TEST_P(ExpressionsTest, ComputesFloatFunctions) {
  const Function functions[] = {
      {"exp", std::exp, -87, 88, 2.5e-7}, {"tanh", std::tanh, -12, 12, 1e-6},
      {"log", std::log, 1e-6, 1e6, 1e-6}, {"sqrt", std::sqrt, 0, 1e6, 1e-7},
      {"erf", std::erf, -4, 4, 1e-6},     {"floor", std::floor, -9, 9, 0},
      {"ceil", std::ceil, -9, 9, 0},      {"abs", std::fabs, -9, 9, 0},
  };
  constexpr std::int64_t kCount = 1001;
  for (const Function& f : functions) {
    KernelRunner kernel =
        BuildMap(kFloat32, kFloat32, kCount, [&](const Expr& x) { return Call1(f.name, x); });
    for (std::int64_t i = 0; i < kCount; ++i) {
      kernel.Data<float>(0)[i] = static_cast<float>(
          f.low + (f.high - f.low) * static_cast<double>(i) / static_cast<double>(kCount - 1));
    }
    kernel.Run();
    for (std::int64_t i = 0; i < kCount; ++i) {
      const double expected = f.reference(kernel.Data<float>(0)[i]);
      for (const std::size_t out : {1u, 2u}) {
        ASSERT_NEAR(kernel.Data<float>(out)[i], expected, f.tolerance * std::fabs(expected) + 1e-37)
            << f.name << "(" << kernel.Data<float>(0)[i] << ")";
      }
    }
  }
}

TEST_P(ExpressionsTest, ComputesTheEndsOfExpAndTanh) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float values[] = {-kInfinity, -1e30f, -104, 0, -0.0f, 1e-20f, 89, 1e30f, kInfinity, NAN};
  for (const char* name : {"exp", "tanh"}) {
    KernelRunner kernel = BuildMap(kFloat32, kFloat32, std::size(values),
                                   [&](const Expr& x) { return Call1(name, x); });
    std::copy(std::begin(values), std::end(values), kernel.Data<float>(0));
    kernel.Run();
    for (std::size_t i = 0; i < std::size(values); ++i) {
      const float expected = name[0] == 'e' ? std::exp(values[i]) : std::tanh(values[i]);
      const float computed = kernel.Data<float>(1)[i];
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(computed)) << name;
      } else {
        EXPECT_FLOAT_EQ(computed, expected) << name << "(" << values[i] << ")";
      }
    }
  }
}

TEST_P(ExpressionsTest, RoundsHalvesAsNamed) {
  const float values[] = {-2.5f, -1.5f, -0.5f, -0.2f, 0.5f, 1.5f, 2.5f, 3.49f, 7.51f, 8388609.0f};
  for (const char* name : {"round", "rint"}) {
    KernelRunner kernel = BuildMap(kFloat32, kFloat32, std::size(values),
                                   [&](const Expr& x) { return Call1(name, x); });
    std::copy(std::begin(values), std::end(values), kernel.Data<float>(0));
    kernel.Run();
    for (std::size_t i = 0; i < std::size(values); ++i) {
      const bool away = std::string(name) == "round";
      const float expected = away ? std::round(values[i]) : std::nearbyint(values[i]);
      EXPECT_EQ(kernel.Data<float>(1)[i], expected) << name << " " << values[i];
      EXPECT_EQ(kernel.Data<float>(2)[i], expected) << name << " " << values[i];
    }
  }
}

TEST_P(ExpressionsTest, ComputesInFloat64) {
  KernelRunner kernel = BuildMap(kFloat64, kFloat64, 37, [](const Expr& x) {
    return MakeCall(kFloat64, "pow", {Call1("exp", x), MakeFloat(kFloat64, 0.5)}) +
           Call1("tanh", x) * Call1("erf", x);
  });
  for (int i = 0; i < 37; ++i) kernel.Data<double>(0)[i] = 0.1 * (i - 18);
  kernel.Run();
  for (int i = 0; i < 37; ++i) {
    const double x = kernel.Data<double>(0)[i];
    const double expected = std::sqrt(std::exp(x)) + std::tanh(x) * std::erf(x);
    EXPECT_NEAR(kernel.Data<double>(1)[i], expected, 1e-12);
  }
}

/// Integer epilogue: bias, rounding shift to the right, clip, cast.
TEST_P(ExpressionsTest, RequantizesByShifting) {
  constexpr std::int64_t kCount = 203;
  KernelRunner kernel = BuildMap(kInt32, kInt8, kCount, [](const Expr& x) {
    const Expr rounded = x + MakeInt(kInt32, 1 << 7);
    const Expr shifted = MakeBinary(ExprKind::kShiftRight, rounded, MakeInt(kInt32, 8));
    return MakeCast(kInt8, Max(Min(shifted, MakeInt(kInt32, 127)), MakeInt(kInt32, -127)));
  });
  for (std::int64_t i = 0; i < kCount; ++i) {
    kernel.Data<std::int32_t>(0)[i] = static_cast<std::int32_t>(Seeded(3, i, 60000));
  }
  kernel.Run();
  for (std::int64_t i = 0; i < kCount; ++i) {
    const int shifted = (kernel.Data<std::int32_t>(0)[i] + 128) >> 8;
    const int expected = std::max(std::min(shifted, 127), -127);
    ASSERT_EQ(kernel.Data<std::int8_t>(1)[i], expected);
    ASSERT_EQ(kernel.Data<std::int8_t>(2)[i], expected);
  }
}

/// Fixed-point epilogue: the high half of a 64-bit product, then saturation to uint8.
TEST_P(ExpressionsTest, RequantizesByMultiplying) {
  constexpr std::int64_t kCount = 77, kMultiplier = 1717986918;
  KernelRunner kernel = BuildMap(kInt32, kUInt8, kCount, [](const Expr& x) {
    const Expr product = MakeCast(kInt64, x) * MakeInt(kInt64, kMultiplier);
    const Expr rounded = product + MakeInt(kInt64, std::int64_t{1} << 35);
    const Expr scaled =
        MakeCast(kInt32, MakeBinary(ExprKind::kShiftRight, rounded, MakeInt(kInt64, 36)));
    return MakeCast(kUInt8, Min(Max(scaled, MakeInt(kInt32, 0)), MakeInt(kInt32, 255)));
  });
  for (std::int64_t i = 0; i < kCount; ++i) {
    kernel.Data<std::int32_t>(0)[i] = static_cast<std::int32_t>(Seeded(4, i, 20000));
  }
  kernel.Run();
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::int64_t scaled =
        (kernel.Data<std::int32_t>(0)[i] * kMultiplier + (std::int64_t{1} << 35)) >> 36;
    const auto expected = std::min<std::int64_t>(255, std::max<std::int64_t>(0, scaled));
    ASSERT_EQ(kernel.Data<std::uint8_t>(1)[i], expected);
    ASSERT_EQ(kernel.Data<std::uint8_t>(2)[i], expected);
  }
}

TEST_P(ExpressionsTest, TakesTheHighHalfOfAProduct) {
  KernelRunner kernel = BuildMap(kInt64, kInt64, 9, [](const Expr& x) {
    return MakeCall(kInt64, "mulhi_s64", {x, MakeInt(kInt64, 0x123456789abcdef)});
  });
  for (int i = 0; i < 9; ++i) kernel.Data<std::int64_t>(0)[i] = (i - 4) * (0x7654321fedcba987 / 5);
  kernel.Run();
  for (int i = 0; i < 9; ++i) {
    const auto product = static_cast<__int128>(kernel.Data<std::int64_t>(0)[i]) * 0x123456789abcdef;
    EXPECT_EQ(kernel.Data<std::int64_t>(1)[i], static_cast<std::int64_t>(product >> 64));
  }
}

/// Quantization: float to int8 by rounding and clipping, and back.
TEST_P(ExpressionsTest, QuantizesAndDequantizes) {
  KernelRunner quantize = BuildMap(kFloat32, kUInt8, 45, [](const Expr& x) {
    const Expr scaled = Call1("rint", x * MakeFloat(kFloat32, 4)) + MakeFloat(kFloat32, 128);
    return MakeCast(kUInt8, Min(Max(scaled, MakeFloat(kFloat32, 0)), MakeFloat(kFloat32, 255)));
  });
  KernelRunner dequantize = BuildMap(kUInt8, kFloat32, 45, [](const Expr& x) {
    return (MakeCast(kFloat32, x) - MakeFloat(kFloat32, 128)) * MakeFloat(kFloat32, 0.25);
  });
  for (int i = 0; i < 45; ++i) quantize.Data<float>(0)[i] = 2.0f * static_cast<float>(i - 22);
  quantize.Run();
  std::copy_n(quantize.Data<std::uint8_t>(1), 45, dequantize.Data<std::uint8_t>(0));
  dequantize.Run();
  for (int i = 0; i < 45; ++i) {
    const float clipped = std::min(std::max(2.0f * static_cast<float>(i - 22), -32.0f), 31.75f);
    EXPECT_EQ(dequantize.Data<float>(1)[i], clipped);
    EXPECT_EQ(quantize.Data<std::uint8_t>(1)[i], quantize.Data<std::uint8_t>(2)[i]);
  }
}

TEST_P(ExpressionsTest, DividesTowardsMinusInfinityOrZero) {
  for (const std::int32_t divisor : {-7, -2, 3, 8}) {
    const ExprKind kinds[] = {ExprKind::kDiv, ExprKind::kFloorDiv, ExprKind::kFloorMod};
    for (const ExprKind kind : kinds) {
      KernelRunner kernel = BuildMap(kInt32, kInt32, 41, [&](const Expr& x) {
        return MakeBinary(kind, x, MakeInt(kInt32, divisor));
      });
      for (int i = 0; i < 41; ++i) kernel.Data<std::int32_t>(0)[i] = i - 20;
      kernel.Run();
      for (int i = 0; i < 41; ++i) {
        const int x = i - 20;
        const int floored = static_cast<int>(std::floor(static_cast<double>(x) / divisor));
        const int expected = kind == ExprKind::kDiv        ? x / divisor
                             : kind == ExprKind::kFloorDiv ? floored
                                                           : x - floored * divisor;
        ASSERT_EQ(kernel.Data<std::int32_t>(1)[i], expected) << x << " / " << divisor;
        ASSERT_EQ(kernel.Data<std::int32_t>(2)[i], expected) << x << " / " << divisor;
      }
    }
  }
}

TEST_P(ExpressionsTest, KeepsBooleans) {
  KernelRunner kernel = BuildMap(kInt16, kBool, 70, [](const Expr& x) {
    return Or(And(Lt(MakeInt(kInt16, 3), x), Lt(x, MakeInt(kInt16, 20))),
              MakeNot(MakeBinary(ExprKind::kNe, x, MakeInt(kInt16, 40))));
  });
  for (int i = 0; i < 70; ++i) kernel.Data<std::int16_t>(0)[i] = static_cast<std::int16_t>(i - 5);
  kernel.Run();
  for (int i = 0; i < 70; ++i) {
    const int x = i - 5;
    EXPECT_EQ(kernel.Data<std::uint8_t>(1)[i], (x > 3 && x < 20) || x == 40 ? 1 : 0) << x;
  }
}

/// A division by a value that may be zero is not executed in an arm that is not selected.
TEST_P(ExpressionsTest, SkipsTheArmThatIsNotChosen) {
  KernelRunner kernel = BuildMap(kInt32, kInt32, 21, [](const Expr& x) {
    const Expr zero = MakeInt(kInt32, 0);
    const Expr safe = MakeSelect(Eq(x, zero), MakeInt(kInt32, 1), x);
    return MakeSelect(Eq(x, zero), MakeInt(kInt32, -1),
                      MakeBinary(ExprKind::kDiv, MakeInt(kInt32, 1000), safe));
  });
  for (int i = 0; i < 21; ++i) kernel.Data<std::int32_t>(0)[i] = i - 10;
  kernel.Run();
  for (int i = 0; i < 21; ++i) {
    EXPECT_EQ(kernel.Data<std::int32_t>(1)[i], i == 10 ? -1 : 1000 / (i - 10));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ExpressionsTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& tested) { return TargetTestName(tested.param); });

}  // namespace
}  // namespace tilewright
