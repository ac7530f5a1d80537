#include "measure/supervisor/build_pool.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "measure/device/builders.h"
#include "measure/evaluate/inputs.h"
#include "src/target/device.h"

namespace tilewright::measure {
namespace {

/// Maximum total pause of the opportunistic builder, whatever waits for the runner.
constexpr double kMaxStillSeconds = 2;

std::string TookMoreThan(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "took more than %.3g s", seconds);
  return text;
}

/// Kernel in the workload's own layouts, for artifacts of tests.
Result<KernelSpec> PlainKernel(const Candidate& candidate, const Fault& fault) {
  const Workload& workload = candidate.task.workload;
  KernelSpec kernel = KernelOf(candidate);
  kernel.artifact = fault.artifact;
  kernel.symbol = fault.symbol;
  const DeviceTraits& device = DeviceTraitsOf(kernel.target);
  if (!device.loops) return kernel;
  if (device.launches_grids) kernel.launches = {{fault.symbol, {1, 1, 1}, {1, 1, 1}}};
  TW_ASSIGN_OR_RETURN(auto inputs,
                      MakeAnchorInputs(workload, candidate.epilogue, InputSet::kZeroPoint));
  TW_ASSIGN_OR_RETURN(auto result, ResultType(workload, candidate.epilogue));
  std::vector<TensorType> types = {workload.data, workload.weight};
  for (const Tensor& operand : inputs.operands) types.push_back(operand.type());
  types.push_back(result);
  TW_ASSIGN_OR_RETURN(kernel.signature, SignatureOf(workload, candidate.epilogue, {}, types));
  return kernel;
}

}  // namespace

bool BuildPool::DispatchTo(Worker& worker) {
  // The opportunistic builder is paused, and a probed candidate waits.
  if (!IsReferenceBuilder(worker) && !IsOpportunistic(worker) && DispatchProbe(worker)) return true;
  if (context_.health.halted()) return false;
  return IsReferenceBuilder(worker) ? DispatchReference(worker) : DispatchBuild(worker);
}

bool BuildPool::DispatchReference(Worker& worker) {
  const auto task = context_.jobs.TakeReference();
  if (!task) return false;
  const TaskInfo& info = *context_.jobs.tasks().Find(*task);
  const std::string& kept = context_.settings.reference_folder;
  Reference& reference = context_.jobs.reference(*task);
  reference.path = (kept.empty() ? context_.health.folder() : kept) + "/" +
                   ExpectedFileName(info.workload.Key(), info.epilogue.ToString());
  reference_ = *task;
  Send(worker, {.message = ToJson(ReferenceOrder{*task, reference.path}),
                .limit_seconds = context_.settings.reference_limit_seconds,
                .tasks = {*task}});
  return true;
}

bool BuildPool::QueueIsFull() const {
  const auto building =
      std::ranges::count_if(workers_, [](const Worker& worker) { return !worker.jobs().empty(); });
  return context_.jobs.waiting_to_run() + static_cast<std::size_t>(building) >=
         static_cast<std::size_t>(context_.settings.queue_limit);
}

/// The runner may pause builds of the opportunistic builder repeatedly.
bool BuildPool::OpportunisticBuilderIsNeeded() const {
  const JobTable& jobs = context_.jobs;
  return jobs.waiting_to_run() == 0 && jobs.BuildersAreBottleneck(context_.settings.builders - 1);
}

bool BuildPool::DispatchBuild(Worker& worker) {
  JobTable& jobs = context_.jobs;
  if (QueueIsFull() || (IsOpportunistic(worker) && !OpportunisticBuilderIsNeeded())) return false;
  const auto id = jobs.TakeToBuild();
  if (!id) return false;
  const Job& job = jobs.At(*id);
  if (!job.fault.artifact.empty()) {
    auto kernel = PlainKernel(job.request.candidate, job.fault);
    if (!kernel.ok()) {
      jobs.Finish(*id, Outcome::kInvalid, kernel.status().message());
      return true;
    }
    kernel->task = job.task;
    jobs.MarkBuilt(*id, *std::move(kernel));
    return true;
  }
  if (worker.orders_since_start() >= context_.settings.builds_per_worker) (void)worker.End(true);
  BuildOrder order;
  order.ticket = *id;
  order.task = job.task;
  order.candidate = job.request.candidate;
  order.path = context_.health.folder() + "/candidate." + std::to_string(*id) + ".so";
  order.fault = job.fault;
  Send(worker, {ToJson(order), context_.settings.build_limit_seconds, {*id}, {job.task}});
  return true;
}

