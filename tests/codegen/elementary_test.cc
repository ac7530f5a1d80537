// Every elementary function of one argument, as compiled for CPUs and GPUs: for all exponents, near
// zeros, poles and branch points, and where the reduction of an angle cancels most. The results are
// compared with the C library in long double; docs/numerics.md states the error bounds.

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "src/codegen/simt/simt.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/half.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/reference/reference.h"
#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

using Exact = long double (*)(long double);

/// Formulas that rely on the range of long double and differ from those of the code.
const std::map<std::string_view, Exact>& ExactFunctions() {
  static const std::map<std::string_view, Exact> functions = {
      {"exp", [](long double x) { return std::exp(x); }},
      {"log", [](long double x) { return std::log(x); }},
      {"tanh", [](long double x) { return std::tanh(x); }},
      {"erf", [](long double x) { return std::erf(x); }},
      {"sigmoid", [](long double x) { return 1 / (1 + std::exp(-x)); }},
      {"softplus", [](long double x) { return x < 11000 ? std::log1p(std::exp(x)) : x; }},
      {"sin", [](long double x) { return std::sin(x); }},
      {"cos", [](long double x) { return std::cos(x); }},
      {"tan", [](long double x) { return std::tan(x); }},
      {"asin", [](long double x) { return std::asin(x); }},
      {"acos", [](long double x) { return std::acos(x); }},
      {"atan", [](long double x) { return std::atan(x); }},
      {"sinh", [](long double x) { return std::sinh(x); }},
      {"cosh", [](long double x) { return std::cosh(x); }},
      {"asinh", [](long double x) { return std::asinh(x); }},
      {"acosh", [](long double x) { return std::acosh(x); }},
      {"atanh", [](long double x) { return std::atanh(x); }},
      {"expm1", [](long double x) { return std::expm1(x); }},
      {"log1p", [](long double x) { return std::log1p(x); }},
  };
  return functions;
}

std::vector<const OperatorRow*> ElementaryRows() {
  std::vector<const OperatorRow*> rows;
  for (const OperatorRow* row : AllOperators()) {
    if (row->family == OpFamily::kUnary && row->ulps > 0) rows.push_back(row);
  }
  return rows;
}

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Mantissas of each exponent with both signs, including zeros, denormal numbers, infinities and
/// NaNs.
template <typename T>
void AddEveryExponent(int mantissas, std::vector<T>& values) {
  using Bits = BitsOf<T>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr Bits kLast = (Bits{1} << kMantissa) - 1;
  constexpr Bits kExponents = Bits{1} << (8 * sizeof(T) - 1 - kMantissa);
  for (const Bits sign : {Bits{0}, Bits{1}}) {
    for (Bits exponent = 0; exponent < kExponents; ++exponent) {
      for (int i = 0; i < mantissas; ++i) {
        const auto part = static_cast<long double>(i) / (mantissas - 1);
        const auto mantissa = static_cast<Bits>(part * static_cast<long double>(kLast));
        values.push_back(std::bit_cast<T>(
            static_cast<Bits>(sign << (8 * sizeof(T) - 1) | exponent << kMantissa | mantissa)));
      }
    }
  }
}

