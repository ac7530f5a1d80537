#include "measure/sampling.h"

#include <algorithm>
#include <cmath>

namespace tilewright::measure {
namespace {

/// Whether the caches are to be emptied before each sample.
bool Flushes(const SamplingSettings& settings, double call_seconds) {
  return settings.flush_bytes > 0 && call_seconds >= settings.flush_above_seconds;
}

/// Calls in one sample: enough for the clock; one where the caches are emptied before each.
std::int64_t BatchOf(const SamplingSettings& settings, double call_seconds) {
  if (Flushes(settings, call_seconds) || call_seconds <= 0) return 1;
  const double calls = std::ceil(settings.batch_seconds / call_seconds);
  return static_cast<std::int64_t>(std::clamp(calls, 1.0, 1e6));
}

/// Canary before a slice. The one after the previous slice serves if nothing came between.
double CanaryBefore(Subject& subject, Clock& clock, QuietGate& gate, SampleSet& set) {
  if (!set.canaries.empty()) return set.canaries.back();
  const double canary = subject.CanarySeconds();
  gate.Add(clock.UnixSeconds(), canary);
  set.canaries.push_back(canary);
  return canary;
}

bool IsSettled(const SamplingSettings& settings, const SampleSet& set) {
  if (set.seconds < settings.patience_seconds) return false;
  if (static_cast<int>(set.quiet.size()) < settings.settled_samples) return false;
  return EstimateOf(set.quiet).noise <= settings.settled_noise;
}

bool IsClearlyWorse(const SamplingSettings& settings, const SampleSet& set, double best_seconds) {
  if (best_seconds <= 0) return false;
  const double fastest = *std::min_element(set.all.begin(), set.all.end());
  if (fastest > settings.cutoff_factor * best_seconds) return true;
  // Disturbed samples are too slow, never too fast: the fastest one above the line is proof
  // enough once there are a few.
  return set.all.size() >= 5 && fastest > settings.worse_factor * best_seconds;
}

double BudgetSeconds(const SamplingSettings& settings, const SampleSet& set, double best_seconds) {
  const bool contender =
      best_seconds <= 0 || set.estimate().value <= settings.contender_factor * best_seconds;
  const double budget = contender ? settings.contender_budget_seconds : settings.budget_seconds;
  return set.quiet.empty() ? 2 * budget : budget;
}

}  // namespace

void TakeSlice(Subject& subject, Clock& clock, QuietGate& gate, const SamplingSettings& settings,
               double call_seconds, SampleSet& set) {
  const double slice_start = clock.MonotonicSeconds();
  const double before = CanaryBefore(subject, clock, gate, set);
  const std::int64_t batch = BatchOf(settings, call_seconds);
  const std::size_t first = set.all.size();
  double spent = 0;
  do {
    if (Flushes(settings, call_seconds)) subject.Flush(settings.flush_bytes);
    const double start = clock.MonotonicSeconds();
    if (!subject.Run(batch)) {
      set.failed = true;
      return;
    }
    const double elapsed = clock.MonotonicSeconds() - start;
    set.all.push_back(elapsed / static_cast<double>(batch));
    spent += elapsed;
  } while (spent < settings.slice_seconds && spent + call_seconds < 2 * settings.slice_seconds &&
           static_cast<int>(set.all.size()) < settings.max_samples);
  const double after = subject.CanarySeconds();
  gate.Add(clock.UnixSeconds(), after);
  set.canaries.push_back(after);
  if (gate.IsQuiet(before) && gate.IsQuiet(after)) {
    set.quiet.insert(set.quiet.end(), set.all.begin() + static_cast<std::ptrdiff_t>(first),
                     set.all.end());
  }
  set.seconds += clock.MonotonicSeconds() - slice_start;
}

SampleSet TakeSamples(Subject& subject, Clock& clock, QuietGate& gate,
                      const SamplingSettings& settings, double call_seconds, double best_seconds) {
  SampleSet set;
  while (true) {
    TakeSlice(subject, clock, gate, settings, call_seconds, set);
    if (set.failed) return set;
    if (IsClearlyWorse(settings, set, best_seconds)) return set;
    if (IsSettled(settings, set)) return set;
    if (static_cast<int>(set.all.size()) >= settings.max_samples) return set;
    // Two samples at least, however long a call takes: one says nothing about the noise.
    if (set.all.size() >= 2 && set.seconds >= BudgetSeconds(settings, set, best_seconds)) {
      return set;
    }
  }
}

double CallLimitSeconds(double best_seconds) {
  if (best_seconds <= 0) return 10;  // nothing is known: even a poor schedule of a large layer ends
  return std::max(1.0, 20 * best_seconds);
}

}  // namespace tilewright::measure
