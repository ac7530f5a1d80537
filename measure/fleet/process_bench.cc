#include "measure/fleet/process_bench.h"

#include <unistd.h>

#include <limits>
#include <utility>

#include "measure/fleet/keys.h"
#include "measure/kernel_message.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"

namespace tilewright::measure::fleet {

Result<std::unique_ptr<ProcessBench>> ProcessBench::Create(ProcessMeasurerSettings settings,
                                                           std::function<void()> wake) {
  settings.on_finished = std::move(wake);
  auto folder = LockedFolder::Create("tilewright-fleet");
  TW_RETURN_IF_ERROR(folder);
  auto measurer = ProcessMeasurer::Create(std::move(settings));
  TW_RETURN_IF_ERROR(measurer);
  return std::make_unique<ProcessBench>(*std::move(measurer), *std::move(folder));
}

ProcessBench::ProcessBench(std::unique_ptr<ProcessMeasurer> measurer, LockedFolder folder)
    : measurer_(std::move(measurer)), folder_(std::move(folder)) {}

void ProcessBench::Start(std::uint64_t number, const Order& order,
                         const std::vector<std::string>& artifacts) {
  const Status started = Submit(number, order, artifacts);
  if (started.ok()) return;
  Event event;
  event.number = number;
  event.refusal = started.message();
  ready_.push_back(std::move(event));
}

Result<KernelSpec> ProcessBench::KernelOf(const Built& built, const std::string& artifact) {
  KernelSpec kernel = built.kernel;
  kernel.artifact = folder_.path() + "/artifact." + std::to_string(++files_) + ".so";
  kernel.artifact_name = ArtifactName(artifact);
  TW_RETURN_IF_ERROR(WriteFile(kernel.artifact, artifact));
  return kernel;
}

Status ProcessBench::Submit(std::uint64_t number, const Order& order,
                            const std::vector<std::string>& artifacts) {
  TW_CHECK(artifacts.size() == order.built.size());
  std::vector<KernelSpec> kernels;
  for (std::size_t i = 0; i < artifacts.size(); ++i) {
    auto kernel = KernelOf(order.built[i], artifacts[i]);
    TW_RETURN_IF_ERROR(kernel);
    kernels.push_back(*std::move(kernel));
  }
  if (order.stage == Stage::kRace) {
    races_.push_back({number, order, std::move(kernels), 0});
    BeginRaces();
    return {};
  }
  Request request;
  request.ticket = number;
  request.candidate = order.candidates.front();
  request.best_seconds = order.best_seconds;
  stages_[number] = order.stage;
  if (order.stage == Stage::kBuild) return measurer_->SubmitBuild(std::move(request));
  if (order.stage == Stage::kWhole) return measurer_->Submit(std::move(request));
  return measurer_->SubmitBuilt(std::move(request), std::move(kernels.front()));
}

void ProcessBench::BeginRaces() {
  while (!racing_ && !races_.empty()) {
    Race& race = races_.front();
    RaceTerms terms;
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

Bench::Event ProcessBench::EventOf(std::uint64_t number, Trial trial) {
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

void ProcessBench::TakeRace(std::vector<Event>& events) {
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
  events.push_back(std::move(event));
  races_.pop_front();
  racing_ = false;
  BeginRaces();
}

std::vector<Bench::Event> ProcessBench::Take() {
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

double ProcessBench::next_event() const {
  return ready_.empty() ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace tilewright::measure::fleet
