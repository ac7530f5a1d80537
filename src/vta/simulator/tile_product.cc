#include "src/vta/simulator/tile_product.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tilewright::vta {
namespace {

// Operands have at most 8 bits: a sum of up to 2^8 products stays well within 32 bits.
void AnyProduct(int batch, int block, const std::int16_t* inp, const std::int16_t* wgt,
                std::int32_t* acc) {
  for (int b = 0; b < batch; ++b) {
    for (int o = 0; o < block; ++o) {
      std::int32_t sum = 0;
      for (int i = 0; i < block; ++i) sum += inp[b * block + i] * wgt[o * block + i];
      std::int32_t& element = acc[b * block + o];
      element = static_cast<std::int32_t>(static_cast<std::uint32_t>(element) +
                                          static_cast<std::uint32_t>(sum));
    }
  }
}

#if defined(__SSE2__)
/// Multiplies a row of `block` numbers by a row of weights. Returns four partial sums.
template <int kBlock>
__m128i FourSums(const __m128i* inp, const std::int16_t* wgt) {
  const auto* row = reinterpret_cast<const __m128i*>(wgt);
  __m128i sums = _mm_madd_epi16(inp[0], _mm_loadu_si128(row));
  if constexpr (kBlock == 16) {
    sums = _mm_add_epi32(sums, _mm_madd_epi16(inp[1], _mm_loadu_si128(row + 1)));
  }
  return sums;
}

/// Computes four results at a time, so that their sums are reduced in parallel.
template <int kBlock>
void Product(int batch, const std::int16_t* inp, const std::int16_t* wgt, std::int32_t* acc) {
  for (int b = 0; b < batch; ++b) {
    __m128i data[kBlock / 8];
    for (int i = 0; i < kBlock / 8; ++i) {
      data[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(inp + b * kBlock) + i);
    }
    for (int o = 0; o < kBlock; o += 4) {
      __m128i r[4];
      for (int k = 0; k < 4; ++k) r[k] = FourSums<kBlock>(data, wgt + (o + k) * kBlock);
      const __m128i low =
          _mm_add_epi32(_mm_unpacklo_epi32(r[0], r[1]), _mm_unpackhi_epi32(r[0], r[1]));
      const __m128i high =
          _mm_add_epi32(_mm_unpacklo_epi32(r[2], r[3]), _mm_unpackhi_epi32(r[2], r[3]));
      const __m128i sum =
          _mm_add_epi32(_mm_unpacklo_epi64(low, high), _mm_unpackhi_epi64(low, high));
      auto* to = reinterpret_cast<__m128i*>(acc + b * kBlock + o);
      _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(to), sum));
    }
  }
}
#endif

}  // namespace

void TileProduct(int batch, int block, const std::int16_t* inp, const std::int16_t* wgt,
                 std::int32_t* acc) {
#if defined(__SSE2__)
  // Block sizes of the designs in use.
  if (block == 16) return Product<16>(batch, inp, wgt, acc);
  if (block == 8) return Product<8>(batch, inp, wgt, acc);
#endif
  AnyProduct(batch, block, inp, wgt, acc);
}

}  // namespace tilewright::vta
