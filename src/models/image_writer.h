#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/models/writer.h"

namespace tilewright {

/// An activation of [batch, channels, size, size] while a network is written.
struct ImageValue {
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

/// Writer of a network of images, layer by layer, in float32, float16 or in the quantized form.
class ImageWriter : public ModelWriter {
 public:
  ImageWriter(std::string_view name, const ModelOptions& options);

  ImageValue Input();
  ImageValue Conv(const std::string& name, const ImageValue& data, std::int64_t channels,
                  const ConvOptions& options);
  ImageValue MaxPool(const std::string& name, const ImageValue& data, std::int64_t kernel,
                     std::int64_t stride, std::int64_t pad);
  ImageValue Concat(const std::string& name, const ImageValue& a, const ImageValue& b);
  /// The residual addition.
  ImageValue Add(const std::string& name, const ImageValue& a, const ImageValue& b,
                 Activation activation);
  /// Mean over the image; float32 in either form.
  ImageValue GlobalPool(const std::string& name, const ImageValue& data);
  /// Flattens and multiplies; float32.
  ImageValue Dense(const std::string& name, const ImageValue& data, std::int64_t channels);
  ImageValue Softmax(const std::string& name, const ImageValue& data);

 private:
  /// A function for the operator of this project's own that quantized networks have.
  static void DefineRightShift(onnx::ModelProto* model);
  static void SetWindow(onnx::NodeProto* node, std::int64_t kernel, std::int64_t stride,
                        std::int64_t pad);
  ImageValue FloatConv(const std::string& name, const ImageValue& data, std::int64_t channels,
                       const ConvOptions& options);
  ImageValue QuantizedConv(const std::string& name, const ImageValue& data, std::int64_t channels,
                           const ConvOptions& options);
  std::string Activate(const std::string& value, const std::string& output, Activation activation);
  /// clip(-127, 127), or clip(0, 127) as an activation, and cast to int8.
  std::string Narrow(const std::string& value, const std::string& output, Activation activation);

  bool has_bounds_ = false;  // the constants of Narrow are there
};

}  // namespace tilewright
