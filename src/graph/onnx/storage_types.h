#pragma once

#include <cstdint>
#include <string_view>

#include "src/ir/dtype.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// An element type of ONNX that no tensor has while a network runs: constants of it are read as
/// numbers of a wider type that has all of its values.
struct StorageType {
  std::int32_t code = 0;  ///< of ONNX
  std::string_view name;
  DataType wide;
  int bits = 8;       ///< of one element; those of 2 and 4 bits lie packed, the first one lowest
  int mantissa = -1;  ///< floats: bits behind the point
  int bias = 0;       ///< floats: of the exponent
  enum class Special : std::uint8_t {
    kNone,       ///< every code is a number
    kIeee,       ///< the largest exponent is infinity and NaN
    kAllOnes,    ///< all bits but the sign set: NaN
    kMinusZero,  ///< the code of -0 is NaN
    kScale,      ///< no sign, an exponent alone; all bits set: NaN
  } special = Special::kNone;
};

/// Null for the types that tensors have, and for unknown ones.
const StorageType* StorageTypeOf(std::int32_t code);
/// The value of one element.
double StorageValue(const StorageType& type, std::uint32_t bits);
/// Bytes of that many packed elements.
std::int64_t StorageBytes(const StorageType& type, std::int64_t elements);
/// Packed elements as a tensor of `type.wide`. `bytes` are StorageBytes.
Tensor Widen(const StorageType& type, std::string_view bytes, std::vector<std::int64_t> shape);

}  // namespace tilewright
