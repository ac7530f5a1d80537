// Control of magnitudes: weights are uniform, so a sum of `fan` products has the root mean square
// rms(x) * rms(w) * sqrt(fan). The float form divides by it through the variance of the
// normalization. The int8 form chooses the shift that brings it close to kTargetRms.

#include "src/models/conv_net_writer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/graph/onnx/handlers.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

// Root mean square of the input, quantized in steps of 1/16: images normalized to a standard
// deviation of 1 or 2.
constexpr double kInputRms = 28;
// Magnitude of a residual branch relative to the main path; keeps stages of many blocks from
// growing.
constexpr double kResidualShare = 0.35;
// Gain of the maxima of 3x3 windows relative to the values (overlapping windows of half-normal
// values).
constexpr double kMaxPoolGain = 2;

std::int64_t OutputSize(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                        std::int64_t pad) {
  return (size + 2 * pad - kernel) / stride + 1;
}

}  // namespace

ConvNetWriter::ConvNetWriter(std::string_view name, const ModelOptions& options)
    : ModelWriter(name, options) {
  if (options.int8) DefineRightShift(ImportOwnDomain());
}

void ConvNetWriter::SetWindow(onnx::NodeProto* node, std::int64_t kernel, std::int64_t stride,
                              std::int64_t pad) {
  SetInts(node, "kernel_shape", {kernel, kernel});
  SetInts(node, "strides", {stride, stride});
  SetInts(node, "pads", {pad, pad, pad, pad});
}

// Definition for programs without this project's operators: (x - x mod 2^count) / 2^count, where
// mod has the sign of the divisor.
void ConvNetWriter::DefineRightShift(onnx::ModelProto* model) {
  onnx::FunctionProto* function = model->add_functions();
  function->set_domain(std::string(kOwnDomain));
  function->set_name("RightShift");
  function->add_input("x");
  function->add_input("count");
  function->add_output("y");
  function->add_opset_import()->set_version(kModelOpset);
  const auto add = [&](const char* op_type, const std::vector<const char*>& inputs,
                       const char* output) {
    onnx::NodeProto* node = function->add_node();
    node->set_op_type(op_type);
    for (const char* input : inputs) node->add_input(input);
    node->add_output(output);
    return node;
  };
  onnx::AttributeProto* value = add("Constant", {}, "two")->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(onnx::TensorProto::INT32);
  value->mutable_t()->add_int32_data(2);
  add("Pow", {"two", "count"}, "unit");
  add("Mod", {"x", "unit"}, "rest");
  add("Sub", {"x", "rest"}, "whole");
  add("Div", {"whole", "unit"}, "y");
}

FeatureMap ConvNetWriter::Input() {
  const std::string name = "data";
  AddInput(name, {model_options().batch, 3, 224, 224});
  if (!model_options().int8) return {name, 3, 224, 1};
  AddNode("Mul", {name, AddScalar("data_scale", kFloat32, 16)}, "data_scaled");
  AddNode("Round", {"data_scaled"}, "data_rounded");
  AddNode(
      "Clip",
      {"data_rounded", AddScalar("data_min", kFloat32, -127), AddScalar("data_max", kFloat32, 127)},
      "data_clipped");
  AddCast("data_clipped", kInt8, "data_int8");
  return {"data_int8", 3, 224, kInputRms};
}

std::string ConvNetWriter::Narrow(const std::string& value, const std::string& output,
                                  Activation activation) {
  if (!has_bounds_) {
    AddScalar("int8_min", kInt32, -127);
    AddScalar("int8_zero", kInt32, 0);
    AddScalar("int8_max", kInt32, 127);
    has_bounds_ = true;
  }
  const char* least = activation == Activation::kNone ? "int8_min" : "int8_zero";
  AddNode("Clip", {value, least, "int8_max"}, output + "_clipped");
  AddCast(output + "_clipped", kInt8, output);
  return output;
}

