#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Handler tables of one group of operators each, sorted by operator name.
std::span<const OnnxHandlerEntry> OnnxConvolutionHandlers();
std::span<const OnnxHandlerEntry> OnnxNormalizationHandlers();
std::span<const OnnxHandlerEntry> OnnxMatmulHandlers();
std::span<const OnnxHandlerEntry> OnnxEinsumHandlers();
std::span<const OnnxHandlerEntry> OnnxElementwiseHandlers();
std::span<const OnnxHandlerEntry> OnnxActivationHandlers();
std::span<const OnnxHandlerEntry> OnnxComparisonHandlers();
std::span<const OnnxHandlerEntry> OnnxAttentionHandlers();
std::span<const OnnxHandlerEntry> OnnxTransformerHandlers();
std::span<const OnnxHandlerEntry> OnnxTrigonometryHandlers();
std::span<const OnnxHandlerEntry> OnnxBitwiseHandlers();
std::span<const OnnxHandlerEntry> OnnxLossHandlers();
std::span<const OnnxHandlerEntry> OnnxSelectionHandlers();
std::span<const OnnxHandlerEntry> OnnxSignalHandlers();
std::span<const OnnxHandlerEntry> OnnxRecurrentHandlers();
std::span<const OnnxHandlerEntry> OnnxReductionHandlers();
std::span<const OnnxHandlerEntry> OnnxShapeHandlers();
std::span<const OnnxHandlerEntry> OnnxIndexingHandlers();
std::span<const OnnxHandlerEntry> OnnxGatherScatterHandlers();
std::span<const OnnxHandlerEntry> OnnxTopKHandlers();
std::span<const OnnxHandlerEntry> OnnxGridSampleHandlers();
std::span<const OnnxHandlerEntry> OnnxRearrangementHandlers();
std::span<const OnnxHandlerEntry> OnnxResizeHandlers();
std::span<const OnnxHandlerEntry> OnnxQuantizedHandlers();
/// Handlers of ONNX Runtime's domain for the QOperator format (quantized operators).
std::span<const OnnxHandlerEntry> RuntimeQLinearHandlers();
/// Handlers of ONNX Runtime's domain for operators that its optimizer and its quantizer emit.
std::span<const OnnxHandlerEntry> RuntimeFusedHandlers();
std::span<const OnnxHandlerEntry> RuntimeEmbeddingHandlers();
std::span<const OnnxHandlerEntry> RuntimeAttentionHandlers();
std::span<const OnnxHandlerEntry> RuntimeBlockHandlers();
std::span<const OnnxHandlerEntry> RuntimeDynamicHandlers();
std::span<const OnnxHandlerEntry> RuntimeRecurrentHandlers();
/// Handlers of ONNX's domain for classical models, kMlDomain.
std::span<const OnnxHandlerEntry> MlHandlers();
/// Handlers of this project's own domain (docs: model files).
std::span<const OnnxHandlerEntry> OwnDomainHandlers();

/// Domain of the operators that this project's model files use in addition to ONNX's own.
inline constexpr std::string_view kOwnDomain = "ai.tilewright";

/// Domain of ONNX Runtime's own operators.
inline constexpr std::string_view kRuntimeDomain = "com.microsoft";

/// ONNX's domain of classical models: tree ensembles, scalers and similar operators.
inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

/// Checks that input `index` is a sequence or an image. Sequences [N,C,L] are computed as images
/// [N,C,1,L] and their weights [O,I,L] likewise. Errors: the input has another rank.
void ExpectImage(OnnxNode& node, int index);
/// Returns a sequence as an image. Returns an image unchanged.
int AsImage(OnnxNode& node, int id);
/// Converts an image back to a sequence if input 0 is a sequence. If input 0 is a volume, converts
/// images that are stacked along the depth, [N*D,C,H,W], to volumes.
int FromImage(OnnxNode& node, int id);
/// One spatial dimension of a window: sizes, strides, and leading and trailing padding.
struct WindowDimension {
  std::int64_t kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
};
/// Returns the window given by a node's attributes (kernel_shape, strides, dilations, and pads or
/// auto_pad) for a kernel of this size over dimensions of `extents` elements. Empty after an error.
std::vector<WindowDimension> ReadWindow(OnnxNode& node, const std::vector<std::int64_t>& extents,
                                        const std::vector<std::int64_t>& kernel);
/// Sets height (0) or width (1) of an operator's window, except pool_size.
void SetWindow(OpAttributes& attributes, std::size_t dimension, const WindowDimension& part);
/// Emits a pooling of `data`, which has the same rank as input 0, with the window of the node's
/// attributes.
int EmitPool(OnnxNode& node, OpKind kind, int data);
/// Emits a convolution of volumes.
int EmitVolumeConvolution(OnnxNode& node);
/// Emits only its sums, of type `sums` if given, as images that are stacked along the depth (see
/// FromImage). `padding` is the value of the padding around the data.
int VolumeSums(OnnxNode& node, int data, int weight, double padding,
               std::optional<DataType> sums = {});
