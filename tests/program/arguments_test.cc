// Parsing of command-line arguments: targets, tasks, configs, devices and files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/command_line.h"
#include "python_free_cli/arguments/device_argument.h"
#include "python_free_cli/arguments/task_argument.h"
#include "src/base/files/file.h"
#include "src/base/files/output_file.h"
#include "src/session/target.h"
#include "src/session/tasks.h"
#include "tests/support/built_in.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kDense = "dense(float32[6,96]MK,float32[72,96]NK)->float32";
constexpr const char* kModel = TILEWRIGHT_SOURCE_DIR "/tests/fixtures/2026-11-23/plain.relay";

std::string Refusal(std::string_view target, int threads = 1, const std::string& vta_config = "",
                    const std::string& libraries = "") {
  return session::ParseTarget(target, threads, vta_config, libraries).status().message();
}

TEST(ParseTargetTest, TakesTargetsWithTheirThreads) {
  const auto target = session::ParseTarget("llvm -mcpu=core-avx2", 2);
  ASSERT_TRUE(target.ok()) << target.status().message();
  EXPECT_EQ(target->num_threads(), 2);
  EXPECT_EQ(target->Option("mcpu"), "core-avx2");
  const auto vta = session::ParseTarget("vta", 1, TILEWRIGHT_SOURCE_DIR "/configs/vta/sim.json");
  ASSERT_TRUE(vta.ok()) << vta.status().message();
  EXPECT_EQ(vta->Option("model"), "sim_1x16_i8w8a32_15_15_18_17");
}

TEST(ParseTargetTest, SaysWhatIsNotPossible) {
  EXPECT_EQ(Refusal("native", 0), "threads: 0, expected 1 or more");
  EXPECT_EQ(Refusal("llvm", 1025), "threads: 1025, expected 1 to 1024");
  EXPECT_EQ(Refusal("cuda -arch=sm_80", 2),
            "threads: 2, but only kernels for a CPU have any, not cuda");
  EXPECT_THAT(Refusal("vta"), HasSubstr("a VTA needs its design"));
  EXPECT_EQ(Refusal("llvm", 1, "sim"), "vta-config: the target is 'llvm', no VTA");
  EXPECT_THAT(Refusal("llvm", 1, "", "mkl"), HasSubstr("libs: no library 'mkl'"));
  EXPECT_THAT(Refusal("llvm", 1, "", "cudnn"), HasSubstr("is for targets of kind cuda, not llvm"));
  EXPECT_THAT(Refusal("metal"), HasSubstr("expected one of: native llvm cuda opencl rocm vta"));
  EXPECT_THAT(Refusal("vta", 1, "nosuch"), HasSubstr("no such file, and no design of this name"));
}

TEST(ParseTaskTest, TakesKeysTuplesAndTasksOfFiles) {
  const Target target = *Target::Parse("llvm");
  const auto key = session::ParseTask({kDense}, target);
  ASSERT_TRUE(key.ok()) << key.status().message();
  EXPECT_EQ(key->task.workload.Key(), kDense);
  const auto tuple =
      session::ParseTask({"('dense_nopack.x86', ('TENSOR', (6, 96), 'float32'), ('TENSOR', "
                          "(72, 96), 'float32'), None, "
                          "'float32')"},
                         target);
  ASSERT_TRUE(tuple.ok()) << tuple.status().message();
  EXPECT_EQ(tuple->task.workload, key->task.workload);
  const auto task = session::ParseTask({std::string(kModel) + "#1"}, target);
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_EQ(task->task.workload.op, OpKind::kDense);
  const auto all = session::ParseTasks({kModel}, target);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->size(), 2U);
}

TEST(ParseTaskTest, OptionsOfAFileAreForFiles) {
  const Target target = *Target::Parse("llvm");
  ModelSource source{kDense};
  source.options.bindings.dims["n"] = 3;
  EXPECT_EQ(session::ParseTask(source, target).status().message(),
            "--dim n=3: the task is not a model file");
  source.path = std::string(kModel) + "#1";
  EXPECT_THAT(session::ParseTask(source, target).status().message(),
              HasSubstr("--dim n=3: Relay text has no open dimensions"));
}

TEST(ParseTaskTest, SaysWhatItTried) {
  const Target target = *Target::Parse("llvm");
  EXPECT_THAT(session::ParseTask({"dense"}, target).status().message(),
              HasSubstr("expected a workload key, an AutoTVM tuple, FILE#N, or FILE.tw"));
  EXPECT_THAT(session::ParseTask({"('sort.x86',)"}, target).status().message(),
              HasSubstr("unknown task"));
  EXPECT_THAT(session::ParseTask({std::string(kModel) + "#9"}, target).status().message(),
              HasSubstr("task 9 asked for, the file has 2"));
  EXPECT_EQ(session::ParseTask({"no/such.onnx#0"}, target).status().code(), StatusCode::kNotFound);
  // A text that is almost a key is not taken as a file name.
  EXPECT_THAT(session::ParseTasks({"dense(float32[6,96]MK"}, target).status().message(),
              HasSubstr("is not a task"));
}

