#include "measure/race.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "measure/candidate_process.h"
#include "src/base/clock.h"
#include "src/base/strings.h"

namespace tilewright::measure {
namespace {

constexpr int kRounds = 40;
constexpr double kSecondsEach = 0.5;
/// A third of what one candidate alone has to reach: a race decides between close ones.
constexpr double kSettledNoise = 0.003;

/// One finalist. Without a process it is out, and `reply` says how it ended.
struct Racer {
  std::unique_ptr<CandidateProcess> process;
  RunReply reply;
  double noise = 1;

  /// Waits until its current step is done.
  void Step() {
    const auto line = process->NextLine();
    if (line) {
      const auto said = ParseDouble(*line);
      if (said.ok()) {
        noise = *said;
        return;
      }
    }
    reply = line ? process->ReplyFrom(*line) : process->failed_reply();
    process = nullptr;
  }
  void Finish() {
    process->Command('f');
    reply = process->Reply();
    process = nullptr;
  }
};

Racer Start(const RunOrder::Item& item, Workbench& workbench, const MakeWork& make_work) {
  Racer racer;
  auto setup = workbench.Prepare(item.kernel, item.reference);
  if (!setup.ok()) {
    racer.reply = FailedWith(item, setup.status());
    return racer;
  }
  racer.process = std::make_unique<CandidateProcess>(item, CallLimitSeconds(item.best_seconds));
  const Status started = racer.process->Start(make_work(item, *setup), /*commanded=*/true);
  if (!started.ok()) {
    racer.reply = FailedWith(item, started);
    racer.process = nullptr;
    return racer;
  }
  racer.Step();  // loaded and verified
  return racer;
}

}  // namespace

RunReply FailedWith(const RunOrder::Item& item, const Status& status) {
  RunReply reply;
  reply.ticket = item.ticket;
  reply.outcome = Outcome::kRunFailed;
  reply.reason = status.message();
  if (status.code() == StatusCode::kUnavailable) reply.blame = Blame::kMachine;
  return reply;
}

void RaceInTurns(std::size_t count, Clock& clock,
                 const std::function<std::optional<double>(std::size_t)>& step) {
  const double deadline = clock.MonotonicSeconds() + kSecondsEach * static_cast<double>(count);
  std::vector<double> noise(count, 1);
  std::vector<bool> out(count, false);
  for (std::size_t round = 0; round < kRounds && clock.MonotonicSeconds() < deadline; ++round) {
    if (std::ranges::all_of(noise, [](double each) { return each <= kSettledNoise; })) return;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t racer = (i + round) % count;
      if (out[racer]) continue;
      const std::optional<double> so_far = step(racer);
      out[racer] = !so_far;
      noise[racer] = so_far.value_or(0);
    }
  }
}

std::vector<RunReply> RunRace(const std::vector<RunOrder::Item>& items, Workbench& workbench,
                              const MakeWork& make_work) {
  SystemClock clock;
  std::vector<Racer> racers;
  for (const RunOrder::Item& item : items) racers.push_back(Start(item, workbench, make_work));
  RaceInTurns(items.size(), clock, [&](std::size_t i) -> std::optional<double> {
    Racer& racer = racers[i];
    if (racer.process == nullptr) return std::nullopt;
    racer.process->Command('s');
    racer.Step();
    return racer.noise;
  });
  std::vector<RunReply> replies;
  for (Racer& racer : racers) {
    if (racer.process != nullptr) racer.Finish();
    replies.push_back(std::move(racer.reply));
  }
  return replies;
}

}  // namespace tilewright::measure
