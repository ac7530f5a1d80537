#include "search/tune/budget.h"

#include <algorithm>

#include "search/deadline.h"

namespace tilewright::search {
namespace {

// Largest share of a time limit that is reserved for the races.
constexpr double kMaxForRaces = 0.25;
// On a fleet the winner of a race runs on a second device, too.
constexpr double kFleetRaces = 2;
// Trials whose rate is the forecast's: the first ones, of builders that start, are slower.
constexpr std::size_t kRecentTrials = 64;
constexpr std::size_t kFewTrials = 8;

}  // namespace

Result<Budget> Budget::Start(const JobSettings& settings, Clock& clock, std::size_t tasks,
                             std::optional<double> begun_seconds) {
  Budget budget(settings, clock, tasks, begun_seconds.value_or(clock.MonotonicSeconds()));
  if (!settings.deadline.empty()) {
    const double now = clock.UnixSeconds();
    TW_ASSIGN_OR_RETURN(const auto deadline, ParseFutureDeadline(settings.deadline, now));
    budget.deadline_seconds_ = deadline - now + budget.RunSeconds();
  }
  return budget;
}

void Budget::AddEarlierRun(double elapsed_seconds) {
  earlier_seconds_ = std::max(earlier_seconds_, elapsed_seconds);
}

void Budget::CountTrial(bool this_run) {
  ++trials_;
  if (!this_run) return;
  ++trials_this_run_;
  recent_.push_back(clock_.MonotonicSeconds());
  if (recent_.size() > kRecentTrials) recent_.pop_front();
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

double Budget::RaceSeconds() const {
  const double races = settings_.fleet.empty() ? 1 : kFleetRaces;
  return races * kRacerSeconds * static_cast<double>(racers_);
}

double Budget::RaceReserve() const {
  // A deadline leaves only this run's time, independent of the duration of earlier runs.
  double time = LimitSeconds();
  if (deadline_seconds_ > 0) time = std::min(time, deadline_seconds_);
  return std::min(RaceSeconds(), kMaxForRaces * time);
}

bool Budget::TimeSpent() const {
  return LimitSeconds() > 0 && ElapsedSeconds() >= LimitSeconds() - RaceReserve();
}

std::string Budget::LimitReached() const {
  if (settings_.trials > 0 && proposed_ >= settings_.trials) return "trials";
  if (!TimeSpent()) return "";
  return LimitSeconds() == settings_.budget_seconds ? "budget" : "deadline";
}

double Budget::EtaSeconds(std::optional<std::int64_t> until_stale) const {
  std::optional<double> search;  // seconds to its end
  const auto ends_in = [&search](double seconds) {
    search = std::max(0.0, search ? std::min(*search, seconds) : seconds);
  };
  if (LimitSeconds() > 0) ends_in(LimitSeconds() - RaceReserve() - ElapsedSeconds());
  if (trials_this_run_ > 0) {
    double per_trial = RunSeconds() / static_cast<double>(trials_this_run_);
    if (recent_.size() > kFewTrials) {
      per_trial =
          (clock_.MonotonicSeconds() - recent_.front()) / static_cast<double>(recent_.size() - 1);
    }
    const auto of_trials = [per_trial](std::int64_t trials) {
      return per_trial * static_cast<double>(std::max<std::int64_t>(0, trials));
    };
    if (settings_.trials > 0) ends_in(of_trials(settings_.trials - trials_));
    if (until_stale) ends_in(of_trials(*until_stale));
  }
  if (!search) return 0;
  return *search + (LimitSeconds() > 0 ? RaceReserve() : RaceSeconds());
}

double Budget::RaceShare(int races_left) const {
  return std::max(0.0, LimitSeconds() - ElapsedSeconds()) / std::max(1, races_left);
}

}  // namespace tilewright::search
