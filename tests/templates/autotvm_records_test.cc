// The public AutoTVM packages. For x86, each record is a point of Tilewright's space with the
// recorded index, and can be applied. For CUDA, each record of a template of Tilewright becomes a
// launch within the limits of its device. For Arm, Mali and Intel graphics, each record is a point
// of the space and becomes loops for its target; small ones of the graphics processors run in the
// emulator of threads.

#include <gtest/gtest.h>

#include "records/autotvm/task.h"
#include "records/autotvm/tuple.h"
#include "records/imported.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/codegen/codegen.h"
#include "src/graph/partition/tasks.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/tolerance.h"
#include "src/target/device.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
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

/// Returns the config of a record, by its values.
Config ConfigOf(const Json& entities) {
  Config recorded;
  for (const Json& entity : entities) {
    KnobValue value;
    if (entity[1] == "sp") {
      value.value = entity[2].get<std::vector<std::int64_t>>();
    } else if (entity[2].is_boolean()) {
      value.value = entity[2].get<bool>();
    } else {
      value.value = entity[2].get<std::int64_t>();
    }
    recorded.values.emplace_back(entity[0].get<std::string>(), std::move(value));
  }
  return recorded;
}

/// Returns a conv2d_NCHWc.x86 task: data, kernel, strides, padding, dilation, layouts, out dtype.
Workload WorkloadOf(const Json& arguments) {
  Workload w;
  w.data = {arguments[0][1].get<std::vector<std::int64_t>>(),
            *ParseDataType(arguments[0][2].get<std::string>())};
  w.weight = {arguments[1][1].get<std::vector<std::int64_t>>(),
              *ParseDataType(arguments[1][2].get<std::string>())};
  w.strides = arguments[2].get<std::array<std::int64_t, 2>>();
  w.padding = arguments[3].get<std::array<std::int64_t, 4>>();
  w.dilation = arguments[4].get<std::array<std::int64_t, 2>>();
  w.data_layout = "NCHW", w.kernel_layout = "OIHW";
  w.out_dtype = *ParseDataType(arguments[7].get<std::string>());
  return w;
}

class AutotvmX86Log : public testing::TestWithParam<RecordLog> {};

TEST_P(AutotvmX86Log, EveryRecordIsAPointOfOurSpace) {
  const std::string path = DataFile(std::string("tophub/") + GetParam().name + ".log");
  if (!FileExists(path)) GTEST_SKIP() << "needs " << path;
  auto text = ReadFile(path);
  ASSERT_TRUE(text.ok());
  int records = 0;
  for (const std::string& line : Split(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    auto json = ParseJson(line);
    ASSERT_TRUE(json.ok());
    const Json& input = (*json)["input"];
    const TemplateEntry* entry = BuiltInTemplates().Find(input[1].get<std::string>());
    ASSERT_NE(entry, nullptr);
    const Target target = *Target::Parse(input[0].get<std::string>());
    const Workload workload = WorkloadOf(input[2]);
    EXPECT_EQ(entry->refuses(workload, target), "");
    auto space = entry->define_space(workload, target);
    ASSERT_TRUE(space.ok()) << space.status().message();
    auto config = space->Locate(ConfigOf((*json)["config"]["entity"]));
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config->index, (*json)["config"]["index"].get<std::int64_t>());
    auto kernel = entry->apply(workload, {}, target, *config);
    EXPECT_TRUE(kernel.ok()) << kernel.status().message();
    ++records;
  }
  EXPECT_EQ(records, GetParam().records);
}
INSTANTIATE_TEST_SUITE_P(Own, AutotvmX86Log, testing::Values(RecordLog{"own_x86", 14}));
INSTANTIATE_TEST_SUITE_P(Shared, AutotvmX86Log, testing::Values(RecordLog{"llvm_v0.04", 35}));

/// Returns the tuple of a task from the JSON of its arguments.
std::string TupleOf(const std::string& task, const Json& arguments) {
  std::string text = "('" + task + "', " + arguments.dump().substr(1);
  text.back() = ')';
  for (char& c : text) c = c == '[' ? '(' : c == ']' ? ')' : c == '"' ? '\'' : c;
  return text;
}

class AutotvmCudaLog : public testing::TestWithParam<RecordLog> {};

