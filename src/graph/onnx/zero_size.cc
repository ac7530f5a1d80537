#include "src/graph/onnx/zero_size.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/graph/ir/graph.h"
#include "src/graph/onnx/proto.h"
#include "src/tensor/operator_names.h"

namespace tilewright {
namespace {

// Sorted. Handlers of these operators neither divide by an extent nor require an element.
constexpr std::string_view kAcceptZeroSize[] = {
    "Abs",         "Add",          "And",
    "Cast",        "CastLike",     "Ceil",
    "Celu",        "Clip",         "Concat",
    "Cos",         "Div",          "Dropout",
    "Elu",         "Equal",        "Erf",
    "Exp",         "Expand",       "Flatten",
    "Floor",       "Gather",       "Gelu",
    "Gemm",        "Greater",      "GreaterOrEqual",
    "HardSigmoid", "HardSwish",    "Identity",
    "IsInf",       "IsNaN",        "LeakyRelu",
    "Less",        "LessOrEqual",  "Log",
    "LogSoftmax",  "MatMul",       "Max",
    "Mean",        "Min",          "Mish",
    "Mul",         "Neg",          "Not",
    "Or",          "PRelu",        "Pad",
    "Pow",         "Reciprocal",   "ReduceL1",
    "ReduceL2",    "ReduceLogSum", "ReduceLogSumExp",
    "ReduceMax",   "ReduceMean",   "ReduceMin",
    "ReduceProd",  "ReduceSum",    "ReduceSumSquare",
    "Relu",        "Reshape",      "Round",
    "Selu",        "Shape",        "Sigmoid",
    "Sign",        "Sin",          "Size",
    "Slice",       "Softmax",      "Softplus",
    "Softsign",    "Split",        "Sqrt",
    "Squeeze",     "Sub",          "Sum",
    "Swish",       "Tanh",         "ThresholdedRelu",
    "Tile",        "Transpose",    "Trilu",
    "Unsqueeze",   "Where",        "Xor",
};
static_assert(std::ranges::is_sorted(kAcceptZeroSize));

// Returns the type of a matrix product with no rows, no columns, or an empty reduction. The last
// case gives zeros.
Result<TensorType> ProductType(const Operator& op, std::span<const TensorType> inputs) {
  const auto& a = inputs[0].shape;
  const auto& b = inputs[1].shape;
  const std::size_t rank = op.kind == OpKind::kDense ? 2 : 3;
  if (a.size() != rank || b.size() != rank || a.back() != b.back() ||
      inputs[0].dtype != inputs[1].dtype || (rank == 3 && a[0] != b[0])) {
    return InvalidArgument("operands " + inputs[0].ToString() + " and " + inputs[1].ToString() +
                           " do not fit");
  }
  TensorType type = inputs[0];
  type.shape.back() = b[rank - 2];
  if (op.attributes.dtype) type.dtype = *op.attributes.dtype;
  return type;
}

// Returns the fill value of an operator on zero-size operands.
Result<double> FillOf(const Operator& op) {
  switch (op.kind) {
    case OpKind::kReduceSum:
    case OpKind::kDense:
    case OpKind::kBatchMatmul:
    case OpKind::kConcat:
      return 0.0;
    case OpKind::kReduceMean:
      return std::numeric_limits<double>::quiet_NaN();
    case OpKind::kReduceMax:
      return -std::numeric_limits<double>::infinity();
    case OpKind::kReduceMin:
      return std::numeric_limits<double>::infinity();
    case OpKind::kPad:
      return op.attributes.pad_value;
    default:
      return Unsupported(std::string(OpName(op.kind)) + " of a zero-size tensor");
  }
}

// Returns the smallest or largest value of a type, for the extremes of zero-size tensors.
double ExtremeOf(DataType dtype, double fill) {
  if (dtype.is_float() || std::abs(fill) != std::numeric_limits<double>::infinity()) return fill;
  return fill < 0 ? -std::numeric_limits<double>::max() : std::numeric_limits<double>::max();
}

}  // namespace

bool AcceptsZeroSize(std::string_view op_type) {
  return std::ranges::binary_search(kAcceptZeroSize, op_type);
}

Status CheckZeroSizeInputs(const onnx::NodeProto& node, const OnnxImport& import) {
  if (AcceptsZeroSize(node.op_type())) return Status();
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    const auto type = import.TypeOfValue(node.input(i));
    if (!type.ok() || type->elements() > 0) continue;  // the handler reports an unknown value
    const bool list = type->shape.size() == 1 && (i > 0 || node.op_type() == "ConstantOfShape");
    if (list) continue;
    return Unsupported("input " + std::to_string(i) + " (" + node.input(i) + ") is " +
                       type->ToString() +
                       ", which is zero-size; this operator does not support zero-size inputs");
  }
  return Status();
}

Result<std::optional<FilledResult>> ZeroSizeResult(const Operator& op,
                                                   std::span<const TensorType> inputs) {
  const auto empty = [](const TensorType& type) { return type.elements() == 0; };
  const bool reads_none = std::ranges::any_of(inputs, empty);
  const bool may_make_none = op.kind == OpKind::kSlice || op.kind == OpKind::kBroadcastTo;
  if (!reads_none && !may_make_none) return std::optional<FilledResult>();
  const bool product = op.kind == OpKind::kDense || op.kind == OpKind::kBatchMatmul;
  TW_ASSIGN_OR_RETURN(auto type, product ? ProductType(op, inputs) : InferType(op, inputs));
  if (!reads_none && !empty(type)) return std::optional<FilledResult>();
  TW_RETURN_IF_ERROR(CheckOnnxType(type));
  FilledResult result{std::move(type)};
  if (!empty(result.type)) {
    TW_ASSIGN_OR_RETURN(auto fill, FillOf(op));
    const bool truth = result.type.dtype.is_bool() && op.kind == OpKind::kReduceMax;
    result.fill = truth ? 0 : ExtremeOf(result.type.dtype, fill);
  }
  return std::optional<FilledResult>(std::move(result));
}

}  // namespace tilewright
