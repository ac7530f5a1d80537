// Functions of the tensor layer as a GPU computes them, run in the SIMT emulator and compared with
// the C library.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/codegen/codegen.h"
#include "src/codegen/simt/simt.h"
#include "src/tensor/compute/compute.h"

namespace tilewright {
namespace {

constexpr OpKind kOneOperand[] = {
    OpKind::kExp,     OpKind::kTanh,  OpKind::kLog,       OpKind::kErf,   OpKind::kSqrt,
    OpKind::kSigmoid, OpKind::kRound, OpKind::kRoundEven, OpKind::kFloor, OpKind::kCeil};

/// Results of each function in kOneOperand and of pow(x, y) for each pair of numbers.
struct OnGpu {
  Buffer x, y;
  std::vector<Buffer> outputs;
  Program program;

  OnGpu(DataType dtype, std::int64_t count) {
    x = MakeBuffer("x", dtype, {count});
    y = MakeBuffer("y", dtype, {count});
    const Expr block = MakeVar("block.x"), thread = MakeVar("thread.x");
    const Expr i = block * Expr(32) + thread;
    std::vector<Stmt> stores;
    const auto store = [&](const Expr& value) {
      outputs.push_back(MakeBuffer("out" + std::to_string(outputs.size()), dtype, {count}));
      stores.push_back(MakeStore(outputs.back(), {i}, value));
    };
    for (const OpKind kind : kOneOperand) store(ElementwiseExpr({kind, {}}, MakeLoad(x, {i}), {}));
    store(ElementwiseExpr({OpKind::kPow, {}}, MakeLoad(x, {i}), MakeLoad(y, {i})));
    program.name = "functions";
    program.parameters = {x, y};
    program.parameters.insert(program.parameters.end(), outputs.begin(), outputs.end());
    program.output_count = static_cast<int>(outputs.size());
    program.body = MakeFor(block, count / 32, LoopKind::kBlockX,
                           MakeFor(thread, 32, LoopKind::kThreadX, MakeBlock(std::move(stores))));
  }
};

double Reference(std::size_t output, double x, double y) {
  switch (output) {
    case 0:
      return std::exp(x);
    case 1:
      return std::tanh(x);
    case 2:
      return std::log(x);
    case 3:
      return std::erf(x);
    case 4:
      return std::sqrt(x);
    case 5:
      return 1 / (1 + std::exp(-x));
    case 6:
      return std::round(x);
    case 7:
      return std::nearbyint(x);
    case 8:
      return std::floor(x);
    case 9:
      return std::ceil(x);
    default:
      return std::pow(x, y);
  }
}

template <typename T>
void CompareWithLibrary(DataType dtype, double tolerance, double tolerance_of_pow) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> xs, ys;
  const double odd[] = {0,     -0.0,  1,    -1,   2,        -2,        0.5,          -0.5,
                        3,     -3,    1.5,  -1.5, infinity, -infinity, std::nan(""), 1e30,
                        -1e30, 1e-30, 7.25, 100};
  for (const double x : odd) {
    for (const double y : odd) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  for (int i = 0; i < 1600; ++i) {  // both signs, magnitudes from 1e-6 to 80
    xs.push_back((i % 2 == 0 ? 1 : -1) * 1e-6 * std::pow(8e7, i / 1600.0));
    ys.push_back(-9 + 0.0113 * i);
  }
  while (xs.size() % 32 != 0) {
    xs.push_back(1e-40);  // denormal in float32
    ys.push_back(0.25);
  }
  const auto count = static_cast<std::int64_t>(xs.size());
  const OnGpu gpu(dtype, count);
  auto kernel = SimtKernel::Build(gpu.program, *Target::Parse("cuda -arch=sm_75"));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<std::vector<T>> data(gpu.program.parameters.size(), std::vector<T>(xs.size() + 16));
  std::vector<void*> arguments;
  for (auto& values : data) {
    const auto place = reinterpret_cast<std::uintptr_t>(values.data());
    arguments.push_back(reinterpret_cast<void*>((place + 63) / 64 * 64));
  }
  const auto at = [&](std::size_t parameter, std::size_t i) -> T& {
    return static_cast<T*>(arguments[parameter])[i];
  };
  for (std::size_t i = 0; i < xs.size(); ++i) {
    at(0, i) = static_cast<T>(xs[i]);
    at(1, i) = static_cast<T>(ys[i]);
  }
  const Status status = kernel->Run(arguments);
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t output = 0; output < gpu.outputs.size(); ++output) {
    const double bound = output == std::size(kOneOperand) ? tolerance_of_pow : tolerance;
    double worst = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const auto x = static_cast<double>(at(0, i)), y = static_cast<double>(at(1, i));
      const double expected = Reference(output, x, y);
      const auto computed = static_cast<double>(at(2 + output, i));
      const double smallest = static_cast<double>(std::numeric_limits<T>::min());
      if (std::isnan(expected) || !std::isfinite(static_cast<double>(static_cast<T>(expected)))) {
        EXPECT_EQ(std::isnan(computed), std::isnan(expected)) << output << " " << x << " " << y;
        if (!std::isnan(expected)) {
          EXPECT_EQ(computed, static_cast<double>(static_cast<T>(expected)))
              << output << " " << x << " " << y;
        }
      } else {
        if (expected != 0) {
          EXPECT_EQ(std::signbit(computed), std::signbit(expected))
              << output << " " << x << " " << y;
        }
        worst = std::max(worst, std::abs(computed - expected) /
                                    std::max(std::abs(expected), 8 * smallest / bound));
      }
    }
    EXPECT_LE(worst, bound) << "output " << output;
  }
}

