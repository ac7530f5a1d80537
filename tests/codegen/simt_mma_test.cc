// Hand-written matrix products of one warp: all instructions, in the SIMT emulator and through
// ptxas if it is installed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "src/codegen/codegen.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/codegen/simt/simt.h"
#include "src/schedule/intrinsics.h"

namespace tilewright {
namespace {

/// output[m, n] = a[m, k] . b[n, k]^T by one warp of 4 x 8 threads.
Program OneProduct(const MmaIntrinsic& mma) {
  const Buffer a = MakeBuffer("a", mma.operand, {mma.m, mma.k});
  const Buffer b = MakeBuffer("b", mma.operand, {mma.n, mma.k});
  const Buffer output = MakeBuffer("output", mma.acc, {mma.m, mma.n});
  const Buffer acc = MakeBuffer("acc", mma.acc, {mma.rows(), 2}, Scope::kLocal);
  const Expr x = MakeVar("thread.x"), y = MakeVar("thread.y");
  const Expr chunk = x * Expr(mma.chunk());
  std::vector<Stmt> body;
  std::vector<Region> regions;
  for (int i = 0; i < mma.rows(); ++i) {
    for (int j = 0; j < 2; ++j) {
      body.push_back(MakeStore(acc, {Expr(i), Expr(j)}, MakeConst(mma.acc, 0)));
      regions.push_back({acc, {Expr(i), Expr(j)}, {1, 1}});
    }
  }
  for (int i = 0; i < mma.rows(); ++i) {
    regions.push_back({a, {y * Expr(mma.rows()) + Expr(i), chunk}, {1, mma.chunk()}});
  }
  regions.push_back({b, {y, chunk}, {1, mma.chunk()}});
  body.push_back(MakeIntrinsic(std::string(mma.name), std::move(regions)));
  for (int i = 0; i < mma.rows(); ++i) {
    for (int j = 0; j < 2; ++j) {
      body.push_back(MakeStore(output, {y * Expr(mma.rows()) + Expr(i), x * Expr(2) + Expr(j)},
                               MakeLoad(acc, {Expr(i), Expr(j)})));
    }
  }
  Program program;
  program.name = "kernel";
  program.parameters = {a, b, output};
  program.body = MakeFor(y, 8, LoopKind::kThreadY,
                         MakeFor(x, 4, LoopKind::kThreadX, MakeAllocate(acc, MakeBlock(body))));
  return program;
}

Target TargetOf(const MmaIntrinsic& mma) {
  return *Target::Parse("cuda -arch=sm_" + std::to_string(mma.capability));
}

/// Stores a small integer in the operand's type.
void Put(DataType dtype, int value, std::byte* place) {
  const auto byte = static_cast<std::int8_t>(value);
  const auto single = static_cast<float>(value);
  // Small integers as float16: the upper bits of float32 with another exponent bias.
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  const auto half = static_cast<std::uint16_t>(
      value == 0 ? 0 : ((bits >> 16) & 0x8000) | (((bits >> 13) & 0x3FFFF) - ((127 - 15) << 10)));
  if (dtype == kInt8) std::memcpy(place, &byte, sizeof byte);
  if (dtype == kFloat16) std::memcpy(place, &half, sizeof half);
  if (dtype == kFloat32) std::memcpy(place, &single, sizeof single);
}

class WarpProduct : public testing::TestWithParam<MmaIntrinsic> {};

TEST_P(WarpProduct, IsThatOfItsRowsAndColumns) {
  const MmaIntrinsic& mma = GetParam();
  auto kernel = SimtKernel::Build(OneProduct(mma), TargetOf(mma));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  alignas(64) std::byte a[4096], b[4096], output[4096];
  const auto left = [](int row, int q) { return (row * 7 + q * 3) % 11 - 5; };
  const auto right = [](int column, int q) { return (column * 5 + q * 2) % 13 - 6; };
  for (int q = 0; q < mma.k; ++q) {
    const int bytes = mma.operand.bytes();
    for (int row = 0; row < mma.m; ++row) {
      Put(mma.operand, left(row, q), a + (row * mma.k + q) * bytes);
    }
    for (int column = 0; column < mma.n; ++column) {
      Put(mma.operand, right(column, q), b + (column * mma.k + q) * bytes);
    }
  }
  void* arguments[] = {a, b, output};
  const Status ran = kernel->Run(arguments);
  ASSERT_TRUE(ran.ok()) << ran.message();
  for (int row = 0; row < mma.m; ++row) {
    for (int column = 0; column < mma.n; ++column) {
      int expected = 0;
      for (int q = 0; q < mma.k; ++q) expected += left(row, q) * right(column, q);
      std::int32_t integer = 0;
      float single = 0;
      std::memcpy(&integer, output + 4 * (row * mma.n + column), sizeof integer);
      std::memcpy(&single, output + 4 * (row * mma.n + column), sizeof single);
      const double got = mma.acc == kInt32 ? integer : static_cast<double>(single);
      ASSERT_EQ(got, expected) << "row " << row << ", column " << column;
    }
  }
}

TEST_P(WarpProduct, PtxasTakesIt) {
  const MmaIntrinsic& mma = GetParam();
  auto ptx = Generate({OneProduct(mma)}, TargetOf(mma), Emit::kObject);
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  EXPECT_THAT(*ptx, testing::HasSubstr("mma.sync.aligned.m"));
  if (FindPtxas().empty()) GTEST_SKIP() << "no ptxas on this machine";
  const auto resources = RunPtxas(FindPtxas(), *ptx, mma.capability);
  EXPECT_TRUE(resources.ok()) << resources.status().message();
}

INSTANTIATE_TEST_SUITE_P(Instructions, WarpProduct,
                         testing::ValuesIn(MmaIntrinsics().begin(), MmaIntrinsics().end()),
                         [](const auto& tested) {
                           std::string name(tested.param.name);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace tilewright
