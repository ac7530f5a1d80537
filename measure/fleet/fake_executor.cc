#include "measure/fleet/fake_executor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "measure/fleet/keys.h"
#include "src/base/hash.h"
#include "src/target/device.h"
#include "src/templates/device.h"

namespace tilewright::measure::fleet {

DeviceFingerprint FakeExecutor::Device() {
  DeviceFingerprint device;
  device.kind = "null";
  device.model = "made up";
  return device;
}

double FakeExecutor::ValueOf(const Candidate& candidate) {
  const std::uint64_t hash = Mix64(Fnv1a64(candidate.template_key) ^
                                   Mix64(static_cast<std::uint64_t>(candidate.config.index)));
  constexpr double kParts = 4096;
  return 1e-3 * (1 + static_cast<double>(hash % 4096) / kParts);
}

Trial FakeExecutor::TrialOf(const Candidate& candidate, double now) {
  Trial trial;
  trial.candidate = candidate;
  trial.metric = MetricOf(candidate.task.target);
  trial.codegen_version = DeviceTraitsOf(candidate.task.target).codegen_version;
  trial.device = settings_.device;
  trial.outcome = Outcome::kOk;
  trial.verified = settings_.verified;
  const double factor = settings_.slowness ? settings_.slowness(now) : 1;
  const auto draw = static_cast<double>(Mix64(++trials_) % 2001) / 1000 - 1;
  trial.value = ValueOf(candidate) * factor * (1 + settings_.noise * draw);
  trial.samples = {trial.value};
  trial.noise = settings_.noise;
  trial.run_seconds = settings_.seconds;
  trial.finished_unix_seconds = clock_.UnixSeconds();
  return trial;
}

FakeExecutor::Event FakeExecutor::BuildOf(const Candidate& candidate) {
  Event event;
  const Workload& workload = candidate.task.workload;
  Built built;
  built.kernel.target = candidate.task.target;
  built.kernel.workload = workload;
  built.kernel.epilogue = candidate.epilogue;
  if (DeviceTraitsOf(built.kernel.target).loops) built.kernel.symbol = kCandidateSymbol;
  // The function is never called: any types do, one for each parameter.
  constexpr std::size_t kMaxParameters = 12;
  for (std::size_t count = 2; count <= kMaxParameters; ++count) {
    const std::vector<TensorType> types(count, workload.data);
    auto signature = SignatureOf(workload, candidate.epilogue, {}, types);
    if (!signature.ok()) continue;
    built.kernel.signature = *std::move(signature);
    event.artifact = candidate.template_key + " " + candidate.config.ToString();
    built.hash = Sha256(event.artifact);
    built.size = std::ssize(event.artifact);
    event.built = std::move(built);
    break;
  }
  if (!event.built) event.refusal = "nothing can be made up for " + workload.Key();
  Trial trial = TrialOf(candidate, clock_.MonotonicSeconds());
  trial.value = 0;
  trial.samples.clear();
  trial.noise = 0;
  trial.run_seconds = 0;
  trial.build_seconds = settings_.seconds;
  event.trials.push_back(std::move(trial));
  return event;
}

void FakeExecutor::Start(std::uint64_t number, const Order& order,
                         const std::vector<std::string>& /*artifacts*/) {
  double seconds = 0;
  for (const Candidate& candidate : order.candidates) {
    seconds += settings_.takes ? settings_.takes(candidate) : settings_.seconds;
  }
  free_at_ = std::max(free_at_, clock_.MonotonicSeconds()) + seconds;
  works_.push_back({number, order, seconds, free_at_});
}

void FakeExecutor::Drop(std::uint64_t number) {
  std::erase_if(works_, [number](const Work& work) { return work.number == number; });
  // Later orders move forward.
  double at = clock_.MonotonicSeconds();
  for (Work& work : works_) at = work.over_at = std::min(work.over_at, at + work.seconds);
  free_at_ = works_.empty() ? 0 : works_.back().over_at;
}

std::vector<Executor::Event> FakeExecutor::Take() {
  std::vector<Event> events;
  const double now = clock_.MonotonicSeconds();
  while (!works_.empty() && works_.front().over_at <= now) {
    Work work = std::move(works_.front());
    works_.pop_front();
    const bool build = work.order.stage == Stage::kBuild;
    Event event = build ? BuildOf(work.order.candidates.front()) : Event();
    event.number = work.number;
    event.seconds = work.seconds;
    for (const Candidate& candidate : work.order.candidates) {
      if (build) break;
      event.trials.push_back(TrialOf(candidate, work.over_at));
      ran_ = true;
    }
    events.push_back(std::move(event));
  }
  return events;
}

double FakeExecutor::probe_seconds() const {
  constexpr double kSeconds = 30e-6;
  if (!settings_.probe || !ran_) return 0;
  return settings_.slowness ? kSeconds * settings_.slowness(clock_.MonotonicSeconds()) : kSeconds;
}

double FakeExecutor::next_event() const {
  return works_.empty() ? std::numeric_limits<double>::infinity() : works_.front().over_at;
}

}  // namespace tilewright::measure::fleet