std::string ConvNetWriter::Activate(const std::string& value, const std::string& output,
                                    Activation activation) {
  if (activation == Activation::kNone) return value;
  if (activation == Activation::kRelu6 && !model_options().int8) {
    AddNode(
        "Clip",
        {value, AddScalar(output + "_min", kFloat32, 0), AddScalar(output + "_max", kFloat32, 6)},
        output);
  } else {
    AddNode("Relu", {value}, output);  // the int8 form clips to 127 afterwards
  }
  return output;
}

FeatureMap ConvNetWriter::Conv(const std::string& name, const FeatureMap& data,
                               std::int64_t channels, const ConvOptions& options) {
  return model_options().int8 ? QuantizedConv(name, data, channels, options)
                              : FloatConv(name, data, channels, options);
}

FeatureMap ConvNetWriter::FloatConv(const std::string& name, const FeatureMap& data,
                                    std::int64_t channels, const ConvOptions& options) {
  const std::int64_t taps = options.kernel * options.kernel;
  const std::int64_t fan = data.channels / options.groups * taps;
  const TensorType type{{channels, data.channels / options.groups, options.kernel, options.kernel},
                        kFloat32};
  const double sum_rms = data.rms * std::sqrt(2.0);  // the mean square of weights is 2 / fan
  AddInitializer(name + "_weight", MakeSeededFloat(name + "_weight", type, fan));
  std::vector<std::string> inputs = {data.name, name + "_weight"};
  if (options.bias) {
    AddVector(name + "_bias", channels, 0.2, 0);
    inputs.push_back(name + "_bias");
  }
  onnx::NodeProto* conv = AddNode("Conv", inputs, name);
  SetWindow(conv, options.kernel, options.stride, options.pad);
  SetInt(conv, "group", options.groups);
  std::string value = name;
  double rms = sum_rms;
  if (!options.bias) {
    const double share = options.residual ? kResidualShare : 1;
    const double square = sum_rms * sum_rms;
    AddVector(name + "_gamma", channels, share, share);
    AddVector(name + "_beta", channels, 0.5 * share, 0);
    AddVector(name + "_mean", channels, 0.5 * sum_rms, 0);
    AddVector(name + "_var", channels, square, square);
    value = name + "_bn";
    AddNode("BatchNormalization",
            {name, name + "_gamma", name + "_beta", name + "_mean", name + "_var"}, value);
    rms = share;
  }
  if (options.activation != Activation::kNone) rms *= std::sqrt(kReluPowerRatio);
  return {Activate(value, name + "_relu", options.activation), channels,
          OutputSize(data.size, options.kernel, options.stride, options.pad), rms};
}

FeatureMap ConvNetWriter::QuantizedConv(const std::string& name, const FeatureMap& data,
                                        std::int64_t channels, const ConvOptions& options) {
  const std::int64_t taps = options.kernel * options.kernel;
  const std::int64_t fan = data.channels / options.groups * taps;
  const std::int64_t limit = std::clamp<std::int64_t>(IntegerSqrt(65536 / fan), 1, 127);
  const double weight_square = static_cast<double>(limit * (limit + 1)) / 3;
  const double sum_rms = data.rms * std::sqrt(weight_square * static_cast<double>(fan));
  const double target = kTargetRms * (options.residual ? kResidualShare : 1);
  const auto shift = std::max<std::int64_t>(std::llround(std::log2(sum_rms / target)), 1);

  const TensorType type{{channels, data.channels / options.groups, options.kernel, options.kernel},
                        kInt8};
  AddInitializer(name + "_weight", MakeSeededInteger(name + "_weight", type, limit));
  AddInitializer(name + "_bias",
                 MakeSeededInteger(name + "_bias", TensorType{{channels, 1, 1}, kInt32},
                                   std::llround(sum_rms / 4)));
  onnx::NodeProto* conv = AddNode("ConvInteger", {data.name, name + "_weight"}, name);
  SetWindow(conv, options.kernel, options.stride, options.pad);
  SetInt(conv, "group", options.groups);
  AddNode("Add", {name, name + "_bias"}, name + "_sum");
  const std::string value = Activate(name + "_sum", name + "_relu", options.activation);
  const double half = std::exp2(static_cast<double>(shift - 1));
  AddNode("Add", {value, AddScalar(name + "_half", kInt32, half)}, name + "_moved");
  const std::string count = AddScalar(name + "_shift", kInt32, static_cast<double>(shift));
  AddNode("RightShift", {name + "_moved", count}, name + "_shifted")
      ->set_domain(std::string(kOwnDomain));
  double rms = sum_rms / std::exp2(static_cast<double>(shift));
  if (options.activation != Activation::kNone) rms *= std::sqrt(kReluPowerRatio);
  return {Narrow(name + "_shifted", name + "_int8", Activation::kNone), channels,
          OutputSize(data.size, options.kernel, options.stride, options.pad), rms};
}

