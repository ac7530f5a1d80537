#include "measure/sampling.h"

#include <algorithm>
#include <cmath>

namespace tilewright::measure {
namespace {

/// Interval between two runs of the probe of the kernel's memory level: a few slices, and several
/// times the duration of the call that loads the kernel's tensors again.
constexpr double kMemorySectionSeconds = 8e-3;
constexpr double kMemorySectionCalls = 8;

/// Returns whether the caches must be flushed before each sample.
bool Flushes(const SamplingSettings& settings, double call_seconds) {
  return settings.flush_bytes > 0 && call_seconds >= settings.flush_above_seconds;
}

}  // namespace

/// Returns 1 if the caches are flushed before each call.
std::int64_t BatchOf(const SamplingSettings& settings, double call_seconds) {
  if (Flushes(settings, call_seconds) || call_seconds <= 0) return 1;
  const double calls = std::ceil(settings.batch_seconds / call_seconds);
  return static_cast<std::int64_t>(std::clamp(calls, 1.0, 1e6));
}

namespace {

/// Runs the probe before a slice. The one after the previous slice serves if they are adjacent.
double ProbeBefore(Benchmarkable& benchmarkable, Clock& clock, NoiseFilter& gate, SampleSet& set) {
  if (!set.probe_times.empty()) return set.probe_times.back();
  const double probe = benchmarkable.ProbeSeconds();
  gate.Add(clock.UnixSeconds(), probe);
  set.probe_times.push_back(probe);
  return probe;
}

/// clean: samples between clean probe runs of the core.
bool HasConverged(const SamplingSettings& settings, const SampleSet& set,
                  const std::vector<double>& clean) {
  if (set.seconds < settings.min_sampling_seconds) return false;
  if (static_cast<int>(clean.size()) < settings.min_converged_samples) return false;
  return EstimateOf(clean).noise <= settings.converged_noise;
}

bool IsClearlyWorse(const SamplingSettings& settings, const SampleSet& set, double best_seconds) {
  if (best_seconds <= 0) return false;
  const double fastest = *std::min_element(set.all.begin(), set.all.end());
  if (fastest > settings.cutoff_factor * best_seconds) return true;
  // Noise makes samples slower, never faster: if the fastest of a few samples is above the limit,
  // the candidate is.
  return set.all.size() >= 5 && fastest > settings.early_stop_factor * best_seconds;
}

double BudgetSeconds(const SamplingSettings& settings, const SampleSet& set,
                     const std::vector<double>& clean, double best_seconds) {
  const bool contender =
      best_seconds <= 0 || set.estimate().value <= settings.contender_factor * best_seconds;
  const double budget = contender ? settings.contender_budget_seconds : settings.budget_seconds;
  return clean.empty() ? 2 * budget : budget;
}

/// clean: with a memory probe, its verdict is stored with the samples at no cost.
bool IsEnough(const SamplingSettings& settings, const SampleSet& set,
              const std::vector<double>& clean, double best_seconds) {
  if (IsClearlyWorse(settings, set, best_seconds)) return true;
  if (HasConverged(settings, set, clean)) return true;
  if (static_cast<int>(set.all.size()) >= settings.max_samples) return true;
  // At least two samples, however long a call takes: one sample shows no noise.
  return set.all.size() >= 2 && set.seconds >= BudgetSeconds(settings, set, clean, best_seconds);
}

/// Samples between two runs of the memory probe.
class MemorySection {
 public:
  MemorySection(Benchmarkable& benchmarkable, Clock& clock, MemoryDelayEstimator* watch,
                double call_seconds, SampleSet& set)
      : subject_(benchmarkable),
        clock_(clock),
        watch_(watch),
        call_seconds_(call_seconds),
        set_(set) {
    if (watch_ == nullptr) return;
    before_clean_ = RunProbe();
    Begin();
  }
  bool IsLong() const {
    return watch_ != nullptr &&
           set_.seconds - begun_seconds_ >
               std::max(kMemorySectionSeconds, kMemorySectionCalls * call_seconds_);
  }
  void Begin() {
    first_clean_ = set_.clean.size();
    begun_seconds_ = set_.seconds;
    // The probe has evicted the tensors from the caches. A long call loads them again by itself.
    constexpr double kLongCallSeconds = 5e-3;
    if (!any_probe_ || call_seconds_ >= kLongCallSeconds) return;
    const double start = clock_.MonotonicSeconds();
    (void)subject_.Run(1);
    // The estimate may come from a cold call.
    call_seconds_ = std::min(call_seconds_, clock_.MonotonicSeconds() - start);
  }
  void Close() {
    if (watch_ == nullptr) return;
    const bool after_clean = RunProbe();
    if (!before_clean_ || !after_clean) {
      const auto first = set_.clean.begin() + static_cast<std::ptrdiff_t>(first_clean_);
      taken_back_.insert(taken_back_.end(), first, set_.clean.end());
      set_.clean.erase(first, set_.clean.end());
    }
    before_clean_ = after_clean;
  }
  /// Samples between clean probe runs of the core, including those that were reclassified.
  std::vector<double> CoreClean() const {
    std::vector<double> clean = set_.clean;
    clean.insert(clean.end(), taken_back_.begin(), taken_back_.end());
    return clean;
  }
  void Next() {
    Close();
    Begin();
  }

