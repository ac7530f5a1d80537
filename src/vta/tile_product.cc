#include "src/vta/tile_product.h"

namespace tilewright::vta {
namespace {

// Operands have at most 8 bits: a sum of up to 2^8 products stays far inside 32.
inline void Product(int batch, int block, const std::int16_t* inp, const std::int16_t* wgt,
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

}  // namespace

void TileProduct(int batch, int block, const std::int16_t* inp, const std::int16_t* wgt,
                 std::int32_t* acc) {
  // A constant block lets the compiler unroll; these are the designs in use.
  if (block == 16) return Product(batch, 16, inp, wgt, acc);
  if (block == 8) return Product(batch, 8, inp, wgt, acc);
  Product(batch, block, inp, wgt, acc);
}

}  // namespace tilewright::vta
