#include "measure/canary.h"

#include <algorithm>

#include "src/base/clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::measure {
namespace {

constexpr int kAccumulators = 8;  // two units times four cycles of latency
constexpr int kStep = 128;        // floats per inner step, whatever the vector width

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float WorkAvx512(const float* data, int floats,
                                                    std::int64_t rounds) {
  __m512 sums[kAccumulators];
  for (auto& sum : sums) sum = _mm512_setzero_ps();
  const __m512 factor = _mm512_set1_ps(0.5F);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < floats; i += kStep) {
      for (int j = 0; j < kAccumulators; ++j) {
        sums[j] = _mm512_fmadd_ps(_mm512_load_ps(data + i + 16 * j), factor, sums[j]);
      }
    }
  }
  float total = 0;
  for (const auto& sum : sums) total += _mm512_cvtss_f32(sum);
  return total;
}

__attribute__((target("avx2,fma"))) float WorkAvx2(const float* data, int floats,
                                                   std::int64_t rounds) {
  __m256 sums[kAccumulators];
  for (auto& sum : sums) sum = _mm256_setzero_ps();
  const __m256 factor = _mm256_set1_ps(0.5F);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < floats; i += kStep) {
      for (int j = 0; j < kAccumulators; ++j) {
        sums[j] = _mm256_fmadd_ps(_mm256_load_ps(data + i + 8 * j), factor, sums[j]);
      }
    }
  }
  float total = 0;
  for (const auto& sum : sums) total += _mm256_cvtss_f32(sum);
  return total;
}
#endif

float WorkPlain(const float* data, int floats, std::int64_t rounds) {
  float sums[kAccumulators] = {};
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < floats; i += kAccumulators) {
      for (int j = 0; j < kAccumulators; ++j) sums[j] += data[i + j] * 0.5F;
    }
  }
  float total = 0;
  for (float sum : sums) total += sum;
  return total;
}

float Work(const float* data, int floats, std::int64_t rounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return WorkAvx512(data, floats, rounds);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return WorkAvx2(data, floats, rounds);
  }
#endif
  return WorkPlain(data, floats, rounds);
}

}  // namespace

Canary::Canary() {
  for (int i = 0; i < kFloats; ++i) data_[i] = static_cast<float>(i % 7) * 0x1p-20F;
  // The fastest of a few runs at each length, so that an interruption does not make it too short.
  while (true) {
    double fastest = Run();
    for (int i = 0; i < 4; ++i) fastest = std::min(fastest, Run());
    if (fastest >= kTargetSeconds / 2 || rounds_ > (std::int64_t{1} << 40)) {
      const double scale = kTargetSeconds / std::max(fastest, 1e-9);
      rounds_ = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(rounds_) * scale));
      return;
    }
    rounds_ *= 2;
  }
}

double Canary::Run() {
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  sink_ += Work(data_, kFloats, rounds_);
  return clock.MonotonicSeconds() - start;
}

}  // namespace tilewright::measure
