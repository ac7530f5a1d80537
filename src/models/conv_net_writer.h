#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/models/writer.h"

namespace tilewright {

/// Activation of shape [batch, channels, size, size] in a network under construction.
struct FeatureMap {
  std::string name;
  std::int64_t channels = 0, size = 0;
  double rms = 1;  ///< expected root mean square, from which scales and shifts are computed
};

enum class Activation : std::uint8_t { kNone, kRelu, kRelu6 };

struct ConvOptions {
  std::int64_t kernel = 1, stride = 1, pad = 0, groups = 1;
  Activation activation = Activation::kRelu;
  bool bias = false;      ///< bias instead of a normalization (float form)
  bool residual = false;  ///< result is added to another value and kept smaller
};

/// Writer of a convolutional network, layer by layer, in float32, float16 or quantized form.
class ConvNetWriter : public ModelWriter {
 public:
  ConvNetWriter(std::string_view name, const ModelOptions& options);

  FeatureMap Input();
  FeatureMap Conv(const std::string& name, const FeatureMap& data, std::int64_t channels,
                  const ConvOptions& options);
  FeatureMap MaxPool(const std::string& name, const FeatureMap& data, std::int64_t kernel,
                     std::int64_t stride, std::int64_t pad);
  FeatureMap Concat(const std::string& name, const FeatureMap& a, const FeatureMap& b);
  /// Adds two feature maps (residual addition).
  FeatureMap Add(const std::string& name, const FeatureMap& a, const FeatureMap& b,
                 Activation activation);
  /// Takes the mean over the image; float32 in either form.
  FeatureMap GlobalPool(const std::string& name, const FeatureMap& data);
  /// Flattens and multiplies by a weight matrix; float32.
  FeatureMap Dense(const std::string& name, const FeatureMap& data, std::int64_t channels);
  FeatureMap Softmax(const std::string& name, const FeatureMap& data);

 private:
  /// Defines a function for the RightShift operator of this project's domain, which quantized
  /// networks use.
  static void DefineRightShift(onnx::ModelProto* model);
  static void SetWindow(onnx::NodeProto* node, std::int64_t kernel, std::int64_t stride,
                        std::int64_t pad);
  FeatureMap FloatConv(const std::string& name, const FeatureMap& data, std::int64_t channels,
                       const ConvOptions& options);
  FeatureMap QuantizedConv(const std::string& name, const FeatureMap& data, std::int64_t channels,
                           const ConvOptions& options);
  std::string Activate(const std::string& value, const std::string& output, Activation activation);
  /// Emits clip(-127, 127), or clip(0, 127) as an activation, and a cast to int8. Returns the
  /// result's name.
  std::string Narrow(const std::string& value, const std::string& output, Activation activation);

  bool has_bounds_ = false;  // whether the constants of Narrow exist
};

}  // namespace tilewright
