#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

struct ModelOptions {
  std::int64_t batch = 1;  ///< 1 to 1024
  /// The quantized form. Of convolutional networks that of accelerators: int8 tensors, int32 sums,
  /// and after each convolution add, shift_right, clip, cast; the last matrix product stays
  /// float32. Of an encoder: float32 tensors, each quantized with a fixed scale in front of a
  /// product with int8 weights, whose int32 sums become float32.
  bool int8 = false;
  /// Every tensor is float16. Not with int8.
  bool float16 = false;
  /// Layers of bert_base_encoder, 1 to 12; 0: all 12. 0 for other networks.
  std::int64_t layers = 0;
};

/// Names that MakeModelOnnx knows: bert_base_encoder (12 layers of width 768 at 128 positions,
/// without embeddings), mobilenet_v2, resnet18_v1, resnet50_v1 (stride in the first 1x1 of a block,
/// as in the paper), squeezenet1_1.
std::span<const std::string_view> ModelNames();

/// A network as an ONNX file (operator set 14): topology of the paper; every weight is an
/// initializer, computed from its name, so that values neither vanish nor grow.
/// Convolutional networks: input "data" float32[batch,3,224,224], 1000 outputs; float convolutions
/// are followed by BatchNormalization (but for squeezenet1_1, which has biases). The int8 form uses
/// one operator of the domain ai.tilewright, version 1: RightShift(x, count), the arithmetic shift
/// of int32 numbers, which the file also has as a function of ONNX's own operators, for other
/// programs.
/// Encoder: input "data" float32[batch,128,768], hidden states of a root mean square near 1; the
/// output is the last hidden states, of the same type.
/// Errors: kNotFound listing the names; kInvalidArgument for a batch or layers out of range, or
/// both int8 and float16.
Result<std::string> MakeModelOnnx(std::string_view name, const ModelOptions& options = {});

}  // namespace tilewright
