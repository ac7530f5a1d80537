#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/graph/onnx/node.h"
#include "src/tensor/block_quantized.h"

namespace tilewright {

/// Constant weight [n, k] of few bits with a scale, and usually a zero point, for each block of
/// consecutive elements of a row.
struct BlockWeight {
  std::int64_t n = 0, k = 0, block = 32;
  int bits = 4;
  std::vector<std::uint8_t> integers;  ///< [n, k]
  std::vector<float> scales;           ///< [n, blocks]
  std::vector<std::uint8_t> zeros;     ///< [n, blocks]; empty: 2^(bits - 1)
  std::vector<float> float_zeros;      ///< the same; at most one of both
  std::int64_t blocks() const { return k / block; }
};

/// Checks bits, block and whether k is a multiple of the block. Errors: kUnsupported.
Status CheckBlockWeight(const BlockWeight& weight);

/// Returns `count` integers of each of `rows` rows. A row is packed in whole bytes, the first
/// integer in the lowest bits.
std::vector<std::uint8_t> UnpackRows(const Tensor& packed, std::int64_t rows, std::int64_t count,
                                     int bits);
std::vector<float> ToFloats(const Tensor& values);

/// Returns the weight that DequantizeLinear converts to the matrix `id`: [n, k] if `transposed`,
/// else [k, n]. Returns nothing if `id` is no constant in blocks along k of sizes that a
/// BlockWeight can have.
std::optional<BlockWeight> FindBlockWeight(OnnxNode& node, int id, bool transposed);

/// Emits data [..., k] times the weight, as data's type. integer_data: the data are quantized to
/// int8 in blocks.
int EmitBlockProduct(OnnxNode& node, int data, const BlockWeight& weight, bool integer_data);

}  // namespace tilewright
