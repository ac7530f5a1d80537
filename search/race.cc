// The finalists of a task are measured again, interleaved, together with the default config: the
// fastest single measurement of many is flattered by chance, and what is reported is a ratio.
#include <algorithm>
#include <set>
#include <utility>

#include "search/tuner_impl.h"
#include "src/templates/device.h"

namespace tilewright::search {
namespace {

// What was slower than the best by more has no chance to win a race.
constexpr double kContender = 1.15;
// Measured in noise: it may be half as slow.
constexpr double kNoisyContender = 2;
// A device that tells less than this apart was calibrated in noise; a race tells more.
constexpr double kMaxResolution = 0.02;
// Of finalists so near to the fastest, the one of the lowest index wins.
constexpr double kSameSpeed = 0.005;
// Races wait for quiet moments: so long for one, and in a job without a budget in all as long as
// one may, or so long and a share of what the search took.
constexpr double kRaceWaitSeconds = 10;
constexpr double kWaitSeconds = 6;
constexpr double kWaitShare = 0.25;
// What a racer costs beside its rounds: building, and so many calls for verification and for the
// fewest rounds that decide.
constexpr double kRacerBuildSeconds = 0.06;
constexpr double kRacerCalls = 17;
// A race of slow kernels without a budget has as many finalists as fit in this, at least two.
constexpr double kUsualRaceSeconds = 10;
// What a limit of time keeps for the races: at most this share.
constexpr double kMaxForRaces = 0.25;
// On a fleet the winner of a race runs on a second device, too.
constexpr double kFleetRaces = 2;

/// Whether a's interval and b's overlap, or differ by less than the device can tell.
bool SameSpeed(const Trial& a, const Trial& b, double resolution) {
  const Trial& fast = a.value <= b.value ? a : b;
  const Trial& slow = a.value <= b.value ? b : a;
  return slow.value * (1 - slow.noise) <= fast.value * (1 + fast.noise) ||
         slow.value <= fast.value * (1 + std::min(resolution, kMaxResolution));
}

/// The report says what was stored as the best.
void Show(const BestEntry& best, TaskState& state) {
  const auto which = static_cast<std::size_t>(best.winner.space);
  state.report.best_seconds = best.best_seconds;
  state.report.noisy = best.noisy;
  if (best.default_seconds > 0) state.report.default_seconds = best.default_seconds;
  state.report.best_template = state.space.templates[which]->key;
  state.report.best_config = state.space.spaces[which].At(best.winner.index);
  state.report.best_product_share = state.ShareOf(best.winner);
  state.report.ties = best.ties;
}

/// Nothing came of the task since its race.
bool RaceIsCurrent(const TaskState& state) {
  if (!state.raced || state.raced->batches <= state.last_batch) return false;
  return state.raced->trials < 0 || state.raced->trials == state.report.trials;
}

/// Says nothing of a config, and a slower one must not win for it.
Status LostWhileVerifying(const TaskState& state) {
  return Unavailable(state.key +
                     ": the device was lost while the fastest config was verified; "
                     "the same command goes on");
}

bool MayWin(const Trial& trial) {
  return trial.outcome == Outcome::kOk && trial.value > 0 && trial.verified;
}

}  // namespace

double TuneRun::LimitSeconds() const {
  const double budget = settings_.budget_seconds;
  if (deadline_seconds_ <= 0) return budget;
  const double deadline = earlier_seconds_ + deadline_seconds_;
  return budget > 0 ? std::min(budget, deadline) : deadline;
}

double TuneRun::RaceReserve() const {
  const double racers =
      settings_.finalists > 0 ? static_cast<double>(tasks_.size()) * (settings_.finalists + 1) : 0;
  const double races = settings_.fleet.empty() ? 1 : kFleetRaces;
  // Of a deadline only this life's time is left, however long the earlier ones were.
  double time = LimitSeconds();
  if (deadline_seconds_ > 0) time = std::min(time, deadline_seconds_);
  return std::min(races * kRacerSeconds * racers, kMaxForRaces * time);
}

Status TuneRun::Race() {
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    if (StopRequested()) {
      interrupted_ = true;
      return {};
    }
    TW_RETURN_IF_ERROR(RaceTask(i, static_cast<int>(tasks_.size()) - i));
    if (interrupted_) return {};
  }
  return context_.store->FinishJob(job_.id);
}

