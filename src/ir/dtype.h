#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// kFloat: IEEE 754 binary formats. kBFloat: bfloat16, the upper half of a float32.
enum class TypeCode : std::uint8_t { kInt, kUInt, kFloat, kBool, kBFloat };

/// Element type of a tensor or of a scalar expression. There are no vector types: a vector is a
/// loop of kind `vectorized`, and the back end chooses its register width.
struct DataType {
  TypeCode code = TypeCode::kFloat;
  std::uint8_t bits = 32;

  constexpr bool is_float() const { return code == TypeCode::kFloat || code == TypeCode::kBFloat; }
  /// Floats of 16 bits; operators compute them in float32 and round the result.
  constexpr bool is_half() const { return is_float() && bits == 16; }
  constexpr bool is_integer() const { return code == TypeCode::kInt || code == TypeCode::kUInt; }
  constexpr bool is_bool() const { return code == TypeCode::kBool; }
  /// Bytes of one element in memory; a bool takes one byte.
  constexpr std::int64_t bytes() const { return (bits + 7) / 8; }
  friend constexpr auto operator<=>(const DataType&, const DataType&) = default;
};

inline constexpr DataType kFloat32{TypeCode::kFloat, 32};
inline constexpr DataType kFloat64{TypeCode::kFloat, 64};
inline constexpr DataType kFloat16{TypeCode::kFloat, 16};
inline constexpr DataType kBFloat16{TypeCode::kBFloat, 16};
inline constexpr DataType kInt8{TypeCode::kInt, 8};
inline constexpr DataType kInt16{TypeCode::kInt, 16};
inline constexpr DataType kInt32{TypeCode::kInt, 32};
inline constexpr DataType kInt64{TypeCode::kInt, 64};
inline constexpr DataType kUInt8{TypeCode::kUInt, 8};
inline constexpr DataType kUInt16{TypeCode::kUInt, 16};
inline constexpr DataType kUInt32{TypeCode::kUInt, 32};
inline constexpr DataType kBool{TypeCode::kBool, 1};

/// Reduced-range int8 values are from -64 to 64: the sum of two of their products with uint8 values
/// always fits 16 bits (2 * 64 * 255 = 32640).
inline constexpr std::int64_t kReducedRangeMagnitude = 64;

/// Returns "float32", "int8", "uint8", "bool", …
std::string DataTypeName(DataType dtype);
/// Parses a type name. Errors: kInvalidArgument unless `name` is int8/16/32/64, uint8/16/32/64,
/// float16/32/64, bfloat16 or bool.
Result<DataType> ParseDataType(std::string_view name);

}  // namespace tilewright