template <typename T>
std::vector<T> HardArguments() {
  std::vector<T> values;
  AddEveryExponent(sizeof(T) == 8 ? 5 : 37, values);
  const auto around = [&](long double point) {
    for (const T side : {T{-1}, T{1}}) {
      T x = static_cast<T>(side * point);
      for (int i = 0; i < 3; ++i) x = std::nextafter(x, -std::numeric_limits<T>::infinity());
      for (int i = 0; i < 7; ++i) {
        values.push_back(x);
        x = std::nextafter(x, std::numeric_limits<T>::infinity());
      }
    }
  };
  constexpr long double kPi = 3.14159265358979323846264338327950288L;
  for (int i = 0; i <= 400; ++i) around(i * (kPi / 4));
  for (int exponent = 8; exponent < 62; ++exponent) {
    for (const int odd : {1, 3, 5, 7, 9, 11}) around(std::ldexp(odd * (kPi / 2), exponent - 4));
  }
  for (const long double point : {0.5L,
                                  1.0L,
                                  2.0L,
                                  0.4142135623730951L,
                                  2.414213562373095L,
                                  0.3465735902799726L,
                                  0.6931471805599453L,
                                  1.0397207708399179L,
                                  9.0L,
                                  3.92L,
                                  0.625L,
                                  88.0L,
                                  87.3365478515625L,
                                  88.72283905206835L,
                                  89.41598629223294L,
                                  103.97207708399179L,
                                  709.782712893384L,
                                  710.4758600739439L,
                                  745.1332191019412L,
                                  1e-3L,
                                  0x1p+17L,
                                  0x1p+30L,
                                  1e9L,
                                  1e22L,
                                  1e37L}) {
    if (point < std::numeric_limits<T>::max()) around(point);
  }
  // The number of the type that is nearest to a multiple of pi / 2 (Kahan, Muller).
  around(16367173.0L * 0x1p+72L);
  if constexpr (sizeof(T) == 8) around(6381956970095103.0L * 0x1p+797L);
  while (values.size() % 32 != 0) values.push_back(T{1});
  return values;
}

/// Returns the distance from `exact` in units of the last place of a T near it; infinite if only
/// one of them is a number, or only one is finite.
template <typename T>
double UnitsApart(T computed, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(computed)) {
    return std::isnan(rounded) && std::isnan(computed) ? 0 : HUGE_VAL;
  }
  if (computed == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(computed)) {
    // Treats infinity as one step beyond the largest number.
    const T limit = std::numeric_limits<T>::max();
    return std::fabs(std::isinf(rounded) ? computed : rounded) == limit ? 1 : HUGE_VAL;
  }
  const T size = std::fabs(rounded);
  const long double unit = static_cast<long double>(std::nextafter(size, T{HUGE_VALF})) - size;
  return static_cast<double>(std::fabs(static_cast<long double>(computed) - exact) / unit);
}

/// Program with one parameter and an output for each row.
Program MapOf(DataType dtype, std::int64_t count, bool on_gpu) {
  const Buffer x = MakeBuffer("x", dtype, {count});
  Program program;
  program.name = "elementary";
  program.parameters = {x};
  constexpr std::int64_t kLanes = 16, kThreads = 32;
  const Expr outer = MakeVar(on_gpu ? "block.x" : "i"), inner = MakeVar(on_gpu ? "thread.x" : "l");
  const std::int64_t width = on_gpu ? kThreads : kLanes;
  std::vector<Stmt> loops, stores;
  for (const OperatorRow* row : ElementaryRows()) {
    program.parameters.push_back(MakeBuffer(std::string(row->name), dtype, {count}));
    const Expr at = outer * Expr(width) + inner;
    const Expr value = ElementwiseExpr({row->kind, {}}, MakeLoad(x, {at}), {});
    stores.push_back(MakeStore(program.parameters.back(), {at}, value));
    if (on_gpu) continue;
    const Expr i = MakeVar("i"), lane = MakeVar("lane"), place = i * Expr(width) + lane;
    const Expr again = ElementwiseExpr({row->kind, {}}, MakeLoad(x, {place}), {});
    const Stmt store = MakeStore(program.parameters.back(), {place}, again);
    loops.push_back(MakeFor(i, count / width, LoopKind::kSerial,
                            MakeFor(lane, width, LoopKind::kVectorized, store)));
  }
  program.output_count = static_cast<int>(program.parameters.size()) - 1;
  program.body = on_gpu ? MakeFor(outer, count / width, LoopKind::kBlockX,
                                  MakeFor(inner, width, LoopKind::kThreadX, MakeBlock(stores)))
                        : MakeBlock(std::move(loops));
  return program;
}

