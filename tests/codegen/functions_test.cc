// Vectorized float32 functions compared with float64: every exponent of the argument with several
// mantissas, and the errors in units of the last place.

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

constexpr std::uint32_t kMantissaBits = 23;
constexpr std::uint32_t kMantissas = 61;  // for each exponent
constexpr std::uint32_t kExponents = 256;

/// Arguments with all exponents, including both zeros, denormal numbers, infinities and NaNs.
std::vector<float> EveryExponent() {
  std::vector<float> values;
  for (const std::uint32_t sign : {0u, 1u}) {
    for (std::uint32_t exponent = 0; exponent < kExponents; ++exponent) {
      for (std::uint32_t i = 0; i < kMantissas; ++i) {
        const std::uint32_t last = (1u << kMantissaBits) - 1;
        const auto mantissa =
            static_cast<std::uint32_t>(std::uint64_t{last} * i / (kMantissas - 1));
        values.push_back(std::bit_cast<float>(sign << 31 | exponent << kMantissaBits | mantissa));
      }
    }
  }
  return values;
}

/// Returns the distance of `computed` from `exact` in units of the last place of a float32 near
/// `exact`; infinite if only one of them is a number, or if each is outside of the other's range.
double Units(float computed, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded) || std::isnan(computed)) {
    return std::isnan(rounded) && std::isnan(computed) ? 0 : HUGE_VAL;
  }
  if (computed == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(computed)) return HUGE_VAL;
  const float size = std::fabs(rounded);
  const double unit = double{std::nextafter(size, HUGE_VALF)} - double{size};
  return std::fabs(double{computed} - exact) / unit;
}

class FunctionsTest : public testing::TestWithParam<std::string> {
 protected:
  /// Builds out[i] = f(x[i], y[i]) as a vector loop, and as a serial loop for the second result.
  KernelRunner Build(std::int64_t n, const std::function<Expr(const Expr&, const Expr&)>& f) {
    const Buffer x = MakeBuffer("x", kFloat32, {n}), y = MakeBuffer("y", kFloat32, {n});
    const Buffer vector = MakeBuffer("vector", kFloat32, {n});
    const Buffer serial = MakeBuffer("serial", kFloat32, {n});
    const auto loop = [&](LoopKind kind, const Buffer& out) {
      constexpr std::int64_t kLanes = 16;
      const Expr i = MakeVar("i"), lane = MakeVar("lane");
      const Expr at = i * Expr(kLanes) + lane;
      const Stmt store = MakeStore(out, {at}, f(MakeLoad(x, {at}), MakeLoad(y, {at})));
      return MakeFor(i, n / kLanes, LoopKind::kSerial, MakeFor(lane, kLanes, kind, store));
    };
    const Stmt body =
        MakeBlock({loop(LoopKind::kVectorized, vector), loop(LoopKind::kSerial, serial)});
    Result<KernelRunner> runner = KernelRunner::Build(
        {"functions", {x, y, vector, serial}, 2, body}, *Target::Parse(GetParam()));
    TW_CHECK(runner.ok(), runner.status().message());
    return std::move(*runner);
  }

  /// Checks the largest distance of both results from `reference`.
  void Check(const char* name, const KernelRunner& kernel, std::size_t count,
             const std::function<double(double, double)>& reference, double most_units) {
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double exact = reference(kernel.Data<float>(0)[i], kernel.Data<float>(1)[i]);
      for (const std::size_t out : {2u, 3u}) {
        const double units = Units(kernel.Data<float>(out)[i], exact);
        if (units <= worst) continue;
        worst = units;
        at = i;
      }
    }
    EXPECT_LE(worst, most_units) << name << " of " << kernel.Data<float>(0)[at] << ", "
                                 << kernel.Data<float>(1)[at] << ": " << kernel.Data<float>(2)[at];
    RecordProperty(name, std::to_string(worst));
  }
};

TEST_P(FunctionsTest, OfOneArgumentAreAsCloseAsStated) {
  struct Stated {
    const char* name;
    double (*reference)(double);
    double units;
  };
  const Stated functions[] = {
      {"exp", std::exp, 1.5}, {"tanh", std::tanh, 7}, {"erf", std::erf, 7}, {"log", std::log, 2}};
  const std::vector<float> values = EveryExponent();
  for (const Stated& function : functions) {
    KernelRunner kernel = Build(std::ssize(values), [&](const Expr& x, const Expr&) {
      return MakeCall(kFloat32, function.name, {x});
    });
    std::ranges::copy(values, kernel.Data<float>(0));
    kernel.Run();
    Check(
        function.name, kernel, values.size(),
        [&](double x, double) { return function.reference(x); }, function.units);
  }
}

TEST_P(FunctionsTest, PowIsAsCloseAsStated) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float powers[] = {0,    -0.0f, 1,  -1, 2,  3,      -2,      0.5f,     -0.5f,    1.0f / 3,
                          2.5f, 7,     -8, 17, 40, 100.5f, -100.5f, infinity, -infinity};
  std::vector<float> x, y;
  const std::vector<float> values = EveryExponent();
  for (std::size_t i = 0; i < values.size(); ++i) {  // each base with some of the powers
    x.push_back(values[i]);
    y.push_back(powers[i % std::size(powers)]);
  }
  for (const float power : powers) {  // bases with finite results for most of the powers
    for (int i = -40; i < 40; ++i) {
      x.push_back(0.07f * static_cast<float>(i));
      y.push_back(power);
    }
  }
  KernelRunner kernel = Build(std::ssize(x), [](const Expr& base, const Expr& power) {
    return MakeCall(kFloat32, "pow", {base, power});
  });
  std::ranges::copy(x, kernel.Data<float>(0));
  std::ranges::copy(y, kernel.Data<float>(1));
  kernel.Run();
  Check(
      "pow", kernel, x.size(), [](double a, double b) { return std::pow(a, b); }, 1);
}

TEST_P(FunctionsTest, SquaresAreExact) {
  const std::vector<float> values = EveryExponent();
  KernelRunner kernel = Build(std::ssize(values), [](const Expr& x, const Expr&) {
    return MakeCall(kFloat32, "pow", {x, MakeFloat(kFloat32, 2)});
  });
  std::ranges::copy(values, kernel.Data<float>(0));
  kernel.Run();
  Check(
      "square", kernel, values.size(), [](double x, double) { return x * x; }, 0.5);
}

INSTANTIATE_TEST_SUITE_P(Targets, FunctionsTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& tested) { return TargetTestName(tested.param); });

}  // namespace
}  // namespace tilewright