 private:
  bool RunProbe() {
    const double start = clock_.MonotonicSeconds();
    const double seconds = subject_.MemoryProbeSeconds();
    set_.seconds += clock_.MonotonicSeconds() - start;
    any_probe_ = seconds > 0;
    if (!any_probe_) return true;
    watch_->Add(clock_.UnixSeconds(), seconds);
    set_.memory_probe_times.push_back(seconds);
    return watch_->DelaySeconds(seconds) <= MemoryDelayEstimator::kMaxDelay * call_seconds_;
  }

  Benchmarkable& subject_;
  Clock& clock_;
  MemoryDelayEstimator* watch_;
  double call_seconds_;
  SampleSet& set_;
  bool any_probe_ = false, before_clean_ = true;
  std::size_t first_clean_ = 0;
  std::vector<double> taken_back_;
  double begun_seconds_ = 0;
};

}  // namespace

bool Benchmarkable::TimeSlice(const SliceLimits& terms, Clock& clock,
                              std::vector<double>& samples) {
  double spent = 0;
  int left = terms.samples;
  do {
    if (terms.flush_bytes > 0) Flush(terms.flush_bytes);
    const double start = clock.MonotonicSeconds();
    if (!Run(terms.batch)) return false;
    const double elapsed = clock.MonotonicSeconds() - start;
    samples.push_back(elapsed / static_cast<double>(terms.batch));
    spent += elapsed;
  } while (SliceContinues(terms, spent, --left));
  return true;
}

bool SliceContinues(const SliceLimits& terms, double spent_seconds, int samples_left) {
  return spent_seconds < terms.seconds && spent_seconds + terms.call_seconds < 2 * terms.seconds &&
         samples_left > 0;
}

void CollectSlice(Benchmarkable& benchmarkable, Clock& clock, NoiseFilter& gate,
                  const SamplingSettings& settings, double call_seconds, SampleSet& set) {
  const double slice_start = clock.MonotonicSeconds();
  const double before = ProbeBefore(benchmarkable, clock, gate, set);
  const std::size_t first = set.all.size();
  SliceLimits terms;
  terms.batch = BatchOf(settings, call_seconds);
  terms.call_seconds = call_seconds;
  terms.seconds = settings.slice_seconds;
  terms.samples = std::max(1, settings.max_samples - static_cast<int>(first));
  terms.flush_bytes = Flushes(settings, call_seconds) ? settings.flush_bytes : 0;
  if (!benchmarkable.TimeSlice(terms, clock, set.all)) {
    set.failed = true;
    return;
  }
  const double after = benchmarkable.ProbeSeconds();
  gate.Add(clock.UnixSeconds(), after);
  set.probe_times.push_back(after);
  if (gate.IsClean(before) && gate.IsClean(after)) {
    set.clean.insert(set.clean.end(), set.all.begin() + static_cast<std::ptrdiff_t>(first),
                     set.all.end());
  }
  set.seconds += clock.MonotonicSeconds() - slice_start;
}

SampleSet CollectSamples(Benchmarkable& benchmarkable, Clock& clock, NoiseFilter& gate,
                         const SamplingSettings& settings, double call_seconds, double best_seconds,
                         MemoryDelayEstimator* memory) {
  SampleSet set;
  MemorySection section(benchmarkable, clock, memory, call_seconds, set);
  while (true) {
    CollectSlice(benchmarkable, clock, gate, settings, call_seconds, set);
    if (set.failed) return set;
    if (IsEnough(settings, set, section.CoreClean(), best_seconds)) break;
    if (section.IsLong()) section.Next();
  }
  section.Close();
  return set;
}

double CallLimitSeconds(double best_seconds) {
  if (best_seconds <= 0)
    return 10;  // without a known time: even a poor schedule of a large layer ends within this
  return std::max(1.0, 20 * best_seconds);
}

}  // namespace tilewright::measure
