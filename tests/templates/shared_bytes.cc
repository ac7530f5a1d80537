#include "tests/templates/shared_bytes.h"

#include <gtest/gtest.h>

#include "src/schedule/launch.h"
#include "src/schedule/summary.h"

namespace tilewright {

void ExpectSharedBytes(const Schedule& schedule, const Program& program) {
  const auto summary = Summarize(schedule);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  std::vector<std::int64_t> summarized, lowered;
  for (const StageId id : schedule.order()) {
    if (schedule.stage(id).attach != Schedule::Attach::kRoot) continue;
    std::int64_t bytes = 0;
    for (const SummaryStage& stage : summary->stages) {
      if (stage.root == id.index) bytes += stage.shared_bytes;
    }
    summarized.push_back(bytes);
  }
  for (const Launch& launch : PlanLaunches(program).launches) {
    lowered.push_back(launch.shared_bytes);
  }
  EXPECT_EQ(summarized, lowered);
}

}  // namespace tilewright
