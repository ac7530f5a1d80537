#include "src/runtime/roofline.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright {
namespace {

constexpr std::int64_t kNearBytes = 512 << 10;
constexpr std::int64_t kFarBytes = 8 << 20;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the best rate of a few repetitions of `work`, which does `amount` units: noise only
/// makes one slower.
template <typename Work>
double BestRate(double amount, Work work) {
  double best = 0;
  work();
  for (int i = 0; i < 7; ++i) {
    const double start = Now();
    work();
    best = std::max(best, amount / (Now() - start));
  }
  return best;
}

volatile std::int64_t sink;  // prevents the compiler from removing the loops below

// Ten independent chains hide the latency of two FMA units (4 to 5 cycles each). Unrolled, so that
// the sums stay in registers.
constexpr int kChains = 10;
constexpr int kSteps = 20'000;

#if defined(__x86_64__)

__attribute__((target("avx512f"))) void Float512() {
  __m512 sum[kChains];
  for (auto& s : sum) s = _mm512_set1_ps(1.0F);
  const __m512 factor = _mm512_set1_ps(0.999F);
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 10
    for (auto& s : sum) s = _mm512_fmadd_ps(s, factor, factor);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  sink = _mm512_cmp_ps_mask(sum[0], factor, _CMP_LT_OQ);
}

__attribute__((target("avx2,fma"))) void Float256() {
  __m256 sum[kChains];
  for (auto& s : sum) s = _mm256_set1_ps(1.0F);
  const __m256 factor = _mm256_set1_ps(0.999F);
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 10
    for (auto& s : sum) s = _mm256_fmadd_ps(s, factor, factor);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  sink = _mm256_movemask_ps(sum[0]);
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) void Int512() {
  __m512i sum[kChains];
  for (auto& s : sum) s = _mm512_setzero_si512();
  const __m512i factor = _mm512_set1_epi8(3);
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 10
    for (auto& s : sum) s = _mm512_dpbusd_epi32(s, factor, factor);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_epi32(sum[0], sum[i]);
  std::int64_t lanes[8];
  std::memcpy(lanes, &sum[0], sizeof(lanes));
  sink = lanes[0];
}

// int16 path: vpmaddwd and vpaddd, 16 products per step. The int8 sequence (vpmaddubsw, vpmaddwd,
// vpaddd) has the same rate on cores where two of the four vector units multiply.
__attribute__((target("avx2"))) void Int256() {
  __m256i sum[kChains];
  for (auto& s : sum) s = _mm256_setzero_si256();
  __m256i factor = _mm256_set1_epi16(3);
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 10
    for (auto& s : sum) {
      __asm__("" : "+x"(factor));  // or the product would be computed once and reused
      s = _mm256_add_epi32(s, _mm256_madd_epi16(factor, factor));
    }
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_epi32(sum[0], sum[i]);
  sink = _mm256_extract_epi32(sum[0], 0);
}

double FloatPeak(int widest_bits) {
  if (widest_bits >= 512 && __builtin_cpu_supports("avx512f")) {
    return BestRate(2.0 * 16 * kChains * kSteps, Float512);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return BestRate(2.0 * 8 * kChains * kSteps, Float256);
  }
  return 0;
}

double IntPeak(int widest_bits) {
  if (widest_bits >= 512 && __builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512bw")) {
    return BestRate(2.0 * 64 * kChains * kSteps, Int512);
  }
  if (__builtin_cpu_supports("avx2")) return BestRate(2.0 * 16 * kChains * kSteps, Int256);
  return 0;
}

#else

double FloatPeak(int) { return 0; }
double IntPeak(int) { return 0; }

#endif

/// Fallback for other instruction sets: one multiply and one addition per chain.
double PlainPeak() {
  return BestRate(2.0 * kChains * kSteps, [] {
    float sum[kChains];
    for (auto& s : sum) s = 1.0F;
    for (int i = 0; i < kSteps; ++i) {
      for (auto& s : sum) s = s * 0.999F + 0.5F;
    }
    float total = 0;
    for (float s : sum) total += s;
    sink = static_cast<std::int64_t>(total);
  });
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) std::int64_t Sum256(const std::int64_t* data, std::size_t count) {
  __m256i sum[4] = {};
  for (std::size_t i = 0; i + 16 <= count; i += 16) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const auto* lane = reinterpret_cast<const __m256i*>(data + i + 4 * j);
      sum[j] = _mm256_add_epi64(sum[j], _mm256_loadu_si256(lane));
    }
  }
  sum[0] = _mm256_add_epi64(_mm256_add_epi64(sum[0], sum[1]), _mm256_add_epi64(sum[2], sum[3]));
  return _mm256_extract_epi64(sum[0], 0);
}
#endif

std::int64_t SumPlain(const std::int64_t* data, std::size_t count) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += data[i];
  return sum;
}

double ReadRate(std::int64_t bytes) {
  const std::vector<std::int64_t> buffer(static_cast<std::size_t>(bytes / 8), 1);
  const std::int64_t passes = std::max<std::int64_t>(1, (4 << 20) / bytes);
  return BestRate(static_cast<double>(bytes * passes), [&] {
    std::int64_t total = 0;
    for (std::int64_t pass = 0; pass < passes; ++pass) total += ReadAll(buffer);
    sink = total;
  });
}

}  // namespace

std::int64_t ReadAll(std::span<const std::int64_t> data) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return Sum256(data.data(), data.size());
#endif
  return SumPlain(data.data(), data.size());
}

MachinePeaks MeasurePeaks(int widest_bits) {
  MachinePeaks peaks;
  peaks.float_ops_per_second = FloatPeak(widest_bits);
  peaks.int8_ops_per_second = IntPeak(widest_bits);
  if (peaks.float_ops_per_second == 0) peaks.float_ops_per_second = PlainPeak();
  if (peaks.int8_ops_per_second == 0) peaks.int8_ops_per_second = peaks.float_ops_per_second;
  peaks.near_bytes_per_second = ReadRate(kNearBytes);
  peaks.far_bytes_per_second = ReadRate(kFarBytes);
  return peaks;
}

RooflineBound RooflineOf(const MachinePeaks& peaks, std::int64_t macs, std::int64_t bytes,
                         bool int8, int threads) {
  const double ops = 2.0 * static_cast<double>(macs);
  const double peak = int8 ? peaks.int8_ops_per_second : peaks.float_ops_per_second;
  const bool near = bytes <= kNearBytes * threads;
  const double bandwidth = near ? peaks.near_bytes_per_second : peaks.far_bytes_per_second;
  return {ops / peak / threads, static_cast<double>(bytes) / bandwidth / threads};
}

}  // namespace tilewright
