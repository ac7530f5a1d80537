// The texts of workloads in records, packages, logs and libraries. Version 1 wrote the file:
// records of a workload whose text changes are no longer found.
#include <gtest/gtest.h>

#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright::records {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 20;

/// Returns AutoTVM's tuple for a target, or "-" without a target.
std::string TupleOr(const Workload& workload, const char* target_text) {
  const auto target = Target::Parse(target_text);
  EXPECT_TRUE(target.ok());
  auto tuple = AutotvmTuple(workload, AutotvmName(workload, *target));
  return tuple.ok() ? *tuple : "-";
}

TEST(WorkloadGolden, KeysEpiloguesAndTuplesStayLetterForLetter) {
  const auto file =
      ReadFile(TILEWRIGHT_SOURCE_DIR "/tests/records/golden/workload_keys.txt", kMaxBytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  int lines = 0;
  for (const std::string& line : Split(*file, '\n')) {
    if (line.empty()) continue;
    ++lines;
    const std::vector<std::string> fields = Split(line, '\t');
    ASSERT_EQ(fields.size(), 4U) << line;
    const auto workload = Workload::Parse(fields[0]);
    ASSERT_TRUE(workload.ok()) << workload.status().message();
    EXPECT_EQ(workload->Key(), fields[0]);
    if (IsAnchor(workload->op)) {
      const auto again =
          Workload::FromOperator(workload->ToOperator(), workload->data, workload->weight);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(again->Key(), fields[0]);
    }
    if (fields[1] == "-") continue;
    const auto epilogue = Epilogue::Parse(fields[1]);
    ASSERT_TRUE(epilogue.ok()) << epilogue.status().message();
    EXPECT_EQ(epilogue->ToString(), fields[1]);
    EXPECT_EQ(TupleOr(*workload, "llvm -mcpu=skylake-avx512"), fields[2]);
    EXPECT_EQ(TupleOr(*workload, "cuda -arch=sm_80"), fields[3]);
  }
  EXPECT_GT(lines, 100);
}

}  // namespace
}  // namespace tilewright::records
