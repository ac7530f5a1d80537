#include "measure/sampling.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/set_clock.h"

namespace tilewright::measure {
namespace {

/// A kernel whose every call takes `call_seconds(now)`, on a core that is noisy when the test says
/// so.
class FakeSubject final : public Benchmarkable {
 public:
  explicit FakeSubject(SetClock& clock) : clock_(clock) {}
  bool Run(std::int64_t calls) override {
    ++runs;
    if (runs == failing_run) return false;
    clock_.now += call_seconds * static_cast<double>(calls) * (noisy(clock_.now) ? 1.4 : 1);
    return true;
  }
  void Flush(std::int64_t) override { ++flushes; }
  double ProbeSeconds() override {
    const double probe = noisy(clock_.now) ? 42e-6 : 30e-6;
    clock_.now += probe;
    return probe;
  }
  double MemoryProbeSeconds() override {
    if (memory_probe <= 0) return 0;
    ++memory_probe_times;
    const double probe = memory_probe * (memory_disturbed(clock_.now) ? 2 : 1);
    clock_.now += probe;
    return probe;
  }
  double call_seconds = 1e-3;
  double memory_probe = 0;
  int memory_probe_times = 0;
  std::function<bool(double)> memory_disturbed = [](double) { return false; };
  std::function<bool(double)> noisy = [](double) { return false; };
  int runs = 0, flushes = 0, failing_run = -1;

