#pragma once

#include <cstdint>

namespace tilewright::vta {

/// Computes one GEMM micro-op: acc[b][o] += sum over i of inp[b][i] * wgt[o][i], modulo 2^32, for b
/// < batch and i, o < block.
void TileProduct(int batch, int block, const std::int16_t* inp, const std::int16_t* wgt,
                 std::int32_t* acc);

}  // namespace tilewright::vta
