#include "src/ir/dtype.h"

#include <array>
#include <utility>

namespace tilewright {
namespace {

constexpr std::array<std::pair<std::string_view, DataType>, 13> kNames = {{
    {"int8", kInt8},
    {"int16", kInt16},
    {"int32", kInt32},
    {"int64", kInt64},
    {"uint8", kUInt8},
    {"uint16", kUInt16},
    {"uint32", kUInt32},
    {"uint64", {TypeCode::kUInt, 64}},
    {"float16", kFloat16},
    {"bfloat16", kBFloat16},
    {"float32", kFloat32},
    {"float64", kFloat64},
    {"bool", kBool},
}};

}  // namespace

std::string DataTypeName(DataType dtype) {
  for (const auto& [name, known] : kNames) {
    if (known == dtype) return std::string(name);
  }
  return "type" + std::to_string(static_cast<int>(dtype.code)) + "." + std::to_string(dtype.bits);
}

Result<DataType> ParseDataType(std::string_view name) {
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return dtype;
  }
  return InvalidArgument(
      "data type '" + std::string(name) +
      "', expected int8/16/32/64, uint8/16/32/64, float16/32/64, bfloat16 or bool");
}

}  // namespace tilewright
