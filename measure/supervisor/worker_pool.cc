#include "measure/supervisor/worker_pool.h"

#include <algorithm>
#include <utility>

namespace tilewright::measure {
namespace {

/// Delay before a failed worker restarts, in case it fails at every start.
constexpr double kRestartSeconds = 0.05;
/// Maximum failures of a worker without a success between them: then it cannot work here.
constexpr int kMaxFailures = 20;
constexpr double kProbeLimitSeconds = 20;

}  // namespace

WorkerPool::WorkerPool(const PoolContext& context,
                       std::vector<std::unique_ptr<Transport>> transports, bool builds)
    : context_(context), builds_(builds) {
  for (auto& transport : transports) {
    workers_.emplace_back(std::move(transport), context.clock, workers_.size());
  }
}

void WorkerPool::Dispatch() {
  const auto free = [this](const Worker& worker) {
    return context_.jobs.broken().ok() && worker.orders() < CapacityOf(worker) &&
           worker.ready_after <= context_.clock.MonotonicSeconds();
  };
  for (Worker& worker : workers_) {
    while (free(worker) && DispatchTo(worker)) continue;
  }
}

void WorkerPool::Send(Worker& worker, const Order& order) {
  const Status sent = worker.Send(order, context_.jobs.tasks());
  if (!sent.ok()) Lose(worker, sent.message(), /*timed_out=*/false);
}

bool WorkerPool::DispatchProbe(Worker& worker) {
  MachineHealth& health = context_.health;
  if (!health.NeedsProbe(builds_)) return false;
  if (context_.clock.MonotonicSeconds() < health.probe_after()) {
    worker.ready_after = health.probe_after();  // so that it is woken for it
    return true;
  }
  worker.probing = true;
  Send(worker, {ToJson(health.TakeProbe()), kProbeLimitSeconds});
  return true;
}

void WorkerPool::HandleInput(Worker& worker) {
  const auto open = worker.transport().Receive();
  while (const auto line = worker.transport().Next()) {
    const Status handled = HandleLine(worker, *line);
    if (handled.ok()) continue;
    return Lose(worker, "sent something that is not a message: " + handled.message(), false);
  }
  if (!worker.connected()) return;  // its message ended it
  if (!open.ok()) {
    Lose(worker, open.status().message(), /*timed_out=*/false);
  } else if (!*open) {
    Lose(worker, {}, /*timed_out=*/false);
  }
}

Status WorkerPool::HandleLine(Worker& worker, const std::string& line) {
  TW_ASSIGN_OR_RETURN(const auto json, ParseJson(line));
  const std::string type = MessageType(json);
  if (type != "probed" || !worker.probing) return Handle(worker, type, json);
  TW_ASSIGN_OR_RETURN(auto reply, ProbeReplyFrom(json));
  worker.probing = false;
  (void)worker.Answered();
  context_.health.HandleProbeReply(reply, builds_);
  return {};
}

void WorkerPool::CheckDeadlines() {
  for (Worker& worker : workers_) {
    if (worker.IsOverdue()) Lose(worker, {}, /*timed_out=*/true);
  }
}

void WorkerPool::Lose(Worker& worker, const std::string& why, bool timed_out) {
  WorkerLoss loss;
  loss.timed_out = timed_out;
  loss.busy = worker.busy();
  loss.jobs = worker.jobs();
  const bool started = worker.connected();
  // The pool itself ends a worker that sends invalid data or hangs: its exit status is no
  // information.
  const std::string ended = worker.End(timed_out || !why.empty());
  loss.why = OneLine(why.empty() ? ended : why);
  // No function of a worker ends in SIGKILL: another process sent it.
  loss.by_system = !started || (why.empty() && ended.find("SIGKILL") != std::string::npos);
  if (std::exchange(worker.probing, false)) {
    context_.health.ProbeFailed(timed_out ? "a probe took more than its time" : loss.why);
  }
  if (context_.jobs.broken().ok()) HandleLoss(worker, loss);
}

std::optional<std::string> WorkerPool::TooManyFailures(Worker& worker, const std::string& why) {
  if (++worker.failures < kMaxFailures) return std::nullopt;
  return "workers fail again and again; the last one: " + why;
}

void WorkerPool::ScheduleRestart(Worker& worker, const std::string& why) const {
  if (const auto failing = TooManyFailures(worker, why)) return context_.health.Stop(*failing);
  const double now = context_.clock.MonotonicSeconds();
  worker.ready_after = std::max(worker.ready_after, now + kRestartSeconds);
}

}  // namespace tilewright::measure
