#include "measure/interference_probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/base/clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::measure {
namespace {

constexpr int kAccumulators = 8;        // two units times four cycles of latency
constexpr int kStep = 128;              // floats per inner step, whatever the vector width
constexpr double kNominalRounds = 650;  // amount of work that durations refer to

// Size of each level's buffer. The middle ones end at the size of current second- and third-level
// caches.
constexpr std::int64_t kFirstLevelBytes = 48 << 10;
constexpr std::int64_t kProbeBytes[MemoryInterferenceProbe::kLevels] = {0, 256 << 10, 4 << 20,
                                                                        16 << 20};
// Number of its lines that one run reads, for 70 to 200 us.
constexpr std::int64_t kProbeLines[MemoryInterferenceProbe::kLevels] = {0, 1 << 17, 1 << 16,
                                                                        1 << 15};
// ... and the same for the whole buffer, run first: other data occupied the caches, which is not
// interference.
constexpr std::int64_t kWarmLines[MemoryInterferenceProbe::kLevels] = {0, 1 << 12, 1 << 16, 0};
constexpr double kProbeTolerance[MemoryInterferenceProbe::kLevels] = {0, 0.1, 0.25, 0.5};
// Stride from line to line, an odd number of lines: it visits every line, and no prefetcher
// predicts the order.
constexpr std::int64_t kProbeStep = std::int64_t{64} * 40503;

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

InterferenceProbe::InterferenceProbe() {
  for (int i = 0; i < kFloats; ++i) data_[i] = static_cast<float>(i % 7) * 0x1p-20F;
  // The fastest of a few runs at each length, so that an interruption does not make it too short.
  while (true) {
    double fastest = RunSeconds();
    for (int i = 0; i < 4; ++i) fastest = std::min(fastest, RunSeconds());
    if (fastest >= kTargetSeconds / 2 || rounds_ > (std::int64_t{1} << 40)) {
      const double scale = kTargetSeconds / std::max(fastest, 1e-9);
      rounds_ = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(rounds_) * scale));
      return;
    }
    rounds_ *= 2;
  }
}

double InterferenceProbe::Run() {
  return RunSeconds() * kNominalRounds / static_cast<double>(rounds_);
}

double InterferenceProbe::RunSeconds() {
  SystemClock clock;
  sink_ += Work(data_, kFloats, 1);  // loads the cache, which contains the data of earlier work
  const double start = clock.MonotonicSeconds();
  sink_ += Work(data_, kFloats, rounds_);
  return clock.MonotonicSeconds() - start;
}

int MemoryInterferenceProbe::LevelOf(std::int64_t bytes) {
  if (bytes <= kFirstLevelBytes) return 0;
  for (int level = 1; level < kLevels - 1; ++level) {
    if (bytes <= kProbeBytes[level]) return level;
  }
  return kLevels - 1;
}

std::int64_t MemoryInterferenceProbe::BytesReadAt(int level) { return 64 * kProbeLines[level]; }

double MemoryInterferenceProbe::ToleranceOf(int level) { return kProbeTolerance[level]; }

void MemoryInterferenceProbe::Free::operator()(char* memory) const { std::free(memory); }

MemoryInterferenceProbe::MemoryInterferenceProbe() {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const auto bytes = static_cast<std::size_t>(kProbeBytes[kLevels - 1]);
  data_.reset(static_cast<char*>(std::aligned_alloc(kHugePage, bytes)));
  if (data_ == nullptr) return;
#if defined(MADV_HUGEPAGE)
  // Without large pages it is slower, always by the same factor.
  (void)::madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
  std::memset(data_.get(), 1, bytes);
}

void MemoryInterferenceProbe::Read(std::int64_t bytes, std::int64_t lines) {
  std::int64_t at = start_ & (bytes - 1);
  std::int64_t sum = 0;
  for (std::int64_t line = 0; line < lines; ++line) {
    sum += data_.get()[at];
    at = (at + kProbeStep) & (bytes - 1);
  }
  sink_ += sum;
  start_ = at;
}

double MemoryInterferenceProbe::Run(int level) {
  if (level <= 0 || level >= kLevels || data_ == nullptr) return 0;
  Read(kProbeBytes[level], kWarmLines[level]);
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  Read(kProbeBytes[level], kProbeLines[level]);
  return clock.MonotonicSeconds() - start;
}

}  // namespace tilewright::measure
