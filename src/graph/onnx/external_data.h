#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Contents of a tensor that are in another file (external_data), which is mapped while they are
/// copied, so it may be of any size. `folder` is that of the model file; empty if the model came
/// without one. The file must lie in it or below: names with "..", absolute ones and symbolic links
/// that lead out of it are refused.
/// Errors: kInvalidArgument naming the tensor, the file and what is wrong with the name, the offset
/// or the length; kNotFound if the file is missing; kUnsupported without a folder.
Result<Tensor> ReadExternal(const onnx::TensorProto& proto, const TensorType& type,
                            const std::string& folder);
/// The same as bytes: `bytes` of them, for element types that are converted.
Result<std::string> ReadExternalBytes(const onnx::TensorProto& proto, std::int64_t bytes,
                                      const std::string& folder);

}  // namespace tilewright
