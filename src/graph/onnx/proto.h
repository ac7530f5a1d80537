#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Element type of an ONNX type code.
/// Errors: kUnsupported naming the code for strings, complex numbers, bfloat16, ….
Result<DataType> DataTypeOfOnnx(std::int32_t code);
/// The inverse; every DataType has a code.
std::int32_t OnnxTypeOf(DataType dtype);

/// Type of a stored tensor; a stored tensor may be empty (a list of no numbers).
/// Errors: kInvalidArgument for negative or too many elements, kUnsupported for the element type.
Result<TensorType> TypeOfOnnx(const onnx::TensorProto& proto);
/// Contents of a stored tensor, from raw bytes or from the typed lists.
/// Errors: those of TypeOfOnnx; kInvalidArgument if the number of elements is not the shape's;
/// kUnsupported for contents in another file.
Result<Tensor> TensorOfOnnx(const onnx::TensorProto& proto);

}  // namespace tilewright
