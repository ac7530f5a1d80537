// The second half of the supervisor's loop (supervisor.cc): what workers answer, what becomes of
// the candidate a worker was lost with, and how jobs end.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "measure/supervisor/supervisor.h"

namespace tilewright::measure {
namespace {

/// A worker that failed is not started again at once, in case it fails at every start.
constexpr double kRestartSeconds = 0.05;
/// A runner on another machine is called again after this, then after twice that, and so on up to
/// reconnect_pause_seconds.
constexpr double kReconnectSeconds = 0.1;
/// So many failures of a worker without a success between them: it cannot work here.
constexpr int kMaxFailures = 20;

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string LimitText(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g s", seconds);
  return text;
}

}  // namespace

void Supervisor::Wait() {
  const double now = clock_.MonotonicSeconds();
  double wait_seconds = 60;
  std::vector<pollfd> watched = {{wake_fd_, POLLIN, 0}};
  std::vector<Worker*> owners = {nullptr};
  for (Worker& worker : workers_) {
    if (worker.ready_after > now) wait_seconds = std::min(wait_seconds, worker.ready_after - now);
    if (!worker.process.started()) continue;
    if (worker.process.busy() && !worker.process.paused()) {
      wait_seconds = std::min(wait_seconds, worker.process.deadline() - now);
    }
    for (int fd : {worker.process.output(), worker.process.error()}) {
      watched.push_back({fd, POLLIN, 0});
      owners.push_back(&worker);
    }
  }
  const auto milliseconds = static_cast<int>(std::ceil(std::max(wait_seconds, 0.0) * 1e3));
  if (::poll(watched.data(), watched.size(), milliseconds) <= 0) return;
  if (watched[0].revents != 0) {
    std::uint64_t count = 0;
    (void)!::read(wake_fd_, &count, sizeof(count));
  }
  for (std::size_t i = 1; i < watched.size(); ++i) {
    if (watched[i].revents != 0 && owners[i]->process.started()) HearFrom(*owners[i]);
  }
}

void Supervisor::HearFrom(Worker& worker) {
  auto open = worker.process.Read();
  while (const auto line = worker.process.Next()) {
    const Status handled = HandleLine(worker, *line);
    if (!handled.ok()) {
      Lose(worker, "sent something that is no message: " + handled.message(), false);
      return;
    }
  }
  if (!open.ok()) {
    Lose(worker, open.status().message(), /*timed_out=*/false);
  } else if (!*open) {
    Lose(worker, {}, /*timed_out=*/false);
  }
}

Status Supervisor::HandleLine(Worker& worker, const std::string& line) {
  auto json = ParseJson(line);
  TW_RETURN_IF_ERROR(json);
  const std::string type = MessageType(*json);
  if (type == "ready" && worker.role == Role::kRun && !worker.runner.greeted) {
    return HandleGreeting(worker, *json);
  }
  if (type == "built" && worker.role != Role::kRun) {
    auto reply = BuildReplyFrom(*json, tasks_);
    TW_RETURN_IF_ERROR(reply);
    HandleBuilt(worker, *std::move(reply));
    return {};
  }
  if (type == "probed" && worker.probing) {
    auto reply = ProbeReplyFrom(*json);
    TW_RETURN_IF_ERROR(reply);
    HandleProbed(worker, *reply);
    return {};
  }
  if (type == "ran" && worker.role == Role::kRun) {
    auto reply = RunReplyFrom(*json);
    TW_RETURN_IF_ERROR(reply);
    return HandleRan(worker, *reply);
  }
  return Corrupt("unexpected type '" + type + "'");
}

Status Supervisor::HandleGreeting(Worker& worker, const Json& json) {
  auto greeting = GreetingFrom(json);
  TW_RETURN_IF_ERROR(greeting);
  if (settings_.remote && greeting->device != device_.ToString()) {
    return Corrupt("another device answered: " + greeting->device);
  }
  worker.runner.greeted = true;
  worker.process.SetIdle();
  if (!greeting->unprotected.empty() && !std::exchange(unprotected_said_, true) &&
      settings_.on_unprotected) {
    settings_.on_unprotected(OneLine(greeting->unprotected));
  }
  const std::lock_guard lock(mailbox_.mutex);
  if (!mailbox_.greeting) mailbox_.greeting = *greeting;
  mailbox_.changed.notify_all();
  return {};
}

void Supervisor::HandleBuilt(Worker& worker, BuildReply reply) {
  worker.failures = 0;
  if (worker.role == Role::kReference) {
    Reference& reference = references_.at(worker.reference);
    worker.process.SetIdle();
    if (reply.outcome != Outcome::kOk && reply.blame == Blame::kMachine) {
      return RetryReference(worker, reference, OneLine(reply.reason));
    }
    reference.state =
        reply.outcome == Outcome::kOk ? ReferenceState::kReady : ReferenceState::kFailed;
    reference.reason = OneLine(reply.reason);
    return;
  }
  if (!worker.job || *worker.job != reply.ticket) return;  // late, of an order given up
  const std::uint64_t id = *worker.job;
  worker.job.reset();
  worker.process.SetIdle();
  Job& job = jobs_.at(id);
  job.trial.build_seconds = reply.seconds;
  build_seconds_ += 0.2 * (reply.seconds - build_seconds_);
  if (reply.outcome != Outcome::kOk && reply.blame != Blame::kCandidate) {
    return Suspected({id, reply.outcome, OneLine(reply.reason), reply.blame});
  }
  if (reply.outcome != Outcome::kOk) return Finish(id, reply.outcome, OneLine(reply.reason));
  job.kernel = std::move(reply.kernel);
  if (job.racing) {
    --race_waiting_;
  } else {
    to_run_.push_back(id);
  }
}

Status Supervisor::HandleRan(Worker& worker, const RunReply& reply) {
  const bool raced = worker.runner.racing && std::ranges::count(racing_, reply.ticket) != 0;
  if (!raced && worker.job != reply.ticket) {
    return Corrupt("a result of candidate " + std::to_string(reply.ticket) +
                   ", which it does not have");
  }
  if (settings_.remote && reply.device != device_.ToString()) {
    return Corrupt("another device answered: " + reply.device);
  }
  worker.failures = 0;
  worker.runner.reconnect_seconds = 0;
  const auto found = jobs_.find(reply.ticket);
  if (found == jobs_.end()) return {};
  Job& job = found->second;
  Trial& trial = job.trial;
  trial.samples = reply.samples;
  trial.verified = reply.verified;
  trial.max_abs_error = reply.max_abs_error;
  trial.run_seconds = reply.run_seconds;
  if (reply.outcome == Outcome::kOk) {
    trial.value = reply.value;
    trial.noise = reply.noise;
    trial.quiet_share = reply.quiet_share;
    double& best = references_.at(job.task).best;
    if (reply.verified && (best == 0 || reply.value < best)) best = reply.value;
  }
  {
    const std::lock_guard lock(mailbox_.mutex);
    mailbox_.ledger.AddTiming(reply.timing_seconds);
  }
  const bool racing = job.racing;
  worker.ends = worker.ends || reply.runner_ends;
  if (!racing) {
    worker.job.reset();
    Release(worker);
  }
  if (reply.outcome != Outcome::kOk && reply.blame != Blame::kCandidate) {
    // It may be what cannot be read any more.
    if (reply.blame == Blame::kMachine) {
      references_.at(job.task).state = ReferenceState::kWanted;
    }
    Suspected({reply.ticket, reply.outcome, OneLine(reply.reason), reply.blame});
  } else {
    Finish(reply.ticket, reply.outcome, OneLine(reply.reason));
  }
  if (!racing) return {};
  const bool over = std::none_of(racing_.begin(), racing_.end(),
                                 [&](std::uint64_t id) { return jobs_.contains(id); });
  if (!over) return {};
  Release(worker);
  FinishRace();
  return {};
}

void Supervisor::Release(Worker& worker) {
  worker.process.SetIdle();
  PauseBuilders(false);
  if (!std::exchange(worker.ends, false)) return;
  (void)worker.process.End(/*at_once=*/false);
  worker.runner.greeted = false;
}

void Supervisor::CheckDeadlines() {
  const double now = clock_.MonotonicSeconds();
  for (Worker& worker : workers_) {
    if (worker.process.IsOverdue(now)) Lose(worker, {}, /*timed_out=*/true);
  }
}

void Supervisor::Lose(Worker& worker, const std::string& why, bool timed_out) {
  const bool started = worker.process.started();
  // A worker that talks nonsense or hangs is ended by us: how is then no news.
  const std::string ended = worker.process.End(timed_out || !why.empty());
  const std::string text = why.empty() ? ended : why;
  const bool connected = worker.role != Role::kRun || !settings_.remote || worker.runner.greeted;
  if (std::exchange(worker.probing, false)) {
    ProbeFailed(timed_out ? "a probe took more than its time" : OneLine(text));
  }
  if (broken_) return;
  if (worker.role == Role::kRun) {
    LoseRun(worker, text, timed_out);
  } else {
    // Nothing that a builder does ends in SIGKILL: somebody else sent it.
    const bool killed = why.empty() && ended.find("SIGKILL") != std::string::npos;
    LoseBuild(worker, text, timed_out, !started || killed);
  }
  if (connected && ++worker.failures >= kMaxFailures) {
    const std::string failing = "workers fail again and again; the last one: " + text;
    return settings_.remote ? GiveUpRunner(worker, failing) : StopForMachine(failing);
  }
  CallAgain(worker, text);
}

void Supervisor::CallAgain(Worker& worker, const std::string& why) {
  const double now = clock_.MonotonicSeconds();
  if (!settings_.remote || worker.role != Role::kRun) {
    worker.ready_after = std::max(worker.ready_after, now + kRestartSeconds);
    return;
  }
  RunnerState& runner = worker.runner;
  if (now - runner.connected_at > settings_.reconnect_limit_seconds) {
    return GiveUpRunner(worker, "no connection to the runner any more; the last try: " + why);
  }
  runner.reconnect_seconds = std::min(std::max(2 * runner.reconnect_seconds, kReconnectSeconds),
                                      settings_.reconnect_pause_seconds);
  worker.ready_after = now + runner.reconnect_seconds;
  if (settings_.on_lost) settings_.on_lost(OneLine(why), runner.reconnect_seconds);
}

void Supervisor::GiveUpRunner(Worker& worker, const std::string& why) {
  worker.runner.given_up = true;
  const bool others = std::ranges::any_of(workers_, [](const Worker& other) {
    return other.role == Role::kRun && !other.runner.given_up;
  });
  if (!others) return GiveUp(Unavailable(why));
  if (settings_.on_lost) settings_.on_lost(OneLine(why), kNeverAgain);
}

void Supervisor::LoseBuild(Worker& worker, const std::string& why, bool timed_out, bool by_system) {
  if (worker.role == Role::kReference) {
    const auto found = references_.find(worker.reference);
    if (found == references_.end() || found->second.state != ReferenceState::kUnderWay) return;
    if (by_system && !timed_out) return RetryReference(worker, found->second, OneLine(why));
    found->second.state = ReferenceState::kFailed;
    found->second.reason =
        timed_out ? "took more than " + LimitText(settings_.prepare_limit_seconds) : why;
    return;
  }
  if (!worker.job) return;
  const std::uint64_t id = *std::exchange(worker.job, std::nullopt);
  if (timed_out) {
    Finish(id, Outcome::kBuildTimeout, "compiling took more than " + LimitText(BuildLimit()));
  } else {
    Suspected({id, Outcome::kBuildFailed, OneLine("compiler crashed: " + why),
               by_system ? Blame::kMachine : Blame::kUnclear});
  }
}

void Supervisor::LoseRun(Worker& worker, const std::string& why, bool timed_out) {
  if (worker.runner.greeted) worker.runner.connected_at = clock_.MonotonicSeconds();
  worker.runner.greeted = false;
  PauseBuilders(false);
  const std::string reason =
      timed_out ? "the runner did not answer in time" : OneLine("the runner was lost: " + why);
  const Outcome outcome = timed_out ? Outcome::kRunTimeout : Outcome::kDeviceLost;
  if (worker.runner.racing) {
    for (std::uint64_t id : std::vector<std::uint64_t>(racing_)) {
      if (jobs_.contains(id)) Finish(id, outcome, reason);
    }
    FinishRace();
  }
  if (!worker.job) return;
  const std::uint64_t id = *std::exchange(worker.job, std::nullopt);
  if (timed_out || settings_.remote) return Finish(id, outcome, reason);
  Suspected({id, outcome, reason, Blame::kUnclear});
}

void Supervisor::Finish(std::uint64_t id, Outcome outcome, std::string reason) {
  auto node = jobs_.extract(id);
  Job& job = node.mapped();
  Trial& trial = job.trial;
  trial.outcome = outcome;
  trial.reason = std::move(reason);
  trial.verified = trial.verified && outcome == Outcome::kOk;
  trial.finished_unix_seconds = clock_.UnixSeconds();
  KeepKernel(job);
  if (!job.kernel.artifact.empty() && job.fault.artifact.empty()) {
    ::unlink(job.kernel.artifact.c_str());
  }
  if (job.racing) {
    const auto place = std::find(racing_.begin(), racing_.end(), id) - racing_.begin();
    race_trials_[static_cast<std::size_t>(place)] = std::move(trial);
    if (job.kernel.artifact.empty()) --race_waiting_;  // it ended before it was built
    return;
  }
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.finished.push_back({job.request.ticket, std::move(trial)});
  mailbox_.changed.notify_all();
}

void Supervisor::KeepKernel(Job& job) {
  const bool ok = job.trial.outcome == Outcome::kOk && job.trial.verified;
  if (!ok || job.racing || !job.fault.artifact.empty()) return;
  // Finalists are the fastest ones.
  constexpr double kMayRace = 1.25;
  if (job.trial.value > kMayRace * references_.at(job.task).best) return;
  const std::string kept = kept_.Keep(job.task, job.request.candidate, job.kernel);
  if (kept == job.kernel.artifact) job.kernel = KernelSpec();
}

void Supervisor::FinishRace() {
  racing_.clear();
  race_running_ = false;
  for (Worker& worker : workers_) worker.runner.racing = false;
  race_waiting_ = 0;
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.race_result = std::move(race_trials_);
  race_trials_.clear();
  mailbox_.changed.notify_all();
}

void Supervisor::GiveUp(const Status& why) {
  broken_ = true;
  to_build_.clear();
  to_run_.clear();
  for (Worker& worker : workers_) worker.job.reset();
  while (!jobs_.empty()) Finish(jobs_.begin()->first, Outcome::kDeviceLost, why.message());
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.broken = why;
  mailbox_.changed.notify_all();
}

void Supervisor::UpdateLedger(double since) {
  bool running = false, building = false, preparing = false;
  std::vector<int> pids;
  for (const Worker& worker : workers_) {
    if (worker.process.started()) pids.push_back(worker.process.pid());
    if (!worker.process.busy()) continue;
    if (worker.role == Role::kRun) {
      (worker.runner.greeted ? running : preparing) = true;
    } else if (!worker.process.paused()) {
      building = true;
    }
  }
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.ledger.Set(since, running, building, preparing);
  mailbox_.worker_pids = std::move(pids);
}

}  // namespace tilewright::measure
