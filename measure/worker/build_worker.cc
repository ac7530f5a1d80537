#include <unistd.h>

#include <utility>

#include "measure/device/builders.h"
#include "measure/evaluate/inputs.h"
#include "measure/kernel_message.h"
#include "measure/messages.h"
#include "measure/worker/fault_hooks.h"
#include "measure/worker/worker_loop.h"
#include "measure/workers.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/codegen/assemble.h"
#include "src/codegen/codegen.h"
#include "src/runtime/abi.h"
#include "src/schedule/lower/lower.h"
#include "src/target/device.h"
#include "src/templates/registry.h"

namespace tilewright::measure {
namespace {

BuildResult BuildCandidate(const TemplateRegistry& templates, const BuildOrder& order) {
  const std::string& key = order.candidate.template_key;
  const TemplateEntry* entry = templates.Find(key);
  if (entry == nullptr)
    return InvalidCandidate(
        NotFound(TemplateUnavailableReason(templates, key, order.candidate.template_version)));
  BuildResult built = BuildFor(*entry, order);
  built.kernel.task = order.task;
  if (built.outcome != Outcome::kOk) return built;
  const auto artifact = ReadFile(built.kernel.artifact);
  // It was written just now: an unreadable file is a machine failure.
  if (!artifact.ok()) return BuildFailure(Unavailable(artifact.status().message()));
  built.kernel.artifact_name = ArtifactName(*artifact);
  return built;
}

BuildReply Build(const TemplateRegistry& templates, const BuildOrder& order) {
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  BuildResult built = BuildCandidate(templates, order);
  BuildReply reply;
  reply.ticket = order.ticket;
  reply.outcome = built.outcome;
  reply.reason = std::move(built.reason);
  reply.fault_domain = built.fault_domain;
  reply.kernel = std::move(built.kernel);
  reply.seconds = clock.MonotonicSeconds() - start;
  return reply;
}

/// fault_domain: set to kMachine if the results exist and cannot be stored.
Status PrepareReference(const std::string& path, const TaskInfo& task, FaultDomain& fault_domain) {
  if (ReadExpected(path, task.workload, task.epilogue).ok()) return {};
  TW_ASSIGN_OR_RETURN(auto expected, EvaluateExpected(task.workload, task.epilogue, /*threads=*/1));
  TW_ASSIGN_OR_RETURN(const auto fresh,
                      MakeFreshCheck(task.workload, task.epilogue, /*threads=*/1));
  const Status written = WriteExpected(path, task.workload, task.epilogue, expected, &fresh);
  if (!written.ok()) fault_domain = FaultDomain::kMachine;
  return written;
}

BuildReply Prepare(const ReferenceOrder& order, const TaskInfo& task) {
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  BuildReply reply;
  const Status status = PrepareReference(order.path, task, reply.fault_domain);
  reply.reference = order.path;
  reply.outcome = status.ok() ? Outcome::kOk : Outcome::kRunFailed;
  reply.reason = status.message();
  reply.seconds = clock.MonotonicSeconds() - start;
  return reply;
}

/// Shared object like a candidate's, with a kernel that does nothing.
Status BuildProbe(const ProbeOrder& order) {
  TW_ASSIGN_OR_RETURN(auto target, Target::Parse(order.target));
  if (!DeviceTraitsOf(target).machine_code) return WriteFile(order.path, "a probe\n");
  // Reserves disk space for a candidate: the linker writes through mapped memory, and a signal
  // kills it if the disk is full.
  constexpr std::size_t kRoomBytes = std::size_t{1} << 20;
  TW_RETURN_IF_ERROR(WriteFile(order.path, std::string(kRoomBytes, 'x')));
  const std::string symbol = kProbeSymbol;
  TW_ASSIGN_OR_RETURN(auto object,
                      AssembleIr("@" + symbol + "_info = constant { i32, i32, i64, i64 } { i32 " +
                                     std::to_string(TW_ABI_VERSION) +
                                     ", i32 0, i64 0, i64 0 }\n"
                                     "define i32 @" +
                                     symbol + "(ptr %a, ptr %w, ptr %p) {\n  ret i32 0\n}\n",
                                 target));
  return LinkShared({object}, {}, order.path);
}

}  // namespace

int BuildWorkerMain(const TemplateRegistry& templates, int in_fd, int out_fd) {
  const WorkerPipes pipes = TakePipes(in_fd, out_fd);
  TaskTable tasks;
  return ServeMessages(pipes, [&](const Json& message) -> Status {
    if (MessageType(message) == "task") return ReceiveTask(message, tasks);
    if (MessageType(message) == "prepare") {
      TW_ASSIGN_OR_RETURN(auto order, ReferenceOrderFrom(message));
      const TaskInfo* task = tasks.Find(order.task);
      if (task == nullptr) return Corrupt("message: a reference for an unknown task");
      return SendMessage(pipes, ToJson(Prepare(order, *task)));
    }
    if (MessageType(message) == "probe") {
      TW_ASSIGN_OR_RETURN(auto order, ProbeOrderFrom(message));
      return SendMessage(pipes, ToJson(ProbeReply{BuildProbe(order).message()}));
    }
    if (MessageType(message) == "build") {
      TW_ASSIGN_OR_RETURN(auto order, BuildOrderFrom(message, tasks));
      InjectBuilderFault(order.fault.builder, pipes.out);
      return SendMessage(pipes, ToJson(Build(templates, order)));
    }
    return Corrupt("message: unknown type '" + MessageType(message) + "'");
  });
}

}  // namespace tilewright::measure