/// Emits a transposed convolution of volumes and adds its bias (input 2).
int EmitVolumeConvTranspose(OnnxNode& node);
/// Returns the windows of a ConvTranspose over these extents, with pads from its attributes,
/// auto_pad or output_shape. Stores in `extra` how many elements are appended to each dimension.
/// Empty after an error.
std::vector<WindowDimension> ReadTransposedWindow(OnnxNode& node,
                                                  const std::vector<std::int64_t>& extents,
                                                  const std::vector<std::int64_t>& kernel,
                                                  std::vector<std::int64_t>& extra);
int EmitVolumePool(OnnxNode& node, Operator op, int data);
/// Returns the attributes of a convolution in ONNX's terms, for a window of `kernel` over the last
/// two dimensions of `data` (an image, possibly converted from input 0): strides, pads or auto_pad,
/// dilations, group.
OpAttributes WindowAttributes(OnnxNode& node, const TensorType& data,
                              std::array<std::int64_t, 2> kernel);
/// Returns the operator of a ConvTranspose of NCHW `data` with an IOHW `weight`, with the node's
/// attributes.
Operator ConvTransposeOperator(OnnxNode& node, int data, int weight);
/// Emits the elements of `id` at `positions` of dimension `axis`. All positions are in range.
int EmitPick(OnnxNode& node, int id, std::int64_t axis, const std::vector<std::int64_t>& positions);
/// Emits element `at` of dimension 1 and keeps the dimension: for a matrix, a column [R,1].
int EmitColumn(OnnxNode& node, int id, std::int64_t at);
/// Emits the first or last position along dimension `axis` of the extreme element (kReduceMax or
/// kReduceMin), as int32. A NaN counts as the extreme.
int EmitArgExtreme(OnnxNode& node, int data, OpKind extreme, std::int64_t axis, bool last,
                   bool keepdims);
/// Returns `index`, counted from the end if negative. Errors: it is outside of `extent` elements.
std::int64_t ResolveIndex(OnnxNode& node, std::int64_t index, std::int64_t extent);
/// Emits the numbers 0 … count - 1 along a dimension that is followed by `behind` dimensions of
/// size 1.
int EmitPositions(OnnxNode& node, DataType dtype, std::int64_t count, std::size_t behind = 0);
/// Emits the elements [O,K,I] of data [O,n,I] at indices `places` along its second dimension. The
/// indices are integers from 0 to n - 1 of shape [O,K,I], or [O,K,1] for whole rows of I elements.
int EmitGathered(OnnxNode& node, int data, int places);
/// Returns a slice that covers a whole tensor. The caller narrows it.
Operator WholeSlice(const std::vector<std::int64_t>& shape);
/// Maximum number of positions of a dimension that an operator may select.
inline constexpr std::int64_t kMaxPicked = std::int64_t{1} << 22;
/// Adds the bias [K] of input `index`, if present, to data [N,K,...].
int AddBias(OnnxNode& node, int id, int index);
/// Emits the convolution of a Conv node and adds its bias (input 2).
int EmitConv(OnnxNode& node);
/// Emits x / 2 * (1 + erf(x / sqrt(2))), or with `by_tanh` the same with tanh(sqrt(2 / pi) * (x +
/// 0.044715 x^3)) instead of erf.
int EmitGelu(OnnxNode& node, int data, bool by_tanh);
/// Activation function that an attribute of another operator names (case-insensitive), with the
/// number of its parameters.
struct NamedActivation {
  std::string_view name;  ///< lower case
  /// Number of parameters of the function, a prefix of alpha, beta, gamma.
  int parameters = 0;
  std::array<double, 3> values = {};  ///< alpha, beta, gamma; initially the function's defaults
};
/// Returns null if no function has that name.
std::optional<NamedActivation> ActivationNamed(std::string_view name);
int EmitActivation(OnnxNode& node, const NamedActivation& activation, int data);
/// Value minus its mean over some dimensions, divided by its standard deviation over them. float16
/// is computed in float32, as the format specifies: squares of values from 256 on would overflow.
struct NormalizedValue {
  int value = -1;                         ///< same type as the data
  int mean = -1, inverse_deviation = -1;  ///< as computed; the second only if output 2 is requested
};
NormalizedValue EmitNormalized(OnnxNode& node, int data, const std::vector<std::int64_t>& axes,
                               double epsilon);
/// Emits `data` divided by the root mean square over some dimensions.
NormalizedValue EmitRmsNormalized(OnnxNode& node, int data, const std::vector<std::int64_t>& axes,
                                  double epsilon);
/// Emits the product of a Gemm node with its factors and its addend.
int EmitGemm(OnnxNode& node);
/// Emits the product of 2-D data [M,K] and a 2-D weight, [K,N] or (if transposed) [N,K]. The sums
/// have type `sums`, if given.
int EmitDense(OnnxNode& node, int data, int weight, bool weight_transposed,
              std::optional<DataType> sums = {});
/// Emits NumPy's matrix product of operands of any rank.
int EmitMatmul(OnnxNode& node, int a, int b, std::optional<DataType> sums = {});

}  // namespace tilewright
