#include "measure/fleet/fleet_measurer.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tilewright::measure::fleet {
namespace {

constexpr double kPollSeconds = 0.05;
// A race whose device is lost moves to another device, this many times.
constexpr int kMaxRaces = 5;
constexpr double kNoteSeconds = 30;
// A race waits for a device this long beyond the job's deadline.
constexpr double kLateSeconds = 5;
// Builders that are online have announced themselves within this time.
constexpr double kBuildersSeconds = 4;
// Two devices agree if the winner is within this relative distance of the fastest on both.
constexpr double kAgrees = 0.05;
// A time below this share of another worker's time for the same kernel is rejected.
constexpr double kBelievableOf = 0.8;

}  // namespace

FleetMeasurer::FleetMeasurer(DispatcherSettings settings, Broker& broker, Clock& clock,
                             const std::atomic<bool>* stop)
    : settings_(settings),
      device_(settings.device),
      clock_(clock),
      stop_(stop),
      dispatcher_(std::move(settings), broker, clock),
      start_seconds_(clock.MonotonicSeconds()) {
  accounted_at_ = start_seconds_;
}

Result<std::unique_ptr<FleetMeasurer>> FleetMeasurer::Create(DispatcherSettings settings,
                                                             Broker& broker, Clock& clock,
                                                             const std::atomic<bool>* stop) {
  auto measurer = std::make_unique<FleetMeasurer>(std::move(settings), broker, clock, stop);
  TW_RETURN_IF_ERROR(measurer->dispatcher_.Open());
  return measurer;
}

FleetMeasurer::~FleetMeasurer() { dispatcher_.Close(); }

Status FleetMeasurer::Submit(Request request) { return dispatcher_.Submit(std::move(request)); }

void FleetMeasurer::Account() {
  const double now = clock_.MonotonicSeconds();
  const bool idle = dispatcher_.in_flight() == 0;
  if (idle) idle_seconds_ += now - accounted_at_;
  accounted_at_ = now;
  const double since = now - rated_at_;
  if (since < 1) return;
  rate_ = static_cast<double>(dispatcher_.done() - rated_done_) / since;
  rated_done_ = dispatcher_.done();
  rated_at_ = now;
}

Result<std::optional<Reply>> FleetMeasurer::Next(double timeout_seconds) {
  const double until = clock_.MonotonicSeconds() + timeout_seconds;
  Account();
  // One poll can yield many replies, which are returned before the next poll.
  auto reply = dispatcher_.Take();
  if (reply) return std::optional<Reply>(*std::move(reply));
  while (true) {
    const double left = until - clock_.MonotonicSeconds();
    dispatcher_.Poll(std::max(0.0, left));
    TW_RETURN_IF_ERROR(dispatcher_.ended());
    reply = dispatcher_.Take();
    if (reply) return std::optional<Reply>(*std::move(reply));
    if (clock_.MonotonicSeconds() >= until) break;
  }
  NoteWaiting();
  return std::optional<Reply>();
}

void FleetMeasurer::NoteWaiting() {
  const double now = clock_.MonotonicSeconds();
  if (!settings_.on_note) return;
  if (dispatcher_.device_registry().measure_slots() == 0 &&
      now - start_seconds_ > kNoteSeconds / 3 && now - logged_at_ > kNoteSeconds) {
    logged_at_ = now;
    settings_.on_note("no device of class " + settings_.device_class +
                      " is online; waiting for one");
  }
  if (!dispatcher_.lacks_builders()) {
    builders_at_ = 0;
    return;
  }
  if (builders_at_ == 0) builders_at_ = now + kBuildersSeconds;
  if (now < builders_at_) return;
  builders_at_ = now + kNoteSeconds;
  settings_.on_note("devices of class " + settings_.device_class +
                    " only measure, and no builder is there; waiting for one: start `tilewright "
                    "worker --build --fleet …` on a machine that can build");
}

std::vector<std::uint64_t> FleetMeasurer::CancelPending() { return dispatcher_.CancelPending(); }

int FleetMeasurer::capacity() const {
  constexpr int kMin = 8;
  // Covers the trials on their way to the store, if devices reply faster than the store writes.
  constexpr double kStoreSeconds = 0.25;
  // Devices announce their capacity, and each order occupies memory here.
  constexpr int kMax = 1 << 16;
  return std::clamp(std::max(2 * dispatcher_.device_registry().measure_slots(),
                             static_cast<int>(std::min<double>(kMax, kStoreSeconds * rate_))),
                    kMin, kMax);
}

