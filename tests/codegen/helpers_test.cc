// No conversion or function may need a compiler's runtime library: kernels are linked only with the
// C library and its mathematics.

#include <gtest/gtest.h>

#include <cmath>

#include "src/base/files/file.h"
#include "src/codegen/codegen.h"
#include "src/codegen/runtime_archive.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/half.h"
#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

constexpr DataType kUInt64{TypeCode::kUInt, 64};
constexpr DataType kEveryType[] = {kBool,   kInt8,   kInt16,  kInt32,   kInt64,   kUInt8,
                                   kUInt16, kUInt32, kUInt64, kFloat16, kFloat32, kFloat64};
constexpr std::int64_t kElements = 19;

/// The parameters of a kernel and its loops. Each result is computed once in vectors and once
/// serially.
class MapProgram {
 public:
  void Add(DataType to, const std::vector<DataType>& from,
           const std::function<Expr(const std::vector<Expr>&)>& f) {
    for (const LoopKind kind : {LoopKind::kVectorized, LoopKind::kSerial}) {
      const Expr i = MakeVar("i");
      std::vector<Expr> loads;
      for (const DataType dtype : from) loads.push_back(MakeLoad(Input(dtype), {i}));
      const Buffer out = MakeBuffer("out" + std::to_string(outputs_.size()), to, {kElements});
      outputs_.push_back(out);
      loops_.push_back(MakeFor(i, kElements, kind, MakeStore(out, {i}, f(loads))));
    }
  }
  Program Finish() {
    std::vector<Buffer> parameters = inputs_;
    parameters.insert(parameters.end(), outputs_.begin(), outputs_.end());
    return {"map", parameters, static_cast<int>(outputs_.size()), MakeBlock(std::move(loops_))};
  }

 private:
  const Buffer& Input(DataType dtype) {
    for (const Buffer& input : inputs_) {
      if (input->dtype == dtype) return input;
    }
    return inputs_.emplace_back(MakeBuffer("in_" + DataTypeName(dtype), dtype, {kElements}));
  }
  std::vector<Buffer> inputs_, outputs_;
  std::vector<Stmt> loops_;
};

Status Link(const Program& program, const std::string& target) {
  const auto object = Generate({program}, *Target::Parse(target), Emit::kObject);
  TW_RETURN_IF_ERROR(object);
  const auto folder = ScopedTempDir::Create("helpers-test");
  TW_RETURN_IF_ERROR(folder);
  return LinkKernel(program, *object, *Target::Parse(target), folder->path() + "/map.so");
}

struct Machine {
  const char* name;
  const char* target;
  bool halves;
};
constexpr Machine kMachines[] = {
    {"Plain", "llvm", false},
    {"Avx2", "llvm -mcpu=core-avx2", true},
    {"Avx512", "llvm -mcpu=skylake-avx512", true},
    {"SapphireRapids", "llvm -mcpu=sapphirerapids", true},
    {"Arm64", "llvm -mtriple=aarch64-linux-gnu -mattr=+neon", true},
    {"Arm32", "llvm -mtriple=armv7l-linux-gnueabihf -mattr=+neon,+fp16", true},
    {"Arm32WithoutHalves", "llvm -mtriple=armv7l-linux-gnueabihf -mattr=+neon", false},
};

class HelpersTest : public testing::TestWithParam<Machine> {
 protected:
  bool Has(DataType dtype) const { return dtype != kFloat16 || GetParam().halves; }
};

