// Transformer encoder with the operators that PyTorch's exporter writes for opset 14: layer
// normalization and GELU as elementary operators, attention as reshapes, transpositions, products
// and a softmax. The quantized form corresponds to the output of ONNX Runtime's quantizer, but with
// fixed scales: the input of each product with a weight is quantized, the rest stays float32.
//
// Source: Devlin et al., BERT (2018), base; normalization after each residual addition, as in
// Vaswani et al. (2017).

#include "src/models/encoder.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "src/models/writer.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

constexpr std::int64_t kPositions = 128;
constexpr std::int64_t kWidth = 768;
constexpr std::int64_t kHeads = 12;
constexpr std::int64_t kFeedForward = 3072;
// PyTorch's default. The 1e-12 of BERT's own code would be 0 in float16.
constexpr double kEpsilon = 1e-5;
// Weights of the quantized form use the full range of the type, as quantizers choose scales.
constexpr std::int64_t kWeightLimit = 127;
// Root mean square of attention's weighted averages, relative to that of the values: 0.35 in the
// first layer and 0.9 in the last one (measured).
constexpr double kAttentionPowerRatio = 0.65;
// Divides the result of each residual branch. Both branches make positions more alike. With this
// divisor, 1/6 of the mean square of the last hidden states differs between positions; without it,
// less than 1/1000 (measured).
constexpr std::int64_t kResidualDivisor = 4;

/// Float value of [batch, kPositions, width].
struct Hidden {
  std::string name;
  std::int64_t width = kWidth;
  double rms = 1;  ///< expected root mean square, from which scales are computed
};

/// Left operand of a projection: a float value, or int8 integers that represent it divided by
/// `scale`.
struct Operand {
  Hidden value;
  double scale = 1;
};

/// Writer of an encoder, layer by layer, in float32, float16 or in the quantized form.
class EncoderWriter : public ModelWriter {
 public:
  EncoderWriter(std::string_view name, const ModelOptions& options) : ModelWriter(name, options) {
    AddScalar("one", kFloat32, 1);
    AddScalar("two", kFloat32, 2);
    AddScalar("half", kFloat32, 0.5);
    AddScalar("root_of_two", kFloat32, std::numbers::sqrt2);
    AddScalar("root_of_head", kFloat32, std::sqrt(static_cast<double>(kWidth / kHeads)));
    AddScalar("epsilon", kFloat32, kEpsilon);
    AddShape("shape_of_heads", {options.batch, kPositions, kHeads, kWidth / kHeads});
    AddShape("shape_of_hidden", {options.batch, kPositions, kWidth});
    if (options.int8) AddScalar("int8_zero", kInt8, 0);
  }

  /// Adds the input: hidden states with a root mean square near 1, because BERT normalizes its
  /// embeddings.
  Hidden Input() {
    AddInput("data", {model_options().batch, kPositions, kWidth});
    return {"data"};
  }

  Hidden Layer(const std::string& name, const Hidden& input) {
    const Operand seen = Quantized(Attention(name + "_attention", input));
    const Hidden output = Project(name + "_output", seen, kWidth, kResidualDivisor);
    const Hidden hidden = Normalize(name + "_norm1", Add(name + "_sum1", output, input));
    const Hidden wide = Project(name + "_wide", Quantized(hidden), kFeedForward);
    const Operand active = Quantized(Gelu(name + "_gelu", wide));
    const Hidden narrow = Project(name + "_narrow", active, kWidth, kResidualDivisor);
    return Normalize(name + "_norm2", Add(name + "_sum2", narrow, hidden));
  }

 private:
  void AddShape(const std::string& name, const std::vector<std::int64_t>& extents) {
    Tensor shape(TensorType{{static_cast<std::int64_t>(extents.size())}, kInt64});
    std::ranges::copy(extents, shape.As<std::int64_t>().begin());
    AddInitializer(name, shape);
  }

  Operand Quantized(const Hidden& value) {
    if (!model_options().int8) return {value};
    const double scale = value.rms / kTargetRms;
    const std::string name = value.name + "_int8";
    AddNode("QuantizeLinear",
            {value.name, AddScalar(value.name + "_scale", kFloat32, scale), "int8_zero"}, name);
    return {{name, value.width, value.rms}, scale};
  }