std::vector<Observation> TuneRun::Finalists(const TaskState& state, double seconds_left) const {
  std::vector<Observation> finalists;
  const auto add = [&finalists](const Observation& observed) {
    if (std::ranges::find(finalists, observed.point, &Observation::point) == finalists.end()) {
      finalists.push_back(observed);
    }
  };
  const double best = state.fastest.front().value;
  add(state.fastest.front());
  // Its trial of the search may be slower than many: a race told its speed.
  if (state.raced) add({state.raced->winner, Outcome::kOk, state.raced->best_seconds, false});
  for (const Observation& observed : state.fastest) {
    if (observed.value <= best * kContender) add(observed);
  }
  for (std::size_t i = 0; i < state.noisy_contenders.size(); ++i) {
    const bool few = i < static_cast<std::size_t>(settings_.finalists);
    if (few && state.noisy_contenders[i].value <= best * kNoisyContender)
      add(state.noisy_contenders[i]);
  }
  if (state.observed_default) add(*state.observed_default);
  // What is counted, not timed, costs none of this.
  if (MetricOf(state.input.task.target) != "seconds") return finalists;
  // The fewest that decide anything are the fastest one and the default config.
  const double each = kRacerBuildSeconds + kRacerCalls * best;
  double seconds = kUsualRaceSeconds;
  if (LimitSeconds() > 0) {
    // Where a share is too little for any race, the first tasks have theirs.
    const double left = LimitSeconds() - Elapsed();
    seconds = left >= 2 * each ? std::max(seconds_left, 2 * each) : seconds_left;
  }
  const auto fit = static_cast<std::size_t>(std::clamp(seconds / each, 0.0, 1000.0));
  const std::size_t least = LimitSeconds() > 0 ? 0 : 2;
  const std::size_t most = std::max(fit, least);
  if (finalists.size() <= most) return finalists;
  if (most < 2) return {};
  if (state.observed_default) {
    const auto place =
        std::ranges::find(finalists, state.observed_default->point, &Observation::point);
    if (place - finalists.begin() >= static_cast<std::ptrdiff_t>(most)) {
      std::swap(finalists[most - 1], *place);
    }
  }
  finalists.resize(most);
  return finalists;
}

double TuneRun::RaceShare(int races_left) const {
  return std::max(0.0, LimitSeconds() - Elapsed()) / std::max(1, races_left);
}

measure::RaceSettings TuneRun::RaceSettingsOf(const TaskState& state,
                                              const std::vector<Observation>& finalists,
                                              int races_left) const {
  measure::RaceSettings terms;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    terms.known_seconds.push_back(finalists[i].noisy ? 0 : finalists[i].value);
    if (finalists[i].point == state.default_point) terms.anchor = i;
  }
  if (LimitSeconds() > 0) {
    const double racers = static_cast<double>(finalists.size());
    const double mine = RaceShare(races_left) - kRacerBuildSeconds * racers;
    const double usual = kRacerSeconds * racers;
    terms.seconds = std::max(kMinRaceSeconds, std::min(mine, usual));
    terms.wait_seconds = std::clamp(mine - terms.seconds, 0.0, kRaceWaitSeconds);
  } else {
    const double all = std::max(kRaceWaitSeconds, kWaitSeconds + kWaitShare * search_seconds_);
    terms.wait_seconds = std::clamp(all - race_seconds_, 0.0, kRaceWaitSeconds);
  }
  return terms;
}