TEST_P(HelpersTest, EveryConversionLinks) {
  MapProgram map;
  for (const DataType from : kEveryType) {
    for (const DataType to : kEveryType) {
      if (!Has(from) || !Has(to)) continue;
      for (const OpKind kind : {OpKind::kCast, OpKind::kSaturateCast}) {
        Operator op{kind, {}};
        op.attributes.dtype = to;
        map.Add(to, {from}, [&](const auto& x) { return ElementwiseExpr(op, x[0], {}); });
      }
    }
  }
  const auto runtime = RuntimeFor(*Target::Parse(GetParam().target));
  if (!runtime.ok()) GTEST_SKIP() << runtime.status().message();
  const Status status = Link(map.Finish(), GetParam().target);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(HelpersTest, EveryFunctionLinks) {
  MapProgram map;
  for (const DataType dtype : kEveryType) {
    if (!Has(dtype) || dtype.is_bool()) continue;
    for (const OpKind kind : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMax,
                              OpKind::kMin, OpKind::kShiftRight, OpKind::kPow}) {
      if (dtype.is_float() ? kind == OpKind::kShiftRight : kind == OpKind::kPow) continue;
      map.Add(dtype, {dtype, dtype}, [&](const auto& x) {
        return ElementwiseExpr({kind, {}}, x[0], x[1]);
      });
    }
    for (const OpKind kind :
         {OpKind::kRelu,    OpKind::kNegate,      OpKind::kAbs,       OpKind::kLeakyRelu,
          OpKind::kSigmoid, OpKind::kHardSigmoid, OpKind::kHardSwish, OpKind::kTanh,
          OpKind::kExp,     OpKind::kLog,         OpKind::kSqrt,      OpKind::kErf,
          OpKind::kRound,   OpKind::kRoundEven,   OpKind::kFloor,     OpKind::kCeil,
          OpKind::kSin,     OpKind::kCos,         OpKind::kTan,       OpKind::kAsin,
          OpKind::kAcos,    OpKind::kAtan,        OpKind::kSinh,      OpKind::kCosh,
          OpKind::kAsinh,   OpKind::kAcosh,       OpKind::kAtanh,     OpKind::kExpm1,
          OpKind::kLog1p,   OpKind::kSoftplus}) {
      map.Add(dtype, {dtype}, [&](const auto& x) { return ElementwiseExpr({kind, {}}, x[0], {}); });
    }
  }
  const auto runtime = RuntimeFor(*Target::Parse(GetParam().target));
  if (!runtime.ok()) GTEST_SKIP() << runtime.status().message();
  const Status status = Link(map.Finish(), GetParam().target);
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Targets, HelpersTest, testing::ValuesIn(kMachines),
                         [](const auto& tested) { return std::string(tested.param.name); });

/// float64 to float16 is rounded once. Rounding to float32 first would give the wrong result for
/// numbers next to the middle between two float16 numbers.
TEST(HalvesOfDoublesTest, AreRoundedOnce) {
  const double tiny = std::ldexp(1.0, -40);
  const double values[kElements] = {1 + std::ldexp(1.0, -11) + tiny,
                                    1 + std::ldexp(1.0, -11) - tiny,
                                    1 + std::ldexp(1.0, -11),
                                    -1 - std::ldexp(3.0, -11) - tiny,
                                    -1 - std::ldexp(3.0, -11) + tiny,
                                    65519.999999999,
                                    65520,
                                    -1e300,
                                    1e-300,
                                    std::ldexp(1.0, -25) + std::ldexp(1.0, -60),
                                    std::ldexp(1.0, -25),
                                    std::ldexp(3.0, -25) - std::ldexp(1.0, -60),
                                    0,
                                    -0.0,
                                    std::nan(""),
                                    HUGE_VAL,
                                    -HUGE_VAL,
                                    0.1,
                                    -1234.567};
  const std::uint16_t expected[kElements] = {0x3c01, 0x3c00, 0x3c00, 0xbc02, 0xbc01, 0x7bff, 0x7c00,
                                             0xfc00, 0,      1,      0,      1,      0,      0x8000,
                                             0x7e00, 0x7c00, 0xfc00, 0x2e66, 0xe4d3};
  for (const std::string& target : RunnableTargets()) {
    if (target == "llvm -mcpu=x86-64") continue;  // without float16
    MapProgram map;
    map.Add(kFloat16, {kFloat64}, [](const auto& x) { return MakeCast(kFloat16, x[0]); });
    auto kernel = KernelRunner::Build(map.Finish(), *Target::Parse(target));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    std::copy(std::begin(values), std::end(values), kernel->Data<double>(0));
    kernel->Run();
    for (const std::size_t out : {1U, 2U}) {
      for (std::size_t i = 0; i < kElements; ++i) {
        const std::uint16_t bits = kernel->Data<std::uint16_t>(out)[i];
        if (std::isnan(values[i])) {
          EXPECT_GT(bits & 0x7fff, 0x7c00) << target;
        } else {
          EXPECT_EQ(bits, expected[i]) << target << " " << values[i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
