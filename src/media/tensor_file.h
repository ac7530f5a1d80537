#pragma once

#include <string>

#include "src/base/status.h"
#include "src/media/image_decode.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Reads a tensor of a known type: a picture (see WriteImageToBatch; batches of one), a .npy file
/// (C order, little-endian; type and shape must agree but for dimensions of 1, or the array has one
/// dimension), else raw row-major elements. Errors: kInvalidArgument naming file, what was found
/// and what was expected.
Result<Tensor> ReadTensorFile(const std::string& path, const TensorType& type,
                              const ImageOptions& image);

/// Writes .npy (by the file's name) or raw elements.
Status WriteTensorFile(const std::string& path, const Tensor& tensor);

}  // namespace tilewright