TimeSplit FleetMeasurer::time_split() const {
  TimeSplit split;
  split.wall_seconds = clock_.MonotonicSeconds() - start_seconds_;
  split.idle_seconds = idle_seconds_;
  split.runner_busy_seconds = std::max(0.0, split.wall_seconds - idle_seconds_);
  return split;
}

double FleetMeasurer::resolution() const {
  double worst = 0;
  for (const auto& [name, device] : dispatcher_.device_registry().devices()) {
    worst = std::max(worst, device.announcement.resolution);
  }
  return worst;
}

Result<Dispatcher::RaceResult> FleetMeasurer::RaceOn(const std::vector<Candidate>& finalists,
                                                     const RaceSettings& terms,
                                                     const std::optional<DeviceName>& other_than,
                                                     bool must) {
  for (int i = 0; i < kMaxRaces;) {
    if (stopped()) return Unavailable("stopped while a race waited for its device");
    TW_RETURN_IF_ERROR(dispatcher_.ended());
    const auto race = dispatcher_.StartRace(finalists, terms, other_than);
    if (!race) {
      if (!must) return NotFound("there is no second device");
      if (dispatcher_.remaining_seconds().value_or(0) < -kLateSeconds) {
        return Unavailable(
            "the deadline is over, and no device is available to race the finalists");
      }
      (void)Next(kPollSeconds);
      continue;
    }
    std::optional<Dispatcher::RaceResult> result;
    while (!(result = dispatcher_.TakeRace(*race))) {
      dispatcher_.Poll(kPollSeconds);
      TW_RETURN_IF_ERROR(dispatcher_.ended());
      if (stopped()) return Unavailable("stopped during a race");
    }
    if (!result->trials.empty()) return *std::move(result);
    ++i;
  }
  return Unavailable("the devices of " + std::to_string(kMaxRaces) + " races were lost");
}

Result<std::vector<Trial>> FleetMeasurer::Race(const std::vector<Candidate>& finalists,
                                               const RaceSettings& terms) {
  if (finalists.empty()) return std::vector<Trial>();
  TW_ASSIGN_OR_RETURN(auto first, RaceOn(finalists, terms, std::nullopt, /*must=*/true));
  Confirm(finalists, terms, first);
  return std::move(first.trials);
}

void FleetMeasurer::Confirm(const std::vector<Candidate>& finalists, const RaceSettings& terms,
                            Dispatcher::RaceResult& first) {
  Confirmation said{finalists.front().task.workload.Key(), ""};
  const auto second = RaceOn(finalists, terms, first.device, /*must=*/false);
  const auto fastest = [](const std::vector<Trial>& trials) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].outcome != Outcome::kOk) continue;
      if (!best || trials[i].value < trials[*best].value) best = i;
    }
    return best;
  };
  const auto winner = fastest(first.trials);
  if (!winner) return;
  if (!second.ok()) {
    said.unconfirmed_reason = "unconfirmed: " + second.status().message();
  } else if (const auto other = fastest(second->trials)) {
    const Trial& there = second->trials[*winner];
    const bool ok = there.outcome == Outcome::kOk;
    const double slower = ok ? there.value / second->trials[*other].value - 1 : 1;
    const double tell = kAgrees + resolution();
    char text[320];
    if (!ok || slower > tell) {
      std::snprintf(text, sizeof(text), "unconfirmed: on %s it is %.0f %% slower than the fastest",
                    second->device.ToString().c_str(), 100 * slower);
      said.unconfirmed_reason = text;
    }
    const bool others = second->device.worker != first.device.worker;
    const double claimed =
        first.trials[*winner].value / dispatcher_.device_registry().ScaleOf(first.device);
    const double found =
        ok ? there.value / dispatcher_.device_registry().ScaleOf(second->device) : 0;
    if (others && ok && first.trials[*winner].metric == "seconds" &&
        claimed < kBelievableOf * found) {
      std::snprintf(text, sizeof(text), "unconfirmed: %s claims %.3g s, and %s finds %.3g s",
                    first.device.ToString().c_str(), claimed, second->device.ToString().c_str(),
                    found);
      said.unconfirmed_reason = text;
      if (settings_.on_note) settings_.on_note("a race is rejected: " + said.unconfirmed_reason);
      first.trials = std::move(second->trials);
    }
  }
  confirmations_.push_back(std::move(said));
}

}  // namespace tilewright::measure::fleet
