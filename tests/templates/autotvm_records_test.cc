// The public AutoTVM packages. For x86, each record is a point of Tilewright's space with the
// recorded index, and can be applied. For CUDA, each record of a template of Tilewright becomes a
// launch within the limits of its device. For Arm, Mali, Adreno and Intel graphics, each record is
// a point of the space and becomes loops for its target; small ones of the graphics processors run
// in the emulator of threads.

#include <gtest/gtest.h>

#include "records/autotvm/task.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/tolerance.h"
#include "src/target/device.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/autotvm_candidate.h"
#include "tests/support/data_file.h"
#include "tests/templates/kernel_runner.h"
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

/// A log whose records are served by AutoTVM's rule as they are.
struct ServedLog {
  const char* name;
  int records, edited;
  int compiled_every;  ///< records that are compiled; bench/tophub_records_bench compiles all
  /// Records of at most this many multiply-accumulates run in the emulator of threads.
  std::int64_t largest_run = 0;
  int runs = 0;
};
void PrintTo(const ServedLog& log, std::ostream* out) { *out << log.name; }

class AutotvmServedLog : public testing::TestWithParam<ServedLog> {};

void ExpectReference(const Task& task, const Program& program, const KernelLayouts& layouts) {
  const AnchorData data = MakeAnchorData(task.workload, {}, 3);
  const auto expected = EvaluateAnchor(task.workload, {}, data.data, data.weight, {});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto result = RunProgram(task.workload, {}, task.target, program, layouts, data);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(Compare(*result, *expected, ToleranceOf(program)).ok);
}

TEST_P(AutotvmServedLog, EveryRecordIsAPointOfOurSpaceAndBecomesLoops) {
  const std::string path = DataFile(std::string("tophub/") + GetParam().name + ".log");
  if (!FileExists(path)) GTEST_SKIP() << "needs " << path;
  int records = 0, edited = 0, runs = 0;
  ForEachRecord(path, [&](const records::LogLine& line) {
    const auto input = records::ParseAutotvmInput(line);
    ASSERT_TRUE(input.ok()) << input.status().message();
    // The package for Adreno also has records of other templates.
    const bool ours = BuiltInTemplates().Find(input->task.name) != nullptr;
    if (!ours || input->task.name.ends_with(".cuda")) return;
    const auto candidate = CandidateOfLine(line);
    ASSERT_TRUE(candidate.ok()) << candidate.status().message();
    edited += candidate->config.index == line.index ? 0 : 1;
    const Task& task = candidate->task;
    const TemplateEntry* entry = BuiltInTemplates().Find(candidate->template_key);
    auto kernel = entry->apply(task.workload, {}, task.target, candidate->config);
    ++records;
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    auto program = Lower(kernel->schedule, "tw_kernel", LowerLimitsFor(task.target));
    ASSERT_TRUE(program.ok()) << program.status().message();
    if ((records - 1) % GetParam().compiled_every == 0) {
      const bool grid = DeviceTraitsOf(task.target).launches_grids;
      auto code = Generate({*program}, task.target, grid ? Emit::kAssembly : Emit::kObject);
      EXPECT_TRUE(code.ok()) << code.status().message();
    }
    if (task.workload.macs() <= GetParam().largest_run) {
      ExpectReference(task, *program, kernel->layouts);
      ++runs;
    }
  });
  EXPECT_EQ(records, GetParam().records);
  EXPECT_EQ(edited, GetParam().edited);
  EXPECT_EQ(runs, GetParam().runs);
}
INSTANTIATE_TEST_SUITE_P(Own, AutotvmServedLog,
                         testing::Values(ServedLog{"own_arm", 4, 0, 100},
                                         ServedLog{"own_opencl", 8, 0, 1, 2'000'000, 8}));
