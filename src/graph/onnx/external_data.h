#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Returns the contents of a tensor that is stored in another file (external_data). The file may
/// have any size: it is memory-mapped while the contents are copied. `folder` is the directory of
/// the model file; empty if the model was read from memory. The file must be inside this directory:
/// names with "..", absolute names and symbolic links that lead outside are rejected.
/// Returns kInvalidArgument, naming the tensor, the file and the reason, for an invalid name,
/// offset or length; kNotFound if the file is missing; kUnsupported if `folder` is empty.
Result<Tensor> ReadExternal(const onnx::TensorProto& proto, const TensorType& type,
                            const std::string& folder);
/// Returns the same as `bytes` raw bytes, for element types that the caller converts.
Result<std::string> ReadExternalBytes(const onnx::TensorProto& proto, std::int64_t bytes,
                                      const std::string& folder);

}  // namespace tilewright
