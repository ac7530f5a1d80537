#include "search/tune/budget.h"

#include <algorithm>

#include "search/deadline.h"

namespace tilewright::search {
namespace {

// Largest share of a time limit that is reserved for the races.
constexpr double kMaxForRaces = 0.25;
// On a fleet the winner of a race runs on a second device, too.
constexpr double kFleetRaces = 2;

}  // namespace

Result<Budget> Budget::Start(const JobSettings& settings, Clock& clock, std::size_t tasks) {
  Budget budget(settings, clock, tasks);
  if (!settings.deadline.empty()) {
    const double now = clock.UnixSeconds();
    TW_ASSIGN_OR_RETURN(const auto deadline, ParseFutureDeadline(settings.deadline, now));
    budget.deadline_seconds_ = deadline - now;
  }
  return budget;
}

void Budget::AddEarlierRun(double elapsed_seconds) {
  earlier_seconds_ = std::max(earlier_seconds_, elapsed_seconds);
}

void Budget::CountTrial(bool this_run) {
  ++trials_;
  if (this_run) ++trials_this_run_;
}

bool Budget::TrialsSpent(std::int64_t in_flight) const {
  return settings_.trials > 0 && trials_ + in_flight >= settings_.trials;
}

double Budget::LimitSeconds() const {
  const double budget = settings_.budget_seconds;
  if (deadline_seconds_ <= 0) return budget;
  const double deadline = earlier_seconds_ + deadline_seconds_;
  return budget > 0 ? std::min(budget, deadline) : deadline;
}

double Budget::RaceReserve() const {
  const double racers =
      settings_.finalists > 0 ? static_cast<double>(tasks_) * (settings_.finalists + 1) : 0;
  const double races = settings_.fleet.empty() ? 1 : kFleetRaces;
  // A deadline leaves only this run's time, independent of the duration of earlier runs.
  double time = LimitSeconds();
  if (deadline_seconds_ > 0) time = std::min(time, deadline_seconds_);
  return std::min(races * kRacerSeconds * racers, kMaxForRaces * time);
}

bool Budget::TimeSpent() const {
  return LimitSeconds() > 0 && ElapsedSeconds() >= LimitSeconds() - RaceReserve();
}

std::string Budget::LimitReached() const {
  if (settings_.trials > 0 && proposed_ >= settings_.trials) return "trials";
  if (!TimeSpent()) return "";
  return LimitSeconds() == settings_.budget_seconds ? "budget" : "deadline";
}

double Budget::EtaSeconds() const {
  double eta = 0;
  if (LimitSeconds() > 0) {
    eta = std::max(0.0, LimitSeconds() - RaceReserve() - ElapsedSeconds());
  }
  if (settings_.trials > 0 && trials_this_run_ > 0) {
    const double per_trial = RunSeconds() / static_cast<double>(trials_this_run_);
    const double left =
        per_trial * static_cast<double>(std::max<std::int64_t>(0, settings_.trials - trials_));
    eta = eta > 0 ? std::min(eta, left) : left;
  }
  return eta;
}

double Budget::RaceShare(int races_left) const {
  return std::max(0.0, LimitSeconds() - ElapsedSeconds()) / std::max(1, races_left);
}

}  // namespace tilewright::search
