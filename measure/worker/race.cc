#include "measure/worker/race.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "measure/worker/candidate_process.h"
#include "src/base/clock.h"
#include "src/base/strings.h"

namespace tilewright::measure {
namespace {

/// One finalist. Without a process it is out, and `reply` says how it ended.
struct Racer {
  std::unique_ptr<CandidateProcess> process;
  RunReply reply;

  /// Waits until its current step is done. returns the samples it took: none if it has failed.
  std::vector<double> Step() {
    const auto line = process->NextLine();
    if (line && !line->starts_with('{')) {
      std::vector<double> samples;
      for (const std::string& word : Split(*line, ' ')) {
        const auto sample = ParseDouble(word);
        if (sample.ok() && *sample > 0) samples.push_back(*sample);
      }
      if (!samples.empty()) return samples;
    }
    reply = line ? process->ReplyFrom(*line) : process->failed_reply();
    process = nullptr;
    return {};
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
  (void)racer.Step();  // loaded and verified
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

std::vector<RunReply> RunRace(const RunOrder& order, Workbench& workbench,
                              const MakeWork& make_work,
                              const std::function<RoundCanaries()>& canaries) {
  SystemClock clock;
  std::vector<Racer> racers;
  for (const RunOrder::Item& item : order.items) {
    racers.push_back(Start(item, workbench, make_work));
  }
  const RaceJudge judge = RaceInTurns(
      order, clock,
      [&](std::size_t i) -> std::vector<double> {
        Racer& racer = racers[i];
        if (racer.process == nullptr) return {};
        racer.process->Command('s');
        return racer.Step();
      },
      canaries);
  std::vector<RunReply> replies;
  for (Racer& racer : racers) {
    if (racer.process != nullptr) racer.Finish();
    replies.push_back(std::move(racer.reply));
  }
  JudgeReplies(judge, replies);
  return replies;
}

}  // namespace tilewright::measure
