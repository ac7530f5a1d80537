#include "src/graph/onnx/storage_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace tilewright {
namespace {

using Special = StorageType::Special;

// Codes are those of the format; the library's own list ends at 16.
constexpr std::array<StorageType, 11> kStorageTypes = {{
    {16, "bfloat16", kFloat32, 16, 7, 127, Special::kIeee},
    {17, "float8e4m3fn", kFloat32, 8, 3, 7, Special::kAllOnes},
    {18, "float8e4m3fnuz", kFloat32, 8, 3, 8, Special::kMinusZero},
    {19, "float8e5m2", kFloat32, 8, 2, 15, Special::kIeee},
    {20, "float8e5m2fnuz", kFloat32, 8, 2, 16, Special::kMinusZero},
    {21, "uint4", kUInt8, 4},
    {22, "int4", kInt8, 4},
    {23, "float4e2m1", kFloat32, 4, 1, 1, Special::kNone},
    {24, "float8e8m0", kFloat32, 8, 0, 127, Special::kScale},
    {25, "uint2", kUInt8, 2},
    {26, "int2", kInt8, 2},
}};

}  // namespace

const StorageType* StorageTypeOf(std::int32_t code) {
  const auto found = std::ranges::find(kStorageTypes, code, &StorageType::code);
  return found == kStorageTypes.end() ? nullptr : &*found;
}

bool IsBFloat16(const StorageType& type) { return type.name == "bfloat16"; }

double StorageValue(const StorageType& type, std::uint32_t bits) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto top = std::uint32_t{1} << (type.bits - 1);
  if (type.mantissa < 0) {  // integer type
    const bool negative = type.wide == kInt8 && (bits & top) != 0;
    return static_cast<double>(bits) - (negative ? 2.0 * top : 0.0);
  }
  if (type.special == Special::kScale) {
    return bits == 2 * top - 1 ? kNan : std::ldexp(1.0, static_cast<int>(bits) - type.bias);
  }
  if (type.special == Special::kMinusZero && bits == top) return kNan;
  const double sign = (bits & top) != 0 ? -1 : 1;
  const std::uint32_t magnitude = bits & (top - 1);
  const auto one = std::uint32_t{1} << type.mantissa;
  const auto exponent = static_cast<int>(magnitude / one);
  const std::uint32_t fraction = magnitude % one;
  if (type.special == Special::kAllOnes && magnitude == top - 1) return kNan;
  if (type.special == Special::kIeee && magnitude / one == top / one - 1) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : kNan;
  }
  const std::uint32_t significand = exponent == 0 ? fraction : one + fraction;
  return sign * std::ldexp(static_cast<double>(significand),
                           std::max(exponent, 1) - type.bias - type.mantissa);
}

std::int64_t StorageBytes(const StorageType& type, std::int64_t elements) {
  return type.bits >= 8 ? elements * (type.bits / 8)
                        : elements / (8 / type.bits) + (elements % (8 / type.bits) != 0 ? 1 : 0);
}

Tensor Widen(const StorageType& type, std::string_view bytes, std::vector<std::int64_t> shape) {
  Tensor tensor(TensorType{std::move(shape), type.wide});
  const auto byte = [&](std::int64_t i) {
    return static_cast<std::uint32_t>(
        static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]));
  };
  const std::int64_t packed = 8 / std::min(type.bits, 8);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    std::uint32_t bits = 0;
    if (type.bits == 16) {
      bits = byte(2 * i) | byte(2 * i + 1) << 8;
    } else {
      bits = byte(i / packed) >> (type.bits * (i % packed)) & ((std::uint32_t{1} << type.bits) - 1);
    }
    tensor.Set(i, StorageValue(type, bits));
  }
  return tensor;
}

}  // namespace tilewright
