#include <gtest/gtest.h>

#include <limits>

#include "measure/messages.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

KernelSpec SampleKernel() {
  KernelSpec kernel;
  kernel.task = 7;
  kernel.target = *Target::Parse("cuda -arch=sm_75");
  kernel.workload = DenseCandidate().task.workload;
  const std::vector<TensorType> types = {{{1, 2, 3}, kInt8}, {{}, kFloat32}, {{7}, kInt32}};
  kernel.signature = *SignatureOf(kernel.workload, {},
                                  {"NCHW16c", "OIHW16i16o", "NCHW16c", kInt16, false, 2}, types);
  kernel.artifact = "/tmp/a b.so";
  kernel.artifact_name = "artifact.1234.5";
  kernel.symbol = "tw";
  kernel.code_bytes = 99;
  kernel.threads = 3;
  kernel.tolerance = 0.25;
  kernel.launches.resize(2);
  kernel.launches[0] = {"tw_1", {7, 1, 1}, {32, 4, 1}, 16};
  kernel.launches[1].library = {"libcublas.so.12", "dense", {1, 2}, {2, 0, 1}};
  kernel.workspace_bytes = {64};
  return kernel;
}

// The other side may be of another build: members keep their names and their order.
TEST(MessageTexts, StayTheSame) {
  const Fault fault = {"b", "r", "a", "s"};
  std::string texts = LineOf(ToJson(ReferenceOrder{3, "/r"}));
  BuildOrder build = {12, 8, DenseCandidate(), "/tmp/x.so", {}};
  texts += LineOf(ToJson(build));
  build.fault = fault;
  texts += LineOf(ToJson(build));
  BuildReply built = {12, "", Outcome::kOk, "", FaultDomain::kCandidate, 1.5, SampleKernel()};
  texts += LineOf(ToJson(built));
  built.outcome = Outcome::kBuildFailed;
  built.fault_domain = FaultDomain::kMachine;
  texts += LineOf(ToJson(built));
  texts += LineOf(ToJson(ProbeOrder{"llvm", "/p", 2}));
  texts += LineOf(ToJson(ProbeReply{"no room"}));
  RunOrder run;
  run.items.push_back({5, SampleKernel(), "/tmp/reference", 0.25, 0.5, fault, 0.125, true});
  run.items[0].kernel.tolerance.reset();
  run.items[0].kernel.launches.clear();
  run.race_seconds = 3;
  run.wait_seconds = 7;
  texts += LineOf(ToJson(run));
  RunReply ran;
  ran.ticket = 5;
  ran.reason = "fine";
  ran.fault_domain = FaultDomain::kUndetermined;
  ran.samples = {0.5, 0.25};
  ran.probe_times = {1};
  ran.memory_probe_times = {2};
  ran.value = std::numeric_limits<double>::infinity();
  ran.others = {{"joules", 1.5}};
  ran.device = "a board";
  texts += LineOf(ToJson(ran));
  texts += LineOf(ToJson(RunnerHandshake{"d", "llvm", 1e-3, 0.01, "u"}));
  texts += LineOf(ToJson(FileChunk{"n", false, "bytes"}));
  RunWorkerSettings settings;
  settings.joules = true;
  texts += LineOf(ToJson(settings));
  texts += LineOf(ToJson(TaskMessage{2, {SampleKernel().workload, {}, SampleKernel().target}}));
  EXPECT_EQ("\n" + texts, R"(
{"type":"prepare","task":3,"path":"/r"}
{"type":"build","ticket":12,"task":8,"template":"of_a_test","template_version":0,"config":"{\"index\":0,\"values\":{}}","path":"/tmp/x.so"}
{"type":"build","ticket":12,"task":8,"template":"of_a_test","template_version":0,"config":"{\"index\":0,\"values\":{}}","path":"/tmp/x.so","fault":{"builder":"b","runner":"r","artifact":"a","symbol":"s"}}
{"type":"built","ticket":12,"reference":"","outcome":"ok","reason":"","blame":"candidate","seconds":1.5,"kernel":{"task":7,"form":{"data":"NCHW16c","weight":"OIHW16i16o","output":"NCHW16c","multiply":"int16","shift":false,"winograd":2},"parameters":[{"shape":[1,2,3],"dtype":"int8"},{"shape":[],"dtype":"float32"},{"shape":[7],"dtype":"int32"}],"artifact":"/tmp/a b.so","artifact_name":"artifact.1234.5","symbol":"tw","code_bytes":99,"threads":3,"tolerance":0.25,"launches":[{"kernel":"tw_1","grid":[7,1,1],"block":[32,4,1],"shared_bytes":16},{"kernel":"","grid":[1,1,1],"block":[1,1,1],"shared_bytes":0,"library":"libcublas.so.12","operation":"dense","shape":[1,2],"operands":[2,0,1]}],"workspace_bytes":[64]}}
{"type":"built","ticket":12,"reference":"","outcome":"build_failed","reason":"","blame":"machine","seconds":1.5}
{"type":"probe","target":"llvm","path":"/p","threads":2}
{"type":"probed","problem":"no room"}
{"type":"run","items":[{"ticket":5,"kernel":{"task":7,"form":{"data":"NCHW16c","weight":"OIHW16i16o","output":"NCHW16c","multiply":"int16","shift":false,"winograd":2},"parameters":[{"shape":[1,2,3],"dtype":"int8"},{"shape":[],"dtype":"float32"},{"shape":[7],"dtype":"int32"}],"artifact":"/tmp/a b.so","artifact_name":"artifact.1234.5","symbol":"tw","code_bytes":99,"threads":3,"tolerance":null,"launches":[],"workspace_bytes":[64]},"reference":"/tmp/reference","best":0.25,"patience":0.5,"known":0.125,"anchor":true,"fault":{"builder":"b","runner":"r","artifact":"a","symbol":"s"}}],"race":3.0,"wait":7.0}
{"type":"ran","ticket":5,"outcome":"ok","reason":"fine","blame":"unclear","samples":[0.5,0.25],"canaries":[1.0],"memory_canaries":[2.0],"value":1e+300,"noise":0.0,"quiet_share":-1.0,"others":{"joules":1.5},"verified":false,"max_abs_error":0.0,"run_seconds":0.0,"timing_seconds":0.0,"device":"a board","capacity":1,"runner_ends":false}
{"type":"ready","protocol":10,"device":"d","target":"llvm","canary_seconds":0.001,"resolution":0.01,"unprotected":"u"}
{"type":"file","name":"n","first":false,"data":"Ynl0ZXM="}
{"type":"configure","protocol":10,"cache_bytes":268435456,"memory_bytes":2147483648,"far_weights":true,"calibrate":true,"batch_seconds":5e-05,"slice_seconds":0.002,"budget_seconds":0.015,"contender_budget_seconds":0.032,"contender_factor":1.05,"settled_noise":0.01,"worse_factor":1.15,"cutoff_factor":3.0,"settled_samples":8,"max_samples":500,"flush_bytes":0,"quiet_file":"","cuda":{"library":"libcuda.so.1","nvml":"libnvidia-ml.so.1","ordinal":0,"lock_folder":"/tmp"},"powercap":"/sys/class/powercap"}
{"type":"task","task":2,"workload":"dense(float32[4,16]MK,float32[32,16]NK)->float32","epilogue":"","target":"cuda -arch=sm_75"}
)");
}

}  // namespace
}  // namespace tilewright::measure
