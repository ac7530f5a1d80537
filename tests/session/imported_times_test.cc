// Texts about imported configs, and the workloads of libraries for a range of sizes.

#include "src/session/imported/times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::session {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ImportedTimesTest, SlowerConfigsAreAWarning) {
  const std::string slower = ImportedTimesText({0.429, 0.046, 3});
  EXPECT_THAT(slower, StartsWith("warning: the imported configs are slower"));
  EXPECT_THAT(slower, HasSubstr("429.00 ms with them, 46.00 ms with default configs"));
  EXPECT_THAT(slower, HasSubstr("without --rule autotvm the library is 9.3 times as fast"));
  EXPECT_THAT(ImportedTimesText({0.046, 0.046, 3}), Not(HasSubstr("warning")));
  EXPECT_THAT(ImportedTimesText({0.01, 0.046, 1}),
              HasSubstr("10.00 ms with the imported configs, 46.00 ms with default configs (the "
                        "fastest of 1 run each"));
}

TEST(ImportedTimesTest, OriginsNameTargetProcessorAndTemplates) {
  const std::string text = OriginsText(
      {{"llvm -mcpu=skylake-avx512", {"a.x86", "b.x86"}, 20, "skylake-avx512", "znver4"},
       {"llvm", {"a.x86"}, 1, "", ""}});
  EXPECT_EQ(text,
            "   20  tuned for llvm -mcpu=skylake-avx512; the processor here is another one:\n"
            "       znver4 and not skylake-avx512; by a.x86, b.x86\n"
            "    1  tuned for llvm; by a.x86\n");
}

TEST(ImportedTimesTest, OriginsCountTheOperatorsOfEachTarget) {
  const auto op = [](const std::string& target, const std::string& key) {
    OperatorReport report;
    report.imported = !target.empty();
    report.imported_target = target;
    report.template_key = key;
    return report;
  };
  CompiledModel model;
  model.operators = {
      op("llvm -mcpu=znver4", "a.x86"), op("", "a.x86"), op("llvm -mcpu=skylake-avx512", "b.x86"),
      op("llvm -mcpu=skylake-avx512", "a.x86"), op("llvm -mcpu=skylake-avx512", "b.x86")};
  const auto origins = OriginsOf(model, *Target::Parse("llvm -mcpu=znver4"));
  ASSERT_EQ(origins.size(), 2U);
  EXPECT_EQ(origins[0].target, "llvm -mcpu=skylake-avx512");
  EXPECT_EQ(origins[0].operators, 3);
  EXPECT_THAT(origins[0].templates, testing::ElementsAre("b.x86", "a.x86"));
  EXPECT_EQ(origins[0].recorded_cpu, "skylake-avx512");
  EXPECT_EQ(origins[0].asked_cpu, "znver4");
  EXPECT_EQ(origins[1].target, "llvm -mcpu=znver4");
  EXPECT_EQ(origins[1].operators, 1);
  EXPECT_EQ(origins[1].recorded_cpu, "");
}

}  // namespace
}  // namespace tilewright::session
