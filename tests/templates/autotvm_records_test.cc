// The public AutoTVM packages. For x86, each record is a point of Tilewright's space with the
// recorded index, and can be applied. For CUDA, each record of a template of Tilewright becomes a
// launch within the limits of its device. For Arm, each record is a point of the space and becomes
// loops for its target.

#include <gtest/gtest.h>

#include "records/autotvm/task.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/device.h"
#include "src/templates/registry.h"
#include "tests/support/autotvm_candidate.h"
#include "tests/support/data_file.h"
#include "tests/templates/shared_bytes.h"

namespace tilewright {
namespace {

/// A log, and numbers of its records.
struct RecordLog {
  const char* name;
  int records, malformed = 0;
  int edited = 0;  ///< whose index is not that of their values
};
void PrintTo(const RecordLog& log, std::ostream* out) { *out << log.name; }

/// Calls `check` for every record of a log.
template <typename Check>
void ForEachRecord(const std::string& path, Check check) {
  const auto text = ReadFile(path);
  ASSERT_TRUE(text.ok()) << text.status().message();
  records::LogLine record;
  for (const std::string& line : Split(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    ASSERT_TRUE(records::ParseLogLine(line, record).ok());
    check(record);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Applies the template to a candidate and lowers the kernel.
Result<Program> LoweredOf(const Candidate& candidate) {
  const Task& task = candidate.task;
  TW_ASSIGN_OR_RETURN(auto kernel, BuiltInTemplates()
                                       .Find(candidate.template_key)
                                       ->apply(task.workload, {}, task.target, candidate.config));
  TW_ASSIGN_OR_RETURN(auto program, Lower(kernel.schedule, "kernel"));
  if (DeviceTraitsOf(task.target).launches_grids) ExpectSharedBytes(kernel.schedule, program);
  return program;
}

class AutotvmX86Log : public testing::TestWithParam<RecordLog> {};

TEST_P(AutotvmX86Log, EveryRecordIsAPointOfOurSpace) {
  const std::string path = DataFile(std::string("tophub/") + GetParam().name + ".log");
  if (!FileExists(path)) GTEST_SKIP() << "needs " << path;
  int records = 0;
  ForEachRecord(path, [&](const records::LogLine& line) {
    const auto candidate = CandidateOfLine(line);
    ASSERT_TRUE(candidate.ok()) << candidate.status().message();
    EXPECT_EQ(candidate->config.index, line.index);
    const auto program = LoweredOf(*candidate);
    EXPECT_TRUE(program.ok()) << program.status().message();
    ++records;
  });
  EXPECT_EQ(records, GetParam().records);
}
INSTANTIATE_TEST_SUITE_P(Own, AutotvmX86Log, testing::Values(RecordLog{"own_x86", 14}));
INSTANTIATE_TEST_SUITE_P(Shared, AutotvmX86Log, testing::Values(RecordLog{"llvm_v0.04", 35}));

class AutotvmCudaLog : public testing::TestWithParam<RecordLog> {};

TEST_P(AutotvmCudaLog, EveryRecordBecomesALegalLaunch) {
  const std::string path = DataFile(std::string("tophub/") + GetParam().name + ".log");
  if (!FileExists(path)) GTEST_SKIP() << "needs " << path;
  constexpr int kCompiledEvery = 40;  // to PTX; bench/tophub_cuda_bench compiles all of them
  int records = 0, malformed = 0;
  ForEachRecord(path, [&](const records::LogLine& line) {
    const auto input = records::ParseAutotvmInput(line);
    ASSERT_TRUE(input.ok()) << input.status().message();
    if (BuiltInTemplates().Find(input->task.name) == nullptr) return;
    if (input->task.malformed_tensor) {
      ++malformed;  // of one record the weight has four items: the output padding is misplaced
      return;
    }
    ASSERT_TRUE(input->task.workload);
    Candidate candidate;  // some are of older spaces, with other values
    candidate.task = {*input->task.workload, input->target.target};
    candidate.template_key = input->task.name;
    candidate.config = ConfigOfLine(line);
    const TemplateEntry* entry = BuiltInTemplates().Find(candidate.template_key);
    EXPECT_EQ(entry->refuses(candidate.task.workload, candidate.task.target), "");
    const auto program = LoweredOf(candidate);
    ASSERT_TRUE(program.ok()) << program.status().message();
    if (records % kCompiledEvery == 0) {
      auto ptx = Generate({*program}, candidate.task.target, Emit::kAssembly);
      EXPECT_TRUE(ptx.ok()) << ptx.status().message();
    }
    ++records;
  });
  EXPECT_EQ(records, GetParam().records);
  EXPECT_EQ(malformed, GetParam().malformed);
}
INSTANTIATE_TEST_SUITE_P(Own, AutotvmCudaLog, testing::Values(RecordLog{"own_cuda", 2}));
INSTANTIATE_TEST_SUITE_P(Shared,
                         AutotvmCudaLog,  // direct, Winograd, depthwise, batched, transposed
                         testing::Values(RecordLog{"cuda_v0.10", 600 + 95 + 97 + 18 + 13, 1}));

class AutotvmArmLog : public testing::TestWithParam<RecordLog> {};

TEST_P(AutotvmArmLog, EveryRecordIsAPointOfOurSpaceAndBecomesLoops) {
  const std::string path = DataFile(std::string("tophub/") + GetParam().name + ".log");
  if (!FileExists(path)) GTEST_SKIP() << "needs " << path;
  constexpr int kCompiledEvery = 100;  // bench/tophub_arm_bench compiles all of them
  int records = 0, edited = 0;
  ForEachRecord(path, [&](const records::LogLine& line) {
    const auto candidate = CandidateOfLine(line);
    ASSERT_TRUE(candidate.ok()) << candidate.status().message();
    edited += candidate->config.index == line.index ? 0 : 1;
    const auto program = LoweredOf(*candidate);
    ASSERT_TRUE(program.ok()) << program.status().message();
    if (records % kCompiledEvery == 0) {
      auto object = Generate({*program}, candidate->task.target, Emit::kObject);
      EXPECT_TRUE(object.ok()) << object.status().message();
    }
    ++records;
  });
  EXPECT_EQ(records, GetParam().records);
  EXPECT_EQ(edited, GetParam().edited);
}
INSTANTIATE_TEST_SUITE_P(Own, AutotvmArmLog, testing::Values(RecordLog{"own_arm", 4}));
INSTANTIATE_TEST_SUITE_P(Shared, AutotvmArmLog,
                         testing::Values(RecordLog{"arm_cpu_v0.08", 1164, 0, 2}));

}  // namespace
}  // namespace tilewright