TEST(ChooseConfigTest, TakesIndicesValuesAndTheDefault) {
  const Task task = {*Workload::Parse(kDense), *Target::Parse("llvm -mcpu=core-avx2")};
  const auto standard = session::ChooseConfig(BuiltInTemplates(), task, "", "");
  ASSERT_TRUE(standard.ok()) << standard.status().message();
  EXPECT_EQ(standard->entry, BuiltInTemplates().For(task.workload, task.target).front());
  const auto index = session::ChooseConfig(BuiltInTemplates(), task, "dense_pack.x86", "3");
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index->config, index->space.At(3));
  const auto values =
      session::ChooseConfig(BuiltInTemplates(), task, "dense_pack.x86", index->config.ToString());
  ASSERT_TRUE(values.ok()) << values.status().message();
  EXPECT_EQ(values->config, index->config);
  const std::string text = index->config.ToString();
  const auto alone =
      session::ChooseConfig(BuiltInTemplates(), task, "dense_pack.x86",
                            text.substr(text.find('{', 1), text.size() - 1 - text.find('{', 1)));
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_EQ(alone->config, index->config) << "its values alone";
  EXPECT_THAT(
      session::ChooseConfig(BuiltInTemplates(), task, "dense_pack.x86", "-1").status().message(),
      HasSubstr("config -1, expected 0 to "));
  EXPECT_THAT(session::ChooseConfig(BuiltInTemplates(), task, "conv2d", "").status().message(),
              HasSubstr("no template 'conv2d'"));
  EXPECT_THAT(
      session::ChooseConfig(BuiltInTemplates(), task, "conv2d_direct.cpu", "").status().message(),
      HasSubstr("conv2d_direct.cpu does not serve dense("));
}

TEST(DeviceArgumentTest, IsForCudaOnly) {
  const Target cuda = *Target::Parse("cuda -arch=sm_80"), cpu = *Target::Parse("llvm");
  EXPECT_TRUE(DeviceArgument{}.Check(cpu).ok());
  EXPECT_EQ(DeviceArgument{"0"}.Check(cpu).message(),
            "device: the target is 'llvm', expected cuda, opencl or rocm");
  EXPECT_TRUE(DeviceArgument{"simt"}.Check(cuda).ok());
  EXPECT_EQ(*DeviceArgument{"3"}.Ordinal(), 3);
  for (const char* text : {"-1", "first", "4294967296"}) {
    EXPECT_EQ(DeviceArgument{text}.Check(cuda).message(),
              "device: '" + std::string(text) + "', expected the number of a GPU or simt");
  }
  EXPECT_EQ(DeviceArgument{"simt"}.CheckRuns(cuda).code(), StatusCode::kUnsupported);
}

TEST(WriteOutputTest, KeepsWhatWasThereOnAnError) {
  const auto folder = ScopedTempDir::Create("program-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/out";
  ASSERT_TRUE(WriteFile(path, "before").ok());
  const Status failed = WriteOutput(path, [](const TextSink& sink) {
    TW_RETURN_IF_ERROR(sink("half of it"));
    return Internal("no more");
  });
  EXPECT_EQ(failed.message(), "no more");
  EXPECT_EQ(*ReadFile(path), "before");
  EXPECT_TRUE(WriteOutput(path, [](const TextSink& sink) { return sink("all of it"); }).ok());
  EXPECT_EQ(*ReadFile(path), "all of it");
  EXPECT_EQ(WriteOutput(folder->path() + "/none/out",
                        [](const TextSink& sink) { return sink("all of it"); })
                .code(),
            StatusCode::kUnavailable);
}

TEST(CommandLineTest, TuneTakesTheOptionsThatWereGiven) {
  CLI::App app;
  std::string target, device;
  std::vector<std::string> records, shapes;
  bool strict = false;
  app.add_option("--target", target);
  app.add_option("--records", records)->allow_extra_args(false);
  app.add_option("--shape", shapes)->allow_extra_args(false);
  app.add_flag("--no-fuse-residuals", strict);
  app.add_option("--device", device);
  const Target native = *Target::Parse("native");
  EXPECT_EQ(TuneCommandLine(app, "m.onnx", native), "tilewright tune m.onnx --budget 10m");
  EXPECT_EQ(TuneCommandLine(app, "", native), "tilewright tune");
  app.parse(
      "--device simt --no-fuse-residuals --target \"cuda -arch=sm_80\" --records a.db --records "
      "b.db --shape "
      "x=1x3 --shape y=2");
  EXPECT_EQ(TuneCommandLine(app, "my net.onnx#1", *Target::Parse("cuda -arch=sm_80")),
            "tilewright tune 'my net.onnx#1' --target 'cuda -arch=sm_80' --shape x=1x3 --shape y=2 "
            "--no-fuse-residuals --records a.db --budget 10m");
  EXPECT_THAT(TuneCommandLine(app, "m.onnx",
                              *Target::Parse("llvm -mtriple=aarch64-linux-gnu "
                                             "-mcpu=cortex-a72")),
              HasSubstr("--runner 'ssh BOARD tilewright-runner'"));
}

TEST(TaskNumberTest, AddsTheNumberToTheFile) {
  TaskNumberArgument task;
  EXPECT_EQ(task.Of("m.onnx"), "m.onnx");
  task.number = 3;
  EXPECT_EQ(task.Of("m.onnx"), "m.onnx#3");
}

TEST(ParseTaskTest, AFileWithSeveralTasksListsThem) {
  const auto task = session::ParseTask({kModel}, *Target::Parse("llvm"));
  ASSERT_FALSE(task.ok());
  EXPECT_THAT(task.status().message(), HasSubstr("tasks; name one: --task N, or FILE#N\n    0  "));
}

}  // namespace
}  // namespace tilewright::cli
