// Runners, local or remote. Each one is configured, sends its handshake, receives the files of its
// orders if it is remote, and runs one candidate or a race at a time. A lost runner is reconnected
// until the pool gives it up and the others continue.

#include "measure/supervisor/runner_pool.h"

#include <algorithm>
#include <utility>

namespace tilewright::measure {
namespace {

constexpr double kCalibrationLimitSeconds = 60;
/// In addition to the runner's own limits: only a hanging runner exceeds it.
constexpr double kRunnerGraceSeconds = 60;
/// Time limit for an idle runner on another machine to clean up and end.
constexpr double kGoodbyeSeconds = 5;
/// First pause before a lost runner on another machine is reconnected. Each further pause is twice
/// as long, up to reconnect_backoff_seconds.
constexpr double kReconnectSeconds = 0.1;
/// Best value in an order that needs no verification: no candidate can be better.
constexpr double kBetterThanAll = 1e-300;

}  // namespace

RunnerPool::RunnerPool(const PoolContext& context,
                       std::vector<std::unique_ptr<Transport>> transports,
                       const DeviceFingerprint& device)
    : WorkerPool(context, std::move(transports), /*builds=*/false),
      runners_(workers_.size()),
      device_(device.ToString()) {
  for (Runner& runner : runners_) runner.connected_at = context.clock.MonotonicSeconds();
}

bool RunnerPool::DispatchTo(Worker& worker) {
  if (StateOf(worker).given_up) return false;
  if (!worker.connected()) {
    Configure(worker);
    return true;
  }
  if (DispatchProbe(worker)) return true;
  if (context_.health.halted()) return false;
  if (worker.busy() && StateOf(worker).alone)
    return false;  // nor do other tasks run in parallel there
  return DispatchRace(worker) || DispatchRun(worker);
}

void RunnerPool::Configure(Worker& worker) {
  Runner& runner = StateOf(worker);
  if (runner.handshake_done)
    runner.connected_at = context_.clock.MonotonicSeconds();  // it ended as announced
  runner.handshake_done = runner.ends = runner.alone = false;
  runner.capacity = 1;
  runner.files.Forget();
  Send(worker, {ToJson(context_.settings.runner), kCalibrationLimitSeconds});
}

RunOrder::Item RunnerPool::ItemOf(JobId id) const {
  const Job& job = context_.jobs.At(id);
  const Reference& reference = context_.jobs.reference(job.task);
  RunOrder::Item item;
  item.ticket = id;
  item.kernel = job.kernel;
  item.best_seconds = job.request.best_seconds;
  item.known_seconds = job.known_seconds;
  item.anchor = job.anchor;
  item.fault = job.fault;
  if (job.request.unverified && !job.racing) {
    item.best_seconds = kBetterThanAll;
    return item;
  }
  item.reference = reference.path;
  // Of what was submitted before it, some has been measured since.
  if (reference.best > 0 && !job.racing) {
    item.best_seconds =
        item.best_seconds > 0 ? std::min(item.best_seconds, reference.best) : reference.best;
  }
  return item;
}

double RunnerPool::LimitOf(const Job& job) const {
  if (job.trial.metric != "seconds") return kRunnerGraceSeconds;  // nor is its best
  return 20 * CallLimitSeconds(job.request.best_seconds) + kRunnerGraceSeconds;
}

/// Additional sampling time of a candidate while the next one is not built yet: a part of the
/// average build, spent on more samples instead of waiting.
double RunnerPool::MinSamplingSeconds() const {
  const JobTable& jobs = context_.jobs;
  // The opportunistic builder on its core builds instead.
  const ProcessMeasurerSettings& settings = context_.settings;
  if (settings.opportunistic_builder && jobs.BuildersAreBottleneck(settings.builders - 1)) return 0;
  if (jobs.waiting_to_run() > 0 || jobs.waiting_to_build() == 0) return 0;
  const double next_seconds = 0.7 * jobs.build_seconds() / context_.settings.builders;
  return std::min(next_seconds, context_.settings.runner.sampling.budget_seconds);
}

bool RunnerPool::DispatchRace(Worker& worker) {
  if (worker.busy()) return false;
  const std::vector<JobId> racers = context_.jobs.TakeRace();
  if (racers.empty()) return false;
  const RaceSettings& terms = context_.jobs.race_settings();
  RunOrder order;
  order.race_seconds = terms.seconds;
  order.wait_seconds = terms.wait_seconds;
  double limit = kRunnerGraceSeconds + terms.seconds + terms.wait_seconds;
  for (const JobId id : racers) {
    limit += LimitOf(context_.jobs.At(id));
    order.items.push_back(ItemOf(id));
  }
  StateOf(worker).alone = true;
  SendRun(worker, std::move(order), limit);
  return true;
}

bool RunnerPool::DispatchRun(Worker& worker) {
  const auto id = context_.jobs.TakeToRun();
  if (!id) return false;
  RunOrder::Item item = ItemOf(*id);
  item.min_sampling_seconds = MinSamplingSeconds();
  Runner& runner = StateOf(worker);
  // The energy of builders would be included, too; a GPU's energy is its own.
  const bool counted = context_.settings.runner.joules && item.kernel.launches.empty();
  runner.alone = item.kernel.threads > 1 || counted || (runner.alone && worker.busy());
  SendRun(worker, RunOrder{{std::move(item)}}, LimitOf(context_.jobs.At(*id)));
  return true;
}

void RunnerPool::SendRun(Worker& worker, RunOrder order, double limit_seconds) {
  Order sent;
  sent.limit_seconds = limit_seconds;
  for (const RunOrder::Item& item : order.items) {
    sent.jobs.push_back(item.ticket);
    sent.tasks.push_back(item.kernel.task);
  }
  if (context_.settings.remote) {
    auto files = StateOf(worker).files.EncodeMissingFiles(order);
    if (!files.ok()) return FailToSend(worker, sent, files.status());
    sent.files = *std::move(files);
  }
  sent.message = ToJson(order);
  Send(worker, sent);
}

/// Local files have disappeared: this is not the candidates' failure.
void RunnerPool::FailToSend(Worker& worker, const Order& order, const Status& why) {
  StateOf(worker).files.Forget();
  StateOf(worker).alone = false;
  for (const std::uint64_t task : order.tasks) {
    context_.jobs.reference(task).state = ReferenceState::kNeeded;
  }
  for (const JobId id : order.jobs) {
    context_.jobs.MarkUndiagnosed(id, {Outcome::kRunFailed, why.message(), FaultDomain::kMachine});
  }
}

Status RunnerPool::Handle(Worker& worker, const std::string& type, const Json& message) {
  if (type == "ready" && !StateOf(worker).handshake_done) return HandleHandshake(worker, message);
  if (type != "ran") return Corrupt("unexpected type '" + type + "'");
  TW_ASSIGN_OR_RETURN(auto reply, RunReplyFrom(message));
  return HandleRunReply(worker, reply);
}

Status RunnerPool::HandleHandshake(Worker& worker, const Json& message) {
  TW_ASSIGN_OR_RETURN(auto handshake, RunnerHandshakeFrom(message));
  const ProcessMeasurerSettings& settings = context_.settings;
  if (settings.remote && handshake.device != device_) {
    return Corrupt("another device answered: " + handshake.device);
  }
  StateOf(worker).handshake_done = true;
  (void)worker.Answered();
  if (!handshake.unprotected.empty() && !std::exchange(unprotected_reported_, true) &&
      settings.on_unprotected) {
    settings.on_unprotected(OneLine(handshake.unprotected));
  }
  if (!handshake_) handshake_ = std::move(handshake);
  return {};
}

Status RunnerPool::HandleRunReply(Worker& worker, const RunReply& reply) {
  if (context_.settings.remote && reply.device != device_) {
    return Corrupt("another device answered: " + reply.device);
  }
  if (reply.ticket == Worker::kNoJob || !worker.Answered(reply.ticket)) {
    return Corrupt("a result of candidate " + std::to_string(reply.ticket) +
                   ", which it does not have");
  }
  Runner& runner = StateOf(worker);
  worker.failures = 0;
  if (!worker.busy()) runner.alone = false;
  // Files that the machine there has lost are resent.
  if (reply.fault_domain == FaultDomain::kMachine) runner.files.Forget();
  runner.reconnect_seconds = 0;
  runner.capacity = static_cast<std::size_t>(std::max(1, reply.capacity));
  runner.ends = runner.ends || reply.runner_ends;
  timing_seconds_ += reply.timing_seconds;
  for (const double seconds : reply.probe_times) {
    interference_filter_.Add(context_.clock.MonotonicSeconds(), seconds);
  }
  if (context_.jobs.Contains(reply.ticket)) context_.jobs.CompleteRun(reply);
  if (!worker.busy() && runner.ends) (void)worker.End(/*at_once=*/false);
  return {};
}

void RunnerPool::HandleLoss(Worker& worker, const WorkerLoss& loss) {
  Runner& runner = StateOf(worker);
  const bool connected = std::exchange(runner.handshake_done, false);
  if (connected) runner.connected_at = context_.clock.MonotonicSeconds();
  LoseJobs(worker, loss);
  if (!context_.settings.remote) return ScheduleRestart(worker, loss.why);
  // Calls that get no connection are counted by their time.
  const auto failing = connected ? TooManyFailures(worker, loss.why) : std::nullopt;
  if (failing) return GiveUp(worker, *failing);
  ScheduleReconnect(worker, loss.why);
}

void RunnerPool::LoseJobs(Worker& worker, const WorkerLoss& loss) {
  JobTable& jobs = context_.jobs;
  const std::string reason =
      loss.timed_out ? "the runner did not answer in time" : "the runner was lost: " + loss.why;
  const Outcome outcome = loss.timed_out ? Outcome::kRunTimeout : Outcome::kDeviceLost;
  const auto races = [&jobs](JobId id) { return jobs.Contains(id) && jobs.At(id).racing; };
  const bool raced = std::ranges::any_of(loss.jobs, races);
  const bool moves = raced && !loss.timed_out && HasOtherRunners(worker) && jobs.RequeueRace();
  for (const JobId id : loss.jobs) {
    if (!jobs.Contains(id) || (moves && races(id))) continue;
    if (loss.timed_out || context_.settings.remote || races(id)) {
      jobs.Finish(id, outcome, reason);
    } else {
      jobs.MarkUndiagnosed(id, {outcome, reason, FaultDomain::kUndetermined});
    }
  }
}

void RunnerPool::ScheduleReconnect(Worker& worker, const std::string& why) {
  const ProcessMeasurerSettings& settings = context_.settings;
  const double now = context_.clock.MonotonicSeconds();
  Runner& runner = StateOf(worker);
  if (now - runner.connected_at > settings.reconnect_limit_seconds) {
    return GiveUp(worker, "no connection to the runner any more; the last try: " + why);
  }
  runner.reconnect_seconds = std::min(std::max(2 * runner.reconnect_seconds, kReconnectSeconds),
                                      settings.reconnect_backoff_seconds);
  worker.ready_after = now + runner.reconnect_seconds;
  if (settings.on_lost) settings.on_lost(why, runner.reconnect_seconds);
}

bool RunnerPool::HasOtherRunners(const Worker& worker) const {
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    if (i != worker.index() && !runners_[i].given_up) return true;
  }
  return false;
}

void RunnerPool::GiveUp(Worker& worker, const std::string& why) {
  StateOf(worker).given_up = true;
  if (!HasOtherRunners(worker)) return context_.jobs.GiveUp(Unavailable(why));
  if (context_.settings.on_lost) context_.settings.on_lost(why, kNoReconnect);
}

bool RunnerPool::blocks_builders() const {
  if (context_.settings.remote) return false;  // builders do not disturb a remote runner
  return std::ranges::any_of(workers_, [this](const Worker& worker) {
    return worker.busy() && runners_[worker.index()].alone;
  });
}

bool RunnerPool::IsBusy(bool handshake_done) const {
  return std::ranges::any_of(workers_, [&](const Worker& worker) {
    return worker.busy() && runners_[worker.index()].handshake_done == handshake_done;
  });
}

void RunnerPool::RequestShutdown() {
  for (Worker& worker : workers_) {
    if (!worker.busy()) worker.transport().RequestShutdown(kGoodbyeSeconds);
  }
}

}  // namespace tilewright::measure
