#include "measure/evaluate/race_rounds.h"

#include <algorithm>
#include <utility>

namespace tilewright::measure {
namespace {

constexpr std::size_t kCleanRounds = 40;
constexpr std::size_t kMaxRounds = 120;
constexpr double kSecondsEach = 0.15;
// Pauses between noisy rounds. They increase, because interference lasts from a tenth of a second
// to many seconds.
constexpr double kFirstPauseSeconds = 0.01;
constexpr double kLastPauseSeconds = 0.2;

}  // namespace

RaceJudge RunRaceRounds(const RunOrder& order, Clock& clock,
                        const std::function<std::vector<double>(std::size_t)>& step,
                        const std::function<RoundInterference()>& probe_round) {
  const std::size_t count = order.items.size();
  std::vector<double> known;
  std::size_t anchor = RaceJudge::kNoAnchor;
  for (std::size_t i = 0; i < count; ++i) {
    known.push_back(order.items[i].known_seconds);
    if (order.items[i].anchor) anchor = i;
  }
  RaceJudge judge(std::move(known), anchor);
  double seconds = kSecondsEach * static_cast<double>(count);
  if (order.race_seconds > 0) seconds = std::min(seconds, order.race_seconds);
  const double start = clock.MonotonicSeconds();
  const double deadline = start + seconds;
  const double wait_deadline = deadline + order.wait_seconds;
  double pause = 0;
  RoundInterference before = probe_round();
  while (!judge.converged()) {
    const double now = clock.MonotonicSeconds();
    const bool over = now >= deadline || judge.clean_rounds() >= kCleanRounds;
    if (over && (!judge.noisy() || now >= wait_deadline)) break;
    if (judge.rounds() >= kMaxRounds) break;
    if (judge.rounds() > 0) {
      pause = judge.last_round_clean()
                  ? 0
                  : std::clamp(2 * pause, kFirstPauseSeconds, kLastPauseSeconds);
      if (pause > 0 && now + pause < wait_deadline) {
        clock.SleepSeconds(pause);
        before = probe_round();
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t racer = (i + judge.rounds()) % count;
      if (!judge.IsOut(racer)) judge.Add(racer, step(racer));
    }
    const RoundInterference after = probe_round();
    judge.EndRound(before.With(after));
    before = after;
  }
  return judge;
}

void ApplyRaceResults(const RaceJudge& judge, std::vector<RunReply>& replies) {
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const Estimate estimate = judge.Of(i);
    if (replies[i].outcome != Outcome::kOk || estimate.value <= 0) continue;
    replies[i].value = estimate.value;
    replies[i].noise = estimate.noise;
    replies[i].clean_fraction = judge.CleanFraction(i);
  }
}

}  // namespace tilewright::measure
