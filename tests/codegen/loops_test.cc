// Loops, vectors, guards and storage: small programs built by hand, run for every target this
// machine can execute.

#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

class LoopsTest : public testing::TestWithParam<std::string> {
 protected:
  KernelRunner Build(const Program& program) {
    Result<KernelRunner> runner = KernelRunner::Build(program, *Target::Parse(GetParam()));
    TW_CHECK(runner.ok(), runner.status().message());
    return std::move(*runner);
  }
};

Program VectorAdd(std::int64_t n, LoopKind kind) {
  const Buffer a = MakeBuffer("a", kFloat32, {n});
  const Buffer b = MakeBuffer("b", kFloat32, {n});
  const Buffer c = MakeBuffer("c", kFloat32, {n});
  const Expr i = MakeVar("i");
  return {"add", {a, b, c}, 1,
          MakeFor(i, n, kind, MakeStore(c, {i}, MakeLoad(a, {i}) + MakeLoad(b, {i})))};
}

TEST_P(LoopsTest, AddsVectorsOfOddLengths) {
  for (const std::int64_t n : {1, 2, 3, 7, 16, 24, 64, 100, 333, 1000}) {
    for (const LoopKind kind : {LoopKind::kSerial, LoopKind::kVectorized}) {
      KernelRunner kernel = Build(VectorAdd(n, kind));
      for (std::int64_t i = 0; i < n; ++i) {
        kernel.Data<float>(0)[i] = static_cast<float>(i);
        kernel.Data<float>(1)[i] = static_cast<float>(Seeded(1, i, 100));
      }
      kernel.Run();
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(kernel.Data<float>(2)[i], static_cast<float>(i + Seeded(1, i, 100))) << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopsTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& tested) { return TargetTestName(tested.param); });

}  // namespace
}  // namespace tilewright