/// Checks the result of every row: outputs[i] are the results for `values`.
template <typename T>
void CheckRows(std::span<const T> values, const std::function<const T*(std::size_t)>& output,
               double (*bound)(const OperatorRow&)) {
  const auto rows = ElementaryRows();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto exact = ExactFunctions().find(rows[r]->name);
    ASSERT_NE(exact, ExactFunctions().end()) << rows[r]->name << " has no exact function here";
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const long double expected = exact->second(values[i]);
      const double units = UnitsApart(output(r)[i], expected);
      if (units <= worst) continue;
      worst = units;
      at = i;
    }
    EXPECT_LE(worst, bound(*rows[r]))
        << rows[r]->name << "(" << values[at] << ") = " << output(r)[at] << ", exactly "
        << static_cast<double>(exact->second(values[at]));
    testing::Test::RecordProperty(std::string(rows[r]->name), std::to_string(worst));
    if (std::getenv("TILEWRIGHT_PRINT_ULPS") != nullptr) {
      std::printf("%-9s %8.3f at %a\n", std::string(rows[r]->name).c_str(), worst,
                  static_cast<double>(values[at]));
    }
  }
}

double StatedForFloat32(const OperatorRow& row) { return row.ulps; }
/// Error bound for float64: that of the C library, which loses precision near zeros of huge angles.
double StatedForFloat64(const OperatorRow& row) {
  return row.error == ErrorRule::kPeriodic ? 16 : 3;
}
double StatedForFloat64OfGpus(const OperatorRow& row) { return row.name == "erf" ? 10 : 6; }

class ElementaryTest : public testing::TestWithParam<std::string> {
 protected:
  template <typename T>
  void Check(DataType dtype, double (*bound)(const OperatorRow&)) {
    const std::vector<T> values = HardArguments<T>();
    Result<KernelRunner> kernel =
        KernelRunner::Build(MapOf(dtype, std::ssize(values), false), *Target::Parse(GetParam()));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    std::ranges::copy(values, kernel->Data<T>(0));
    kernel->Run();
    CheckRows<T>(
        values, [&](std::size_t row) { return kernel->Data<T>(row + 1); }, bound);
  }
};

TEST_P(ElementaryTest, Float32) { Check<float>(kFloat32, &StatedForFloat32); }
TEST_P(ElementaryTest, Float64) { Check<double>(kFloat64, &StatedForFloat64); }

// Elu and similar functions: with a known bound, the code omits the handling of large results.
TEST_P(ElementaryTest, ExponentialsLess1OfNumbersThatAreNotAboveZero) {
  const std::vector<float> values = HardArguments<float>();
  constexpr std::int64_t kLanes = 16;
  const std::int64_t count = std::ssize(values);
  const Buffer x = MakeBuffer("x", kFloat32, {count}), y = MakeBuffer("y", kFloat32, {count});
  const Expr i = MakeVar("i"), lane = MakeVar("lane"), at = i * Expr(kLanes) + lane;
  const Expr value = MakeCall(kFloat32, "expm1", {Min(MakeLoad(x, {at}), MakeFloat(kFloat32, 0))});
  Program program;
  program.name = "negative";
  program.parameters = {x, y};
  program.output_count = 1;
  program.body = MakeFor(i, count / kLanes, LoopKind::kSerial,
                         MakeFor(lane, kLanes, LoopKind::kVectorized, MakeStore(y, {at}, value)));
  Result<KernelRunner> kernel = KernelRunner::Build(program, *Target::Parse(GetParam()));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  std::ranges::copy(values, kernel->Data<float>(0));
  kernel->Run();
  for (std::size_t n = 0; n < values.size(); ++n) {
    const float argument = values[n] > 0 ? 0 : values[n];
    const long double exact = std::expm1(static_cast<long double>(argument));
    ASSERT_LE(UnitsApart(kernel->Data<float>(1)[n], exact), 3) << values[n];
  }
}

