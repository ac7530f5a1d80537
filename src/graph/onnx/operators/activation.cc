// Activation functions, composed of other elementwise operators.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numbers>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

// gamma * (max(x, 0) + alpha * expm1(min(x, 0) / divisor))
int Exponential(OnnxNode& node, int data, double alpha, double divisor, double gamma) {
  int low = node.Emit(OpKind::kMin, data, 0);
  if (divisor != 1) low = node.Emit(OpKind::kDiv, low, divisor);
  low = node.Emit(OpKind::kExpm1, {low});
  if (alpha != 1) low = node.Emit(OpKind::kMul, low, alpha);
  int result = node.Emit(OpKind::kAdd, {node.Emit(OpKind::kRelu, {data}), low});
  return gamma == 1 ? result : node.Emit(OpKind::kMul, result, gamma);
}

void ImportElu(OnnxNode& node) {
  node.SetOutput(Exponential(node, node.Input(0), node.Float("alpha", 1), 1, 1));
}

constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

void ImportCelu(OnnxNode& node) {
  const double alpha = node.Float("alpha", 1);
  if (alpha == 0) return node.FailInvalid("attribute alpha is 0");
  node.SetOutput(Exponential(node, node.Input(0), alpha, alpha, 1));
}

void ImportSelu(OnnxNode& node) {
  node.SetOutput(Exponential(node, node.Input(0), node.Float("alpha", kSeluAlpha), 1,
                             node.Float("gamma", kSeluGamma)));
}

// x if it is above `bound`, else 0
int Thresholded(OnnxNode& node, int data, double bound) {
  const DataType dtype = node.TypeOf(data).dtype;
  const int above = node.Emit(OpKind::kLess, {node.EmitScalar(dtype, bound), data});
  return node.Emit(OpKind::kWhere, {above, data, node.EmitScalar(dtype, 0)});
}

void ImportThresholdedRelu(OnnxNode& node) {
  node.SetOutput(Thresholded(node, node.Input(0), node.Float("alpha", 1)));
}

int Softplus(OnnxNode& node, int data) { return node.Emit(OpKind::kSoftplus, {data}); }

void ImportSoftplus(OnnxNode& node) {
  node.Return(Operator{OpKind::kSoftplus, {}}, {node.Input(0)});
}

void ImportMish(OnnxNode& node) {
  const int data = node.Input(0);
  const int factor = node.Emit(OpKind::kTanh, {Softplus(node, data)});
  node.Return(Operator{OpKind::kMul, {}}, {data, factor});
}

int Softsign(OnnxNode& node, int data) {
  const int divisor = node.Emit(OpKind::kAdd, node.Emit(OpKind::kAbs, {data}), 1);
  return node.Emit(OpKind::kDiv, {data, divisor});
}

void ImportSoftsign(OnnxNode& node) { node.SetOutput(Softsign(node, node.Input(0))); }

void ImportSwish(OnnxNode& node) {
  const int data = node.Input(0);
  const double alpha = node.Float("alpha", 1);
  const int scaled = alpha == 1 ? data : node.Emit(OpKind::kMul, data, alpha);
  node.Return(Operator{OpKind::kMul, {}}, {data, node.Emit(OpKind::kSigmoid, {scaled})});
}

void ImportGelu(OnnxNode& node) {
  const int data = node.Input(0);
  const std::string approximate = node.String("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return node.FailInvalid("attribute approximate is " + approximate + ", expected none or tanh");
  }
  node.SetOutput(EmitGelu(node, data, approximate == "tanh"));
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Lower-case names with the number of parameters and their defaults; two functions have none.
constexpr NamedActivation kNamedActivations[] = {
    {"affine", 2, {kNone, kNone, 0}},
    {"celu", 1, {1, 0, 0}},
    {"elu", 1, {1, 0, 0}},
    {"hardsigmoid", 2, {0.2F, 0.5F, 0}},
    {"leakyrelu", 1, {0.01F, 0, 0}},
    {"relu", 0, {}},
    {"scaledtanh", 2, {kNone, kNone, 0}},
    {"selu", 3, {kSeluAlpha, 0, kSeluGamma}},
    {"sigmoid", 0, {}},
    {"softplus", 0, {}},
    {"softsign", 0, {}},
    {"tanh", 0, {}},
    {"thresholdedrelu", 1, {1, 0, 0}},
};

// alpha * x + beta
int LinearOf(OnnxNode& node, int data, double alpha, double beta) {
  const int scaled = alpha == 1 ? data : node.Emit(OpKind::kMul, data, alpha);
  return beta == 0 ? scaled : node.Emit(OpKind::kAdd, scaled, beta);
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

int EmitGelu(OnnxNode& node, int data, bool by_tanh) {
  if (by_tanh) {  // (1 + tanh(u)) / 2 is the sigmoid of 2 u, which is precise for negative u
    const int square = node.Emit(OpKind::kMul, {data, data});
    const int factor = node.Emit(OpKind::kAdd, node.Emit(OpKind::kMul, square, 0.044715), 1);
    const int inner = node.Emit(OpKind::kMul, {data, factor});
    const int twice = node.Emit(OpKind::kMul, inner, 2 * std::sqrt(2 * std::numbers::inv_pi));
    return node.Emit(OpKind::kMul, {data, node.Emit(OpKind::kSigmoid, {twice})});
  }
  const int curve =
      node.Emit(OpKind::kErf, {node.Emit(OpKind::kMul, data, 1 / std::numbers::sqrt2)});
  const int half = node.Emit(OpKind::kMul, data, 0.5);
  return node.Emit(OpKind::kMul, {half, node.Emit(OpKind::kAdd, curve, 1)});
}

std::optional<NamedActivation> ActivationNamed(std::string_view name) {
  std::string small(name);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found = std::ranges::find(kNamedActivations, small, &NamedActivation::name);
  if (found == std::end(kNamedActivations)) return std::nullopt;
  return *found;
}

int EmitActivation(OnnxNode& node, const NamedActivation& activation, int data) {
  const auto [alpha, beta, gamma] = activation.values;
  if (!std::isfinite(alpha) || !std::isfinite(beta)) {
    node.FailInvalid("activation " + std::string(activation.name) +
                     " requires alpha and beta, which have no defaults");
    return -1;
  }
  const std::string_view name = activation.name;
  if (name == "affine") return LinearOf(node, data, alpha, beta);
  if (name == "celu") return Exponential(node, data, alpha, alpha, 1);
  if (name == "elu" || name == "selu") {
    return Exponential(node, data, alpha, 1, name == "elu" ? 1 : gamma);
  }
  if (name == "scaledtanh") {
    return LinearOf(node, node.Emit(OpKind::kTanh, {LinearOf(node, data, beta, 0)}), alpha, 0);
  }
  if (name == "softplus") return Softplus(node, data);
  if (name == "softsign") return Softsign(node, data);
  if (name == "thresholdedrelu") return Thresholded(node, data, alpha);
  Operator op{OpKind::kRelu, {}};
  op.attributes.alpha = alpha;
  if (name == "hardsigmoid") {
    op.kind = OpKind::kHardSigmoid;
    op.attributes.beta = beta;
  } else if (name == "leakyrelu") {
    op.kind = OpKind::kLeakyRelu;
  } else {
    op = {name == "sigmoid" ? OpKind::kSigmoid : (name == "tanh" ? OpKind::kTanh : OpKind::kRelu),
          {}};
  }
  return node.Emit(op, {data});
}

}  // namespace tilewright
