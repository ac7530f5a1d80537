// The runner's side of a kernel in a subprocess. Each function of CandidateKernel is a step of the
// process, or checks shared memory. The runner composes texts from numbers.

#include "measure/worker/forked_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "measure/worker/crash.h"
#include "src/runtime/loader.h"

namespace tilewright::measure {

double MinCallSeconds(const KernelSpec& kernel, const MachinePeaks& peaks) {
  constexpr double kPart = 1.0 / 32;
  const double threads = std::max(1, kernel.threads);
  const double operations = std::max(peaks.float_ops_per_second, peaks.int8_ops_per_second);
  double seconds = 0;
  // What others compute depends on how: a running sum is written as many sums.
  if (IsAnchor(kernel.workload.op) && operations > 0) {
    seconds = 2 * static_cast<double>(kernel.workload.macs()) / operations;
  }
  const auto bytes = static_cast<double>(kernel.signature.result().type.bytes());
  if (peaks.near_bytes_per_second > 0) {
    seconds = std::max(seconds, bytes / peaks.near_bytes_per_second);
  }
  return kPart * seconds / threads;
}

ForkedKernel::ForkedKernel(const RunOrder::Item& item, double limit_seconds,
                           ForkedKernelParams terms)
    : kernel_(item.kernel),
      terms_(std::move(terms)),
      process_(item, limit_seconds),
      times_(terms_.times) {}

bool ForkedKernel::Failed(std::optional<Failure> failure) {
  if (!failure_ && failure) failure_ = std::move(failure);
  return failure_.has_value();
}

std::optional<Failure> ForkedKernel::TakeMemory() {
  auto output = terms_.live->Take(terms_.kernel_operands.output.bytes());
  if (!output.ok())
    return Failure{Outcome::kRunFailed, output.status().message(), FaultDomain::kMachine};
  output_ = *std::move(output);
  for (std::size_t i = 0; i < terms_.kernel_operands.fresh.size(); ++i) {
    live_.emplace_back();
    if (terms_.kernel_operands.fresh[i] == nullptr) continue;
    auto input = terms_.live->Take(terms_.kernel_operands.fresh[i]->bytes());
    if (!input.ok())
      return Failure{Outcome::kRunFailed, input.status().message(), FaultDomain::kMachine};
    live_.back() = *std::move(input);
  }
  // The process inherits no data of an earlier candidate.
  Fill(InputSet::kRandom);
  output_->Poison(PoisonFor(kernel_.signature.result().type.dtype, InputSet::kRandom));
  return std::nullopt;
}

std::optional<Failure> ForkedKernel::Load() {
  // The system's loader runs in the process, which can only report that it failed.
  const Status usable = SharedLibrary::Check(kernel_.artifact);
  if (!usable.ok()) {
    Failed(Failure{Outcome::kRunFailed, "artifact cannot be used: " + usable.message(),
                   FaultDomain::kUndetermined});
    return failure_;
  }
  if (Failed(TakeMemory())) return failure_;
  ChildParams work;
  work.kernel_operands = &terms_.kernel_operands;
  for (const SharedMemoryPool::Lease& lease : live_) work.live.push_back(lease.get());
  work.output = output_.get();
  work.cold_weights = terms_.cold_weights;
  work.weight = terms_.weight;
  work.real_window = terms_.real_window;
  work.readable = &terms_.readable;
  work.memory_bytes = terms_.memory_bytes;
  const Status started = process_.Start(std::move(work));
  // Other processes that are forked meanwhile do not inherit it.
  for (SharedMemoryPool::Lease& lease : live_) {
    if (lease.get() != nullptr) lease->SetInherited(false);
  }
  output_->SetInherited(false);
  if (!started.ok()) {
    Failed(Failure{Outcome::kRunFailed, started.message(), FaultDomain::kMachine});
    return failure_;
  }
  if (auto failure = process_.WaitUntilLoaded()) {
    failure->reason += PhaseText(Phase::kLoading);
    Failed(std::move(failure));
    return failure_;
  }
  if (Failed(Answered()) && process_.exchange().answer == StepResult::kNoMemory) {
    failure_->reason += PhaseText(Phase::kLoading);
  }
  has_workspace_ = process_.exchange().numbers[0] != 0;
  return failure_;
}

std::optional<Failure> ForkedKernel::Answered() const {
  const Exchange& said = process_.exchange();
  const std::int64_t first = said.numbers[0], second = said.numbers[1];
  const auto failed = [](std::string reason, FaultDomain fault_domain = FaultDomain::kCandidate) {
    return Failure{Outcome::kRunFailed, std::move(reason), fault_domain};
  };
  const std::string unusable = "artifact cannot be used: " + kernel_.artifact + ": ";
  switch (said.answer) {
    case StepResult::kNone:
      break;
    case StepResult::kOk:
      return std::nullopt;
    case StepResult::kNoMemory:
      return failed("out of memory");
    case StepResult::kNoThreads:
      return failed("no threads can be started", FaultDomain::kUndetermined);
    case StepResult::kLoadFailed:
      return failed(unusable + "loading: " + DecodeKnownWords(said.words),
                    FaultDomain::kUndetermined);
    case StepResult::kSymbolMissing:
      return failed(unusable + "no kernel " + kernel_.symbol, FaultDomain::kUndetermined);
    case StepResult::kVersionMismatch:
      return failed(unusable + "kernel " + kernel_.symbol + ": interface version " +
                        std::to_string(first) + ", expected " + std::to_string(TW_ABI_VERSION),
                    FaultDomain::kUndetermined);
    case StepResult::kParameterCountMismatch:
      return failed("artifact takes " + std::to_string(first) + " parameters, expected " +
                    std::to_string(kernel_.signature.parameters.size()));
    case StepResult::kWorkspace:
      return failed("out of memory: the artifact asks for " + std::to_string(first) + " + " +
                    std::to_string(second) + " bytes of workspace");
    case StepResult::kOverLimit:
      return failed("out of memory: result and workspace take " + std::to_string(first) +
                    " bytes, a candidate may allocate " + std::to_string(terms_.memory_bytes));
    case StepResult::kPrepareFailed:
      return failed("artifact: the library that it calls cannot be used: " +
                    DecodeKnownWords(said.words));
    case StepResult::kKernelError:
      return failed("the kernel returned code " + std::to_string(first));
    case StepResult::kThreadLeaked:
      return failed("a thread of the kernel still ran after it had returned");
    case StepResult::kOutOfBoundsWrite:
      return failed(DescribeDamage(first, static_cast<int>(second)));
  }
  return failed("sent something that is not a reply");
}

const GuardedMemory& ForkedKernel::ContentsOf(InputSet set, std::size_t input) const {
  if (set == InputSet::kFresh) return *terms_.kernel_operands.fresh[input];
  return *terms_.kernel_operands.inputs[static_cast<std::size_t>(InputSet::kRandom)][input];
}

void ForkedKernel::Fill(InputSet set) {
  const bool live = set == InputSet::kRandom || set == InputSet::kFresh;
  if (!live || filled_ == set) return;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (live_[i].get() == nullptr) continue;
    const GuardedMemory& contents = ContentsOf(set, i);
    std::memcpy(live_[i]->data(), contents.data(), static_cast<std::size_t>(contents.bytes()));
  }
  filled_ = set;
}

