#include "measure/evaluate/kernel_evaluation.h"

#include <algorithm>
#include <utility>

#include "src/templates/device.h"

namespace tilewright::measure {
std::string PhaseText(Phase phase) {
  switch (phase) {
    case Phase::kLoading:
      return " while being loaded";
    case Phase::kRandom:
      return " (random inputs)";
    case Phase::kExtreme:
      return " (extreme inputs)";
    case Phase::kZeroPoint:
      return " (zero-point inputs)";
    case Phase::kTiming:
      return " (while timed)";
    case Phase::kFinal:
      return " (after timing)";
  }
  return {};
}

KernelEvaluation::KernelEvaluation(CandidateKernel& kernel, const RunOrder::Item& item,
                                   const SamplingSettings& sampling, const NoiseFilter& gate,
                                   Clock& clock, std::optional<MemoryDelayEstimator> memory,
                                   EnergyCounter* energy)
    : kernel_(kernel),
      item_(item),
      sampling_(sampling),
      gate_(gate),
      memory_(std::move(memory)),
      clock_(clock),
      energy_(energy) {
  reply_.ticket = item.ticket;
}

void KernelEvaluation::Enter(Phase phase) {
  phase_ = phase;
  kernel_.SetPhase(phase);
}

void KernelEvaluation::RecordFailure(std::optional<Failure> failure, bool where) {
  if (failure_ || !failure) return;
  failure_ = std::move(failure);
  if (where) failure_->reason += PhaseText(phase_);
}

void KernelEvaluation::Load() {
  Enter(Phase::kLoading);
  RecordFailure(kernel_.Load());
}

void KernelEvaluation::Verify(InputSet set, Phase phase, std::int64_t calls) {
  if (failure_) return;
  Enter(phase);
  RecordFailure(kernel_.SelectInputs(set));
  if (!failure_) RecordFailure(kernel_.Poison(set));
  if (failure_) return;
  (void)kernel_.Run(calls);
  RecordFailure(kernel_.CheckSideEffects(), true);
  if (!failure_) RecordFailure(kernel_.CheckOutput(set, reply_), true);
}

/// Returns whether the candidate is much slower than the best one after its first call, which is
/// slower than the others (cold caches).
bool KernelEvaluation::IsClearlyWorse() const {
  constexpr double kColdSeconds = 3e-3;
  const double best = item_.best_seconds;
  return best > 0 && call_seconds_ > kColdSeconds + (sampling_.cutoff_factor + 1) * best;
}

void KernelEvaluation::VerifyBeforeTiming(bool may_stop) {
  Verify(InputSet::kRandom, Phase::kRandom);
  if (failure_) return;
  call_seconds_ = kernel_.last_call_seconds();
  // A candidate that can never be served needs no verification on every input set; its first call
  // is its only sample.
  if (may_stop && IsClearlyWorse()) {
    // Noise may have delayed it: a second call decides.
    if (!kernel_.Run(1)) return RecordFailure(kernel_.CheckSideEffects(), true);
    call_seconds_ = std::min(call_seconds_, kernel_.last_call_seconds());
  }
  if (may_stop && IsClearlyWorse()) {
    samples_.all = {call_seconds_};
    stopped_ = true;
    return;
  }
  Verify(InputSet::kExtreme, Phase::kExtreme);
  Verify(InputSet::kZeroPoint, Phase::kZeroPoint);
  call_seconds_ = kernel_.last_call_seconds();
}

void KernelEvaluation::SampleUntilConverged() {
  Enter(Phase::kTiming);
  RecordFailure(kernel_.SelectInputs(InputSet::kRandom));
  if (failure_) return;
  // Sampling warms up after each run of the memory probe. Without one, or if calls are batched by
  // the duration of a warm call, this call loads the random set's tensors into the caches.
  if (!memory_ || call_seconds_ < 4 * sampling_.batch_seconds) {
    (void)kernel_.Run(1);
    call_seconds_ = kernel_.last_call_seconds();
  }
  samples_ = CollectSamples(kernel_, clock_, gate_, sampling_, call_seconds_, item_.best_seconds,
                            memory_ ? &*memory_ : nullptr);
}

void KernelEvaluation::BeginSlices() {
  Enter(Phase::kTiming);
  RecordFailure(kernel_.SelectInputs(InputSet::kRandom));
  samples_.interleaved = true;
}

std::vector<double> KernelEvaluation::CollectSlice() {
  if (!needs_timing()) return {};
  (void)kernel_.Run(1);  // the caches contained the other contenders' tensors
  call_seconds_ = kernel_.last_call_seconds();
  samples_.probe_times.clear();
  const auto first = static_cast<std::ptrdiff_t>(samples_.all.size());
  measure::CollectSlice(kernel_, clock_, gate_, sampling_, call_seconds_, samples_);
  reply_.probe_times.insert(reply_.probe_times.end(), samples_.probe_times.begin(),
                            samples_.probe_times.end());
  if (samples_.failed) return {};
  return {samples_.all.begin() + first, samples_.all.end()};
}

/// Also runs for a candidate that is timed no further: with this metric, a job needs it of all
/// trials.
void KernelEvaluation::CountEnergy() {
  if (energy_ == nullptr || failure_ || samples_.failed || samples_.all.empty()) return;
  Enter(Phase::kTiming);
  const auto joules = JoulesPerCall(kernel_, *energy_, clock_, call_seconds_);
  if (joules.ok() && *joules > 0) {
    reply_.others[std::string(kJoules)] = *joules;
    return;
  }
  RecordFailure(kernel_.CheckSideEffects(), true);
  if (joules.ok()) {
    return RecordFailure(Failure{Outcome::kRunFailed,
                                 "the counter of energy is too coarse for this kernel",
                                 FaultDomain::kUndetermined});
  }
  RecordFailure(Failure{Outcome::kRunFailed, joules.status().message(), FaultDomain::kMachine});
}

RunReply KernelEvaluation::End() {
  CountEnergy();
  const Estimate estimate = samples_.estimate();
  if (!failure_ && !stopped_) {
    RecordFailure(kernel_.CheckSideEffects(), true);
    // A second verification under the conditions of the timing: a kernel that was correct at first
    // may have drifted, return a cached result, or write to its memory late.
    const std::int64_t calls = BatchOf(sampling_, call_seconds_);
    Verify(kernel_.last_set(), Phase::kFinal, calls);
    if (!failure_) RecordFailure(kernel_.CheckTimes(calls, estimate.value));
    reply_.verified = !failure_;
  }
  reply_.samples = samples_.all;
  if (!samples_.interleaved) reply_.probe_times = samples_.probe_times;
  reply_.value = estimate.value;
  reply_.noise = estimate.noise;
  if (!samples_.all.empty() && !stopped_) reply_.clean_fraction = samples_.clean_fraction();
  reply_.memory_probe_times = samples_.memory_probe_times;
  reply_.timing_seconds = samples_.seconds;
  if (failure_) {
    reply_.outcome = failure_->outcome;
    reply_.reason = failure_->reason;
    reply_.fault_domain = failure_->fault_domain;
  }
  return std::move(reply_);
}

RunReply FailureReply(const RunOrder::Item& item, const Status& status) {
  RunReply reply;
  reply.ticket = item.ticket;
  reply.outcome = Outcome::kRunFailed;
  reply.reason = status.message();
  if (status.code() == StatusCode::kUnavailable) reply.fault_domain = FaultDomain::kMachine;
  return reply;
}

}  // namespace tilewright::measure
