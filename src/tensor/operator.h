#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/expression/expression.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Operators of graph nodes. An operator's row in src/tensor/operators (as a page:
/// docs/operators.md) states its computation, its attributes and all its other properties. A kind
/// is a position in that table; new ones are appended at the end, whatever they resemble.
enum class OpKind : std::uint8_t {
  // Tunable anchors.
  kConv2d,  ///< any groups (see Workload::op_name)
  kConv2dTranspose,
  kDense,
  kBatchMatmul,
  // Elementwise with broadcasting (NumPy's rule) of two inputs of one type.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kPow,
  kShiftRight,
  // Elementwise of one input.
  kRelu,
  kClip,
  kLeakyRelu,
  kSigmoid,
  kHardSigmoid,
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
  kCast,          ///< float to int truncates, int to int wraps
  kSaturateCast,  ///< rounds half to even, then saturates (ONNX quantization)
  kFixedPointMultiply,
  // Windows.
  kMaxPool2d,
  kAvgPool2d,
  kGlobalAvgPool2d,
  kGlobalMaxPool2d,
  // Reductions, and operators on a whole row or channel.
  kReduceMean,
  kReduceSum,
  kReduceMax,
  kReduceMin,
  kSoftmax,
  kLogSoftmax,
  kLrn,
  kBatchNorm,
  // Comparisons and select, with broadcasting.
  kEqual,
  kLess,
  kWhere,
  // Moving data.
  kReshape,
  kTranspose,
  kBroadcastTo,
  kConcat,
  kSlice,
  kPad,
  kLayoutTransform,
  kGather,
  kIdentity,
  kRecurrence,  ///< steps, each of which uses the results of the one before it
  kExpression,  ///< a user's expression
  // Elementary functions of one input.
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kExpm1,
  kLog1p,
  kSoftplus,
};

struct Recurrence;  // src/tensor/recurrence.h

/// Copyable holder of a Recurrence, or empty. Needed because operators have a Recurrence as an
/// attribute, and a Recurrence has operators.
class RecurrenceValue {
 public:
  RecurrenceValue();
  explicit RecurrenceValue(Recurrence recurrence);
  RecurrenceValue(const RecurrenceValue& other);
  RecurrenceValue(RecurrenceValue&& other) noexcept;
  RecurrenceValue& operator=(const RecurrenceValue& other);
  RecurrenceValue& operator=(RecurrenceValue&& other) noexcept;
  ~RecurrenceValue();

  explicit operator bool() const { return value_ != nullptr; }
  const Recurrence& operator*() const { return *value_; }
  const Recurrence* operator->() const { return value_.get(); }
  friend bool operator==(const RecurrenceValue& a, const RecurrenceValue& b) { return a.Equals(b); }

 private:
  bool Equals(const RecurrenceValue& other) const;
  std::unique_ptr<const Recurrence> value_;
};

/// Attributes of any operator; each kind uses those that its row names. Defaults are neutral, so
/// two equal operators compare equal.
struct OpAttributes {
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};  ///< top, left, bottom, right
  std::array<std::int64_t, 2> dilation{1, 1};
  std::array<std::int64_t, 2> pool_size{1, 1};
  std::array<std::int64_t, 2> output_padding{0, 0};
  std::int64_t groups = 1;
  bool reduced_range_weights = false;      ///< of an anchor: see Workload
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
  RecurrenceValue recurrence;
  Expression expression;
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
/// Returns true for elementwise operators of one or two inputs, which may follow an anchor in its
/// kernel.
bool IsElementwise(OpKind kind);
/// Returns true for a comparison or a select.
bool IsComparisonOrSelect(OpKind kind);

/// Checks the element count of a shape. Errors: kInvalidArgument if it is negative or overflows.
Status CheckElementCount(const TensorType& type);

/// Returns the type of the result.
/// Errors: kInvalidArgument naming the operator, the input and the expectation.
Result<TensorType> InferType(const Operator& op, std::span<const TensorType> inputs);

}  // namespace tilewright
