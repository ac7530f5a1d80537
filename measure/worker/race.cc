#include "measure/worker/race.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "src/base/clock.h"

namespace tilewright::measure {
namespace {

/// One finalist. Without a run it is out, and `reply` contains its result.
struct Racer {
  std::unique_ptr<CandidateRun> run;
  RunReply reply;

  void Start() {
    VerifyBeforeTiming();
    if (!run->evaluation.needs_timing()) Finish({});
  }
  void VerifyBeforeTiming() {
    run->evaluation.Load();
    run->evaluation.VerifyBeforeTiming(/*may_stop=*/false);
    if (run->evaluation.needs_timing()) run->evaluation.BeginSlices();
  }
  /// returns the samples it took: none if it has failed.
  std::vector<double> Step() {
    if (run == nullptr) return {};
    std::vector<double> samples = run->evaluation.CollectSlice();
    if (!run->evaluation.needs_timing()) Finish({});
    return samples;
  }
  /// make_again: makes the same candidate's run in a new process, or returns null. If the verified
  /// run disagrees with the samples, interference is possible: that process repeats the
  /// verifications for the same samples.
  void Finish(const std::function<std::unique_ptr<CandidateRun>()>& make_again) {
    if (run == nullptr) return;
    reply = run->evaluation.End();
    for (int timings = 1; run->kernel.times_disagree() && timings < kMaxTimingAttempts; ++timings) {
      SampleSet samples = run->evaluation.samples();
      auto again = make_again ? make_again() : nullptr;
      if (again == nullptr) break;
      run = std::move(again);  // ends the earlier process
      VerifyBeforeTiming();
      (void)run->evaluation.CollectSlice();
      if (run->evaluation.needs_timing()) run->evaluation.ContinueFrom(std::move(samples));
      reply = run->evaluation.End();
    }
    run = nullptr;
  }
};

}  // namespace

std::vector<RunReply> RunRace(const RunOrder& order, OperandCache& operand_cache,
                              const MakeRun& make_run,
                              const std::function<RoundInterference()>& probe_times) {
  SystemClock clock;
  std::vector<Racer> racers;
  for (const RunOrder::Item& item : order.items) {
    Racer& racer = racers.emplace_back();
    auto kernel_operands = operand_cache.Prepare(item.kernel, item.reference);
    if (kernel_operands.ok()) {
      racer.run = make_run(item, *std::move(kernel_operands));
    } else {
      racer.reply = FailureReply(item, kernel_operands.status());
    }
  }
  for (std::size_t i = 0; i < racers.size(); ++i) {
    if (racers[i].run == nullptr) continue;
    // Allocates the memory that its process inherits; the tensors exist already.
    const auto kernel_operands =
        operand_cache.Prepare(order.items[i].kernel, order.items[i].reference);
    if (kernel_operands.ok()) {
      racers[i].Start();
    } else {
      racers[i] = {nullptr, FailureReply(order.items[i], kernel_operands.status())};
    }
  }
  const RaceJudge judge = RunRaceRounds(
      order, clock, [&](std::size_t i) { return racers[i].Step(); }, probe_times);
  std::vector<RunReply> replies;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    const RunOrder::Item& item = order.items[i];
    racers[i].Finish([&]() -> std::unique_ptr<CandidateRun> {
      auto kernel_operands = operand_cache.Prepare(item.kernel, item.reference);
      return kernel_operands.ok() ? make_run(item, *std::move(kernel_operands)) : nullptr;
    });
    replies.push_back(std::move(racers[i].reply));
  }
  ApplyRaceResults(judge, replies);
  return replies;
}

}  // namespace tilewright::measure
