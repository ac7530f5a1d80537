// Activation functions, made of other elementwise operators.

#include <cmath>
#include <numbers>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

// gamma * (max(x, 0) + alpha * (exp(min(x, 0) / divisor) - 1))
void ReturnExponential(OnnxNode& node, double alpha, double divisor, double gamma) {
  const int data = node.Input(0);
  int low = node.Emit(OpKind::kMin, data, 0);
  if (divisor != 1) low = node.Emit(OpKind::kDiv, low, divisor);
  low = node.Emit(OpKind::kSub, node.Emit(OpKind::kExp, {low}), 1);
  if (alpha != 1) low = node.Emit(OpKind::kMul, low, alpha);
  int result = node.Emit(OpKind::kAdd, {node.Emit(OpKind::kRelu, {data}), low});
  if (gamma != 1) result = node.Emit(OpKind::kMul, result, gamma);
  node.SetOutput(result);
}

void ImportElu(OnnxNode& node) { ReturnExponential(node, node.Float("alpha", 1), 1, 1); }

void ImportCelu(OnnxNode& node) {
  const double alpha = node.Float("alpha", 1);
  if (alpha == 0) return node.FailInvalid("attribute alpha is 0");
  ReturnExponential(node, alpha, alpha, 1);
}

void ImportSelu(OnnxNode& node) {
  ReturnExponential(node, node.Float("alpha", 1.67326319217681884765625), 1,
                    node.Float("gamma", 1.05070102214813232421875));
}

void ImportThresholdedRelu(OnnxNode& node) {
  const int data = node.Input(0);
  const DataType dtype = node.TypeOf(data).dtype;
  const int bound = node.EmitScalar(dtype, node.Float("alpha", 1));
  const int above = node.Emit(OpKind::kLess, {bound, data});
  node.Return(Operator{OpKind::kWhere, {}}, {above, data, node.EmitScalar(dtype, 0)});
}

// log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
int Softplus(OnnxNode& node, int data) {
  const int down = node.Emit(OpKind::kNegate, {node.Emit(OpKind::kAbs, {data})});
  const int sum = node.Emit(OpKind::kAdd, node.Emit(OpKind::kExp, {down}), 1);
  const int log = node.Emit(OpKind::kLog, {sum});
  return node.Emit(OpKind::kAdd, {node.Emit(OpKind::kRelu, {data}), log});
}

void ImportSoftplus(OnnxNode& node) { node.SetOutput(Softplus(node, node.Input(0))); }

void ImportMish(OnnxNode& node) {
  const int data = node.Input(0);
  const int factor = node.Emit(OpKind::kTanh, {Softplus(node, data)});
  node.Return(Operator{OpKind::kMul, {}}, {data, factor});
}

void ImportSoftsign(OnnxNode& node) {
  const int data = node.Input(0);
  const int divisor = node.Emit(OpKind::kAdd, node.Emit(OpKind::kAbs, {data}), 1);
  node.Return(Operator{OpKind::kDiv, {}}, {data, divisor});
}

void ImportSwish(OnnxNode& node) {
  const int data = node.Input(0);
  const double alpha = node.Float("alpha", 1);
  const int scaled = alpha == 1 ? data : node.Emit(OpKind::kMul, data, alpha);
  node.Return(Operator{OpKind::kMul, {}}, {data, node.Emit(OpKind::kSigmoid, {scaled})});
}

// x / 2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) in place of erf.
void ImportGelu(OnnxNode& node) {
  const int data = node.Input(0);
  const std::string approximate = node.String("approximate", "none");
  int curve = -1;
  if (approximate == "none") {
    curve = node.Emit(OpKind::kErf, {node.Emit(OpKind::kMul, data, 1 / std::numbers::sqrt2)});
  } else if (approximate == "tanh") {
    const int square = node.Emit(OpKind::kMul, {data, data});
    const int factor = node.Emit(OpKind::kAdd, node.Emit(OpKind::kMul, square, 0.044715), 1);
    const int inner = node.Emit(OpKind::kMul, {data, factor});
    curve = node.Emit(OpKind::kTanh,
                      {node.Emit(OpKind::kMul, inner, std::sqrt(2 * std::numbers::inv_pi))});
  } else {
    return node.FailInvalid("attribute approximate is " + approximate + ", expected none or tanh");
  }
  const int half = node.Emit(OpKind::kMul, data, 0.5);
  node.Return(Operator{OpKind::kMul, {}}, {half, node.Emit(OpKind::kAdd, curve, 1)});
}

constexpr OnnxHandlerEntry kActivationHandlers[] = {
    {"Celu", &ImportCelu},
    {"Elu", &ImportElu},
    {"Gelu", &ImportGelu},
    {"Mish", &ImportMish},
    {"Selu", &ImportSelu},
    {"Softplus", &ImportSoftplus},
    {"Softsign", &ImportSoftsign},
    {"Swish", &ImportSwish},
    {"ThresholdedRelu", &ImportThresholdedRelu},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxActivationHandlers() { return kActivationHandlers; }

}  // namespace tilewright
