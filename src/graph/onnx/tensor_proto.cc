#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "src/graph/ir/graph.h"
#include "src/graph/onnx/external_data.h"
#include "src/graph/onnx/proto.h"
#include "src/graph/onnx/storage_types.h"

namespace tilewright {
namespace {

using onnx::TensorProto;

constexpr std::array<std::pair<std::int32_t, DataType>, 12> kTypes = {{
    {TensorProto::FLOAT, kFloat32},
    {TensorProto::UINT8, kUInt8},
    {TensorProto::INT8, kInt8},
    {TensorProto::UINT16, kUInt16},
    {TensorProto::INT16, kInt16},
    {TensorProto::INT32, kInt32},
    {TensorProto::INT64, kInt64},
    {TensorProto::BOOL, kBool},
    {TensorProto::FLOAT16, kFloat16},
    {TensorProto::DOUBLE, kFloat64},
    {TensorProto::UINT32, kUInt32},
    {TensorProto::UINT64, {TypeCode::kUInt, 64}},
}};

Status CountMismatch(const TensorProto& proto, std::int64_t seen, std::int64_t expected,
                     const char* unit) {
  return InvalidArgument("tensor " + proto.name() + ": has " + std::to_string(seen) + " " + unit +
                         ", its shape needs " + std::to_string(expected));
}

// Copies elements from one of the repeated fields; T is the element type in memory.
template <typename T, typename Field>
Status CopyField(const TensorProto& proto, const Field& field, Tensor& tensor) {
  if (field.size() != tensor.elements()) {
    return CountMismatch(proto, field.size(), tensor.elements(), "elements");
  }
  auto out = tensor.As<T>();
  std::ranges::transform(field, out.begin(), [](auto value) { return static_cast<T>(value); });
  return Status();
}

Status CopyTyped(const TensorProto& proto, Tensor& tensor) {
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return CopyField<float>(proto, proto.float_data(), tensor);
    case TensorProto::DOUBLE:
      return CopyField<double>(proto, proto.double_data(), tensor);
    case TensorProto::INT64:
      return CopyField<std::int64_t>(proto, proto.int64_data(), tensor);
    case TensorProto::INT32:
      return CopyField<std::int32_t>(proto, proto.int32_data(), tensor);
    case TensorProto::INT16:
    case TensorProto::UINT16:
    case TensorProto::FLOAT16:  // stored as bits, as the format specifies
      return CopyField<std::uint16_t>(proto, proto.int32_data(), tensor);
    case TensorProto::INT8:
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      return CopyField<std::uint8_t>(proto, proto.int32_data(), tensor);
    case TensorProto::UINT32:
      return CopyField<std::uint32_t>(proto, proto.uint64_data(), tensor);
    default:
      return CopyField<std::uint64_t>(proto, proto.uint64_data(), tensor);
  }
}

bool IsExternal(const TensorProto& proto) {
  return proto.data_location() == TensorProto::EXTERNAL || proto.external_data_size() > 0;
}

// Converts elements of a storage type to the wider type.
Result<Tensor> WidenedOfOnnx(const TensorProto& proto, const StorageType& stored,
                             const TensorType& type, const std::string& folder) {
  const std::int64_t bytes = StorageBytes(stored, type.elements());
  if (IsExternal(proto)) {
    TW_ASSIGN_OR_RETURN(auto contents, ReadExternalBytes(proto, bytes, folder));
    return Widen(stored, contents, type.shape);
  }
  if (proto.has_raw_data()) {
    const auto seen = static_cast<std::int64_t>(proto.raw_data().size());
    if (seen != bytes) return CountMismatch(proto, seen, bytes, "bytes");
    return Widen(stored, proto.raw_data(), type.shape);
  }
  const std::int64_t each = std::max(stored.bits, 8) / 8;  // bytes of an element in the list
  if (proto.int32_data_size() * each != bytes) {
    return CountMismatch(proto, proto.int32_data_size(), bytes / each, "numbers");
  }
  std::string packed;
  for (const std::int32_t value : proto.int32_data()) {
    for (std::int64_t i = 0; i < each; ++i) {
      packed.push_back(static_cast<char>(static_cast<std::uint32_t>(value) >> (8 * i) & 0xFF));
    }
  }
  return Widen(stored, packed, type.shape);
}

}  // namespace

Result<DataType> DataTypeOfOnnx(std::int32_t code) {
  for (const auto& [onnx_code, dtype] : kTypes) {
    if (onnx_code == code) return dtype;
  }
  if (const StorageType* stored = StorageTypeOf(code)) {
    return Unsupported("element type " + std::string(stored->name) +
                       " is supported in constants only, which Cast or DequantizeLinear reads");
  }
  return Unsupported("element type " + std::to_string(code) +
                     " is not supported, expected a float, integer or bool type");
}

std::int32_t OnnxTypeOf(DataType dtype) {
  for (const auto& [onnx_code, known] : kTypes) {
    if (known == dtype) return onnx_code;
  }
  return TensorProto::UNDEFINED;
}

Result<TensorType> TypeOfOnnx(const TensorProto& proto) {
  if (proto.data_type() == TensorProto::UNDEFINED) {
    return InvalidArgument("tensor " + proto.name() +
                           ": has no element type; export the model again, with a type for it");
  }
  TensorType type{{proto.dims().begin(), proto.dims().end()}, {}};
  if (const StorageType* stored = StorageTypeOf(proto.data_type())) {
    type.dtype = stored->wide;
  } else {
    auto dtype = DataTypeOfOnnx(proto.data_type());
    if (!dtype.ok()) return dtype.status().WithContext("tensor " + proto.name());
    type.dtype = *dtype;
  }
  if (Status status = CheckOnnxType(type); !status.ok()) {
    return status.WithContext("tensor " + proto.name());
  }
  return type;
}

Status CheckOnnxType(const TensorType& type) {
  TensorType filled = type;
  for (std::int64_t& extent : filled.shape) extent = extent == 0 ? 1 : extent;
  return CheckTensorType(filled);
}

Result<Tensor> TensorOfOnnx(const TensorProto& proto, const std::string& folder) {
  TW_ASSIGN_OR_RETURN(auto type, TypeOfOnnx(proto));
  if (const StorageType* stored = StorageTypeOf(proto.data_type())) {
    return WidenedOfOnnx(proto, *stored, type, folder);
  }
  if (IsExternal(proto)) return ReadExternal(proto, type, folder);
  if (proto.has_raw_data()) {
    const auto seen = static_cast<std::int64_t>(proto.raw_data().size());
    if (seen != type.bytes()) return CountMismatch(proto, seen, type.bytes(), "bytes");
    Tensor tensor(type);
    if (seen > 0) std::memcpy(tensor.data(), proto.raw_data().data(), proto.raw_data().size());
    return tensor;
  }
  // Checked before the allocation: a small file can declare a large shape.
  const std::int64_t listed = std::int64_t{0} + proto.float_data_size() + proto.int32_data_size() +
                              proto.int64_data_size() + proto.double_data_size() +
                              proto.uint64_data_size();
  if (listed != type.elements()) {
    return CountMismatch(proto, listed, type.elements(), "elements");
  }
  Tensor tensor(type);
  TW_RETURN_IF_ERROR(CopyTyped(proto, tensor));
  return tensor;
}

}  // namespace tilewright
