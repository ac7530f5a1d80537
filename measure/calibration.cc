#include "measure/calibration.h"

#include <vector>

#include "src/base/clock.h"

namespace tilewright::measure {
namespace {

constexpr int kWarmupProbes = 100;  // 3 ms
constexpr int kPairs = 10;

/// A loop of known, constant work on data that fit the second-level cache, about 0.2 ms a call.
class ConstantLoop final : public Benchmarkable {
 public:
  explicit ConstantLoop(InterferenceProbe& probe) : probe_(probe), data_(kFloats, 1.0F) {}
  bool Run(std::int64_t calls) override {
    for (std::int64_t call = 0; call < calls; ++call) {
      for (int pass = 0; pass < kPasses; ++pass) {
        for (float& value : data_) value = value * 0.5F + 0.25F;
      }
    }
    return true;
  }
  void Flush(std::int64_t) override {}
  double ProbeSeconds() override { return probe_.Run(); }

 private:
  static constexpr int kFloats = 1 << 15;  // 128 KiB
  static constexpr int kPasses = 16;
  InterferenceProbe& probe_;
  std::vector<float> data_;
};

}  // namespace

double MeasureResolution(InterferenceProbe& probe, NoiseFilter& gate,
                         const SamplingSettings& settings) {
  SystemClock clock;
  for (int i = 0; i < kWarmupProbes; ++i) gate.Add(clock.UnixSeconds(), probe.Run());
  std::vector<double> values;
  for (int i = 0; i < 2 * kPairs; ++i) {
    ConstantLoop loop(probe);
    (void)loop.Run(2);
    const double start = clock.MonotonicSeconds();
    (void)loop.Run(1);
    const double call_seconds = clock.MonotonicSeconds() - start;
    SamplingSettings plain = settings;
    plain.flush_bytes = 0;
    values.push_back(CollectSamples(loop, clock, gate, plain, call_seconds, 0).estimate().value);
  }
  return ResolutionOf(values);
}

}  // namespace tilewright::measure
