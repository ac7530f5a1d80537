#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Returns the dense form of a sparse tensor. The added zeros count towards the bytes of constants
/// that the importer created.
/// Returns kInvalidArgument for indices that are out of range, unsorted or duplicate, and for too
/// many zeros; kUnsupported for storage types; the errors of TensorOfOnnx.
Result<Tensor> DenseOfSparse(const onnx::SparseTensorProto& sparse, OnnxImport& import);

/// Adds a sparse initializer to those of the import.
/// Errors: those of DenseOfSparse; kInvalidArgument if the name is taken.
Status AddSparseInitializer(const onnx::SparseTensorProto& sparse, const std::string& name,
                            OnnxImport& import);

}  // namespace tilewright
