#pragma once

#include <cstdint>
#include <string_view>

#include "src/ir/dtype.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// ONNX element type that only constants can have. Its elements are read as numbers of a wider type
/// that represents all of its values.
struct StorageType {
  std::int32_t code = 0;  ///< code in ONNX
  std::string_view name;
  DataType wide;
  /// Bits of one element. Elements of 2 and 4 bits are packed, the first in the lowest bits.
  int bits = 8;
  int mantissa = -1;  ///< floats: fraction bits
  int bias = 0;       ///< floats: exponent bias
  enum class Special : std::uint8_t {
    kNone,       ///< every code is a number
    kIeee,       ///< the largest exponent encodes infinity and NaN
    kAllOnes,    ///< NaN has all bits except the sign set
    kMinusZero,  ///< the code of -0 is NaN
    kScale,      ///< no sign and no fraction; NaN has all bits set
  } special = Special::kNone;
};

/// Returns null for ordinary element types and for unknown codes.
const StorageType* StorageTypeOf(std::int32_t code);
/// Returns true for bfloat16, which operators compute in float32: see Precision.
bool IsBFloat16(const StorageType& type);
/// Returns the value of one element.
double StorageValue(const StorageType& type, std::uint32_t bits);
/// Returns the number of bytes of that many packed elements.
std::int64_t StorageBytes(const StorageType& type, std::int64_t elements);
/// Converts packed elements to a tensor of `type.wide`. `bytes` has StorageBytes bytes.
Tensor Widen(const StorageType& type, std::string_view bytes, std::vector<std::int64_t> shape);

}  // namespace tilewright