/// Checks all float16 numbers. Results are rounded from float32, so their error is slightly above
/// half a unit.
TEST_P(ElementaryTest, Float16) {
  if (!FeaturesOf(*Target::Parse(GetParam()))->avx2) {
    GTEST_SKIP() << "this CPU has no conversions of float16, as the target describes it";
  }
  constexpr std::int64_t kAll = 1 << 16;
  Result<KernelRunner> kernel =
      KernelRunner::Build(MapOf(kFloat16, kAll, false), *Target::Parse(GetParam()));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  for (std::int64_t i = 0; i < kAll; ++i) {
    kernel->Data<std::uint16_t>(0)[i] = static_cast<std::uint16_t>(i);
  }
  kernel->Run();
  const auto rows = ElementaryRows();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Exact exact = ExactFunctions().at(rows[r]->name);
    for (std::int64_t i = 0; i < kAll; ++i) {
      const float x = HalfToFloat(static_cast<std::uint16_t>(i));
      const auto expected = static_cast<double>(exact(x));
      const double computed = HalfToFloat(kernel->Data<std::uint16_t>(r + 1)[i]);
      if (std::isnan(expected) || std::isnan(computed)) {
        ASSERT_EQ(std::isnan(expected), std::isnan(computed)) << rows[r]->name << "(" << x << ")";
        continue;
      }
      if (std::fabs(expected) >= 65520) {
        ASSERT_EQ(computed, std::copysign(HUGE_VAL, expected)) << rows[r]->name << "(" << x << ")";
        continue;
      }
      const int exponent = expected == 0 ? -24 : std::ilogb(expected);  // ilogb of 0 is undefined
      const double unit = std::max(std::ldexp(1.0, exponent - 10), 0x1p-24);
      ASSERT_LE(std::fabs(computed - expected), 0.502 * unit) << rows[r]->name << "(" << x << ")";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ElementaryTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& tested) { return TargetTestName(tested.param); });

template <typename T>
void CheckOnGpu(DataType dtype, double (*bound)(const OperatorRow&)) {
  const std::vector<T> values = HardArguments<T>();
  const Program program = MapOf(dtype, std::ssize(values), true);
  auto kernel = SimtKernel::Build(program, *Target::Parse("cuda -arch=sm_75"));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<std::vector<T>> data(program.parameters.size(), std::vector<T>(values.size() + 16));
  std::vector<void*> arguments;
  for (auto& part : data) {
    const auto place = reinterpret_cast<std::uintptr_t>(part.data());
    arguments.push_back(reinterpret_cast<void*>((place + 63) / 64 * 64));
  }
  std::ranges::copy(values, static_cast<T*>(arguments[0]));
  const Status status = kernel->Run(arguments);
  ASSERT_TRUE(status.ok()) << status.message();
  CheckRows<T>(
      values, [&](std::size_t row) { return static_cast<const T*>(arguments[row + 1]); }, bound);
}

TEST(ElementaryOfGpusTest, Float32) { CheckOnGpu<float>(kFloat32, &StatedForFloat32); }
TEST(ElementaryOfGpusTest, Float64) { CheckOnGpu<double>(kFloat64, &StatedForFloat64OfGpus); }

/// PTX has no libraries: the generated text must contain everything that a function needs.
TEST(ElementaryOfGpusTest, NothingIsCalled) {
  for (const DataType dtype : {kFloat16, kFloat32, kFloat64}) {
    const auto text =
        Generate({MapOf(dtype, 64, true)}, *Target::Parse("cuda -arch=sm_80"), Emit::kAssembly);
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(text->find("call"), std::string::npos) << DataTypeName(dtype);
  }
}

/// The reference for all verification is rounded from a wider type.
TEST(ElementaryReferenceTest, IsRoundedOnce) {
  const std::vector<float> values = HardArguments<float>();
  Tensor x(TensorType{{std::ssize(values)}, kFloat32});
  std::ranges::copy(values, x.As<float>().begin());
  const Tensor* const input = &x;
  std::vector<Tensor> results;
  for (const OperatorRow* row : ElementaryRows()) {
    auto result = Evaluate({row->kind, {}}, {&input, 1});
    ASSERT_TRUE(result.ok()) << result.status().message();
    results.push_back(*std::move(result));
  }
  CheckRows<float>(
      values, [&](std::size_t row) { return results[row].As<float>().data(); },
      [](const OperatorRow&) { return 0.501; });
}

}  // namespace
}  // namespace tilewright