Status TuneRun::RaceTask(int task, int races_left) {
  TaskState& state = TaskAt(task);
  if (state.fastest.empty()) return {};
  if (RaceIsCurrent(state)) {
    Show(*state.raced, state);
    return {};
  }
  if (state.raced) state.report.earlier_best_seconds = state.raced->best_seconds;
  if (settings_.finalists == 0) return {};
  if (state.defer_verification) return VerifyFastest(state);
  const std::vector<Observation> finalists = Finalists(state, RaceShare(races_left));
  if (finalists.empty()) {  // no time is left
    ReportEarlierRace(state);
    return {};
  }
  std::vector<Candidate> candidates;
  for (const Observation& observed : finalists)
    candidates.push_back(ToCandidate(state.space, observed.point));
  const double start = context_.clock->MonotonicSeconds();
  TW_ASSIGN_OR_RETURN(
      std::vector<Trial> raced,
      context_.measurer->Race(candidates, RaceSettingsOf(state, finalists, races_left)));
  race_seconds_ += context_.clock->MonotonicSeconds() - start;
  if (raced.size() != finalists.size()) return Internal("race: wrong number of results");
  TW_ASSIGN_OR_RETURN(const std::int64_t attempt, NextAttempt(state));
  for (std::size_t i = 0; i < raced.size(); ++i) {
    Trial& trial = raced[i];
    trial.attempt = attempt;
    DropUnrequestedMetrics(trial);
    if (trial.outcome == Outcome::kWrongResult) state.RecordVerification(finalists[i].point, false);
  }
  TW_RETURN_IF_ERROR(context_.store->Append(job_.id, raced, {}));
  std::optional<std::size_t> winner;
  BestEntry best = WinnerOf(state, finalists, raced, winner);
  if (!winner) {
    ReportEarlierRace(state);
    return {};
  }
  best.attempt = attempt;
  return StoreWinner(state, best, raced[*winner]);
}

void TuneRun::ReportEarlierRace(TaskState& state) {
  if (state.raced) Show(*state.raced, state);
}

void TuneRun::ReportEarlierRaces() {
  for (const auto& state : tasks_) ReportEarlierRace(*state);
}

Result<std::int64_t> TuneRun::NextAttempt(const TaskState& state) const {
  records::TrialFilter filter;
  filter.job = job_.id;
  filter.workload_key = state.key;
  filter.target = state.input.task.target.ToString();
  std::int64_t last = state.last_attempt;
  TW_RETURN_IF_ERROR(
      context_.store->ForEachTrial(filter, [&last](const records::Record& record) -> Status {
        constexpr std::int64_t kMaxAttempts = 1'000'000;  // no job of ours has more
        const std::int64_t attempt = record.trial.attempt;
        if (attempt < kMaxAttempts) last = std::max(last, attempt);
        return {};
      }));
  return last + 1;
}

Status TuneRun::StoreWinner(TaskState& state, const BestEntry& best, const Trial& trial) {
  TW_RETURN_IF_ERROR(context_.store->StoreBest(job_.id, trial, best.ties));
  TW_RETURN_IF_ERROR(context_.store->Append(job_.id, {}, {Encode(state.key, best)}));
  state.raced = best;
  state.last_attempt = best.attempt;
  Show(best, state);
  return {};
}

