#include "measure/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

#include "measure/line_io.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

constexpr std::uint64_t kTask = 7;

/// One product of bytes.
TwLibraryShape OneProduct() {
  TwLibraryShape shape{};
  shape.kind = TW_LIBRARY_MATMUL;
  shape.data_type = shape.weight_type = TW_LIBRARY_S8;
  shape.result_type = TW_LIBRARY_S32;
  shape.n = shape.c = shape.h = shape.w = shape.k = shape.r = shape.s = shape.oh = shape.ow = 1;
  shape.groups = shape.stride_h = shape.stride_w = shape.dilation_h = shape.dilation_w = 1;
  return shape;
}

KernelSpec MakeKernel() {
  KernelSpec kernel;
  kernel.task = kTask;
  kernel.target = *Target::Parse("cuda -arch=sm_75 -libs=cublas");
  kernel.workload = DenseCandidate().task.workload;
  kernel.epilogue = *Epilogue::Parse("add(channel:float32);relu");
  const KernelLayouts layouts = {"NCHW16c", "OIHW16i16o", "NCHW16c", kInt16, true, 0, {8, 1, 4}};
  const std::vector<TensorType> types = {
      {{1, 2, 3}, kInt8}, {{}, kFloat32}, {{7}, kInt32}, {{7}, kFloat32}, {{4, 7}, kFloat32}};
  kernel.signature = *SignatureOf(kernel.workload, kernel.epilogue, layouts, types);
  kernel.artifact = "/tmp/a b.so";
  kernel.artifact_name = "artifact.1234.5";
  kernel.symbol = "tw";
  kernel.threads = 3;
  kernel.launches.resize(2);
  kernel.launches[0].kernel = "tw";
  kernel.launches[0].library = {"libcublas.so.12", "dense", FieldsOf(OneProduct()), {2, 0, 1}};
  kernel.launches[1] = {"tw_1", {7, 1, 1}, {32, 4, 1}};
  return kernel;
}

TaskTable KnownTasks() {
  const KernelSpec kernel = MakeKernel();
  const Candidate dense = DenseCandidate();
  TaskTable tasks;
  TW_CHECK(tasks.Add(kTask, {kernel.workload, kernel.epilogue, kernel.target}).ok());
  TW_CHECK(tasks.Add(8, {dense.task.workload, dense.epilogue, dense.task.target}).ok());
  TW_CHECK(tasks.Add(9, {kernel.workload, kernel.epilogue, *Target::Parse("llvm")}).ok());
  return tasks;
}

TEST(Messages, ATaskIsToldOnce) {
  TaskTable supervisor, worker;
  Candidate candidate = DenseCandidate();
  const std::uint64_t first = supervisor.NumberOf(candidate);
  candidate.epilogue = *Epilogue::Parse("relu");
  const std::uint64_t second = supervisor.NumberOf(candidate);
  EXPECT_NE(first, second);
  EXPECT_EQ(supervisor.NumberOf(candidate), second);
  EXPECT_EQ(worker.Find(second), nullptr);
  const Json told = *ParseJson(LineOf(ToJson(TaskMessage{second, *supervisor.Find(second)})));
  ASSERT_TRUE(ReceiveTask(told, worker).ok());
  ASSERT_TRUE(ReceiveTask(told, worker).ok()) << "twice is no harm";
  EXPECT_EQ(*worker.Find(second), *supervisor.Find(second));
  const Json other = ToJson(TaskMessage{second, *supervisor.Find(first)});
  EXPECT_EQ(ReceiveTask(other, worker).message(), "message: task 2 is another one already");
  EXPECT_EQ(ReceiveTask(*ParseJson(R"({"task":1})"), worker).message(),
            "message: field workload is missing");
}

TEST(Messages, AnOrderForATaskThatWasNotToldIsRefused) {
  RunOrder order;
  order.items.push_back({5, MakeKernel(), "/tmp/reference", 0.25, 0.5, Fault()});
  EXPECT_EQ(RunOrderFrom(ToJson(order), TaskTable()).status().message(),
            "message: task 7 is unknown");
}

