#pragma once

#include <optional>
#include <string>
#include <utility>

#include "measure/energy.h"
#include "measure/evaluate/operand_cache.h"
#include "measure/messages.h"
#include "measure/sampling.h"

// Evaluation of a built kernel on any device: verification on three input sets, timing, final
// verification. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Phase of a candidate's evaluation; part of the failure reason if its process is lost.
enum class Phase : std::int32_t {
  kLoading = 0,
  kRandom = 1,  ///< the three verifications, in the order of InputSet
  kExtreme = 2,
  kZeroPoint = 3,
  kTiming = 4,
  kFinal = 5,  ///< verification after timing
};
/// Returns " (random inputs)" and the like.
std::string PhaseText(Phase phase);

/// Failure of a candidate.
struct Failure {
  Outcome outcome = Outcome::kRunFailed;
  std::string reason;
  FaultDomain fault_domain = FaultDomain::kCandidate;
};

/// Kernel on its device, with its memory. A failure is sticky: CheckSideEffects continues to report
/// it.
class CandidateKernel : public Benchmarkable {
 public:
  virtual std::optional<Failure> Load() = 0;
  virtual void SetPhase(Phase phase) = 0;
  /// Selects the inputs of the next calls.
  virtual std::optional<Failure> SelectInputs(InputSet set) = 0;
  /// Fills the result with a pattern that no correct result contains.
  virtual std::optional<Failure> Poison(InputSet set) = 0;
  /// Reports failures that any call can show: error codes, writes outside of the tensors, leftover
  /// threads.
  virtual std::optional<Failure> CheckSideEffects() = 0;
  /// Compares the result with the reference and writes the largest error to the reply. In
  /// Phase::kFinal it compares the result at the end of Run, whatever is written there later.
  virtual std::optional<Failure> CheckOutput(InputSet set, RunReply& reply) = 0;
  /// Seconds per call of the last Run.
  virtual double last_call_seconds() const = 0;
  /// Input set of the last verification, which follows a timed run.
  virtual InputSet last_set() const { return InputSet::kRandom; }
  /// Checks whether the duration of the last Run, of `calls` calls, is consistent with samples of
  /// `call_seconds` per call.
  virtual std::optional<Failure> CheckTimes(std::int64_t /*calls*/, double /*call_seconds*/) {
    return std::nullopt;
  }
};

/// Evaluation sequence of one candidate. Steps after a failure do nothing.
class KernelEvaluation {
 public:
  /// clock: measures the kernel's samples. memory: evaluates the kernel's memory interference
  /// probe; empty: the probe is not run. energy: counter for the joules of a call; null: they are
  /// not measured.
  KernelEvaluation(CandidateKernel& kernel, const RunOrder::Item& item,
                   const SamplingSettings& sampling, const NoiseFilter& gate, Clock& clock,
                   std::optional<MemoryDelayEstimator> memory = {},
                   EnergyCounter* energy = nullptr);

  void Load();
  /// Verifies the kernel. may_stop: a candidate that is much slower than the best one is neither
  /// verified on all inputs nor timed.
  void VerifyBeforeTiming(bool may_stop);
  /// Returns whether the candidate still has to be timed.
  bool needs_timing() const { return !failure_ && !stopped_ && !samples_.failed; }
  /// Takes samples until they have converged.
  void SampleUntilConverged();
  /// Race: call BeginSlices once, then take slice after slice, which returns the slice's samples,
  /// or none if it failed.
  void BeginSlices();
  std::vector<double> CollectSlice();
  /// Samples of a race continue in another process of the same kernel, whose own samples are
  /// dropped.
  const SampleSet& samples() const { return samples_; }
  void ContinueFrom(SampleSet samples) { samples_ = std::move(samples); }
  /// Measures the energy of the timed kernel, if requested, and verifies it again.
  RunReply End();

 private:
  void Verify(InputSet set, Phase phase, std::int64_t calls = 1);
  bool IsClearlyWorse() const;
  void CountEnergy();
  void Enter(Phase phase);
  /// Keeps the first failure. where: append the evaluation phase to the reason.
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
  bool stopped_ = false;  // much slower than the best: not to be timed
  double call_seconds_ = 0;
};

/// Reply for an item that could not be started.
RunReply FailureReply(const RunOrder::Item& item, const Status& status);

/// Compares the kernel's result in memory with the reference of the set: exactly for integers,
/// within a bound for floats. poison: the byte that filled the result before the call. Returns
/// nullopt if the result is correct, else the element and its difference; writes the largest error
/// to *max_abs_error.
std::optional<Failure> CheckResult(const OperandCache::KernelOperands& kernel_operands,
                                   InputSet set, const std::byte* result, std::uint8_t poison,
                                   double* max_abs_error);

/// Returns the byte that poisons a result of this type. As a float it is NaN. For integers it
/// differs between sets, since either byte may be a correct value by chance.
std::uint8_t PoisonFor(DataType dtype, InputSet set);

}  // namespace tilewright::measure
