// Activation functions, sine and cosine, made of other elementwise operators.

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

// Coefficients of r^3, r^5, … in the sine of r, the last one first: up to pi / 2 the next one adds
// less than float32 shows.
constexpr double kSineCoefficients[] = {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120,
                                        -1.0 / 6};

// x less `multiples` of pi. pi is taken in parts of few bits, whose products are exact in float32
// where there are up to 2^13 multiples.
int LessMultiplesOfPi(OnnxNode& node, int x, int multiples) {
  double rest = std::numbers::pi;
  for (const double unit : {0x1p-8, 0x1p-19, 0x1p-30, 0x1p-60}) {
    const double part = std::trunc(rest / unit) * unit;
    x = node.Emit(OpKind::kSub, {x, node.Emit(OpKind::kMul, multiples, part)});
    rest -= part;
  }
  return x;
}

// The sine of what is left of x without the nearest multiple n of pi, negated where n is odd. The
// cosine is taken from the middle between two multiples, where it is minus that sine.
void ReturnWave(OnnxNode& node, bool cosine) {
  const int data = node.Input(0);
  const DataType dtype = node.TypeOf(data).dtype;
  if (node.ok() && dtype != kFloat32 && dtype != kFloat16) {
    return node.FailUnsupported("input 0 is " + node.TypeOf(data).ToString() +
                                ", expected float32 or float16");
  }
  const int x = node.EmitCast(data, kFloat32);
  const int turns = node.Emit(OpKind::kMul, x, std::numbers::inv_pi);
  const int n = node.Emit(cosine ? OpKind::kFloor : OpKind::kRoundEven, {turns});
  const int r = LessMultiplesOfPi(node, x, cosine ? node.Emit(OpKind::kAdd, n, 0.5) : n);
  const int square = node.Emit(OpKind::kMul, {r, r});
  int sum = node.EmitScalar(kFloat32, 0);
  for (const double coefficient : kSineCoefficients) {
    sum = node.Emit(OpKind::kAdd, node.Emit(OpKind::kMul, {sum, square}), coefficient);
  }
  const int sine = node.Emit(
      OpKind::kAdd, {r, node.Emit(OpKind::kMul, {node.Emit(OpKind::kMul, {r, square}), sum})});
  const int half = node.Emit(OpKind::kMul, n, 0.5);
  const int odd = node.Emit(OpKind::kSub, {half, node.Emit(OpKind::kFloor, {half})});  // 0 or 1/2
  const int scaled = node.Emit(OpKind::kMul, odd, cosine ? 4 : -4);
  const int sign = node.Emit(OpKind::kAdd, scaled, cosine ? -1 : 1);
  node.SetOutput(node.EmitCast(node.Emit(OpKind::kMul, {sine, sign}), dtype));
}

void ImportSin(OnnxNode& node) { ReturnWave(node, false); }
void ImportCos(OnnxNode& node) { ReturnWave(node, true); }

constexpr OnnxHandlerEntry kActivationHandlers[] = {
    {"Celu", &ImportCelu},
    {"Cos", &ImportCos},
    {"Elu", &ImportElu},
    {"Gelu", &ImportGelu},
    {"Mish", &ImportMish},
    {"Selu", &ImportSelu},
    {"Sin", &ImportSin},
    {"Softplus", &ImportSoftplus},
    {"Softsign", &ImportSoftsign},
    {"Swish", &ImportSwish},
    {"ThresholdedRelu", &ImportThresholdedRelu},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxActivationHandlers() { return kActivationHandlers; }

}  // namespace tilewright
