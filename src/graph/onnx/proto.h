#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Returns the element type of an ONNX type code.
/// Returns kUnsupported, naming the type, for strings, complex numbers, storage types
/// (storage_types.h), ….
Result<DataType> DataTypeOfOnnx(std::int32_t code);
/// Returns the ONNX type code of an element type. Every DataType has a code.
std::int32_t OnnxTypeOf(DataType dtype);

/// Returns the type of a stored tensor, which may be zero-size. For storage types returns the wider
/// type.
/// Returns kInvalidArgument for a negative dimension or too many elements, kUnsupported for the
/// element type.
Result<TensorType> TypeOfOnnx(const onnx::TensorProto& proto);
/// Checks a type like CheckTensorType, but accepts zero-size types.
Status CheckOnnxType(const TensorType& type);
/// Returns the contents of a stored tensor from raw bytes, from the typed lists or from another
/// file in `folder` (external_data.h).
/// Errors: those of TypeOfOnnx and of ReadExternal; kInvalidArgument if the number of elements does
/// not match the shape.
Result<Tensor> TensorOfOnnx(const onnx::TensorProto& proto, const std::string& folder = {});

}  // namespace tilewright
