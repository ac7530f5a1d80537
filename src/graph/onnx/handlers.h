#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// The handlers of one subject each, sorted by operator name.
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
/// Of ONNX Runtime's domain: what its files of quantized operators (QOperator) have.
std::span<const OnnxHandlerEntry> RuntimeQLinearHandlers();
/// Of ONNX Runtime's domain: what its optimizer and its quantizer leave in files.
std::span<const OnnxHandlerEntry> RuntimeFusedHandlers();
std::span<const OnnxHandlerEntry> RuntimeEmbeddingHandlers();
std::span<const OnnxHandlerEntry> RuntimeAttentionHandlers();
std::span<const OnnxHandlerEntry> RuntimeDynamicHandlers();
std::span<const OnnxHandlerEntry> RuntimeRecurrentHandlers();
/// Of ONNX's domain for classical models, kMlDomain.
std::span<const OnnxHandlerEntry> MlHandlers();
/// Of this project's own domain (docs: model files).
std::span<const OnnxHandlerEntry> OwnDomainHandlers();

/// Domain of the operators that this project's model files use beside ONNX's own.
inline constexpr std::string_view kOwnDomain = "ai.tilewright";

/// Domain of ONNX Runtime's own operators.
inline constexpr std::string_view kRuntimeDomain = "com.microsoft";

/// ONNX's domain of trees, scalers and their like.
inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

/// Sequences [N,C,L] are computed as images [N,C,1,L], weights [O,I,L] likewise. Refuses values of
/// input `index` that are neither sequences nor images.
void ExpectImage(OnnxNode& node, int index);
/// A sequence as an image; an image stays as it is.
int AsImage(OnnxNode& node, int id);
/// An image, as a sequence where input 0 is one; images that follow each other in depth,
/// [N*D,C,H,W], as volumes where input 0 is one.
int FromImage(OnnxNode& node, int id);
/// One spatial dimension of a window: sizes and steps, and the padding in front and behind.
struct WindowDimension {
  std::int64_t kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
};
/// The window that a node's attributes ask for (kernel_shape, strides, dilations, pads or
/// auto_pad), for a kernel of this size over dimensions of `extents` elements. Empty with an error.
std::vector<WindowDimension> ReadWindow(OnnxNode& node, const std::vector<std::int64_t>& extents,
                                        const std::vector<std::int64_t>& kernel);
/// Height (0) or width (1) of an operator's window, but for pool_size.
void SetWindow(OpAttributes& attributes, std::size_t dimension, const WindowDimension& part);
/// Pooling of `data`, of as many dimensions as input 0, by the window of the node's attributes.
int EmitPool(OnnxNode& node, OpKind kind, int data);
/// Convolution of volumes, and pooling of them by `op`, whose window is still to be set.
int EmitVolumeConvolution(OnnxNode& node);
/// Its sums, of type `sums` if that is given, as images that follow each other in depth (see
/// FromImage); `padding` is around the data.
int VolumeSums(OnnxNode& node, int data, int weight, double padding,
               std::optional<DataType> sums = {});
/// Transposed convolution of volumes, its bias (input 2) added.
int EmitVolumeConvTranspose(OnnxNode& node);
/// The windows of a ConvTranspose over these extents: pads from its attributes, auto_pad or
/// output_shape; how many elements are added behind each dimension goes to `extra`. Empty with an
/// error.
std::vector<WindowDimension> ReadTransposedWindow(OnnxNode& node,
                                                  const std::vector<std::int64_t>& extents,
                                                  const std::vector<std::int64_t>& kernel,
                                                  std::vector<std::int64_t>& extra);
int EmitVolumePool(OnnxNode& node, Operator op, int data);
/// Attributes of a convolution as ONNX spells them, for a window of `kernel` over the last two
/// dimensions of `data` (an image that input 0 is or has become): strides, pads or auto_pad,
/// dilations, group.
OpAttributes WindowAttributes(OnnxNode& node, const TensorType& data,
                              std::array<std::int64_t, 2> kernel);
