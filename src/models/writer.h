#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/models/models.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// An activation of [batch, channels, size, size] while a network is written.
struct ModelValue {
  std::string name;
  std::int64_t channels = 0, size = 0;
  double rms = 1;  ///< expected root mean square, from which scales and shifts are chosen
};

enum class Activation : std::uint8_t { kNone, kRelu, kRelu6 };

struct ConvOptions {
  std::int64_t kernel = 1, stride = 1, pad = 0, groups = 1;
  Activation activation = Activation::kRelu;
  bool bias = false;      ///< a bias instead of a normalization (float form)
  bool residual = false;  ///< its result is added to another value: kept smaller
};

/// Writes one network layer by layer, in float32, float16 or in the quantized form.
class ModelWriter {
 public:
  ModelWriter(std::string_view name, const ModelOptions& options);

  ModelValue Input();
  ModelValue Conv(const std::string& name, const ModelValue& data, std::int64_t channels,
                  const ConvOptions& options);
  ModelValue MaxPool(const std::string& name, const ModelValue& data, std::int64_t kernel,
                     std::int64_t stride, std::int64_t pad);
  ModelValue Concat(const std::string& name, const ModelValue& a, const ModelValue& b);
  /// The residual addition.
  ModelValue Add(const std::string& name, const ModelValue& a, const ModelValue& b,
                 Activation activation);
  /// Mean over the image; float32 in either form.
  ModelValue GlobalPool(const std::string& name, const ModelValue& data);
  /// Flattens and multiplies; float32.
  ModelValue Dense(const std::string& name, const ModelValue& data, std::int64_t channels);
  ModelValue Softmax(const std::string& name, const ModelValue& data);
  /// The file, with `output` as its result.
  std::string Finish(const ModelValue& output, const std::vector<std::int64_t>& shape);

 private:
  /// A function for the operator of this project's own that quantized networks have.
  void DefineRightShift();
  onnx::NodeProto* AddNode(std::string_view op_type, const std::vector<std::string>& inputs,
                           const std::string& output);
  /// The model's inputs and outputs.
  void SetValueInfo(onnx::ValueInfoProto* info, const std::string& name,
                    const std::vector<std::int64_t>& shape) const;
  void AddInitializer(const std::string& name, const Tensor& contents);
  std::string AddScalar(const std::string& name, DataType dtype, double value);
  ModelValue FloatConv(const std::string& name, const ModelValue& data, std::int64_t channels,
                       const ConvOptions& options);
  ModelValue QuantizedConv(const std::string& name, const ModelValue& data, std::int64_t channels,
                           const ConvOptions& options);
  std::string Activate(const std::string& value, const std::string& output, Activation activation);
  /// clip(-127, 127), or clip(0, 127) as an activation, and cast to int8.
  std::string Narrow(const std::string& value, const std::string& output, Activation activation);

  onnx::ModelProto model_;
  ModelOptions options_;
  bool has_bounds_ = false;  // the constants of Narrow are there
};

}  // namespace tilewright
