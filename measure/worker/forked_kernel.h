#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/worker/candidate_process.h"
#include "measure/worker/course.h"
#include "measure/worker/live_memory.h"
#include "src/base/clock.h"
#include "src/runtime/roofline.h"

namespace tilewright::measure {

/// What the runner starts the kernel of a candidate with. Pointers outlive the kernel.
struct ForkedTerms {
  Workbench::Setup setup;
  Canary* canary = nullptr;
  MemoryCanary* memory_canary = nullptr;  ///< null: none
  int memory_level = 0;                   ///< of the kernel, see MemoryCanary
  LiveMemory* live = nullptr;
  const FarWeights* far_weights = nullptr;  ///< null: each call takes the same weight
  std::size_t weight = 0;                   ///< the parameter that comes from there
  std::int64_t real_window = -1;            ///< see FarWeights::Place
  ReadList readable;
  std::int64_t memory_bytes = 0;  ///< see ChildWork
  ClaimedTimes::Terms times;
};

/// No kernel of this machine can take less for a call: a small part of what its arithmetic takes at
/// the machine's peak, and its result at the bandwidth of the caches. A small part, as Winograd's
/// algorithm saves products, and peaks are measured in noise and without every instruction.
double LeastCallSeconds(const KernelSpec& kernel, const MachinePeaks& peaks);

/// Kernel in a process of its own. The process only calls it. Inputs, expected results, canaries
/// and all comparisons stay on this side: the process has the three sets of inputs that anyone can
/// make, and gets the fresh one when everything was timed.
class ForkedKernel final : public CandidateKernel {
 public:
  /// item: outlives the kernel. limit_seconds: see CandidateProcess.
  ForkedKernel(const RunOrder::Item& item, double limit_seconds, ForkedTerms terms);

  std::optional<Failure> Load() override;
  void SetPhase(Phase phase) override { phase_ = phase; }
  std::optional<Failure> SelectInputs(InputSet set) override;
  std::optional<Failure> Poison(InputSet set) override;
  bool Run(std::int64_t calls) override;
  bool TimeSlice(const SliceTerms& terms, Clock& clock, std::vector<double>& samples) override;
  void Flush(std::int64_t /*bytes*/) override {}  // kernels of a GPU only
  double CanarySeconds() override { return terms_.canary->Run(); }
  double MemoryCanarySeconds() override {
    return terms_.memory_canary == nullptr ? 0 : terms_.memory_canary->Run(terms_.memory_level);
  }
  std::optional<Failure> CheckTraces() override;
  std::optional<Failure> CheckOutput(InputSet set, RunReply& reply) override;
  double last_call_seconds() const override { return last_call_seconds_; }
  InputSet last_set() const override {
    return terms_.setup.fresh_expected == nullptr ? InputSet::kRandom : InputSet::kFresh;
  }
  std::optional<Failure> CheckTimes(std::int64_t calls, double call_seconds) override;
  /// Whether CheckTimes found a disagreement. Something may have disturbed that run: a new process
  /// repeats it, see kMaxTimings.
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
  InputSet ToldSet() const { return set_ == InputSet::kFresh ? InputSet::kRandom : set_; }
  bool InTiming() const { return phase_ == Phase::kTiming || phase_ == Phase::kFinal; }

  const KernelSpec& kernel_;
  ForkedTerms terms_;
  std::vector<LiveMemory::Lease> live_;  // per input; empty ones: nothing changes there
  LiveMemory::Lease output_;
  CandidateProcess process_;
  ClaimedTimes times_;
  Phase phase_ = Phase::kLoading;
  InputSet set_ = InputSet::kRandom;
  std::optional<InputSet> filled_;  // what the live inputs have
  std::optional<Failure> failure_;
  bool has_workspace_ = true;
  std::uint8_t poison_ = 0;
  ClaimedTimes::Watched run_;  // of the last Run
  Verdict final_;
  bool times_disagree_ = false;
  double last_call_seconds_ = 0;
};

/// Processes that verify a candidate's times until one of them agrees.
inline constexpr int kMaxTimings = 3;

/// A candidate on its way through the runner.
struct CandidateRun {
  CandidateRun(const RunOrder::Item& item, ForkedTerms terms, const SamplingSettings& how,
               const QuietGate& gate, std::optional<MemoryWatch> memory, EnergyCounter* energy);
  SamplingSettings sampling;
  SystemClock clock;
  ForkedKernel kernel;
  Course course;
};

}  // namespace tilewright::measure
