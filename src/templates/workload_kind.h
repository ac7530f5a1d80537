#pragma once

#include <cstdint>
#include <string>

#include "src/tensor/workload.h"

namespace tilewright {

// Conditions on workloads that several templates have.

/// True for 1x1 kernels, stride 1, no padding: all pixels can be treated as one row.
bool IsFlatConvolution(const ConvShape& shape);
/// Returns the convolution in plain layouts and, if flat, with all pixels in one row; blocked
/// activations have the same memory in both forms.
Workload PlainConvolution(const Workload& workload, const ConvShape& shape, bool flat);
/// True for float32 throughout.
bool IsFloat32(const Workload& workload);
/// True for float16 summed in float32, whether the result is rounded to float16 or not.
bool IsFloat16(const Workload& workload);
/// True for bfloat16 summed in float32, whether the result is rounded to bfloat16 or not.
bool IsBFloat16(const Workload& workload);
/// True for 8-bit data and int8 weight summed in int32.
bool IsInt8(const Workload& workload);
/// True for int16 data and integers of up to 16 bits as weight, summed in int32.
bool IsInt16(const Workload& workload);
/// True if data and weight are in NCHW and OIHW, the only layouts that AutoTVM's templates serve.
bool IsPlainNchw(const Workload& workload);
/// Empty for a dense layer whose data and weights are rows (MK, NK); else the reason why it is not
/// one.
std::string RefusesDense(const Workload& workload);
/// Sizes of a matrix product, or of each product of a batch.
struct MatmulSizes {
  std::int64_t m, n, k;  ///< rows and columns of the result, products of one sum
};
/// Returns the sizes of a dense or batch_matmul. Requires plain layouts.
MatmulSizes MatmulSizesOf(const Workload& workload);
/// "NCHW" and 16 -> "NCHW16c".
std::string Blocked(const std::string& layout, std::int64_t block, char dimension);

}  // namespace tilewright
