#pragma once

#include <optional>
#include <string>
#include <utility>

#include "measure/energy.h"
#include "measure/evaluate/operand_cache.h"
#include "measure/messages.h"
#include "measure/sampling.h"

// What happens to a built kernel, whatever device it runs on: proved on three sets of inputs,
// timed, proved once more. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// What a candidate is doing; part of the reason when it does not come back.
enum class Phase : std::int32_t {
  kLoading = 0,
  kRandom = 1,  ///< the three verifications, in the order of InputSet
  kExtreme = 2,
  kZeroPoint = 3,
  kTiming = 4,
  kFinal = 5,  ///< verification after timing
};
/// " (random inputs)" and the like.
std::string PhaseText(Phase phase);

/// A candidate that went wrong.
struct Failure {
  Outcome outcome = Outcome::kRunFailed;
  std::string reason;
  FaultDomain fault_domain = FaultDomain::kCandidate;
};

/// A kernel on its device, with its memory. A failure stays: what shows it is CheckSideEffects.
class CandidateKernel : public Benchmarkable {
 public:
  virtual std::optional<Failure> Load() = 0;
  virtual void SetPhase(Phase phase) = 0;
  /// What the next calls read.
  virtual std::optional<Failure> SelectInputs(InputSet set) = 0;
  /// Makes the result unlike any right one.
  virtual std::optional<Failure> Poison(InputSet set) = 0;
  /// What shows on any call: error codes, damage outside of the tensors, threads left behind.
  virtual std::optional<Failure> CheckSideEffects() = 0;
  /// Compares the result with the reference; writes the largest error to the reply. In
  /// Phase::kFinal that is the result at the end of Run, whatever is written there later.
  virtual std::optional<Failure> CheckOutput(InputSet set, RunReply& reply) = 0;
  /// Of the last Run, per call.
  virtual double last_call_seconds() const = 0;
  /// Inputs of the last verification, which is that of a timed run.
  virtual InputSet last_set() const { return InputSet::kRandom; }
  /// Whether the last Run, of so many calls, may have been one of those whose samples say
  /// `call_seconds`.
  virtual std::optional<Failure> CheckTimes(std::int64_t /*calls*/, double /*call_seconds*/) {
    return std::nullopt;
  }
};

/// The whole course of one candidate. Steps after a failure do nothing.
class KernelEvaluation {
 public:
  /// clock: what the subject's samples are measured by.
  /// memory: judges the kernel's memory canary; empty: it is not run.
  /// energy: what counts the joules of a call; null: they are not counted.
  KernelEvaluation(CandidateKernel& kernel, const RunOrder::Item& item,
                   const SamplingSettings& sampling, const NoiseFilter& gate, Clock& clock,
                   std::optional<MemoryDelayEstimator> memory = {},
                   EnergyCounter* energy = nullptr);

  void Load();
  /// Verifies. may_stop: a candidate far above the best is neither proved on all inputs nor timed.
  void VerifyBeforeTiming(bool may_stop);
  /// Whether there is still something to be timed.
  bool needs_timing() const { return !failure_ && !stopped_ && !samples_.failed; }
  /// Samples until they have settled.
  void SampleUntilConverged();
  /// A race: BeginSlices once, then slice by slice. Returns the slice's samples; none if it failed.
  void BeginSlices();
  std::vector<double> CollectSlice();
  /// Samples of a race go on in another process of the same kernel, whose own are dropped.
  const SampleSet& samples() const { return samples_; }
  void ContinueFrom(SampleSet samples) { samples_ = std::move(samples); }
  /// Counts the energy of what was timed, if asked for, and verifies it again.
  RunReply End();

 private:
  void Verify(InputSet set, Phase phase, std::int64_t calls = 1);
  bool IsClearlyWorse() const;
  void CountEnergy();
  void Enter(Phase phase);
  /// Keeps the first failure. where: what the candidate was doing is part of the reason.
  void RecordFailure(std::optional<Failure> failure, bool where = false);

  CandidateKernel& kernel_;
  const RunOrder::Item& item_;
  const SamplingSettings& sampling_;
  NoiseFilter gate_;
  std::optional<MemoryDelayEstimator> memory_;
  Clock& clock_;
  EnergyCounter* const energy_;
  RunReply reply_;
  SampleSet samples_;
  std::optional<Failure> failure_;
  Phase phase_ = Phase::kLoading;
  bool stopped_ = false;  // far above the best: not to be timed
  double call_seconds_ = 0;
};

/// The reply for an item that could not even be started.
RunReply FailureReply(const RunOrder::Item& item, const Status& status);

/// Compares the kernel's result in memory with the reference for the set, exactly for integers,
/// within a bound for floats. poison: the byte that result was filled with before.
/// nullopt if it is right, else which element differs how; the largest error goes to
/// *max_abs_error.
std::optional<Failure> CheckResult(const OperandCache::KernelOperands& kernel_operands,
                                   InputSet set, const std::byte* result, std::uint8_t poison,
                                   double* max_abs_error);

/// Byte to poison a result of this type with. As a float it is NaN; for integers it differs between
/// sets, since either may be a right value by chance.
std::uint8_t PoisonFor(DataType dtype, InputSet set);

}  // namespace tilewright::measure
