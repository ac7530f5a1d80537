#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Element type of an ONNX type code.
/// Errors: kUnsupported naming the type for strings, complex numbers, types that are only stored
/// (stored_type.h), ….
Result<DataType> DataTypeOfOnnx(std::int32_t code);
/// The inverse; every DataType has a code.
std::int32_t OnnxTypeOf(DataType dtype);

/// Type of a stored tensor, which may have dimensions of no elements; the wider one of types that
/// are only stored.
/// Errors: kInvalidArgument for negative or too many elements, kUnsupported for the element type.
Result<TensorType> TypeOfOnnx(const onnx::TensorProto& proto);
/// CheckTensorType for a type that may have dimensions of no elements.
Status CheckOnnxType(const TensorType& type);
/// Contents of a stored tensor, from raw bytes, from the typed lists or from another file in
/// `folder` (external.h).
/// Errors: those of TypeOfOnnx and of ReadExternal; kInvalidArgument if the number of elements is
/// not the shape's.
Result<Tensor> TensorOfOnnx(const onnx::TensorProto& proto, const std::string& folder = {});

}  // namespace tilewright