TEST(Messages, ABuildOrderComesBackTheSame) {
  BuildOrder order;
  order.ticket = 12;
  order.task = 8;
  order.candidate = DenseCandidate();
  order.candidate.template_version = 4;
  order.path = "/tmp/x.so";
  order.fault = ArtifactFault("crash");
  auto back = BuildOrderFrom(*ParseJson(LineOf(ToJson(order))), KnownTasks());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->ticket, 12U);
  EXPECT_EQ(back->candidate.task, order.candidate.task);
  EXPECT_EQ(back->candidate.config, order.candidate.config);
  EXPECT_EQ(back->candidate.template_version, 4);
  EXPECT_EQ(back->fault, order.fault);
}

TEST(Messages, ARunOrderComesBackTheSame) {
  RunOrder order;
  order.items.push_back({5, MakeKernel(), "/tmp/reference", 0.25, 0.5, Fault(), 0.125, true});
  order.race_seconds = 3;
  order.wait_seconds = 7;
  order.items.push_back(order.items[0]);
  order.items[1].kernel.tolerance = 0.01;
  const std::string line = LineOf(ToJson(order));
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  auto back = RunOrderFrom(*ParseJson(line), KnownTasks());
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_EQ(back->items.size(), 2U);
  EXPECT_EQ(back->items[1].kernel.tolerance, 0.01);
  const KernelSpec& kernel = back->items[0].kernel;
  EXPECT_EQ(kernel.target, MakeKernel().target);
  EXPECT_EQ(kernel.workload, MakeKernel().workload);
  EXPECT_EQ(kernel.epilogue, MakeKernel().epilogue);
  EXPECT_EQ(kernel.signature, MakeKernel().signature);
  EXPECT_EQ(kernel.launches, MakeKernel().launches);
  EXPECT_EQ(kernel.artifact, "/tmp/a b.so");
  EXPECT_EQ(kernel.artifact_name, "artifact.1234.5");
  EXPECT_EQ(kernel.threads, 3);
  EXPECT_EQ(kernel.tolerance, std::nullopt);
  EXPECT_EQ(back->items[0].best_seconds, 0.25);
  EXPECT_EQ(back->items[0].min_sampling_seconds, 0.5);
  EXPECT_EQ(back->items[0].known_seconds, 0.125);
  EXPECT_TRUE(back->items[0].anchor);
  EXPECT_EQ(back->race_seconds, 3);
  EXPECT_EQ(back->wait_seconds, 7);
}

TEST(Messages, AnOrderIsForOneDevice) {
  RunOrder order;
  order.items.push_back({5, MakeKernel(), "/tmp/reference", 0.25, 0.5, Fault()});
  order.items.push_back(order.items[0]);
  EXPECT_TRUE(RunOrderFrom(ToJson(order), KnownTasks()).ok());
  order.items[1].kernel.task = 9;
  order.items[1].kernel.launches.clear();
  EXPECT_EQ(RunOrderFrom(ToJson(order), KnownTasks()).status().message(),
            "message: an order for two devices");
}

TEST(Messages, AReplyWithNumbersJsonHasNotIsStillAMessage) {
  RunReply reply;
  reply.ticket = 1;
  reply.max_abs_error = std::numeric_limits<double>::infinity();
  reply.noise = std::numeric_limits<double>::quiet_NaN();
  reply.reason = "broken \xff text";
  reply.clean_fraction = 0.5;
  reply.memory_probe_times = {1e-4};
  reply.device = "a board";
  reply.capacity = 3;
  auto back = RunReplyFrom(*ParseJson(LineOf(ToJson(reply))));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_GT(back->max_abs_error, 1e299);
  EXPECT_EQ(back->clean_fraction, 0.5);
  EXPECT_EQ(back->memory_probe_times, reply.memory_probe_times);
  EXPECT_EQ(back->device, reply.device);
  EXPECT_EQ(back->capacity, 3);
}

