// Final races. The fastest single measurement of many is too fast by chance, and reports show
// ratios. So the racer measures finalists and default config again, interleaved.
#include "search/tune/racer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/base/clock.h"
#include "src/templates/device.h"

namespace tilewright::search {
namespace {

// Finalists that are slower than the best by more than this cannot win a race.
constexpr double kContender = 1.15;
// Noisy trials: the true time may be half as long.
constexpr double kNoisyContender = 2;
// A device with a coarser resolution was calibrated under interference; a race resolves more.
constexpr double kMaxResolution = 0.02;
// Among finalists this close to the fastest, the lowest index wins.
constexpr double kSameSpeed = 0.005;
// Races wait for clean samples: at most this long each. In a job without a budget, all races
// together wait at most as long as one, or kWaitSeconds and a share of the search's time.
constexpr double kRaceWaitSeconds = 10;
constexpr double kWaitSeconds = 6;
constexpr double kWaitShare = 0.25;
// Cost of a racer in addition to its rounds: its build, and this many calls for verification and
// for the minimum number of rounds.
constexpr double kRacerBuildSeconds = 0.06;
constexpr double kRacerCalls = 17;
// Without a budget, a race of slow kernels has as many finalists as fit in this time, at least two.
constexpr double kUsualRaceSeconds = 10;
// Shortest race that takes place.
constexpr double kMinRaceSeconds = 0.05;

/// Returns whether the intervals of a and b overlap, or differ by less than the device's
/// resolution.
bool SameSpeed(const Trial& a, const Trial& b, double resolution) {
  const Trial& fast = a.value <= b.value ? a : b;
  const Trial& slow = a.value <= b.value ? b : a;
  return slow.value * (1 - slow.noise) <= fast.value * (1 + fast.noise) ||
         slow.value <= fast.value * (1 + std::min(resolution, kMaxResolution));
}

/// Reports the config that was stored as the best.
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

/// Returns whether the task has no results since its race.
bool RaceIsCurrent(const TaskState& state) {
  if (!state.raced || state.raced->batches <= state.last_batch) return false;
  return state.raced->trials < 0 || state.raced->trials == state.report.trials;
}

/// Returns the fastest trials, noisy ones that may be as fast, and the default config, without
/// duplicates. Requires a result.
std::vector<Observation> ContendersOf(const TaskState& state, int finalists) {
  std::vector<Observation> contenders;
  const auto add = [&contenders](const Observation& observed) {
    if (std::ranges::find(contenders, observed.point, &Observation::point) == contenders.end()) {
      contenders.push_back(observed);
    }
  };
  const double best = state.fastest.front().value;
  add(state.fastest.front());
  // Its trial in the search may be slower than others, but a race determined its speed.
  if (state.raced) add({state.raced->winner, Outcome::kOk, state.raced->best_seconds, false});
  for (const Observation& observed : state.fastest) {
    if (observed.value <= best * kContender) add(observed);
  }
  for (std::size_t i = 0; i < state.noisy_contenders.size(); ++i) {
    const bool few = i < static_cast<std::size_t>(finalists);
    if (few && state.noisy_contenders[i].value <= best * kNoisyContender)
      add(state.noisy_contenders[i]);
  }
  if (state.observed_default) add(*state.observed_default);
  return contenders;
}

/// Error for a device loss during verification. A loss does not show an error of the config, so a
/// slower config must not win because of it.
Status LostWhileVerifying(const TaskState& state) {
  return Unavailable(state.key +
                     ": the device was lost while the fastest config was verified; "
                     "the same command resumes the job");
}

bool MayWin(const Trial& trial) {
  return trial.outcome == Outcome::kOk && trial.value > 0 && trial.verified;
}

}  // namespace

std::int64_t CountFinalists(const TaskState& state, const JobSettings& settings) {
  if (settings.finalists == 0 || state.fastest.empty() || RaceIsCurrent(state)) return 0;
  return std::ssize(ContendersOf(state, settings.finalists));
}

Status Racer::Race() {
  for (int i = 0; i < static_cast<int>(job_.tasks.size()); ++i) {
    if (job_.StopRequested()) {
      interrupted_ = true;
      return {};
    }
    job_.observer().RaceBegins(i);
    const double before = budget_.ElapsedSeconds();
    TW_RETURN_IF_ERROR(RaceTask(i, static_cast<int>(job_.tasks.size()) - i));
    if (budget_.ElapsedSeconds() - before >= kMinRaceSeconds) TW_RETURN_IF_ERROR(RecordTime());
    if (interrupted_) return {};
  }
  job_.observer().RaceBegins(static_cast<int>(job_.tasks.size()));
  return job_.context.store->FinishJob(job_.record.id);
}

Status Racer::RecordTime() {
  TimeEntry time = search_.time;
  time.elapsed_seconds = budget_.ElapsedSeconds();
  return job_.context.store->Append(job_.record.id, {}, {Encode(time)});
}

std::vector<Observation> Racer::Finalists(const TaskState& state, double seconds_left) const {
  std::vector<Observation> finalists = ContendersOf(state, job_.settings.finalists);
  // Counted values need no timed rounds.
  if (MetricOf(state.input.task.target) != "seconds") return finalists;
  // A race needs at least the fastest config and the default config.
  const double each = kRacerBuildSeconds + kRacerCalls * state.fastest.front().value;
  double seconds = kUsualRaceSeconds;
  if (budget_.LimitSeconds() > 0) {
    // If a share is too small for any race, the first tasks use theirs.
    const double left = budget_.LimitSeconds() - budget_.ElapsedSeconds();
    seconds = left >= 2 * each ? std::max(seconds_left, 2 * each) : seconds_left;
  }
  const auto fit = static_cast<std::size_t>(std::clamp(seconds / each, 0.0, 1000.0));
  const std::size_t least = budget_.LimitSeconds() > 0 ? 0 : 2;
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

measure::RaceSettings Racer::RaceSettingsOf(const TaskState& state,
                                            const std::vector<Observation>& finalists,
                                            int races_left) const {
  measure::RaceSettings terms;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    terms.known_seconds.push_back(finalists[i].noisy ? 0 : finalists[i].value);
    if (finalists[i].point == state.default_point) terms.anchor = i;
  }
  if (budget_.LimitSeconds() > 0) {
    const double racers = static_cast<double>(finalists.size());
    const double mine = budget_.RaceShare(races_left) - kRacerBuildSeconds * racers;
    const double usual = kRacerSeconds * racers;
    terms.seconds = std::max(kMinRaceSeconds, std::min(mine, usual));
    terms.wait_seconds = std::clamp(mine - terms.seconds, 0.0, kRaceWaitSeconds);
  } else {
    const double all = std::max(kRaceWaitSeconds, kWaitSeconds + kWaitShare * search_.seconds);
    terms.wait_seconds = std::clamp(all - race_seconds_, 0.0, kRaceWaitSeconds);
  }
  return terms;
}

Status Racer::RaceTask(int task, int races_left) {
  TaskState& state = job_.At(task);
  if (state.fastest.empty()) return {};
  if (RaceIsCurrent(state)) {
    Show(*state.raced, state);
    return {};
  }
  if (state.raced) state.report.earlier_best_seconds = state.raced->best_seconds;
  if (job_.settings.finalists == 0) return {};
  if (state.defer_verification) return VerifyFastest(state);
  const std::vector<Observation> finalists = Finalists(state, budget_.RaceShare(races_left));
  if (finalists.empty()) {  // no time remains
    ReportEarlierRace(state);
    return {};
  }
  std::vector<Candidate> candidates;
  for (const Observation& observed : finalists)
    candidates.push_back(ToCandidate(state.space, observed.point));
  const double start = job_.context.clock->MonotonicSeconds();
  TW_ASSIGN_OR_RETURN(
      std::vector<Trial> raced,
      job_.context.measurer->Race(candidates, RaceSettingsOf(state, finalists, races_left)));
  race_seconds_ += job_.context.clock->MonotonicSeconds() - start;
  if (raced.size() != finalists.size()) return Internal("race: wrong number of results");
  TW_ASSIGN_OR_RETURN(const std::int64_t attempt, NextAttempt(state));
  for (std::size_t i = 0; i < raced.size(); ++i) {
    Trial& trial = raced[i];
    trial.attempt = attempt;
    job_.DropUnrequestedMetrics(trial);
    if (trial.outcome == Outcome::kWrongResult) state.RecordVerification(finalists[i].point, false);
  }
  TW_RETURN_IF_ERROR(job_.context.store->Append(job_.record.id, raced, {}));
  std::optional<std::size_t> winner;
  BestEntry best = WinnerOf(state, finalists, raced, winner);
  if (!winner) {
    ReportEarlierRace(state);
    return {};
  }
  best.attempt = attempt;
  return StoreWinner(state, best, raced[*winner]);
}

void Racer::ReportEarlierRace(TaskState& state) {
  if (state.raced) Show(*state.raced, state);
}

void Racer::ReportEarlierRaces() {
  for (const auto& state : job_.tasks) ReportEarlierRace(*state);
}

Result<std::int64_t> Racer::NextAttempt(const TaskState& state) const {
  records::TrialFilter filter;
  filter.job = job_.record.id;
  filter.workload_key = state.key;
  filter.target = state.input.task.target.ToString();
  std::int64_t last = state.last_attempt;
  TW_RETURN_IF_ERROR(
      job_.context.store->ForEachTrial(filter, [&last](const records::Record& record) -> Status {
        constexpr std::int64_t kMaxAttempts = 1'000'000;  // no job reaches more
        const std::int64_t attempt = record.trial.attempt;
        if (attempt < kMaxAttempts) last = std::max(last, attempt);
        return {};
      }));
  return last + 1;
}

Status Racer::StoreWinner(TaskState& state, const BestEntry& best, const Trial& trial) {
  TW_RETURN_IF_ERROR(job_.context.store->StoreBest(job_.record.id, trial, best.ties));
  TW_RETURN_IF_ERROR(job_.context.store->Append(job_.record.id, {}, {Encode(state.key, best)}));
  state.raced = best;
  state.last_attempt = best.attempt;
  Show(best, state);
  return {};
}

Status Racer::VerifyFastest(TaskState& state) {
  BestEntry best;
  best.batches = search_.batches;
  best.trials = state.report.trials;
  TW_ASSIGN_OR_RETURN(best.attempt, NextAttempt(state));
  if (state.observed_default) best.default_seconds = state.observed_default->value;
  for (const Observation& observed : state.fastest) {
    TW_ASSIGN_OR_RETURN(std::vector<Trial> run,
                        job_.context.measurer->Race({ToCandidate(state.space, observed.point)},
                                                    measure::RaceSettings()));
    if (run.size() != 1) return Internal("race: wrong number of results");
    Trial& trial = run.front();
    trial.attempt = best.attempt;
    job_.DropUnrequestedMetrics(trial);
    TW_RETURN_IF_ERROR(job_.context.store->Append(job_.record.id, run, {}));
    if (trial.outcome == Outcome::kDeviceLost) return LostWhileVerifying(state);
    if (!MayWin(trial)) {
      state.RecordVerification(observed.point, false);
      continue;
    }
    state.RecordVerification(observed.point, true);
    TW_RETURN_IF_ERROR(VerifyFront(state, observed.point, best.attempt));
    // A winner in the log means that the whole front is verified.
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
  // An unverified trial is never reported as the best.
  state.report.best_seconds = 0;
  state.report.best_template.clear();
  state.report.best_config = {};
  state.report.ties.clear();
  return {};
}

Status Racer::VerifyFront(TaskState& state, Point verified, std::int64_t attempt) {
  if (job_.settings.metric.empty()) return {};
  std::set<Point> right = {verified};
  while (true) {
    std::vector<Observation> front = state.Front();
    std::erase_if(front,
                  [&right](const Observation& observed) { return right.contains(observed.point); });
    if (front.empty()) return {};
    if (job_.StopRequested()) {
      interrupted_ = true;
      return {};
    }
    std::vector<Candidate> candidates;
    for (const Observation& observed : front)
      candidates.push_back(ToCandidate(state.space, observed.point));
    TW_ASSIGN_OR_RETURN(std::vector<Trial> run,
                        job_.context.measurer->Race(candidates, measure::RaceSettings()));
    if (run.size() != front.size()) return Internal("race: wrong number of results");
    for (std::size_t i = 0; i < front.size(); ++i) {
      Trial& trial = run[i];
      trial.attempt = attempt;
      job_.DropUnrequestedMetrics(trial);
      if (MayWin(trial)) right.insert(front[i].point);
      if (trial.outcome != Outcome::kDeviceLost)
        state.RecordVerification(front[i].point, MayWin(trial));
    }
    TW_RETURN_IF_ERROR(job_.context.store->Append(job_.record.id, run, {}));
    const auto lost = [](const Trial& trial) { return trial.outcome == Outcome::kDeviceLost; };
    if (std::ranges::any_of(run, lost)) return LostWhileVerifying(state);
  }
}

BestEntry Racer::WinnerOf(const TaskState& state, const std::vector<Observation>& finalists,
                          const std::vector<Trial>& raced,
                          std::optional<std::size_t>& winner) const {
  BestEntry best;
  best.batches = search_.batches;
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
        !SameSpeed(raced[i], raced[*fastest], job_.context.measurer->resolution())) {
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
