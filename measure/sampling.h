#pragma once

#include <cstdint>
#include <vector>

#include "measure/memory_delay_estimator.h"
#include "measure/statistics.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// How one candidate is timed.
struct SamplingSettings {
  double batch_seconds = 50e-6;   ///< least duration of one sample: the clock ticks in about 50 ns
  double slice_seconds = 2e-3;    ///< samples between two canaries
  double budget_seconds = 0.015;  ///< for a candidate that is not near the best
  double contender_budget_seconds = 0.032;  ///< for one that may be the best
  double contender_factor = 1.05;           ///< "near the best": at most this multiple of it
  double converged_noise = 0.01;            ///< stop when the interval's half-width is below this
  double early_stop_factor = 1.15;  ///< stop when the interval lies above this multiple of the best
  double cutoff_factor = 3;         ///< stop after one slice above this multiple of the best
  int min_converged_samples = 8;    ///< least number of quiet samples to call settled
  int max_samples = 500;
  /// Settled or not, go on this long: nothing else waits for the runner.
  double min_sampling_seconds = 0;
  /// Bytes of a GPU's memory that are overwritten before each sample, outside the timed region, so
  /// that its cache holds nothing of the kernel. 0: none, as of kernels for CPUs, which take
  /// weights from afar instead (ColdWeights).
  std::int64_t flush_bytes = 0;
  /// Calls shorter than that are not flushed for but batched.
  double flush_above_seconds = 0;
};

/// Extent of one slice.
struct SliceLimits {
  std::int64_t batch = 1;        ///< calls in one sample
  double call_seconds = 0;       ///< estimate of one call
  double seconds = 0;            ///< of all samples together, about
  int samples = 0;               ///< at most
  std::int64_t flush_bytes = 0;  ///< before each sample; 0: none
};

/// Whether a slice goes on after samples that took so long together; samples_left: of
/// terms.samples.
bool SliceContinues(const SliceLimits& terms, double spent_seconds, int samples_left);

/// What is timed. Not thread-safe.
class Benchmarkable {
 public:
  virtual ~Benchmarkable() = default;
  /// Runs the kernel `calls` times; false if it reported an error (sampling stops).
  virtual bool Run(std::int64_t calls) = 0;
  /// Takes the samples of a slice, seconds per call, and adds them to `samples`. By default each is
  /// a Run between two looks at the clock. false as for Run.
  virtual bool TimeSlice(const SliceLimits& terms, Clock& clock, std::vector<double>& samples);
  /// Touches so much other memory.
  virtual void Flush(std::int64_t bytes) = 0;
  /// Runs the canary once and returns its duration.
  virtual double ProbeSeconds() = 0;
  /// Runs the canary of the level of memory where the subject's data lie, which leaves them in no
  /// cache near the core. returns its duration; 0: there is none.
  virtual double MemoryProbeSeconds() { return 0; }
};

struct SampleSet {
  std::vector<double> all;                 ///< seconds per call, in order
  std::vector<double> clean;               ///< those of slices between quiet canaries
  std::vector<double> probe_times;         ///< durations, in order
  std::vector<double> memory_probe_times;  ///< likewise
  double seconds = 0;                      ///< spent sampling, canaries included
  bool failed = false;                     ///< Run returned false
  bool interleaved = false;                ///< in turns with others, who met the same disturbances
  /// From the quiet samples where there are any, else from all; from all of a race, where the few
  /// quiet ones would be other moments for each: there RaceJudge decides.
  Estimate estimate() const { return EstimateOf(clean.empty() || interleaved ? all : clean); }
  /// 0 for none.
  double clean_fraction() const {
    return all.empty() ? 0 : static_cast<double>(clean.size()) / static_cast<double>(all.size());
  }
};

/// Calls in one sample, so that it is long enough for the clock.
std::int64_t BatchOf(const SamplingSettings& settings, double call_seconds);

/// One slice of samples between two canaries, added to `set`. call_seconds: estimate of one call.
void CollectSlice(Benchmarkable& benchmarkable, Clock& clock, NoiseFilter& gate,
                  const SamplingSettings& settings, double call_seconds, SampleSet& set);

/// Slices until the noise has settled, the candidate is clearly worse than the best, or the budget
/// is spent (twice the budget where no quiet moment came). The subject's memory canary, if it has
/// one, runs before and after, and every few slices: what lies between two of which one was
/// disturbed by more than the subject can bear does not count as quiet.
/// best_seconds: best value so far; 0 if there is none. memory: judges the memory canaries; null:
/// they are not run.
SampleSet CollectSamples(Benchmarkable& benchmarkable, Clock& clock, NoiseFilter& gate,
                         const SamplingSettings& settings, double call_seconds, double best_seconds,
                         MemoryDelayEstimator* memory = nullptr);

/// Longest time one call may take before it counts as hanging.
double CallLimitSeconds(double best_seconds);

}  // namespace tilewright::measure
