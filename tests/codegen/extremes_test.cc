// Float maxima and minima return NaN if an operand is NaN, in every order of operands, with
// constants and in reductions; on CPUs and in the SIMT emulator.

#include <cmath>
#include <limits>

#include "src/codegen/simt/simt.h"
#include "src/tensor/half.h"
#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

constexpr double kExtremeInfinity = std::numeric_limits<double>::infinity();
const double kOdd[] = {NAN, -kExtremeInfinity, -3, -0.0, 0, 0.5, 2, kExtremeInfinity};
constexpr std::int64_t kPairs = 64;
constexpr double kBound = 0.5;

double ExpectedExtreme(std::size_t output, double x, double y) {
  const double a = output == 4 || output == 6 ? kBound : x;
  const double b = output == 3 || output == 5 ? kBound : output == 4 || output == 6 ? x : y;
  if (std::isnan(a) || std::isnan(b)) return NAN;
  const bool max = output == 1 || output == 3 || output == 4;
  return max ? std::max(a, b) : std::min(a, b);
}

/// x, y; max(x, y), min(x, y), max(x, c), max(c, x), min(x, c), min(c, x).
Program Extremes(DataType dtype, bool on_gpu) {
  Program program;
  program.name = "extremes";
  for (const char* name : {"x", "y", "o1", "o2", "o3", "o4", "o5", "o6"}) {
    program.parameters.push_back(MakeBuffer(name, dtype, {kPairs}));
  }
  program.output_count = 6;
  const Expr lane = MakeVar(on_gpu ? "thread.x" : "lane"), block = MakeVar("i");
  const std::int64_t width = on_gpu ? kPairs : 16;
  const Expr at = on_gpu ? lane : block * Expr(width) + lane;
  const Expr x = MakeLoad(program.parameters[0], {at}), y = MakeLoad(program.parameters[1], {at});
  const Expr bound = MakeFloat(dtype, kBound);
  const Expr values[] = {Max(x, y),     Min(x, y),     Max(x, bound),
                         Max(bound, x), Min(x, bound), Min(bound, x)};
  std::vector<Stmt> body;
  for (std::size_t i = 0; i < std::size(values); ++i) {
    const Stmt store = MakeStore(program.parameters[2 + i], {at}, values[i]);
    body.push_back(on_gpu ? store : MakeFor(lane, width, LoopKind::kVectorized, store));
  }
  program.body =
      on_gpu ? MakeFor(lane, width, LoopKind::kThreadX, MakeBlock(std::move(body)))
             : MakeFor(block, kPairs / width, LoopKind::kSerial, MakeBlock(std::move(body)));
  return program;
}

void SetNumber(DataType dtype, void* data, std::size_t i, double value) {
  if (dtype == kFloat64) {
    static_cast<double*>(data)[i] = value;
  } else if (dtype == kFloat32) {
    static_cast<float*>(data)[i] = static_cast<float>(value);
  } else {
    static_cast<std::uint16_t*>(data)[i] = FloatToHalf(static_cast<float>(value));
  }
}

double GetNumber(DataType dtype, const void* data, std::size_t i) {
  if (dtype == kFloat64) return static_cast<const double*>(data)[i];
  if (dtype == kFloat32) return static_cast<double>(static_cast<const float*>(data)[i]);
  return static_cast<double>(HalfToFloat(static_cast<const std::uint16_t*>(data)[i]));
}

void FillPairs(DataType dtype, void* x, void* y) {
  for (std::size_t i = 0; i < kPairs; ++i) {
    SetNumber(dtype, x, i, kOdd[i / 8]);
    SetNumber(dtype, y, i, kOdd[i % 8]);
  }
}

void CheckExtreme(DataType dtype, std::size_t output, const void* data) {
  for (std::size_t i = 0; i < kPairs; ++i) {
    const double expected = ExpectedExtreme(output, kOdd[i / 8], kOdd[i % 8]);
    const double given = GetNumber(dtype, data, i);
    EXPECT_TRUE(given == expected || (std::isnan(given) && std::isnan(expected)))
        << DataTypeName(dtype) << " output " << output << " of " << kOdd[i / 8] << ", "
        << kOdd[i % 8] << ": " << given;
  }
}

class ExtremesTest : public testing::TestWithParam<std::string> {};

TEST_P(ExtremesTest, KeepNanWhereverItStands) {
  for (const DataType dtype : {kFloat16, kFloat32, kFloat64}) {
    if (dtype == kFloat16 && !FeaturesOf(*Target::Parse(GetParam()))->avx2) continue;
    Result<KernelRunner> kernel =
        KernelRunner::Build(Extremes(dtype, false), *Target::Parse(GetParam()));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    FillPairs(dtype, kernel->Data<char>(0), kernel->Data<char>(1));
    kernel->Run();
    for (std::size_t output = 1; output <= 6; ++output) {
      CheckExtreme(dtype, output, kernel->Data<char>(1 + output));
    }
  }
}

/// The largest of eight elements; each of them in turn is NaN.
TEST_P(ExtremesTest, OfRowsKeepNan) {
  const Buffer x = MakeBuffer("x", kFloat32, {8, 16}), out = MakeBuffer("out", kFloat32, {16});
  const Expr lane = MakeVar("lane"), row = MakeVar("row");
  const Stmt first = MakeFor(lane, 16, LoopKind::kVectorized,
                             MakeStore(out, {lane}, MakeFloat(kFloat32, -kExtremeInfinity)));
  const Expr column = MakeVar("column");
  const Stmt next =
      MakeStore(out, {column}, Max(MakeLoad(out, {column}), MakeLoad(x, {row, column})));
  const Stmt rest =
      MakeFor(row, 8, LoopKind::kSerial, MakeFor(column, 16, LoopKind::kVectorized, next));
  Result<KernelRunner> kernel = KernelRunner::Build({"rows", {x, out}, 1, MakeBlock({first, rest})},
                                                    *Target::Parse(GetParam()));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  for (std::size_t i = 0; i < 128; ++i) {
    kernel->Data<float>(0)[i] = i / 16 == i % 16 ? NAN : static_cast<float>(i);
  }
  kernel->Run();
  for (std::size_t i = 0; i < 16; ++i) {
    const float given = kernel->Data<float>(1)[i];
    EXPECT_TRUE(i < 8 ? std::isnan(given) : given == static_cast<float>(112 + i)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ExtremesTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& tested) { return TargetTestName(tested.param); });

TEST(ExtremesOfGpusTest, KeepNanWhereverItStands) {
  for (const DataType dtype : {kFloat16, kFloat32, kFloat64}) {
    auto kernel = SimtKernel::Build(Extremes(dtype, true), *Target::Parse("cuda -arch=sm_75"));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    std::vector<std::vector<double>> data(8, std::vector<double>(kPairs + 8));
    std::vector<void*> arguments;
    for (auto& part : data) {
      const auto place = reinterpret_cast<std::uintptr_t>(part.data());
      arguments.push_back(reinterpret_cast<void*>((place + 63) / 64 * 64));
    }
    FillPairs(dtype, arguments[0], arguments[1]);
    const Status status = kernel->Run(arguments);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t output = 1; output <= 6; ++output) {
      CheckExtreme(dtype, output, arguments[1 + output]);
    }
  }
}

}  // namespace
}  // namespace tilewright
