#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "src/schedule/lower/lower.h"
#include "src/schedule/tolerance.h"
#include "src/templates/limits.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {

/// Runs a workload by the default config of each template of a target (RunProgram), and compares
/// the results with the reference. inspect: looks at each program.
inline void ExpectDefaultConfigsRight(
    const Target& target, const char* workload_text, const char* epilogue_text,
    const std::function<void(const Program&)>& inspect = [](const Program&) {}) {
  const auto workload = Workload::Parse(workload_text);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  const Epilogue epilogue = *Epilogue::Parse(epilogue_text);
  const AnchorData data = MakeAnchorData(*workload, epilogue, 11);
  std::vector<const Tensor*> operands;
  for (const Tensor& operand : data.operands) operands.push_back(&operand);
  const auto expected = EvaluateAnchor(*workload, epilogue, data.data, data.weight, operands);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  int checked = 0;
  for (const TemplateEntry* entry : BuiltInTemplates().For(*workload, target)) {
    SCOPED_TRACE(entry->key);
    const auto config = entry->default_config(*workload, target);
    ASSERT_TRUE(config.ok()) << config.status().message();
    const auto kernel = ApplyTemplate(*entry, *workload, epilogue, target, *config);
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    const auto program = Lower(kernel->schedule, "tw_kernel", LowerLimitsFor(target));
    ASSERT_TRUE(program.ok()) << program.status().message();
    const auto result = RunProgram(*workload, epilogue, target, *program, kernel->layouts, data);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(Compare(*result, *expected, ToleranceOf(*program)).ok);
    inspect(*program);
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace tilewright
