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

/// What the runner starts the kernel of a candidate with. Pointers outlive the kernel.
struct ForkedKernelParams {
  OperandCache::KernelOperands kernel_operands;
  InterferenceProbe* probe = nullptr;
  MemoryInterferenceProbe* memory_probe = nullptr;  ///< null: none
  int memory_level = 0;                             ///< of the kernel, see MemoryInterferenceProbe
  SharedMemoryPool* live = nullptr;
  const ColdWeights* cold_weights = nullptr;  ///< null: each call takes the same weight
  std::size_t weight = 0;                     ///< the parameter that comes from there
  std::int64_t real_window = -1;              ///< see ColdWeights::Place
  ReadAllowlist readable;
  std::int64_t memory_bytes = 0;  ///< see ChildParams
  TimingValidator::Terms times;
};

/// No kernel of this machine can take less for a call: a small part of what its arithmetic takes at
/// the machine's peak, and its result at the bandwidth of the caches. A small part, as Winograd's
/// algorithm saves products, and peaks are measured in noise and without every instruction.
double MinCallSeconds(const KernelSpec& kernel, const MachinePeaks& peaks);

/// Kernel in a process of its own. The process only calls it. Inputs, expected results, canaries
/// and all comparisons stay on this side: the process has the three sets of inputs that anyone can
/// make, and gets the fresh one when everything was timed.
class ForkedKernel final : public CandidateKernel {
 public:
  /// item: outlives the kernel. limit_seconds: see CandidateProcess.
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
  /// Whether CheckTimes found a disagreement. Something may have disturbed that run: a new process
  /// repeats it, see kMaxTimingAttempts.
  bool times_disagree() const { return times_disagree_; }

 private:
  /// Comparison of the last timed run's result.
  struct Verdict {
    std::optional<Failure> wrong;
    double max_abs_error = 0;
  };

  std::optional<Failure> TakeMemory();
  /// Fills the live inputs with a set's data, unless they have it or no live input is of this set.
  void Fill(InputSet set);
  const GuardedMemory& ContentsOf(InputSet set, std::size_t input) const;
  /// The failure that the process's answer tells of; nullopt: none.
  std::optional<Failure> Answered() const;
  std::optional<Failure> Damaged(const GuardedMemory& memory, int parameter) const;
  /// Keeps the first failure. returns whether there is one.
  bool Failed(std::optional<Failure> failure);
  /// The process is not told of the fresh set: its data are where those of the random one were.
  InputSet VisibleSet() const { return set_ == InputSet::kFresh ? InputSet::kRandom : set_; }
  bool InTiming() const { return phase_ == Phase::kTiming || phase_ == Phase::kFinal; }

  const KernelSpec& kernel_;
  ForkedKernelParams terms_;
  std::vector<SharedMemoryPool::Lease> live_;  // per input; empty ones: nothing changes there
  SharedMemoryPool::Lease output_;
  CandidateProcess process_;
  TimingValidator times_;
  Phase phase_ = Phase::kLoading;
  InputSet set_ = InputSet::kRandom;
  std::optional<InputSet> filled_;  // what the live inputs have
  std::optional<Failure> failure_;
  bool has_workspace_ = true;
  std::uint8_t poison_ = 0;
  TimingValidator::RunnerTimes run_;  // of the last Run
  Verdict final_;
  bool times_disagree_ = false;
  double last_call_seconds_ = 0;
};

/// Processes that verify a candidate's times until one of them agrees.
inline constexpr int kMaxTimingAttempts = 3;

/// A candidate on its way through the runner.
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