Status TuneRun::VerifyFastest(TaskState& state) {
  BestEntry best;
  best.batches = next_batch_;
  best.trials = state.report.trials;
  TW_ASSIGN_OR_RETURN(best.attempt, NextAttempt(state));
  if (state.observed_default) best.default_seconds = state.observed_default->value;
  for (const Observation& observed : state.fastest) {
    TW_ASSIGN_OR_RETURN(std::vector<Trial> run,
                        context_.measurer->Race({ToCandidate(state.space, observed.point)},
                                                measure::RaceSettings()));
    if (run.size() != 1) return Internal("race: wrong number of results");
    Trial& trial = run.front();
    trial.attempt = best.attempt;
    DropUnrequestedMetrics(trial);
    TW_RETURN_IF_ERROR(context_.store->Append(job_.id, run, {}));
    if (trial.outcome == Outcome::kDeviceLost) return LostWhileVerifying(state);
    if (!MayWin(trial)) {
      state.RecordVerification(observed.point, false);
      continue;
    }
    state.RecordVerification(observed.point, true);
    TW_RETURN_IF_ERROR(VerifyFront(state, observed.point, best.attempt));
    // A winner in the log says that the whole front is verified.
    if (interrupted_) return {};
    best.winner = observed.point;
    best.best_seconds = trial.value;
    for (const Observation& other : state.fastest) {
      if (other.value == observed.value && other.point != observed.point) {
        best.ties.push_back(other.point.index);
      }
    }
    std::ranges::sort(best.ties);
    return StoreWinner(state, best, trial);
  }
  // What was measured without verification is nobody's best.
  state.report.best_seconds = 0;
  state.report.best_template.clear();
  state.report.best_config = {};
  state.report.ties.clear();
  return {};
}

Status TuneRun::VerifyFront(TaskState& state, Point verified, std::int64_t attempt) {
  if (settings_.metric.empty()) return {};
  std::set<Point> right = {verified};
  while (true) {
    std::vector<Observation> front = state.Front();
    std::erase_if(front,
                  [&right](const Observation& observed) { return right.contains(observed.point); });
    if (front.empty()) return {};
    if (StopRequested()) {
      interrupted_ = true;
      return {};
    }
    std::vector<Candidate> candidates;
    for (const Observation& observed : front)
      candidates.push_back(ToCandidate(state.space, observed.point));
    TW_ASSIGN_OR_RETURN(std::vector<Trial> run,
                        context_.measurer->Race(candidates, measure::RaceSettings()));
    if (run.size() != front.size()) return Internal("race: wrong number of results");
    for (std::size_t i = 0; i < front.size(); ++i) {
      Trial& trial = run[i];
      trial.attempt = attempt;
      DropUnrequestedMetrics(trial);
      if (MayWin(trial)) right.insert(front[i].point);
      if (trial.outcome != Outcome::kDeviceLost)
        state.RecordVerification(front[i].point, MayWin(trial));
    }
    TW_RETURN_IF_ERROR(context_.store->Append(job_.id, run, {}));
    const auto lost = [](const Trial& trial) { return trial.outcome == Outcome::kDeviceLost; };
    if (std::ranges::any_of(run, lost)) return LostWhileVerifying(state);
  }
}

BestEntry TuneRun::WinnerOf(const TaskState& state, const std::vector<Observation>& finalists,
                            const std::vector<Trial>& raced,
                            std::optional<std::size_t>& winner) const {
  BestEntry best;
  best.batches = next_batch_;
  best.trials = state.report.trials;
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < raced.size(); ++i) {
    if (!MayWin(raced[i])) continue;
    if (finalists[i].point == state.default_point) best.default_seconds = raced[i].value;
    if (!fastest || raced[i].value < raced[*fastest].value) fastest = i;
  }
  if (!fastest) return best;
  winner = fastest;
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < raced.size(); ++i) {
    if (!MayWin(raced[i]) ||
        !SameSpeed(raced[i], raced[*fastest], context_.measurer->resolution())) {
      continue;
    }
    tied.push_back(i);
    const auto rank = [&finalists](std::size_t at) {
      return std::pair(finalists[at].point.index, finalists[at].point.space);
    };
    const bool near = raced[i].value <= raced[*fastest].value * (1 + kSameSpeed);
    if (near && rank(i) < rank(*winner)) winner = i;
  }
  best.winner = finalists[*winner].point;
  for (const std::size_t i : tied) {
    if (i != *winner) best.ties.push_back(finalists[i].point.index);
  }
  std::ranges::sort(best.ties);
  best.best_seconds = raced[*winner].value;
  best.noisy = raced[*winner].noisy();
  return best;
}

}  // namespace tilewright::search