TEST_P(AutotvmCudaLog, EveryRecordBecomesALegalLaunch) {
  const std::string path = DataFile(std::string("tophub/") + GetParam().name + ".log");
  if (!FileExists(path)) GTEST_SKIP() << "needs " << path;
  auto text = ReadFile(path);
  ASSERT_TRUE(text.ok());
  constexpr int kCompiledEvery = 40;  // to PTX; bench/tophub_cuda_bench compiles all of them
  int records = 0, malformed = 0;
  for (const std::string& line : Split(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    auto json = ParseJson(line);
    ASSERT_TRUE(json.ok());
    const Json& input = (*json)["input"];
    const std::string task = input[1].get<std::string>();
    const TemplateEntry* entry = BuiltInTemplates().Find(task);
    if (entry == nullptr) continue;
    SCOPED_TRACE(line);
    const Target target = *Target::Parse(input[0].get<std::string>());
    auto workload = records::ParseAutotvmTuple(TupleOf(task, input[2]));
    if (!workload.ok()) {
      // In one record the weight has four items: the output padding is misplaced.
      EXPECT_EQ(input[2][1].size(), 4U) << workload.status().message();
      ++malformed;
      continue;
    }
    EXPECT_EQ(entry->refuses(*workload, target), "");
    auto kernel = entry->apply(*workload, {}, target, ConfigOf((*json)["config"]["entity"]));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    auto program = Lower(kernel->schedule, "kernel");
    ASSERT_TRUE(program.ok()) << program.status().message();
    ExpectSharedBytes(kernel->schedule, *program);
    if (records % kCompiledEvery == 0) {
      auto ptx = Generate({*program}, target, Emit::kAssembly);
      EXPECT_TRUE(ptx.ok()) << ptx.status().message();
    }
    ++records;
  }
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
  int refused = 0;  ///< by `apply`
};
void PrintTo(const ServedLog& log, std::ostream* out) { *out << log.name; }

class AutotvmServedLog : public testing::TestWithParam<ServedLog> {};

/// Returns the candidate that AutoTVM's rule serves for a line.
Result<Candidate> CandidateOf(const records::LogLine& line) {
  TW_ASSIGN_OR_RETURN(const auto input, records::ParseAutotvmInput(line));
  records::ImportedRecord record;
  record.task = input.task.name;
  record.workload_key = input.task.workload ? input.task.workload->Key() : "";
  record.tuple = input.task.tuple;
  record.target = input.target.text;
  record.index = line.index;
  line.AppendEntities(record.entities, records::LogLine::Style::kCompact);
  return records::CandidateOfImported(BuiltInTemplates(), record, input.target.target);
}

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
  auto text = ReadFile(path);
  ASSERT_TRUE(text.ok());
  int records = 0, edited = 0, runs = 0, refused = 0;
  records::LogLine record;
  for (const std::string& line : Split(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    ASSERT_TRUE(records::ParseLogLine(line, record).ok());
    const auto candidate = CandidateOf(record);
    ASSERT_TRUE(candidate.ok()) << candidate.status().message();
    edited += candidate->config.index == record.index ? 0 : 1;
    const Task& task = candidate->task;
    const TemplateEntry* entry = BuiltInTemplates().Find(candidate->template_key);
    auto kernel = entry->apply(task.workload, {}, task.target, candidate->config);
    ++records;
    if (!kernel.ok() && refused < GetParam().refused) {
      EXPECT_EQ(kernel.status().code(), StatusCode::kInvalidArgument);
      ++refused;
      continue;
    }
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
  }
  EXPECT_EQ(records, GetParam().records);
  EXPECT_EQ(edited, GetParam().edited);
  EXPECT_EQ(runs, GetParam().runs);
  EXPECT_EQ(refused, GetParam().refused);
}
INSTANTIATE_TEST_SUITE_P(Own, AutotvmServedLog,
                         testing::Values(ServedLog{"own_arm", 4, 0, 100},
                                         ServedLog{"own_opencl", 5, 0, 1, 2'000'000, 5}));
INSTANTIATE_TEST_SUITE_P(Shared, AutotvmServedLog,
                         testing::Values(ServedLog{"arm_cpu_v0.08", 1164, 2, 100},
                                         ServedLog{"mali_v0.06", 528, 0, 1, 1'000'000, 34},
                                         ServedLog{"intel_graphics_v0.02", 73, 0, 1, 1'000'000, 8,
                                                   1}));

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
  const auto candidate = CandidateOf(line);
  ASSERT_TRUE(candidate.ok()) << candidate.status().message();
  EXPECT_EQ(candidate->template_key, "conv2d_nchw.cuda");
}

}  // namespace
}  // namespace tilewright