TEST(GpuMathTest, Float32) {
  CompareWithLibrary<float>(kFloat32, 1.2e-6,
                            1.2e-7);  // tanh and sigmoid use an exp with an error of 1e-6
}

TEST(GpuMathTest, Float64) { CompareWithLibrary<double>(kFloat64, 3e-15, 3e-13); }

/// PTX has no libraries: the text must contain every function of every float type.
TEST(GpuMathTest, NothingIsCalled) {
  for (const DataType dtype : {kFloat16, kFloat32, kFloat64}) {
    const OnGpu gpu(dtype, 64);
    for (const char* target : {"cuda -arch=sm_60", "cuda -arch=sm_90"}) {
      const auto text = Generate({gpu.program}, *Target::Parse(target), Emit::kAssembly);
      ASSERT_TRUE(text.ok()) << DataTypeName(dtype) << ": " << text.status().message();
      EXPECT_THAT(*text, testing::Not(testing::HasSubstr("call"))) << DataTypeName(dtype);
    }
  }
}

TEST(GpuMathTest, EveryConversion) {
  const DataType types[] = {kBool,   kInt8,   kInt16,   kInt32,   kInt64,  kUInt8,
                            kUInt16, kUInt32, kFloat16, kFloat32, kFloat64};
  Program program;
  program.name = "conversions";
  const Expr thread = MakeVar("thread.x");
  std::vector<Stmt> stores;
  std::vector<Buffer> outputs;
  for (const DataType from : types) {
    const Buffer in = MakeBuffer("in_" + DataTypeName(from), from, {32});
    program.parameters.push_back(in);
    for (const DataType to : types) {
      for (const OpKind kind : {OpKind::kCast, OpKind::kSaturateCast}) {
        Operator op{kind, {}};
        op.attributes.dtype = to;
        outputs.push_back(MakeBuffer("out" + std::to_string(outputs.size()), to, {32}));
        stores.push_back(
            MakeStore(outputs.back(), {thread}, ElementwiseExpr(op, MakeLoad(in, {thread}), {})));
      }
    }
  }
  program.output_count = static_cast<int>(outputs.size());
  program.parameters.insert(program.parameters.end(), outputs.begin(), outputs.end());
  program.body = MakeFor(thread, 32, LoopKind::kThreadX, MakeBlock(std::move(stores)));
  const auto text = Generate({program}, *Target::Parse("cuda -arch=sm_75"), Emit::kAssembly);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, testing::Not(testing::HasSubstr("call")));
}

}  // namespace
}  // namespace tilewright