TEST(Messages, WhatIsMissingOrWrongIsNamed) {
  const auto message_of = [](const char* text) {
    return RunReplyFrom(*ParseJson(text)).status().message();
  };
  EXPECT_EQ(message_of("{}"), "message: field ticket is missing");
  EXPECT_EQ(message_of("{\"ticket\":\"1\"}"), "message: field ticket is of the wrong type");
  EXPECT_EQ(message_of("[1]"), "message: expected an object");
  EXPECT_EQ(message_of("{\"ticket\":1,\"outcome\":\"ok\"}"), "message: field reason is missing");
}

TEST(Messages, NumbersThatNoMachineHasAreRefused) {
  const std::pair<const char*, Json> changes[] = {
      {"/items/0/kernel/threads", std::int64_t{1} << 40},
      {"/items/0/kernel/threads", 0},
      {"/items/0/kernel/parameters/0/shape", {std::int64_t{1} << 40, std::int64_t{1} << 40}},
      {"/items/0/kernel/parameters/0/shape", {-4, 16}},
      {"/items/0/best", -1},
      {"/items/0/patience", 1e300}};
  RunOrder order;
  order.items.push_back({5, MakeKernel(), "/tmp/reference", 0.25, 0.5, Fault()});
  for (const auto& [place, value] : changes) {
    Json json = ToJson(order);
    json[Json::json_pointer(place)] = value;
    EXPECT_EQ(RunOrderFrom(json, KnownTasks()).status().code(), StatusCode::kCorrupt)
        << place << value;
  }
  EXPECT_TRUE(RunOrderFrom(ToJson(order), KnownTasks()).ok());
}

TEST(Messages, OnlyLibrariesThatTheTargetNamesAreCalled) {
  const auto said = [](const KernelSpec& kernel) {
    TaskTable tasks;
    TW_CHECK(tasks.Add(kTask, {kernel.workload, kernel.epilogue, kernel.target}).ok());
    RunOrder order;
    order.items.push_back({5, kernel, "/tmp/reference", 0.25, 0.5, Fault()});
    return RunOrderFrom(ToJson(order), tasks).status().message();
  };
  EXPECT_EQ(said(MakeKernel()), "");
  for (const char* file : {"/tmp/artifact.1.so", "artifact.1.so", "libcudnn.so", "libcublas.so.12/",
                           "./libcublas.so.12", "libcublas.so.12 ", "libdnnl.so.2", "lib\n.so"}) {
    KernelSpec kernel = MakeKernel();
    kernel.launches[0].library.file = file;
    EXPECT_THAT(said(kernel), testing::HasSubstr("is not a library that kernels may call")) << file;
  }
  KernelSpec kernel = MakeKernel();
  kernel.launches[0].library.file = "libcudnn.so.9";
  EXPECT_EQ(said(kernel),
            "message: library: 'libcudnn.so.9': the target does not name it (-libs=cudnn)");
  kernel = MakeKernel();
  kernel.target = *Target::Parse("cuda -arch=sm_75");
  EXPECT_THAT(said(kernel), testing::HasSubstr("the target does not name it (-libs=cublas)"));
}

