#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

struct ModelOptions {
  std::int64_t batch = 1;  ///< 1 to 1024
  /// Selects the quantized form. Convolutional networks use the form of accelerators: int8 tensors,
  /// int32 sums, and add, shift_right, clip, cast after each convolution; the last matrix product
  /// stays float32. An encoder uses float32 tensors; each is quantized with a fixed scale before a
  /// product with int8 weights, and the int32 sums are converted to float32.
  bool int8 = false;
  /// Makes every tensor float16. Not combinable with int8.
  bool float16 = false;
  /// Number of layers of bert_base_encoder, 1 to 12; 0: all 12. Must be 0 for other networks.
  std::int64_t layers = 0;
};

/// Returns the names that MakeModelOnnx accepts: bert_base_encoder (12 layers of width 768 at 128
/// positions, without embeddings), mobilenet_v2, resnet18_v1, resnet50_v1 (stride in the first 1x1
/// of a block, as in the paper), squeezenet1_1.
std::span<const std::string_view> ModelNames();

/// Returns a network as the bytes of an ONNX file (opset 14). The topology is that of the paper.
/// Every weight is an initializer, computed from its name, such that values neither vanish nor
/// grow.
/// Convolutional networks: input "data" float32[batch,3,224,224], 1000 outputs. BatchNormalization
/// follows each float convolution (except in squeezenet1_1, which has biases). The int8 form uses
/// one operator of the domain ai.tilewright, version 1: RightShift(x, count), the arithmetic shift
/// of int32 numbers. The file also defines it as a function of ONNX's own operators, for other
/// programs.
/// Encoder: input "data" float32[batch,128,768], hidden states of a root mean square near 1. The
/// output is the last hidden states, of the same type.
/// Returns kNotFound listing the names; kInvalidArgument for a batch or layers out of range, or
/// both int8 and float16.
Result<std::string> MakeModelOnnx(std::string_view name, const ModelOptions& options = {});

}  // namespace tilewright
