#include "measure/worker/race.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "src/base/clock.h"

namespace tilewright::measure {
namespace {

/// One finalist. Without a run it is out, and `reply` says how it ended.
struct Racer {
  std::unique_ptr<CandidateRun> run;
  RunReply reply;

  void Start() {
    Prove();
    if (!run->course.alive()) Finish({});
  }
  void Prove() {
    run->course.Load();
    run->course.Prove(/*may_stop=*/false);
    if (run->course.alive()) run->course.BeginSlices();
  }
  /// returns the samples it took: none if it has failed.
  std::vector<double> Step() {
    if (run == nullptr) return {};
    std::vector<double> samples = run->course.TakeSlice();
    if (!run->course.alive()) Finish({});
    return samples;
  }
  /// make_again: makes the same candidate's run in a new process, or nothing. If the verified run
  /// disagrees with the samples, something may have disturbed it: that process repeats the
  /// verifications for the same samples.
  void Finish(const std::function<std::unique_ptr<CandidateRun>()>& make_again) {
    if (run == nullptr) return;
    reply = run->course.End();
    for (int timings = 1; run->kernel.times_disagree() && timings < kMaxTimings; ++timings) {
      SampleSet samples = run->course.samples();
      auto again = make_again ? make_again() : nullptr;
      if (again == nullptr) break;
      run = std::move(again);  // ends the earlier process
      Prove();
      (void)run->course.TakeSlice();
      if (run->course.alive()) run->course.GoOnFrom(std::move(samples));
      reply = run->course.End();
    }
    run = nullptr;
  }
};

}  // namespace

RunReply FailedWith(const RunOrder::Item& item, const Status& status) {
  RunReply reply;
  reply.ticket = item.ticket;
  reply.outcome = Outcome::kRunFailed;
  reply.reason = status.message();
  if (status.code() == StatusCode::kUnavailable) reply.blame = Blame::kMachine;
  return reply;
}

std::vector<RunReply> RunRace(const RunOrder& order, Workbench& workbench, const MakeRun& make_run,
                              const std::function<RoundCanaries()>& canaries) {
  SystemClock clock;
  std::vector<Racer> racers;
  for (const RunOrder::Item& item : order.items) {
    Racer& racer = racers.emplace_back();
    auto setup = workbench.Prepare(item.kernel, item.reference);
    if (setup.ok()) {
      racer.run = make_run(item, *std::move(setup));
    } else {
      racer.reply = FailedWith(item, setup.status());
    }
  }
  for (std::size_t i = 0; i < racers.size(); ++i) {
    if (racers[i].run == nullptr) continue;
    // What its process inherits; the tensors are there.
    const auto setup = workbench.Prepare(order.items[i].kernel, order.items[i].reference);
    if (setup.ok()) {
      racers[i].Start();
    } else {
      racers[i] = {nullptr, FailedWith(order.items[i], setup.status())};
    }
  }
  const RaceJudge judge = RaceInTurns(
      order, clock, [&](std::size_t i) { return racers[i].Step(); }, canaries);
  std::vector<RunReply> replies;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    const RunOrder::Item& item = order.items[i];
    racers[i].Finish([&]() -> std::unique_ptr<CandidateRun> {
      auto setup = workbench.Prepare(item.kernel, item.reference);
      return setup.ok() ? make_run(item, *std::move(setup)) : nullptr;
    });
    replies.push_back(std::move(racers[i].reply));
  }
  JudgeReplies(judge, replies);
  return replies;
}

}  // namespace tilewright::measure
