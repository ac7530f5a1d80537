// Kernels whose blocks use more than 48 KiB of shared memory: the launch sets the size, the SIMT
// emulator gives correct results, ptxas accepts them, and devices with less are rejected.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/ir/visit.h"
#include "src/target/gpu.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"
#include "tests/templates/shared_bytes.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

struct SharedCase {
  const char* name;
  const char* target;
  const char* workload;
  const char* config;
};

const SharedCase kLargeBlock = {
    "LargeBlock", "cuda -arch=sm_75", "dense(int8[256,128]MK,int8[128,128]NK)->int32",
    R"({"index":0,"values":{"warps_m":4,"warps_n":4,"tiles_m":8,"tiles_n":4,"steps_k":8,)"
    R"("copy_bytes":16,"stages":1,"pad_bytes":16,"auto_unroll_max_step":0}})"};
const SharedCase kThreeStages = {
    "ThreeStages", "cuda -arch=sm_80", "dense(int8[64,768]MK,int8[32,768]NK)->int32",
    R"({"index":0,"values":{"warps_m":2,"warps_n":2,"tiles_m":2,"tiles_n":2,"steps_k":8,)"
    R"("copy_bytes":16,"stages":3,"pad_bytes":32,"auto_unroll_max_step":0}})"};
const SharedCase kFourStages = {
    "FourStages", "cuda -arch=sm_90", "dense(float16[64,512]MK,float16[64,512]NK)->float32",
    R"({"index":0,"values":{"warps_m":2,"warps_n":2,"tiles_m":2,"tiles_n":4,"steps_k":8,)"
    R"("copy_bytes":16,"stages":4,"pad_bytes":16,"auto_unroll_max_step":0}})"};

/// One case, for its own target or another one.
struct SharedKernel {
  explicit SharedKernel(const SharedCase& tested) : SharedKernel(tested, tested.target) {}
  SharedKernel(const SharedCase& tested, const std::string& target_text)
      : workload(*Workload::Parse(tested.workload)),
        target(*Target::Parse(target_text)),
        kernel(BuiltInTemplates()
                   .Find("dense_mma.cuda")
                   ->apply(workload, Epilogue(), target, *Config::Parse(tested.config))) {}
  Result<Program> Lowered() const {
    TW_RETURN_IF_ERROR(kernel);
    return Lower(kernel->schedule, "kernel", LowerLimitsFor(target));
  }
  /// Runs the program and compares the result with the reference.
  Status Verify(const Program& program) const {
    const AnchorData data = MakeAnchorData(workload, Epilogue(), 7);
    auto result = RunProgram(workload, Epilogue(), target, program, kernel->layouts, data);
    TW_RETURN_IF_ERROR(result);
    auto expected = EvaluateAnchor(workload, Epilogue(), data.data, data.weight, {});
    TW_RETURN_IF_ERROR(expected);
    return Compare(*result, *expected).ok ? Status() : Internal("differs from the reference");
  }

  Workload workload;
  Target target;
  Result<Kernel> kernel;
};

class SharedMemoryTest : public testing::TestWithParam<SharedCase> {};

TEST_P(SharedMemoryTest, IsGivenAtTheLaunchAndTheKernelIsRight) {
  const SharedKernel tested(GetParam());
  const auto program = tested.Lowered();
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Launch launch = PlanLaunches(*program).launches[0];
  EXPECT_GT(launch.shared_bytes, kStaticSharedBytes);
  EXPECT_EQ(launch.dynamic_shared_bytes(), launch.shared_bytes);
  ExpectSharedBytes(tested.kernel->schedule, *program);
  const Status verified = tested.Verify(*program);
  EXPECT_TRUE(verified.ok()) << verified.message();
}

TEST_P(SharedMemoryTest, PtxDeclaresItAndPtxasTakesIt) {
  const SharedKernel tested(GetParam());
  const auto ptx = Generate({*tested.Lowered()}, tested.target, Emit::kObject);
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  EXPECT_THAT(*ptx, HasSubstr(".extern .shared .align 16 .b8 kernel$shared[];"));
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas on this machine";
  for (const int capability : {75, 80, 90}) {
    if (capability < *ComputeCapabilityOf(tested.target)) continue;
    const auto resources = RunPtxas(ptxas, *ptx, capability);
    ASSERT_TRUE(resources.ok()) << capability << ": " << resources.status().message();
    EXPECT_EQ((*resources)[0].shared_bytes, 0) << "the module has none of it";
  }
}

TEST_P(SharedMemoryTest, IsRefusedWhereNoTargetAllowsIt) {
  const SharedKernel tested(GetParam());
  EXPECT_THAT(Lower(tested.kernel->schedule, "kernel").status().message(),
              HasSubstr("bytes of shared memory, expected at most 49152"));
}

INSTANTIATE_TEST_SUITE_P(Cases, SharedMemoryTest,
                         testing::Values(kLargeBlock, kThreeStages, kFourStages),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(SharedMemory, EachDeviceHasItsOwnLimit) {
  EXPECT_TRUE(SharedKernel(kFourStages, "cuda -arch=sm_80").Lowered().ok());
  EXPECT_THAT(SharedKernel(kFourStages, "cuda -arch=sm_86").Lowered().status().message(),
              HasSubstr("bytes of shared memory, expected at most 101376"));
}

// Arrays are contiguous in one memory: after the end of one there is still memory of the kernel.
TEST(SharedMemory, AnAccessBehindAnArrayIsFoundInSimt) {
  const SharedKernel tested(kThreeStages);
  Program program = *tested.Lowered();
  program.body = MapExprs(program.body, [&](const Expr& expr) {
    return Rewrite(expr, [&](const Expr& node) {
      std::int64_t divisor = 0;
      const bool turn =
          node->kind == ExprKind::kFloorMod && node->args[1].IsInt(&divisor) && divisor == 3;
      return turn ? FloorMod(node->args[0], Expr(3)) + Expr(1) : Expr();
    });
  });
  const Status verified = tested.Verify(program);
  EXPECT_EQ(verified.code(), StatusCode::kCorrupt);
  EXPECT_THAT(verified.message(), HasSubstr("of kernel.data.shared, which has"));
}

TEST(SharedMemory, RandomConfigsAreRight) {
  SharedCase drawn = {"Drawn", "cuda -arch=sm_80", "dense(int8[64,512]MK,int8[64,512]NK)->int32",
                      nullptr};
  const Target target = *Target::Parse(drawn.target);
  const ConfigSpace space = *BuiltInTemplates()
                                 .Find("dense_mma.cuda")
                                 ->define_space(*Workload::Parse(drawn.workload), target);
  Random random(5);
  int right = 0;
  for (int i = 0; i < 400 && right < 3; ++i) {
    const auto index = random.Below(static_cast<std::uint64_t>(space.size()));
    const std::string config = space.At(static_cast<std::int64_t>(index)).ToString();
    drawn.config = config.c_str();
    const SharedKernel tested(drawn);
    const auto program = tested.Lowered();
    if (!program.ok() || PlanLaunches(*program).launches[0].dynamic_shared_bytes() == 0) continue;
    const Status verified = tested.Verify(*program);
    EXPECT_TRUE(verified.ok()) << config << ": " << verified.message();
    ++right;
  }
  EXPECT_EQ(right, 3);
}

}  // namespace
}  // namespace tilewright