INSTANTIATE_TEST_SUITE_P(Shared, AutotvmServedLog,
                         testing::Values(ServedLog{"arm_cpu_v0.08", 1164, 2, 100},
                                         ServedLog{"mali_v0.06", 528, 0, 10, 1'000'000, 34},
                                         ServedLog{"adreno_v0.02", 554, 0, 40, 300'000, 20},
                                         ServedLog{"intel_graphics_v0.02", 73, 0, 1, 1'000'000,
                                                   8}));

TEST(AdrenoTemplates, AnImageThatExceedsTheTargetsLimitIsRefused) {
  const auto w = Workload::Parse(
      "conv2d(float32[1,8,40,40]NCHW,float32[8,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d_nchwc.image2d");
  for (const char* limit : {"85", "84"}) {
    const auto target =
        Target::Parse(std::string("opencl -device=adreno -texture_spatial_limit=") + limit);
    const auto config = entry.default_config(*w, *target);
    ASSERT_TRUE(config.ok()) << config.status().message();
    const auto kernel = entry.apply(*w, {}, *target, *config);
    const std::string why =
        "stage 'pad': no image has room for its 3528 texels with fewer than 84 rows and columns";
    EXPECT_EQ(kernel.status().message(), std::string_view(limit) == "84" ? why : "");
  }
  for (const char* limit : {"16k", "0", "2097152"}) {
    const auto target =
        Target::Parse(std::string("opencl -device=adreno -texture_spatial_limit=") + limit);
    EXPECT_EQ(entry.refuses(*w, *target), "expected -texture_spatial_limit from 1 to 1048576");
  }
}

/// Blocks of 3 x 4 of a result of 8 x 8: AutoTVM pads the result to 9 rows.
TEST(IntelTemplates, BlocksNeedNotDivideTheResult) {
  const auto w = Workload::Parse(
      "conv2d(float32[1,8,8,8]NCHW,float32[16,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  const auto target = Target::Parse("opencl -device=intel_graphics");
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d_NCHWc.intel_graphics");
  const auto space = entry.define_space(*w, *target);
  ASSERT_TRUE(space.ok());
  Config wanted;
  for (const auto& [name, value] : {std::pair{"tile_ic", 4}, std::pair{"tile_oc", 16},
                                    std::pair{"block_oh", 3}, std::pair{"block_ow", 4}}) {
    wanted.values.emplace_back(name, KnobValue{static_cast<std::int64_t>(value)});
  }
  const auto config = space->Locate(wanted);
  ASSERT_TRUE(config.ok()) << config.status().message();
  const auto kernel = entry.apply(*w, {}, *target, *config);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const auto program = Lower(kernel->schedule, "tw_kernel", LowerLimitsFor(*target));
  ASSERT_TRUE(program.ok()) << program.status().message();
  ExpectReference({*w, *target}, *program, kernel->layouts);
}

/// OpenCL takes the templates for CUDA, and their records for OpenCL.
TEST(AutotvmRecords, ThoseOfTemplatesForCudaServeOpenCl) {
  records::LogLine line;
  ASSERT_TRUE(
      records::ParseLogLine(
          R"({"input": ["opencl -model=gfx900", "conv2d_nchw.cuda", [["TENSOR", [1, 8, 8, 8], "float32"],)"
          R"( ["TENSOR", [16, 8, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "float32"], {}],)"
          R"( "config": {"index": 0, "code_hash": null, "entity": [["tile_f", "sp", [-1, 1, 4, 1]],)"
          R"( ["tile_y", "sp", [-1, 1, 2, 1]], ["tile_x", "sp", [-1, 1, 8, 1]],)"
          R"( ["tile_rc", "sp", [-1, 4]], ["tile_ry", "sp", [-1, 3]], ["tile_rx", "sp", [-1, 3]],)"
          R"( ["auto_unroll_max_step", "ot", 0], ["unroll_explicit", "ot", 1]]},)"
          R"( "result": [[0.001], 0, 1.5, 1600000003.5], "version": 0.2, "tvm_version": "0.9.0"})",
          line)
          .ok());
  const auto candidate = CandidateOfLine(line);
  ASSERT_TRUE(candidate.ok()) << candidate.status().message();
  EXPECT_EQ(candidate->template_key, "conv2d_nchw.cuda");
}

}  // namespace
}  // namespace tilewright
