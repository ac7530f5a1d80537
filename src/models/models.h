#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

struct ModelOptions {
  std::int64_t batch = 1;  ///< 1 to 1024
  /// The quantized form of accelerators: int8 tensors, int32 sums, and after each convolution
  /// add, shift_right, clip, cast. The last matrix product stays float32.
  bool int8 = false;
  /// Every tensor is float16. Not with int8.
  bool float16 = false;
};

/// Names that MakeModelOnnx knows: resnet18_v1, resnet50_v1 (stride in the first 1x1 of a block, as
/// in the paper), mobilenet_v2, squeezenet1_1.
std::span<const std::string_view> ModelNames();

/// A network as an ONNX file (operator set 14): topology of the paper, input "data"
/// float32[batch,3,224,224], 1000 outputs; every weight is an initializer, computed from its name,
/// so that values neither vanish nor grow. Float convolutions are followed by BatchNormalization
/// (but for squeezenet1_1, which has biases). The int8 form uses one operator of the domain
/// ai.tilewright, version 1: RightShift(x, count), the arithmetic shift of int32 numbers, which the
/// file also has as a function of ONNX's own operators, for other programs.
/// Errors: kNotFound listing the names; kInvalidArgument for a batch out of range, or both int8 and
/// float16.
Result<std::string> MakeModelOnnx(std::string_view name, const ModelOptions& options = {});

}  // namespace tilewright
