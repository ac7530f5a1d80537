// Any accepted sequence of primitives gives a program with the results of its Compute.

#include <gtest/gtest.h>

#include "src/base/sanitizer.h"
#include "src/ir/stmt.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/summary.h"
#include "tests/schedule/computes.h"
#include "tests/schedule/random_schedule.h"
#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

TEST(LowerRandomTest, ProgramsComputeWhatTheirComputeSays) {
  constexpr int kCases = kHasShadowMemory ? 300 : 1000;  // slower with shadow memory
  int accepted = 0;
  for (int seed = 0; seed < kCases; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Compute compute = RandomCompute(&random);
    Schedule schedule(compute);
    RandomSchedule(&schedule, &random);
    const auto program = Lower(schedule, "kernel");
    if (!program.ok()) continue;
    ++accepted;
    ASSERT_TRUE(Summarize(schedule).ok()) << "seed " << seed;
    const auto inputs = RandomInputs(compute, &random);
    const Interpreted expected = EvaluateCompute(compute, PointersTo(inputs));
    ASSERT_EQ(expected.error, "") << "seed " << seed;
    const Interpreted got = ExecuteProgram(*program, PointersTo(inputs));
    ASSERT_EQ(got.error, "") << "seed " << seed << "\n"
                             << schedule.ToString() << ToString(*program);
    ASSERT_EQ(NumbersOf(got.result), NumbersOf(expected.result))
        << "seed " << seed << "\n"
        << schedule.ToString() << ToString(*program);
  }
  // The generator is useful only if most of its schedules are legal.
  EXPECT_GT(accepted, kCases / 2);
}

}  // namespace
}  // namespace tilewright
