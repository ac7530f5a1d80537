#include "src/tensor/operator.h"

#include "src/tensor/operator_names.h"

namespace tilewright {
namespace {

struct NamedKind {
  OpKind kind;
  std::string_view name;
};

// In the order of OpKind, so that a kind is its own position.
constexpr std::array kNames = {
    NamedKind{OpKind::kConv2d, "conv2d"},
    NamedKind{OpKind::kConv2dTranspose, "conv2d_transpose"},
    NamedKind{OpKind::kDense, "dense"},
    NamedKind{OpKind::kBatchMatmul, "batch_matmul"},
    NamedKind{OpKind::kAdd, "add"},
    NamedKind{OpKind::kSub, "sub"},
    NamedKind{OpKind::kMul, "mul"},
    NamedKind{OpKind::kDiv, "div"},
    NamedKind{OpKind::kMax, "max"},
    NamedKind{OpKind::kMin, "min"},
    NamedKind{OpKind::kPow, "pow"},
    NamedKind{OpKind::kShiftRight, "shift_right"},
    NamedKind{OpKind::kRelu, "relu"},
    NamedKind{OpKind::kClip, "clip"},
    NamedKind{OpKind::kLeakyRelu, "leaky_relu"},
    NamedKind{OpKind::kSigmoid, "sigmoid"},
    NamedKind{OpKind::kHardSigmoid, "hard_sigmoid"},
    NamedKind{OpKind::kHardSwish, "hard_swish"},
    NamedKind{OpKind::kTanh, "tanh"},
    NamedKind{OpKind::kExp, "exp"},
    NamedKind{OpKind::kLog, "log"},
    NamedKind{OpKind::kSqrt, "sqrt"},
    NamedKind{OpKind::kErf, "erf"},
    NamedKind{OpKind::kNegate, "negate"},
    NamedKind{OpKind::kAbs, "abs"},
    NamedKind{OpKind::kRound, "round"},
    NamedKind{OpKind::kRoundEven, "round_even"},
    NamedKind{OpKind::kFloor, "floor"},
    NamedKind{OpKind::kCeil, "ceil"},
    NamedKind{OpKind::kCast, "cast"},
    NamedKind{OpKind::kSaturateCast, "saturate_cast"},
    NamedKind{OpKind::kFixedPointMultiply, "fixed_point_multiply"},
    NamedKind{OpKind::kMaxPool2d, "max_pool2d"},
    NamedKind{OpKind::kAvgPool2d, "avg_pool2d"},
    NamedKind{OpKind::kGlobalAvgPool2d, "global_avg_pool2d"},
    NamedKind{OpKind::kGlobalMaxPool2d, "global_max_pool2d"},
    NamedKind{OpKind::kReduceMean, "reduce_mean"},
    NamedKind{OpKind::kReduceSum, "reduce_sum"},
    NamedKind{OpKind::kReduceMax, "reduce_max"},
    NamedKind{OpKind::kReduceMin, "reduce_min"},
    NamedKind{OpKind::kSoftmax, "softmax"},
    NamedKind{OpKind::kLogSoftmax, "log_softmax"},
    NamedKind{OpKind::kLrn, "lrn"},
    NamedKind{OpKind::kBatchNorm, "batch_norm"},
    NamedKind{OpKind::kEqual, "equal"},
    NamedKind{OpKind::kLess, "less"},
    NamedKind{OpKind::kWhere, "where"},
    NamedKind{OpKind::kReshape, "reshape"},
    NamedKind{OpKind::kTranspose, "transpose"},
    NamedKind{OpKind::kBroadcastTo, "broadcast_to"},
    NamedKind{OpKind::kConcat, "concat"},
    NamedKind{OpKind::kSlice, "slice"},
    NamedKind{OpKind::kPad, "pad"},
    NamedKind{OpKind::kLayoutTransform, "layout_transform"},
    NamedKind{OpKind::kGather, "gather"},
    NamedKind{OpKind::kIdentity, "identity"},
};

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (static_cast<std::size_t>(kNames[i].kind) != i) return false;
  }
  return static_cast<std::size_t>(OpKind::kIdentity) + 1 == kNames.size();
}
static_assert(InOrder());

}  // namespace

std::string_view OpName(OpKind kind) { return kNames[static_cast<std::size_t>(kind)].name; }

std::optional<OpKind> OpKindNamed(std::string_view name) {
  for (const NamedKind& entry : kNames) {
    if (entry.name == name) return entry.kind;
  }
  return std::nullopt;
}

bool IsAnchor(OpKind kind) { return kind <= OpKind::kBatchMatmul; }

bool IsElementwise(OpKind kind) {
  return kind >= OpKind::kAdd && kind <= OpKind::kFixedPointMultiply;
}

bool IsChoice(OpKind kind) { return kind >= OpKind::kEqual && kind <= OpKind::kWhere; }

bool IsBinary(OpKind kind) { return kind >= OpKind::kAdd && kind <= OpKind::kShiftRight; }

}  // namespace tilewright
