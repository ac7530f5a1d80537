// Operators of ONNX Runtime's domain that its optimizer creates from ONNX's own: a product or a
// convolution fused with the operators that follow it, and activation functions. Each is decomposed
// again.

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Clamps `id`; the upper bound may be below the lower one.
int Bounded(OnnxNode& node, int id, double low, double high) {
  return node.Emit(OpKind::kMin, node.Emit(OpKind::kMax, id, low), high);
}

// Applies the function in attribute `activation` with the parameters in `activation_params`.
int ActivatedByList(OnnxNode& node, int id) {
  const std::string name = node.String("activation", "");
  const std::vector<double> given = node.Floats("activation_params");
  if (name.empty() || !node.ok()) return id;
  if (name == "Clip" && given.size() == 2) return Bounded(node, id, given[0], given[1]);
  auto activation = ActivationNamed(name);
  if (!activation || name == "Clip") {
    node.FailUnsupported("activation " + name + " with " + std::to_string(given.size()) +
                         " parameters is not supported");
    return -1;
  }
  if (given.size() > static_cast<std::size_t>(activation->parameters)) {
    node.FailInvalid("attribute activation_params has " + std::to_string(given.size()) +
                     " numbers, expected at most " + std::to_string(activation->parameters) +
                     " for " + name);
    return -1;
  }
  std::ranges::copy(given, activation->values.begin());
  return EmitActivation(node, *activation, id);
}

// Inputs: X, W, B, Z: a convolution, an addend, and a function of the sum.
void ImportFusedConv(OnnxNode& node) {
  int sum = EmitConv(node);
  if (node.HasInput(3)) sum = node.Emit(OpKind::kAdd, {sum, node.Input(3)});
  node.SetOutput(ActivatedByList(node, sum));
}

void ImportFusedGemm(OnnxNode& node) {
  const int sum = EmitGemm(node);
  const std::string name = node.String("activation", "");
  auto activation = ActivationNamed(name);
  if (!activation) return node.FailUnsupported("activation '" + name + "' is not supported");
  constexpr std::string_view kNames[] = {"activation_alpha", "activation_beta", "activation_gamma"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    activation->values[i] = node.Float(kNames[i], activation->values[i]);
  }
  node.SetOutput(EmitActivation(node, *activation, sum));
}

// Returns an operand of FusedMatMul. `trans_batch` moves its first dimension after the batch
// dimensions; then `trans` swaps the last two.
int Turned(OnnxNode& node, int index, bool trans, bool trans_batch) {
  const int id = node.Input(index);
  const std::int64_t rank = node.Rank(id);
  if (!node.ok() || rank < 2) return id;
  Shape axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (trans_batch) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (trans) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return std::ranges::is_sorted(axes) ? id : node.EmitTranspose(id, std::move(axes));
}

void ImportFusedMatMul(OnnxNode& node) {
  const auto operand = [&](int index, const char* trans, const char* batch) {
    return Turned(node, index, node.Int(trans, 0) != 0, node.Int(batch, 0) != 0);
  };
  const int a = operand(0, "transA", "transBatchA"), b = operand(1, "transB", "transBatchB");
  const double alpha = node.Float("alpha", 1);
  const int product = EmitMatmul(node, a, b);
  node.SetOutput(alpha == 1 ? product : node.Emit(OpKind::kMul, product, alpha));
}

// Adds a bias along the last dimension, if present, to input 0.
int Biased(OnnxNode& node) {
  const int data = node.Input(0);
  if (!node.HasInput(1)) return data;
  node.ExpectRank(1, 1);
  const int bias = node.Input(1);
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(data);
  if (type.shape.empty() || node.TypeOf(bias).shape[0] != type.shape.back()) {
    node.FailInvalid("the bias is " + node.TypeOf(bias).ToString() + ", the data " +
                     type.ToString() + ", expected a number for each column");
    return -1;
  }
  return node.Emit(OpKind::kAdd, {data, bias});
}

void ImportBiasGelu(OnnxNode& node) { node.SetOutput(EmitGelu(node, Biased(node), false)); }
void ImportFastGelu(OnnxNode& node) { node.SetOutput(EmitGelu(node, Biased(node), true)); }
void ImportRuntimeGelu(OnnxNode& node) { node.SetOutput(EmitGelu(node, node.Input(0), false)); }

// x * sigmoid(alpha * x)
void ImportQuickGelu(OnnxNode& node) {
  const int data = node.Input(0);
  const double alpha = node.Float("alpha", 1.702F);
  const int scaled = alpha == 1 ? data : node.Emit(OpKind::kMul, data, alpha);
  node.Return(Operator{OpKind::kMul, {}}, {data, node.Emit(OpKind::kSigmoid, {scaled})});
}

// MaxPool of images [N,H,W,C], also of 8-bit integers.
void ImportNhwcMaxPool(OnnxNode& node) {
  node.ExpectRank(0, 4);
  const int data = node.Input(0);
  node.IgnoreAttributes({"storage_order"});  // for indices, which are not an output
  if (!node.ok()) return;
  const int pooled = EmitPool(node, OpKind::kMaxPool2d, node.EmitTranspose(data, {0, 3, 1, 2}));
  node.SetOutput(node.EmitTranspose(pooled, {0, 2, 3, 1}));
}

constexpr OnnxHandlerEntry kFusedHandlers[] = {
    {"BiasGelu", &ImportBiasGelu},       {"FastGelu", &ImportFastGelu},
    {"FusedConv", &ImportFusedConv},     {"FusedGemm", &ImportFusedGemm},
    {"FusedMatMul", &ImportFusedMatMul}, {"Gelu", &ImportRuntimeGelu},
    {"NhwcMaxPool", &ImportNhwcMaxPool}, {"QuickGelu", &ImportQuickGelu},
};

}  // namespace

std::span<const OnnxHandlerEntry> RuntimeFusedHandlers() { return kFusedHandlers; }

}  // namespace tilewright
