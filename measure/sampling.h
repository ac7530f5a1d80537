#pragma once

#include <cstdint>
#include <vector>

#include "measure/memory_delay_estimator.h"
#include "measure/statistics.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// Settings for timing one candidate.
struct SamplingSettings {
  double batch_seconds = 50e-6;   ///< minimum of one sample: the clock ticks in about 50 ns
  double slice_seconds = 2e-3;    ///< samples between two probe runs
  double budget_seconds = 0.015;  ///< for a candidate that is not near the best
  double contender_budget_seconds = 0.032;  ///< for one that may be the best
  double contender_factor = 1.05;           ///< "near the best": at most this multiple of it
  double converged_noise = 0.01;            ///< stop when the interval's half-width is below this
  double early_stop_factor = 1.15;  ///< stop when the interval lies above this multiple of the best
  double cutoff_factor = 3;         ///< stop after one slice above this multiple of the best
  int min_converged_samples = 8;    ///< minimum number of clean samples for convergence
  int max_samples = 500;
  /// Minimum sampling time, even after convergence: no other work waits for the runner.
  double min_sampling_seconds = 0;
  /// Number of bytes of GPU memory to overwrite before each sample, outside the timed region, so
  /// that the cache contains no data of the kernel. 0: none. Kernels for CPUs use 0 and take cold
  /// weights instead (ColdWeights).
  std::int64_t flush_bytes = 0;
  /// Shorter calls are batched instead of flushed.
  double flush_above_seconds = 0;
};

/// Extent of one slice.
struct SliceLimits {
  std::int64_t batch = 1;        ///< calls in one sample
  double call_seconds = 0;       ///< estimate of one call
  double seconds = 0;            ///< of all samples together, about
  int samples = 0;               ///< maximum
  std::int64_t flush_bytes = 0;  ///< before each sample; 0: none
};

/// Returns whether a slice continues after samples of `spent_seconds` in all. samples_left: of
/// terms.samples.
bool SliceContinues(const SliceLimits& terms, double spent_seconds, int samples_left);

/// Interface of a timed kernel. Not thread-safe.
class Benchmarkable {
 public:
  virtual ~Benchmarkable() = default;
  /// Runs the kernel `calls` times. Returns false if it reported an error (sampling stops).
  virtual bool Run(std::int64_t calls) = 0;
  /// Takes the samples of a slice, in seconds per call, and adds them to `samples`. By default each
  /// sample is a Run between two reads of the clock. Returns false as Run does.
  virtual bool TimeSlice(const SliceLimits& terms, Clock& clock, std::vector<double>& samples);
  /// Touches `bytes` bytes of other memory.
  virtual void Flush(std::int64_t bytes) = 0;
  /// Runs the interference probe once and returns its duration.
  virtual double ProbeSeconds() = 0;
  /// Runs the probe of the memory level that contains the kernel's data, and evicts them from the
  /// caches near the core. Returns its duration; 0: no such probe.
  virtual double MemoryProbeSeconds() { return 0; }
};

struct SampleSet {
  std::vector<double> all;                 ///< seconds per call, in order
  std::vector<double> clean;               ///< those of slices between clean probe runs
  std::vector<double> probe_times;         ///< durations, in order
  std::vector<double> memory_probe_times;  ///< likewise
  double seconds = 0;                      ///< spent sampling, probes included
  bool failed = false;                     ///< Run returned false
  bool interleaved = false;  ///< of a race: alternating with others under the same interference
  /// Returns the estimate from the clean samples if there are any, else from all. In a race it uses
  /// all, because the few clean samples of different contenders are from different moments;
  /// RaceJudge selects them there.
  Estimate estimate() const { return EstimateOf(clean.empty() || interleaved ? all : clean); }
  /// Returns 0 without samples.
  double clean_fraction() const {
    return all.empty() ? 0 : static_cast<double>(clean.size()) / static_cast<double>(all.size());
  }
};

/// Returns the number of calls in one sample, so that it is long enough for the clock.
std::int64_t BatchOf(const SamplingSettings& settings, double call_seconds);

/// Takes one slice of samples between two probe runs and adds it to `set`. call_seconds: estimate
/// of one call.
void CollectSlice(Benchmarkable& benchmarkable, Clock& clock, NoiseFilter& gate,
                  const SamplingSettings& settings, double call_seconds, SampleSet& set);

/// Takes slices until the noise has converged, the candidate is clearly worse than the best, or the
/// budget is spent (twice the budget if no sample was clean). If the kernel has a memory probe, it
/// runs before, after, and every few slices. Samples between two of its runs do not count as clean
/// if one of them shows more delay than the kernel tolerates. best_seconds: best value so far; 0:
/// unknown. memory: evaluates the memory probe; null: the probe is not run.
SampleSet CollectSamples(Benchmarkable& benchmarkable, Clock& clock, NoiseFilter& gate,
                         const SamplingSettings& settings, double call_seconds, double best_seconds,
                         MemoryDelayEstimator* memory = nullptr);

/// Returns the maximum duration of one call; a longer call counts as a hang.
double CallLimitSeconds(double best_seconds);

}  // namespace tilewright::measure