  /// Emits a product with a weight, and a bias. In each form the weight's mean square is 2 / fan,
  /// and the whole result is divided by `divisor`.
  Hidden Project(const std::string& name, const Operand& data, std::int64_t width,
                 std::int64_t divisor = 1) {
    const std::int64_t fan = data.value.width * divisor * divisor;
    const std::string product = name + "_product", weight = name + "_weight";
    std::string value = product;
    if (model_options().int8) {
      const TensorType type{{data.value.width, width}, kInt8};
      AddInitializer(weight, MakeSeededInteger(weight, type, kWeightLimit));
      const double square = static_cast<double>(kWeightLimit * (kWeightLimit + 1)) / 3;
      const double scale = data.scale * std::sqrt(2 / (static_cast<double>(fan) * square));
      AddNode("MatMulInteger", {data.value.name, weight}, product);
      AddCast(product, kFloat32, name + "_float");
      value = name + "_scaled";
      AddNode("Mul", {name + "_float", AddScalar(name + "_scale", kFloat32, scale)}, value);
    } else {
      const TensorType type{{data.value.width, width}, kFloat32};
      AddInitializer(weight, MakeSeededFloat(weight, type, fan));
      AddNode("MatMul", {data.value.name, weight}, product);
    }
    const auto share = 1 / static_cast<double>(divisor);
    AddNode("Add", {AddVector(name + "_bias", width, 0.2 * share, 0), value}, name);
    return {name, width, data.value.rms * std::numbers::sqrt2 * share};
  }

  std::string InHeads(const Hidden& value, const std::vector<std::int64_t>& order) {
    AddNode("Reshape", {value.name, "shape_of_heads"}, value.name + "_heads");
    const std::string turned = value.name + "_turned";
    SetInts(AddNode("Transpose", {value.name + "_heads"}, turned), "perm", order);
    return turned;
  }

  Hidden Attention(const std::string& name, const Hidden& input) {
    const Operand data = Quantized(input);
    const Hidden query = Project(name + "_query", data, kWidth);
    const Hidden key = Project(name + "_key", data, kWidth);
    const Hidden value = Project(name + "_value", data, kWidth);
    const std::string queries = InHeads(query, {0, 2, 1, 3});
    const std::string keys = InHeads(key, {0, 2, 3, 1});
    const std::string values = InHeads(value, {0, 2, 1, 3});
    AddNode("MatMul", {queries, keys}, name + "_scores");
    AddNode("Div", {name + "_scores", "root_of_head"}, name + "_scaled");
    SetInt(AddNode("Softmax", {name + "_scaled"}, name + "_chances"), "axis", -1);
    AddNode("MatMul", {name + "_chances", values}, name + "_context");
    const std::string back = name + "_back";
    SetInts(AddNode("Transpose", {name + "_context"}, back), "perm", {0, 2, 1, 3});
    AddNode("Reshape", {back, "shape_of_hidden"}, name);
    return {name, kWidth, value.rms * kAttentionPowerRatio};
  }

  Hidden Gelu(const std::string& name, const Hidden& x) {
    AddNode("Div", {x.name, "root_of_two"}, name + "_by_root");
    AddNode("Erf", {name + "_by_root"}, name + "_erf");
    AddNode("Add", {name + "_erf", "one"}, name + "_erf1");
    AddNode("Mul", {x.name, name + "_erf1"}, name + "_twice");
    AddNode("Mul", {name + "_twice", "half"}, name);
    return {name, x.width,
            x.rms * std::sqrt(kReluPowerRatio)};  // GELU keeps about as much as a rectifier
  }

  Hidden Add(const std::string& name, const Hidden& a, const Hidden& b) {
    AddNode("Add", {a.name, b.name}, name);
    return {name, a.width, std::hypot(a.rms, b.rms)};
  }

  Hidden Normalize(const std::string& name, const Hidden& x) {
    const std::string mean = name + "_mean", variance = name + "_variance";
    SetInts(AddNode("ReduceMean", {x.name}, mean), "axes", {-1});
    AddNode("Sub", {x.name, mean}, name + "_centred");
    AddNode("Pow", {name + "_centred", "two"}, name + "_square");
    SetInts(AddNode("ReduceMean", {name + "_square"}, variance), "axes", {-1});
    AddNode("Add", {variance, "epsilon"}, name + "_safe");
    AddNode("Sqrt", {name + "_safe"}, name + "_root");
    AddNode("Div", {name + "_centred", name + "_root"}, name + "_unit");
    AddNode("Mul", {name + "_unit", AddVector(name + "_gamma", x.width, 1, 1)}, name + "_scaled");
    AddNode("Add", {name + "_scaled", AddVector(name + "_beta", x.width, 0.5, 0)}, name);
    return {name, x.width, 1};
  }
};

}  // namespace

std::string WriteBertBaseEncoder(std::string_view name, const ModelOptions& options) {
  EncoderWriter writer(name, options);
  Hidden hidden = writer.Input();
  const std::int64_t layers = options.layers == 0 ? kBertBaseLayers : options.layers;
  for (std::int64_t layer = 1; layer <= layers; ++layer) {
    hidden = writer.Layer("layer" + std::to_string(layer), hidden);
  }
  return writer.Finish(hidden.name, {options.batch, kPositions, kWidth});
}

}  // namespace tilewright