std::optional<Failure> ForkedKernel::SelectInputs(InputSet set) {
  set_ = set;
  if (phase_ != Phase::kFinal) Fill(set);  // else see Poison
  return std::nullopt;
}

std::optional<Failure> ForkedKernel::Poison(InputSet set) {
  if (failure_) return std::nullopt;
  poison_ = PoisonFor(kernel_.signature.result().type.dtype, set);
  output_->Poison(poison_);
  if (has_workspace_ && Failed(process_.RunStep(StepKind::kPoison, {}))) return std::nullopt;
  if (phase_ != Phase::kFinal) return std::nullopt;
  // The process receives the last data with the order to run: none of its threads can read them
  // before its time is counted.
  process_.Stop();
  Fill(set);
  return std::nullopt;
}

bool ForkedKernel::Run(std::int64_t calls) {
  if (failure_) return false;
  StepRequest order;
  order.set = VisibleSet();
  order.calls = calls;
  order.rotate_weights = InTiming();
  order.ends_with_real_weight = phase_ == Phase::kFinal;
  if (order.ends_with_real_weight && terms_.real_window < 0)
    order.rotate_weights = order.ends_with_real_weight = false;
  if (Failed(process_.RunStep(StepKind::kRun, order))) return false;
  // Before any other step, in which the process could finish the computation late. Its threads are
  // stopped while the runner compares their result.
  if (phase_ == Phase::kFinal) process_.Stop();
  run_ = process_.runner_times();
  const double said = process_.exchange().seconds;
  const double seconds = std::isfinite(said) ? said : 0;
  last_call_seconds_ = std::clamp(seconds, 0.0, run_.wall_seconds) / static_cast<double>(calls);
  if (Failed(Answered())) return false;
  if (phase_ != Phase::kFinal) return true;
  final_ = {};
  final_.wrong =
      CheckResult(terms_.kernel_operands, set_, output_->data(), poison_, &final_.max_abs_error);
  return true;
}