FeatureMap ConvNetWriter::MaxPool(const std::string& name, const FeatureMap& data,
                                  std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  SetWindow(AddNode("MaxPool", {data.name}, name), kernel, stride, pad);
  return {name, data.channels, OutputSize(data.size, kernel, stride, pad), data.rms * kMaxPoolGain};
}

FeatureMap ConvNetWriter::Concat(const std::string& name, const FeatureMap& a,
                                 const FeatureMap& b) {
  SetInt(AddNode("Concat", {a.name, b.name}, name), "axis", 1);
  const double square = (a.rms * a.rms * static_cast<double>(a.channels) +
                         b.rms * b.rms * static_cast<double>(b.channels)) /
                        static_cast<double>(a.channels + b.channels);
  return {name, a.channels + b.channels, a.size, std::sqrt(square)};
}

FeatureMap ConvNetWriter::Add(const std::string& name, const FeatureMap& a, const FeatureMap& b,
                              Activation activation) {
  std::string left = a.name, right = b.name;
  if (model_options().int8) {
    for (std::string* side : {&left, &right}) {
      const std::string wide = name + (side == &left ? "_left" : "_right");
      AddCast(*side, kInt32, wide);
      *side = wide;
    }
  }
  AddNode("Add", {left, right}, name);
  // One Clip rectifies and saturates: ONNX Runtime 1.32 fails on an int32 Relu before a Clip.
  const std::string value = model_options().int8 ? Narrow(name, name + "_int8", activation)
                                                 : Activate(name, name + "_relu", activation);
  const double keeps = activation == Activation::kNone ? 1 : kReluPowerRatio;
  // The first operand is already rectified; only the second one's contribution is cut.
  return {value, a.channels, a.size, std::sqrt(a.rms * a.rms + keeps * b.rms * b.rms)};
}

FeatureMap ConvNetWriter::GlobalPool(const std::string& name, const FeatureMap& data) {
  if (!model_options().int8) {
    AddNode("GlobalAveragePool", {data.name}, name);
    return {name, data.channels, 1, data.rms};
  }
  AddCast(data.name, kInt32, name + "_wide");
  onnx::NodeProto* mean = AddNode("ReduceMean", {name + "_wide"}, name + "_mean");
  SetInts(mean, "axes", {2, 3});
  SetInt(mean, "keepdims", 1);
  AddCast(name + "_mean", kFloat32, name + "_float");
  AddNode("Mul", {name + "_float", AddScalar(name + "_scale", kFloat32, 0.0625)}, name);
  return {name, data.channels, 1, data.rms / 16};
}

FeatureMap ConvNetWriter::Dense(const std::string& name, const FeatureMap& data,
                                std::int64_t channels) {
  SetInt(AddNode("Flatten", {data.name}, name + "_flat"), "axis", 1);
  const TensorType type{{channels, data.channels}, kFloat32};
  AddInitializer(name + "_weight", MakeSeededFloat(name + "_weight", type, data.channels));
  AddVector(name + "_bias", channels, 0.2, 0);
  SetInt(AddNode("Gemm", {name + "_flat", name + "_weight", name + "_bias"}, name), "transB", 1);
  return {name, channels, 1, data.rms};
}

FeatureMap ConvNetWriter::Softmax(const std::string& name, const FeatureMap& data) {
  SetInt(AddNode("Softmax", {data.name}, name), "axis", 1);
  return {name, data.channels, data.size, 0};
}

}  // namespace tilewright
