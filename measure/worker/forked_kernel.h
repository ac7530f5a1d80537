#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/evaluate/kernel_evaluation.h"
#include "measure/worker/candidate_process.h"
#include "measure/worker/shared_memory_pool.h"
#include "src/base/clock.h"
#include "src/runtime/roofline.h"

namespace tilewright::measure {

/// Parameters for a candidate's kernel. The pointers must outlive the kernel.
struct ForkedKernelParams {
  OperandCache::KernelOperands kernel_operands;
  InterferenceProbe* probe = nullptr;
  MemoryInterferenceProbe* memory_probe = nullptr;  ///< null: no probe
  int memory_level = 0;                             ///< of the kernel, see MemoryInterferenceProbe
  SharedMemoryPool* live = nullptr;
  const ColdWeights* cold_weights = nullptr;  ///< null: each call takes the same weight
  std::size_t weight = 0;                     ///< the parameter that takes cold weights
  std::int64_t real_window = -1;              ///< see ColdWeights::Place
  ReadAllowlist readable;
  std::int64_t memory_bytes = 0;  ///< see ChildParams
  TimingValidator::Terms times;
};

/// Returns a lower bound for the time of one call on this machine: a small part of its arithmetic
/// at the machine's peak, and its result at the bandwidth of the caches. It is a small part because
/// Winograd's algorithm saves products, and peaks are measured under interference and without every
/// instruction.
double MinCallSeconds(const KernelSpec& kernel, const MachinePeaks& peaks);

/// Kernel in a subprocess, which only calls it. Inputs, expected results, interference probes and
/// all comparisons stay in the runner. The process has the three predictable input sets and
/// receives the fresh one after all timing.
class ForkedKernel final : public CandidateKernel {
 public:
  /// item: must outlive the kernel. limit_seconds: see CandidateProcess.
  ForkedKernel(const RunOrder::Item& item, double limit_seconds, ForkedKernelParams terms);

  std::optional<Failure> Load() override;
  void SetPhase(Phase phase) override { phase_ = phase; }
  std::optional<Failure> SelectInputs(InputSet set) override;
  std::optional<Failure> Poison(InputSet set) override;
  bool Run(std::int64_t calls) override;
  bool TimeSlice(const SliceLimits& terms, Clock& clock, std::vector<double>& samples) override;
  void Flush(std::int64_t /*bytes*/) override {}  // kernels of a GPU only
  double ProbeSeconds() override { return terms_.probe->Run(); }
  double MemoryProbeSeconds() override {
    return terms_.memory_probe == nullptr ? 0 : terms_.memory_probe->Run(terms_.memory_level);
  }
  std::optional<Failure> CheckSideEffects() override;
  std::optional<Failure> CheckOutput(InputSet set, RunReply& reply) override;
  double last_call_seconds() const override { return last_call_seconds_; }
  InputSet last_set() const override {
    return terms_.kernel_operands.fresh_expected == nullptr ? InputSet::kRandom : InputSet::kFresh;
  }
  std::optional<Failure> CheckTimes(std::int64_t calls, double call_seconds) override;
  /// Returns whether CheckTimes found a disagreement. Interference may be the cause: a new process
  /// repeats the run, see kMaxTimingAttempts.
  bool times_disagree() const { return times_disagree_; }

 private:
  /// Comparison of the last timed run's result.
  struct Verdict {
    std::optional<Failure> wrong;
    double max_abs_error = 0;
  };

  std::optional<Failure> TakeMemory();
  /// Fills the live inputs with a set's data, unless they contain it or the set has no live input.
  void Fill(InputSet set);
  const GuardedMemory& ContentsOf(InputSet set, std::size_t input) const;
  /// Returns the failure that the process's answer reports; nullopt: none.
  std::optional<Failure> Answered() const;
  std::optional<Failure> Damaged(const GuardedMemory& memory, int parameter) const;
  /// Keeps the first failure. Returns whether there is one.
  bool Failed(std::optional<Failure> failure);
  /// The process does not learn of the fresh set: its data replace those of the random set.
  InputSet VisibleSet() const { return set_ == InputSet::kFresh ? InputSet::kRandom : set_; }
  bool InTiming() const { return phase_ == Phase::kTiming || phase_ == Phase::kFinal; }

  const KernelSpec& kernel_;
  ForkedKernelParams terms_;
  std::vector<SharedMemoryPool::Lease> live_;  // per input; empty for constant inputs
  SharedMemoryPool::Lease output_;
  CandidateProcess process_;
  TimingValidator times_;
  Phase phase_ = Phase::kLoading;
  InputSet set_ = InputSet::kRandom;
  std::optional<InputSet> filled_;  // set that the live inputs contain
  std::optional<Failure> failure_;
  bool has_workspace_ = true;
  std::uint8_t poison_ = 0;
  TimingValidator::RunnerTimes run_;  // of the last Run
  Verdict final_;
  bool times_disagree_ = false;
  double last_call_seconds_ = 0;
};

/// Maximum number of processes that verify a candidate's times until one of them agrees.
inline constexpr int kMaxTimingAttempts = 3;

/// State of a candidate in the runner.
struct CandidateRun {
  CandidateRun(const RunOrder::Item& item, ForkedKernelParams terms, const SamplingSettings& how,
               const NoiseFilter& gate, std::optional<MemoryDelayEstimator> memory,
               EnergyCounter* energy);
  SamplingSettings sampling;
  SystemClock clock;
  ForkedKernel kernel;
  KernelEvaluation evaluation;
};

}  // namespace tilewright::measure
