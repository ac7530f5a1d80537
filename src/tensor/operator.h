#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Every operator a graph node can have. The meaning of each is in infer_type.cc (types), compute/
/// (loops) and reference/ (values, and how far floats may be from them); operands that verify it are
/// made in measure/worker/inputs.cc.
enum class OpKind : std::uint8_t {
  // Tunable anchors.
  kConv2d,  ///< data, weight; any groups (see AnchorName); strides padding dilation groups layouts
            ///< dtype
  kConv2dTranspose,  ///< as kConv2d; output_padding
  kDense,            ///< data [M,K], weight [N,K] -> [M,N]
  kBatchMatmul,      ///< a [B,M,K], b [B,N,K] -> [B,M,N]  (b transposed)
  // Elementwise with broadcasting (NumPy's rule) of two inputs of one type.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kPow,
  kShiftRight,  ///< arithmetic; inputs integer
  // Elementwise of one input.
  kRelu,
  kClip /* a_min a_max */,
  kLeakyRelu /* alpha */,
  kSigmoid,
  kHardSigmoid /* alpha beta */,
  kHardSwish,
  kTanh,
  kExp,
  kLog,
  kSqrt,
  kErf,
  kNegate,
  kAbs,
  kRound,      ///< half away from zero
  kRoundEven,  ///< half to even (ONNX)
  kFloor,
  kCeil,
  kCast,                ///< dtype; float to int truncates, int to int wraps
  kSaturateCast,        ///< dtype; rounds half to even, then saturates (ONNX quantization)
  kFixedPointMultiply,  ///< int32; multiplier (Q31) and shift: TVM's fixed_point_multiply
  // Windows over NCHW, NHWC or NCHW<c>c (data_layout).
  kMaxPool2d,        ///< pool_size strides padding dilation ceil_mode
  kAvgPool2d,        ///< and count_include_pad
  kGlobalAvgPool2d,  ///< integers: sum, then division truncated towards zero
  kGlobalMaxPool2d,
  // Reductions over `axes` (empty = all) with keepdims.
  kReduceMean,
  kReduceSum,
  kReduceMax,
  kReduceMin,
  kSoftmax,  ///< over axis; flatten = true: over every dimension from axis on (ONNX < 13)
  kLogSoftmax,
  kLrn,        ///< across channels (dimension 1): size alpha beta bias
  kBatchNorm,  ///< data, gamma, beta, mean, var; axis epsilon
  // Comparisons of two inputs of one type, and a choice, with broadcasting (NumPy's rule).
  kEqual,  ///< bool
  kLess,   ///< bool
  kWhere,  ///< condition (bool), two inputs of one type: the first one where it is true
  // Moving data.
  kReshape,          ///< new_shape (resolved: no 0 or -1)
  kTranspose,        ///< axes
  kBroadcastTo,      ///< new_shape
  kConcat,           ///< axis; any number of inputs
  kSlice,            ///< begin, end, steps per dimension (resolved)
  kPad,              ///< pad_width: before, after per dimension; pad_value
  kLayoutTransform,  ///< src_layout -> dst_layout (NCHW, NHWC, NCHW16c, OIHW16i16o, …)
  kGather,           ///< data, indices (int32/int64); axis
  kIdentity,         ///< also dropout, annotations
};

/// Attributes of any operator; each kind reads the ones named beside it above. Defaults are the
/// neutral values, so two equal operators compare equal.
struct OpAttributes {
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};  ///< top, left, bottom, right
  std::array<std::int64_t, 2> dilation{1, 1};
  std::array<std::int64_t, 2> pool_size{1, 1};
  std::array<std::int64_t, 2> output_padding{0, 0};
  std::int64_t groups = 1;
  std::string data_layout, kernel_layout;  ///< "NCHW", "OIHW", "NCHW1n16c", "OIHW16o16i", …
  std::string src_layout, dst_layout;
  std::optional<DataType> dtype;  ///< cast target, or out_dtype of an anchor
  std::int64_t axis = 0;
  std::vector<std::int64_t> axes;
  bool keepdims = false;
  bool ceil_mode = false;
  bool count_include_pad = false;
  bool flatten = false;
  std::vector<std::int64_t> new_shape;
  std::vector<std::int64_t> begin, end, steps;
  std::vector<std::int64_t> pad_width;
  double pad_value = 0;
  double a_min = 0, a_max = 0;
  double alpha = 0, beta = 0, epsilon = 0, bias = 0;
  std::int64_t size = 0;
  std::int64_t multiplier = 0, shift = 0;
  friend bool operator==(const OpAttributes&, const OpAttributes&) = default;
};

struct Operator {
  OpKind kind = OpKind::kIdentity;
  OpAttributes attributes;
  friend bool operator==(const Operator&, const Operator&) = default;
};

/// "conv2d", "max_pool2d", "add", … Stable: appears in records and in printed tables.
std::string_view OpName(OpKind kind);
bool IsAnchor(OpKind kind);
/// Elementwise of one or two inputs: may follow an anchor in its kernel.
bool IsElementwise(OpKind kind);
/// A comparison or a choice.
bool IsChoice(OpKind kind);

/// Refuses shapes whose element count is negative or too large to count.
Status CheckElementCount(const TensorType& type);

/// Type of the result.
/// Errors: kInvalidArgument naming the operator, the input and what was expected.
Result<TensorType> InferType(const Operator& op, std::span<const TensorType> inputs);

}  // namespace tilewright