/// The operator of a ConvTranspose of NCHW `data` with an IOHW `weight`, by the node's attributes.
Operator ConvTransposeOperator(OnnxNode& node, int data, int weight);
/// The elements of `id` at `positions` of dimension `axis`, each of them within the dimension.
int EmitPick(OnnxNode& node, int id, std::int64_t axis, const std::vector<std::int64_t>& positions);
/// Element `at` of dimension 1, which stays: of a matrix a column [R,1].
int EmitColumn(OnnxNode& node, int id, std::int64_t at);
/// Of the positions along dimension `axis` whose element is the extreme (kReduceMax or kReduceMin),
/// the first or the last, int32. A NaN is the extreme.
int EmitArgExtreme(OnnxNode& node, int data, OpKind extreme, std::int64_t axis, bool last,
                   bool keepdims);
/// `index`, counted from the end if negative. Errors: it is outside of `extent` elements.
std::int64_t ResolveIndex(OnnxNode& node, std::int64_t index, std::int64_t extent);
/// The numbers 0 … count - 1 along a dimension with `behind` dimensions behind it.
int EmitPositions(OnnxNode& node, DataType dtype, std::int64_t count, std::size_t behind = 0);
/// Elements of data [O,n,I] at `places` of its second dimension (integers from 0 to n - 1, [O,K,I];
/// or [O,K,1] for whole rows of I elements): [O,K,I].
int EmitGathered(OnnxNode& node, int data, int places);
/// The slice that is the whole of a tensor, to be narrowed.
Operator WholeSlice(const std::vector<std::int64_t>& shape);
/// Most positions of a dimension that an operator may pick elements for.
inline constexpr std::int64_t kMaxPicked = std::int64_t{1} << 22;
/// data [N,K,...] plus a bias [K] that came as input `index`, if there is one.
int AddBias(OnnxNode& node, int id, int index);
/// The convolution of a Conv node, its bias (input 2) added.
int EmitConv(OnnxNode& node);
/// x / 2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) in place of erf.
int EmitGelu(OnnxNode& node, int data, bool by_tanh);
/// An activation function by the name that it has as an attribute of another operator, in any
/// case of letters, with the numbers that the function takes.
struct NamedActivation {
  std::string_view name;  ///< in small letters
  /// How many of alpha, beta and gamma the function takes.
  int parameters = 0;
  std::array<double, 3> values = {};  ///< alpha, beta, gamma: first the function's defaults
};
/// Null if there is no function of that name.
std::optional<NamedActivation> ActivationNamed(std::string_view name);
int EmitActivation(OnnxNode& node, const NamedActivation& activation, int data);
/// A value less its mean over some dimensions, divided by its standard deviation over them. float16
/// is computed in float32, as the format says: squares of 256 and more would overflow.
struct NormalizedValue {
  int value = -1;                         ///< of the type of the data
  int mean = -1, inverse_deviation = -1;  ///< as computed; the second if output 2 is asked for
};
NormalizedValue EmitNormalized(OnnxNode& node, int data, const std::vector<std::int64_t>& axes,
                               double epsilon);
/// `data` divided by the root of the mean of its squares over some dimensions.
NormalizedValue EmitRmsNormalized(OnnxNode& node, int data, const std::vector<std::int64_t>& axes,
                                  double epsilon);
/// The product, its factors and its addend of a Gemm node.
int EmitGemm(OnnxNode& node);
/// Weight times data, both 2-D: [M,K] and a weight [K,N] or (if transposed) [N,K]; sums of type
/// `sums`, where it is given.
int EmitDense(OnnxNode& node, int data, int weight, bool weight_transposed,
              std::optional<DataType> sums = {});
/// NumPy's matrix product for any ranks.
int EmitMatmul(OnnxNode& node, int a, int b, std::optional<DataType> sums = {});

}  // namespace tilewright
