#pragma once

#include <cstdint>
#include <string>

#include "src/tensor/workload.h"

namespace tilewright {

// What templates ask of a workload to know whether it is theirs.

/// True for 1x1 kernels, stride 1, no padding: rows of pixels need not be told apart.
bool IsFlatConvolution(const ConvShape& shape);
/// The convolution in plain layouts and, if flat, with all pixels in one row: the memory of blocked
/// activations is the same.
Workload PlainConvolution(const Workload& workload, const ConvShape& shape, bool flat);
/// True for float32 throughout.
bool IsFloat32(const Workload& workload);
/// True for float16 summed in float32, whether the result is rounded to float16 or not.
bool IsFloat16(const Workload& workload);
/// True for 8-bit data and int8 weight summed in int32.
bool IsInt8(const Workload& workload);
/// True if data and weight are in NCHW and OIHW (AutoTVM's templates take nothing else).
bool IsPlainNchw(const Workload& workload);
/// Empty for a dense layer of rows of data and of weights, else the reason why it is none.
std::string RefusesDense(const Workload& workload);
/// Sizes of a matrix product, of each matrix of a batch.
struct MatmulSizes {
  std::int64_t m, n, k;  ///< rows and columns of the result, products of each sum
};
/// Requires rows of data and of weights in plain layouts.
MatmulSizes MatmulSizesOf(const Workload& workload);
/// "NCHW" and 16 -> "NCHW16c".
std::string Blocked(const std::string& layout, std::int64_t block, char dimension);

}  // namespace tilewright