 private:
  SetClock& clock_;
};

struct Bench {
  SetClock clock{100};
  FakeSubject subject{clock};
  NoiseFilter gate;
  SamplingSettings settings;
  Bench() {
    for (int second = 90; second < 100; ++second) gate.Add(second, 30e-6);
  }
  SampleSet Take(double best_seconds) {
    return CollectSamples(subject, clock, gate, settings, subject.call_seconds, best_seconds);
  }
};

TEST(Sampling, AQuietKernelSettlesFast) {
  Bench bench;
  const SampleSet set = bench.Take(0);
  EXPECT_EQ(set.all.size(), 8U);
  EXPECT_EQ(set.clean.size(), set.all.size());
  EXPECT_NEAR(set.estimate().value, 1e-3, 1e-9);
  EXPECT_LT(set.estimate().noise, 1e-6);
  EXPECT_LT(set.seconds, 0.01);
}

TEST(Sampling, AShortKernelIsBatched) {
  Bench bench;
  bench.subject.call_seconds = 1e-6;
  const SampleSet set = bench.Take(0);
  EXPECT_NEAR(set.estimate().value, 1e-6, 1e-12);
  EXPECT_GE(bench.clock.now - 100, static_cast<double>(set.all.size()) * 50e-6);
}

TEST(Sampling, DisturbedSlicesDoNotCount) {
  Bench bench;
  // 10 ms clean, 10 ms noisy, and so on.
  bench.subject.noisy = [](double now) { return static_cast<int>(now * 100) % 2 == 1; };
  bench.settings.min_converged_samples = 20;
  const SampleSet set = bench.Take(0);
  EXPECT_GT(set.all.size(), set.clean.size());
  EXPECT_GE(set.clean.size(), 8U);
  EXPECT_NEAR(set.estimate().value, 1e-3, 1e-9);
}

TEST(Sampling, WithoutAQuietMomentAllSamplesAreUsedAfterTwiceTheBudget) {
  Bench bench;
  bench.subject.noisy = [](double) { return true; };
  const SampleSet set = bench.Take(0);
  EXPECT_TRUE(set.clean.empty());
  EXPECT_NEAR(set.estimate().value, 1.4e-3, 1e-9);
  EXPECT_NEAR(set.seconds, 2 * bench.settings.contender_budget_seconds, 0.01);
}

TEST(Sampling, TheMemoryCanaryRunsBeforeAndAfter) {
  Bench bench;
  bench.subject.memory_probe = 100e-6;
  MemoryDelayEstimator memory(2, NoiseFilter(), std::int64_t{64} << 20);
  const SampleSet set =
      CollectSamples(bench.subject, bench.clock, bench.gate, bench.settings, 1e-3, 0, &memory);
  EXPECT_EQ(set.clean.size(), set.all.size());
  EXPECT_EQ(set.clean_fraction(), 1);
  EXPECT_EQ(bench.subject.memory_probe_times, 2);
  EXPECT_EQ(set.memory_probe_times.size(), 2U);
}

// A probe costs a call that reloads the tensors into the caches: there are 8 calls of 2 ms between
// two probes.
TEST(Sampling, LongerCallsHaveFewerMemoryCanaries) {
  for (const double call : {1e-3, 2e-3}) {
    Bench bench;
    bench.subject.call_seconds = call;
    bench.subject.memory_probe = 100e-6;
    bench.settings.min_sampling_seconds = 0.04;
    bench.settings.min_converged_samples = 100;
    MemoryDelayEstimator memory(2, NoiseFilter(), std::int64_t{64} << 20);
    const SampleSet set = CollectSamples(bench.subject, bench.clock, bench.gate, bench.settings,
                                         2 * call, 0, &memory);
    EXPECT_GT(set.seconds, 0.03);
    EXPECT_EQ(bench.subject.memory_probe_times, call < 1.5e-3 ? 5 : 3) << call;
  }
}

// The core is idle: only the probe of the kernel's memory level detects the interference.
TEST(Sampling, WhatOnlyTheMemoryCanarySeesDoesNotCountAsQuiet) {
  Bench bench;
  bench.subject.memory_probe = 100e-6;
  bench.settings.min_converged_samples = 20;
  bench.subject.memory_disturbed = [](double now) { return now > 99 && now < 100.005; };
  NoiseFilter gate;
  gate.SetReference(100e-6);
  gate.Add(90, 100e-6);
  MemoryDelayEstimator memory(
      2, gate, MemoryInterferenceProbe::BytesReadAt(2));  // for which the probe takes 100 us
  const SampleSet set =
      CollectSamples(bench.subject, bench.clock, bench.gate, bench.settings, 1e-3, 0, &memory);
  EXPECT_GE(set.clean.size(), 4U);
  EXPECT_LT(set.clean_fraction(), 0.8);
  bench.subject.memory_disturbed = [](double) { return true; };
  const SampleSet never =
      CollectSamples(bench.subject, bench.clock, bench.gate, bench.settings, 1e-3, 0, &memory);
  EXPECT_EQ(never.clean_fraction(), 0);
  EXPECT_LT(never.seconds, 0.03) << "it is said, not waited for";
  // A kernel that reads a tenth of that in 5 ms loses 0.2 % by it.
  MemoryDelayEstimator little(2, gate, MemoryInterferenceProbe::BytesReadAt(2) / 10);
  bench.subject.call_seconds = 5e-3;
  const SampleSet apart =
      CollectSamples(bench.subject, bench.clock, bench.gate, bench.settings, 5e-3, 0, &little);
  EXPECT_EQ(apart.clean_fraction(), 1);
}

TEST(MemoryDelayEstimator, ADelayIsByWhatTheKernelReads) {
  NoiseFilter gate;
  gate.SetReference(100e-6);
  gate.Add(90, 100e-6);
  const MemoryDelayEstimator watch(2, gate, MemoryInterferenceProbe::BytesReadAt(2) / 2);
  EXPECT_EQ(watch.DelaySeconds(105e-6), 0) << "no probe is more even than that";
  EXPECT_NEAR(watch.DelaySeconds(300e-6), 100e-6, 1e-9);
  EXPECT_EQ(MemoryDelayEstimator().DelaySeconds(1), 0);
}

TEST(Sampling, ThreeTimesTheBestIsCutOffAfterOneSlice) {
  Bench bench;
  const SampleSet set = bench.Take(0.3e-3);
  EXPECT_LE(set.all.size(), 3U);
}

TEST(Sampling, ALittleWorseNeedsAFewSamples) {
  Bench bench;
  const SampleSet set = bench.Take(0.8e-3);
  EXPECT_GE(set.all.size(), 5U);
  EXPECT_LT(set.all.size(), 8U) << "as many as settle";
}

TEST(Sampling, ALongKernelGivesTwoSamples) {
  Bench bench;
  bench.subject.call_seconds = 0.5;
  const SampleSet set = bench.Take(0);
  EXPECT_EQ(set.all.size(), 2U);
}

TEST(Sampling, AnErrorCodeStops) {
  Bench bench;
  bench.subject.failing_run = 3;
  const SampleSet set = bench.Take(0);
  EXPECT_TRUE(set.failed);
  EXPECT_EQ(set.all.size(), 2U);
}

TEST(Sampling, CachesAreEmptiedBeforeEverySample) {
  Bench bench;
  bench.subject.call_seconds = 1e-6;
  bench.settings.flush_bytes = 1 << 20;
  bench.settings.max_samples = 10;
  const SampleSet set = bench.Take(0);
  EXPECT_EQ(bench.subject.flushes, static_cast<int>(set.all.size()));
  EXPECT_EQ(bench.subject.runs, bench.subject.flushes);
}

TEST(Sampling, WithPatienceASettledKernelGoesOn) {
  Bench bench;
  bench.settings.min_sampling_seconds = 0.03;
  const SampleSet set = bench.Take(0);
  EXPECT_GE(set.seconds, 0.03);
  EXPECT_LT(set.seconds, 0.035);
}

TEST(Sampling, LimitsFollowTheBest) {
  EXPECT_EQ(CallLimitSeconds(0), 10);
  EXPECT_EQ(CallLimitSeconds(1e-3), 1);
  EXPECT_EQ(CallLimitSeconds(0.2), 4);
}

}  // namespace
}  // namespace tilewright::measure