Status BuildPool::Handle(Worker& worker, const std::string& type, const Json& message) {
  if (type != "built") return Corrupt("unexpected type '" + type + "'");
  TW_ASSIGN_OR_RETURN(auto reply, BuildReplyFrom(message, context_.jobs.tasks()));
  return HandleBuilt(worker, std::move(reply));
}

Status BuildPool::HandleBuilt(Worker& worker, BuildReply reply) {
  const double still = worker.paused_seconds();
  if (worker.probing || !worker.Answered(reply.ticket)) {
    return Corrupt("a build of candidate " + std::to_string(reply.ticket) +
                   ", which it does not have");
  }
  worker.failures = 0;
  const bool built = reply.outcome == Outcome::kOk;
  if (IsReferenceBuilder(worker)) {
    EndReference(worker, built, reply.reason, reply.fault_domain == FaultDomain::kMachine);
    return {};
  }
  JobTable& jobs = context_.jobs;
  if (!jobs.Contains(reply.ticket)) return {};  // canceled: no caller waits for it
  jobs.RecordBuildSeconds(reply.ticket, std::max(0.0, reply.seconds - still));
  if (built) {
    jobs.MarkBuilt(reply.ticket, std::move(reply.kernel));
  } else if (reply.fault_domain == FaultDomain::kCandidate) {
    jobs.Finish(reply.ticket, reply.outcome, std::move(reply.reason));
  } else {
    jobs.MarkUndiagnosed(reply.ticket,
                         {reply.outcome, std::move(reply.reason), reply.fault_domain});
  }
  return {};
}

void BuildPool::EndReference(Worker& worker, bool made, const std::string& why, bool by_machine) {
  Reference& reference = context_.jobs.reference(reference_);
  if (!made && by_machine) {
    const std::string what = "no reference result: " + why;
    if (!context_.health.ShouldRetry(reference.tries++, what, worker.ready_after)) return;
    reference.state = ReferenceState::kNeeded;
    return;
  }
  reference.state = made ? ReferenceState::kReady : ReferenceState::kFailed;
  reference.reason = why;
}

void BuildPool::HandleLoss(Worker& worker, const WorkerLoss& loss) {
  const ProcessMeasurerSettings& settings = context_.settings;
  if (IsReferenceBuilder(worker) && loss.busy) {
    const std::string why =
        loss.timed_out ? TookMoreThan(settings.reference_limit_seconds) : loss.why;
    EndReference(worker, /*made=*/false, why, loss.by_system && !loss.timed_out);
  }
  for (const JobId id : loss.jobs) {
    if (!context_.jobs.Contains(id)) continue;
    if (loss.timed_out) {
      context_.jobs.Finish(id, Outcome::kBuildTimeout,
                           "compiling " + TookMoreThan(settings.build_limit_seconds));
    } else {
      context_.jobs.MarkUndiagnosed(
          id, {Outcome::kBuildFailed, "compiler crashed: " + loss.why,
               loss.by_system ? FaultDomain::kMachine : FaultDomain::kUndetermined});
    }
  }
  ScheduleRestart(worker, loss.why);
}

void BuildPool::EndCancelled() {
  for (Worker& worker : workers_) {
    const auto jobs = worker.jobs();
    const bool dropped =
        std::ranges::any_of(jobs, [this](JobId id) { return !context_.jobs.Contains(id); });
    if (dropped) (void)worker.End(/*at_once=*/true);
  }
}

void BuildPool::Pause(bool all, bool opportunistic_builder) {
  for (Worker& worker : workers_)
    worker.Pause(all || (opportunistic_builder && IsOpportunistic(worker)));
}

bool BuildPool::OpportunisticBuilderIsStarved() const {
  return std::ranges::any_of(workers_, [this](const Worker& worker) {
    return IsOpportunistic(worker) && worker.paused_seconds() > kMaxStillSeconds;
  });
}

bool BuildPool::working() const {
  return std::ranges::any_of(
      workers_, [](const Worker& worker) { return worker.busy() && !worker.paused(); });
}

}  // namespace tilewright::measure
