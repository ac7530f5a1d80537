#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/tensor/expression/expression.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Zero points of a block-quantized weight.
enum class BlockZeroPoints : std::uint8_t {
  kMiddle,    ///< 2^(bits - 1) for all blocks, stored nowhere
  kIntegers,  ///< uint8, one per block
  kFloats,    ///< float32, one per block
};

/// Product of float32 rows and a constant weight of few bits: data [m, k] times weight [n, k],
/// float32 [m, n]. Every block of `block` elements of a weight's column has a float32 scale and a
/// zero point:
///   result[i, j] = sum over blocks of scale * sum over the block of data * (weight - zero point).
/// With `integer_data`, every block of the data is quantized to int8 first: the largest magnitude
/// becomes 127, and products of a block are summed exactly.
///
/// The operator is an expression over packed constants (see PackBlockQuantized), so every rule for
/// expressions serves it; `matmul_nbits.cpu` is the fast template.
struct BlockQuantizedMatmul {
  std::int64_t m = 0, n = 0, k = 0;
  int bits = 4;             ///< 2, 4 or 8
  std::int64_t block = 32;  ///< power of two, 16 to 256; divides k
  BlockZeroPoints zero_points = BlockZeroPoints::kMiddle;
  bool integer_data = false;

  /// Columns whose packed weights are next to each other.
  static constexpr std::int64_t kColumns = 16;
  std::int64_t groups() const;  ///< of kColumns columns, the last one padded
  std::int64_t blocks() const { return k / block; }
  std::int64_t per_byte() const { return 8 / bits; }
  std::int64_t block_bytes() const { return block * bits / 8; }  ///< of one column
  std::int64_t middle() const { return std::int64_t{1} << (bits - 1); }
  friend bool operator==(const BlockQuantizedMatmul&, const BlockQuantizedMatmul&) = default;
};

/// Inputs of the expression, in its order.
enum class BlockQuantizedInput : std::uint8_t {
  kData,    ///< float32 [m, k]
  kWeight,  ///< uint8 [groups, blocks, block_bytes, 16]; with integer_data [.., bytes / 4, 16, 4]
  kScales,  ///< float32 [groups, blocks, 16]
  kZeroPoints,  ///< the same, uint8 or float32; absent with kMiddle
};

/// Returns the expression of the product; its constants are the last inputs.
/// Errors: kInvalidArgument for bits, block or sizes that the struct does not allow.
Result<Expression> ExpressionOf(const BlockQuantizedMatmul& matmul);

/// Product that a canonical expression states, with the roles of its inputs.
struct FoundBlockQuantized {
  BlockQuantizedMatmul matmul;
  std::vector<BlockQuantizedInput> inputs;
};
/// Returns nothing for any other expression.
std::optional<FoundBlockQuantized> FindBlockQuantized(const Expression& canonical);

/// Returns the text of integer `part` of a byte in an expression; the first one is in the lowest
/// bits. byte: text of type uint8; part: text of an index from 0 to 8 / bits - 1.
std::string PackedIntegerText(const std::string& byte, const std::string& part, int bits);

/// Returns the constant kWeight. integers: [n, k], row-major.
Tensor PackBlockQuantized(const BlockQuantizedMatmul& matmul,
                          std::span<const std::uint8_t> integers);
/// Returns kScales or kZeroPoints. values: [n, blocks] of uint8 or float32.
Tensor PackBlockValues(const BlockQuantizedMatmul& matmul, const Tensor& values);

}  // namespace tilewright
