#include "measure/fleet/process_executor.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "measure/fleet/keys.h"
#include "measure/kernel_message.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/templates/device.h"
#include "src/tensor/work.h"

namespace tilewright::measure::fleet {

namespace {

/// Returns the best time so far, as the tuner sends it. It limits the run time of the candidate.
double BestOf(const Order& order) {
  constexpr double kMaxBestSeconds = 30;
  const bool seconds = MetricOf(order.candidates.front().task.target) == "seconds";
  return seconds ? std::min(order.best_seconds, kMaxBestSeconds) : order.best_seconds;
}

}  // namespace

Result<std::unique_ptr<ProcessExecutor>> ProcessExecutor::Create(ProcessMeasurerSettings settings,
                                                                 std::function<void()> wake) {
  settings.on_finished = std::move(wake);
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-fleet"));
  TW_ASSIGN_OR_RETURN(auto measurer, ProcessMeasurer::Create(settings));
  return std::make_unique<ProcessExecutor>(std::move(settings), std::move(measurer),
                                           std::move(folder));
}

ProcessExecutor::ProcessExecutor(ProcessMeasurerSettings settings,
                                 std::unique_ptr<ProcessMeasurer> measurer, LockedTempDir folder)
    : settings_(std::move(settings)), measurer_(std::move(measurer)), folder_(std::move(folder)) {}

/// A race in progress continues; a race that has not started is dropped.
void ProcessExecutor::Drop(std::uint64_t number) {
  const bool under_way = racing_ && races_.front().number == number;
  const auto race = std::ranges::find(races_, number, &Race::number);
  if (race == races_.end() || under_way) {
    dropped_.insert(number);
    return;
  }
  for (const KernelSpec& kernel : race->kernels) ::unlink(kernel.artifact.c_str());
  races_.erase(race);
}

/// Enforces the limits on tasks and orders. Memory and files of a measurer grow with its number of
/// tasks, and each order may be of a new task. Errors: kUnavailable while a limit is reached; that
/// of status().
Status ProcessExecutor::EnforceLimits(const Order& order) {
  TW_RETURN_IF_ERROR(status_);  // the measurer may not exist
  if (stages_.size() + races_.size() >= limits_.max_orders) {
    return Unavailable("this worker has " + std::to_string(limits_.max_orders) +
                       " orders under way, of which some were dropped");
  }
  const Candidate& candidate = order.candidates.front();
  const std::uint64_t task =
      Fnv1a64(candidate.task.workload.Key() + "\n" + candidate.epilogue.ToString() + "\n" +
              candidate.task.target.ToString());
  const std::int64_t bytes = tasks_.contains(task) ? 0 : WorkOf(candidate.task.workload).bytes;
  restart_due_ = restart_due_ || (bytes > 0 && (tasks_.size() >= limits_.max_tasks ||
                                                task_bytes_ > limits_.max_task_bytes - bytes));
  // No order starts until the restart; otherwise the measurer would never become idle.
  if (restart_due_ && (!stages_.empty() || !races_.empty())) {
    return Unavailable("this worker has had " + std::to_string(tasks_.size()) +
                       " tasks, and starts its processes anew");
  }
  if (restart_due_) TW_RETURN_IF_ERROR(RestartMeasurer());
  if (tasks_.insert(task).second) task_bytes_ += WorkOf(candidate.task.workload).bytes;
  return {};
}

Status ProcessExecutor::RestartMeasurer() {
  restart_due_ = false;
  tasks_.clear();
  task_bytes_ = 0;
  measurer_.reset();  // releases the core for the next measurer
  auto measurer = ProcessMeasurer::Create(settings_);
  if (!measurer.ok()) return status_ = measurer.status();
  measurer_ = *std::move(measurer);
  return {};
}

void ProcessExecutor::Start(std::uint64_t number, const Order& order,
                            const std::vector<std::string>& artifacts) {
  const Status started = Submit(number, order, artifacts);
  if (started.ok()) return;
  stages_.erase(number);
  Event event;
  event.number = number;
  event.refusal = started.message();
  ready_.push_back(std::move(event));
}

Result<KernelSpec> ProcessExecutor::KernelOf(const Built& built, const std::string& artifact) {
  KernelSpec kernel = built.kernel;
  kernel.artifact = folder_.path() + "/artifact." + std::to_string(++files_) + ".so";
  kernel.artifact_name = ArtifactName(artifact);
  TW_RETURN_IF_ERROR(WriteFile(kernel.artifact, artifact));
  return kernel;
}

Status ProcessExecutor::Submit(std::uint64_t number, const Order& order,
                               const std::vector<std::string>& artifacts) {
  TW_CHECK(artifacts.size() == order.built.size());
  TW_RETURN_IF_ERROR(EnforceLimits(order));
  std::vector<KernelSpec> kernels;
  for (std::size_t i = 0; i < artifacts.size(); ++i) {
    TW_ASSIGN_OR_RETURN(auto kernel, KernelOf(order.built[i], artifacts[i]));
    kernels.push_back(std::move(kernel));
  }
  if (order.stage == Stage::kRace) {
    races_.push_back({number, order, std::move(kernels), 0});
    BeginRaces();
    return {};
  }
  Request request;
  request.ticket = number;
  request.candidate = order.candidates.front();
  request.best_seconds = BestOf(order);
  stages_[number] = order.stage;
  if (order.stage == Stage::kBuild) return measurer_->SubmitBuild(std::move(request));
  if (order.stage == Stage::kWhole) return measurer_->Submit(std::move(request));
  return measurer_->SubmitBuilt(std::move(request), std::move(kernels.front()));
}

void ProcessExecutor::BeginRaces() {
  while (!racing_ && !races_.empty()) {
    Race& race = races_.front();
    RaceSettings terms;
    terms.known_seconds = race.order.known_seconds;
    terms.anchor = race.order.anchor;
    terms.seconds = race.order.race_seconds;
    terms.wait_seconds = race.order.wait_seconds;
    race.began_at = SystemClock().MonotonicSeconds();
    const Status begun =
        measurer_->BeginRace(race.order.candidates, terms, std::move(race.kernels));
    racing_ = begun.ok();
    if (racing_) return;
    Event event;
    event.number = race.number;
    event.refusal = begun.message();
    ready_.push_back(std::move(event));
    races_.pop_front();
  }
}

Executor::Event ProcessExecutor::EventOf(std::uint64_t number, Trial trial) {
  Event event;
  event.number = number;
  const auto node = stages_.extract(number);
  const bool build = !node.empty() && node.mapped() == Stage::kBuild;
  event.seconds = build ? trial.build_seconds : trial.run_seconds;
  if (build && trial.outcome == Outcome::kOk) {
    auto kernel = measurer_->TakeBuilt(number);
    const auto artifact =
        kernel.ok() ? ReadFile(kernel->artifact) : Result<std::string>(kernel.status());
    if (kernel.ok()) ::unlink(kernel->artifact.c_str());
    if (!artifact.ok()) {
      event.refusal = artifact.status().message();
      return event;
    }
    event.artifact = *artifact;
    event.built = Built{*std::move(kernel), Sha256(event.artifact), std::ssize(event.artifact)};
  }
  event.trials.push_back(std::move(trial));
  return event;
}

void ProcessExecutor::TakeRace(std::vector<Event>& events) {
  if (!racing_) return;
  auto result = measurer_->TakeRace();
  if (!result.ok()) {
    status_ = result.status();
    return;
  }
  if (!result->has_value()) return;
  Event event;
  event.number = races_.front().number;
  event.trials = **std::move(result);
  event.seconds = SystemClock().MonotonicSeconds() - races_.front().began_at;
  if (dropped_.erase(event.number) == 0) events.push_back(std::move(event));
  races_.pop_front();
  racing_ = false;
  BeginRaces();
}

std::vector<Executor::Event> ProcessExecutor::Take() {
  std::vector<Event> events = std::exchange(ready_, {});
  while (status_.ok()) {
    auto reply = measurer_->Next(0);
    if (!reply.ok()) {
      status_ = reply.status();
      break;
    }
    if (!reply->has_value()) break;
    Reply& one = **reply;
    const bool wanted = dropped_.erase(one.ticket) == 0;
    Event event = EventOf(one.ticket, std::move(one.trial));
    if (wanted) events.push_back(std::move(event));
  }
  TakeRace(events);
  return events;
}

double ProcessExecutor::next_event() const {
  return ready_.empty() ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace tilewright::measure::fleet
