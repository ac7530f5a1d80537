#include "bench/kernel_bench_timer.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::bench {
namespace {

constexpr int kProbeFloats = 2048;  // 8 KiB: fits in any L1
constexpr int kProbeRepeats = 120;  // about 30 us
constexpr double kQuietFactor = 1.05;
constexpr int kEnoughQuietSlices = 7;
constexpr int kMaxRounds = 5;  // limit, as a multiple of the requested rounds, while clean slices
                               // are missing

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float ProbeKernel(const float* data) {
  __m256 sums[8] = {};
  for (int repeat = 0; repeat < kProbeRepeats; ++repeat) {
    for (int i = 0; i < kProbeFloats; i += 64) {
      for (int j = 0; j < 8; ++j) {
        const __m256 v = _mm256_loadu_ps(data + i + 8 * j);
        sums[j] = _mm256_fmadd_ps(v, v, sums[j]);
      }
    }
  }
  for (int j = 1; j < 8; ++j) sums[0] = _mm256_add_ps(sums[0], sums[j]);
  return _mm256_cvtss_f32(sums[0]);
}
#else
float ProbeKernel(const float* data) {
  float sums[8] = {};
  for (int repeat = 0; repeat < kProbeRepeats; ++repeat) {
    for (int i = 0; i < kProbeFloats; ++i) sums[i % 8] += data[i] * data[i];
  }
  return sums[0];
}
#endif

/// Returns how often this thread was preempted.
long Preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

QuietTimer::QuietTimer() : probe_data_(kProbeFloats, 0.5f) {
  constexpr double kCalibrationSeconds = 0.3;
  for (const double end = Now() + kCalibrationSeconds; Now() < end;) InterferenceProbe();
}

bool QuietTimer::IsQuiet(bool preempted, double probe_seconds) const {
  return !preempted && probe_seconds <= fastest_probe_ * kQuietFactor;
}

double QuietTimer::InterferenceProbe() {
  const double start = Now();
  volatile float sink = ProbeKernel(probe_data_.data());
  (void)sink;
  const double seconds = Now() - start;
  fastest_probe_ = std::min(fastest_probe_, seconds);
  return seconds;
}

std::vector<QuietTimer::Timing> QuietTimer::Measure(
    const std::vector<std::function<void()>>& functions, int rounds, int threads) {
  constexpr double kSliceSeconds = 0.002;
  constexpr double kSleepSeconds = 0.01;  // longer than threads spin
  struct Slice {
    double per_call, probe;
    bool preempted;
  };
  std::vector<std::vector<Slice>> slices(functions.size());
  std::vector<int> calls(functions.size(), 1);
  for (std::size_t f = 0; f < functions.size(); ++f) {
    functions[f]();  // warm-up: pages, caches, lazily generated code
    const double start = Now();
    functions[f]();
    calls[f] =
        std::clamp(static_cast<int>(kSliceSeconds / std::max(1e-8, Now() - start)), 1, 100000);
  }
  std::vector<int> quiet_slices(functions.size(), 0);
  for (int round = 0; round < kMaxRounds * rounds; ++round) {
    const bool enough = std::ranges::min(quiet_slices) >= kEnoughQuietSlices;
    if (round >= rounds && enough) break;
    for (std::size_t f = 0; f < functions.size(); ++f) {
      if (threads > 1) {
        std::this_thread::sleep_for(std::chrono::duration<double>(kSleepSeconds));
      }
      functions[f]();
      const long preemptions = Preemptions();
      const double before = InterferenceProbe();
      const double start = Now();
      for (int i = 0; i < calls[f]; ++i) functions[f]();
      const double per_call = (Now() - start) / calls[f];
      const double probe = std::max(before, InterferenceProbe());
      slices[f].push_back({per_call, probe, Preemptions() != preemptions});
      if (IsQuiet(slices[f].back().preempted, probe)) ++quiet_slices[f];
    }
  }
  std::vector<Timing> timings;
  for (std::vector<Slice>& all : slices) {
    std::vector<double> quiet;
    double fastest = 1e9;
    for (const Slice& s : all) {
      if (IsQuiet(s.preempted, s.probe)) quiet.push_back(s.per_call);
      fastest = std::min(fastest, s.per_call);
    }
    std::ranges::sort(quiet);
    timings.push_back({.seconds = quiet.empty() ? fastest : quiet[quiet.size() / 2],
                       .quiet_slices = static_cast<int>(quiet.size()),
                       .slices = static_cast<int>(all.size())});
  }
  return timings;
}

}  // namespace tilewright::bench
