#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// A sparse tensor with its zeros; `folder` is that of the model file. The zeros count towards
/// the bytes of the import's own constants.
/// Errors: kInvalidArgument for places that are outside of the shape, in no order or there twice,
/// and for too many zeros; kUnsupported for element types that are only stored; those of
/// TensorOfOnnx.
Result<Tensor> DenseOfSparse(const onnx::SparseTensorProto& sparse, OnnxImport& import);

/// Adds a sparse initializer to those of the import.
/// Errors: those of DenseOfSparse; kInvalidArgument if there is one of the name.
Status AddSparseInitializer(const onnx::SparseTensorProto& sparse, const std::string& name,
                            OnnxImport& import);

}  // namespace tilewright