bool ForkedKernel::TimeSlice(const SliceLimits& terms, Clock& /*clock*/,
                             std::vector<double>& samples) {
  if (failure_) return false;
  StepRequest order;
  order.set = VisibleSet();
  order.slice = terms;
  order.slice.samples = std::min(terms.samples, kMaxSamplesOfSlice);
  if (Failed(process_.RunStep(StepKind::kSlice, order)) || Failed(Answered())) return false;
  const Exchange& said = process_.exchange();
  const int count = std::clamp(said.samples.load(), 0, order.slice.samples);
  std::vector<double> taken;
  for (int i = 0; i < count; ++i) {
    taken.push_back(said.sample_seconds[static_cast<std::size_t>(i)]);
  }
  if (const auto problem = times_.AddSlice(taken, terms.batch, process_.runner_times())) {
    Failed(Failure{Outcome::kRunFailed, *problem});
    return false;
  }
  samples.insert(samples.end(), taken.begin(), taken.end());
  return true;
}

std::optional<Failure> ForkedKernel::Damaged(const GuardedMemory& memory, int parameter) const {
  const std::int64_t damage = memory.FindDamage();
  if (damage == GuardedMemory::kIntact) return std::nullopt;
  return Failure{Outcome::kRunFailed,
                 DescribeDamage(damage < 0 ? damage : damage - memory.bytes(), parameter)};
}

std::optional<Failure> ForkedKernel::CheckSideEffects() {
  if (failure_) return failure_;
  if (Failed(process_.RunStep(StepKind::kSideEffects, {})) || Failed(Answered())) return failure_;
  if (Failed(Damaged(*output_, static_cast<int>(kernel_.signature.parameters.size()) - 1))) {
    return failure_;
  }
  const bool live_used = set_ == InputSet::kRandom || set_ == InputSet::kFresh;
  for (std::size_t i = 0; live_used && i < live_.size(); ++i) {
    if (live_[i].get() == nullptr) continue;
    if (Failed(Damaged(*live_[i], static_cast<int>(i)))) return failure_;
    const GuardedMemory& contents = ContentsOf(set_, i);
    if (std::memcmp(live_[i]->data(), contents.data(),
                    static_cast<std::size_t>(contents.bytes())) != 0) {
      Failed(Failure{Outcome::kRunFailed,
                     "wrote to parameter " + std::to_string(i) + ", which is an input"});
      return failure_;
    }
  }
  return std::nullopt;
}

std::optional<Failure> ForkedKernel::CheckOutput(InputSet set, RunReply& reply) {
  if (phase_ != Phase::kFinal) {
    return CheckResult(terms_.kernel_operands, set, output_->data(), poison_, &reply.max_abs_error);
  }
  reply.max_abs_error = std::max(reply.max_abs_error, final_.max_abs_error);
  return final_.wrong;
}

std::optional<Failure> ForkedKernel::CheckTimes(std::int64_t calls, double call_seconds) {
  const auto problem = times_.CheckVerifiedRun(calls, call_seconds, run_);
  if (!problem) return std::nullopt;
  times_disagree_ = true;
  return Failure{Outcome::kRunFailed, *problem};
}

CandidateRun::CandidateRun(const RunOrder::Item& item, ForkedKernelParams terms,
                           const SamplingSettings& how, const NoiseFilter& gate,
                           std::optional<MemoryDelayEstimator> memory, EnergyCounter* energy)
    : sampling(how),
      kernel(item, CallLimitSeconds(item.best_seconds), std::move(terms)),
      evaluation(kernel, item, sampling, gate, clock, std::move(memory), energy) {}

}  // namespace tilewright::measure