TEST(Messages, LaunchesThatNoDriverTakesAreRefused) {
  const std::pair<const char*, Json> changes[] = {
      {"/launches/0/library", ""},
      {"/launches/0/operands", {2, 0, 99}},
      {"/launches/0/operands", {-1, 0, 1}},
      {"/launches/0/shape/0", 7},
      {"/launches/0/shape/7", 1 << 20},  // more than the size of the operands
      {"/launches/0/shape/8", std::int64_t{1} << 40},
      {"/launches/1/grid", {0, 1, 1}},
      {"/launches/1/grid", {1, 1 << 20, 1}},
      {"/launches/1/block", {1024, 2, 1}},
      {"/launches/1/shared_bytes", -1},
      {"/launches/1/shared_bytes", std::int64_t{1} << 40},
      {"/launches/1/kernel", std::string(1000, 'k')},
      {"/workspace_bytes", {-4096}},
      {"/workspace_bytes", {std::int64_t{1} << 62, std::int64_t{1} << 62}},
      {"/workspace_bytes", std::vector<int>(1000, 1)},
      {"/tolerance", 1e9},
      {"/tolerance", -1},
      {"/symbol", std::string(1000, 's')}};
  RunOrder order;
  order.items.push_back({5, MakeKernel(), "/tmp/reference", 0.25, 0.5, Fault()});
  for (const auto& [place, value] : changes) {
    Json json = ToJson(order);
    json[Json::json_pointer(std::string("/items/0/kernel") + place)] = value;
    EXPECT_EQ(RunOrderFrom(json, KnownTasks()).status().code(), StatusCode::kCorrupt)
        << place << value;
  }
  // The groups of a convolution are a divisor.
  Json json = ToJson(order);
  json["items"][0]["kernel"]["launches"][0]["shape"][0] = TW_LIBRARY_CONVOLUTION;
  EXPECT_TRUE(RunOrderFrom(json, KnownTasks()).ok());
  json["items"][0]["kernel"]["launches"][0]["shape"][16] = 0;
  EXPECT_EQ(RunOrderFrom(json, KnownTasks()).status().code(), StatusCode::kCorrupt);
  // CPU kernels have no launches.
  json = ToJson(order);
  json["items"][0]["kernel"]["task"] = 9;
  EXPECT_THAT(RunOrderFrom(json, KnownTasks()).status().message(),
              testing::HasSubstr("are not launched"));
}

TEST(Messages, RunnerSettingsComeBackTheSame) {
  RunWorkerSettings settings;
  settings.cache_bytes = 123;
  settings.probe_baseline_file = "/a b/quiet.json";
  settings.sampling.flush_bytes = 4096;
  settings.cold_weights = false;
  settings.sampling.max_samples = 7;
  settings.sampling.converged_noise = 0.5;
  settings.joules = true;
  settings.powercap = "/a b/powercap";
  auto back = RunWorkerSettingsFrom(*ParseJson(LineOf(ToJson(settings))));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->cache_bytes, 123);
  EXPECT_EQ(back->probe_baseline_file, settings.probe_baseline_file);
  EXPECT_TRUE(back->joules);
  EXPECT_EQ(back->powercap, settings.powercap);
  EXPECT_EQ(back->sampling.flush_bytes, 4096);
  EXPECT_FALSE(back->cold_weights);
  EXPECT_EQ(back->sampling.max_samples, 7);
  EXPECT_EQ(back->sampling.converged_noise, 0.5);
}

TEST(LineReader, LinesComeOutWhole) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LineReader reader;
  ASSERT_EQ(::write(ends[1], "one\ntw", 6), 6);
  ASSERT_TRUE(reader.Fill(ends[0], /*blocking=*/true).ok());
  EXPECT_EQ(reader.Next(), "one");
  EXPECT_EQ(reader.Next(), std::nullopt);
  EXPECT_EQ(reader.rest(), "tw");
  ASSERT_EQ(::write(ends[1], "o\n\n", 3), 3);
  ::close(ends[1]);
  ASSERT_TRUE(reader.Fill(ends[0], /*blocking=*/true).ok());
  EXPECT_EQ(reader.Next(), "two");
  EXPECT_EQ(reader.Next(), "");
  auto state = reader.Fill(ends[0], /*blocking=*/true);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(*state, LineReader::State::kClosed);
  ::close(ends[0]);
}

TEST(WriteAll, AReaderThatDoesNotReadIsAnError) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Status status = WriteAll(ends[1], std::string(1 << 20, 'x'), 0.05);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tilewright::measure
