#pragma once

#include <span>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// The handlers of one subject each, sorted by operator name.
std::span<const OnnxHandlerEntry> OnnxConvolutionHandlers();
std::span<const OnnxHandlerEntry> OnnxMatmulHandlers();
std::span<const OnnxHandlerEntry> OnnxElementwiseHandlers();
std::span<const OnnxHandlerEntry> OnnxReductionHandlers();
std::span<const OnnxHandlerEntry> OnnxShapeHandlers();
std::span<const OnnxHandlerEntry> OnnxIndexingHandlers();
std::span<const OnnxHandlerEntry> OnnxQuantizedHandlers();
/// Of this project's own domain (docs: model files).
std::span<const OnnxHandlerEntry> OwnDomainHandlers();

/// Domain of the operators that this project's model files use beside ONNX's own.
inline constexpr std::string_view kOwnDomain = "ai.tilewright";

/// Attributes of a convolution as ONNX spells them, for a window of `kernel` over the last two
/// dimensions of `data`: strides, pads or auto_pad, dilations, group.
OpAttributes WindowAttributes(OnnxNode& node, const TensorType& data,
                              std::array<std::int64_t, 2> kernel);
/// The operator of a ConvTranspose of NCHW `data` with an IOHW `weight`, by the node's attributes.
Operator ConvTransposeOperator(OnnxNode& node, int data, int weight);
/// data [N,K,...] plus a bias [K] that came as input `index`, if there is one.
int AddBias(OnnxNode& node, int id, int index);
/// Weight times data, both 2-D: [M,K] and a weight [K,N] or (if transposed) [N,K]; sums of type
/// `sums`, where it is given.
int EmitDense(OnnxNode& node, int data, int weight, bool weight_transposed,
              std::optional<DataType> sums = {});
/// NumPy's matrix product for any ranks.
int EmitMatmul(OnnxNode& node, int a, int b, std::optional<DataType> sums = {});

}  // namespace tilewright
