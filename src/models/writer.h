#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/models/models.h"
#include "src/tensor/tensor.h"

namespace tilewright {

inline constexpr std::int64_t kModelOpset = 14;  // the first one whose Relu takes int32

/// Target root mean square of int8 values before an activation. 127 is six times as much, so that
/// values rarely saturate and small values still have several bits.
inline constexpr double kTargetRms = 20;
/// Fraction of the mean square of a symmetric value that a rectifier keeps.
inline constexpr double kReluPowerRatio = 0.5;

/// ONNX file under construction: nodes, initializers, inputs and outputs. Base class of the writers
/// of layers. Converts float32 contents to float16 if the options request it.
class ModelWriter {
 public:
  ModelWriter(std::string_view name, const ModelOptions& options);

  /// Returns the file, with value `output` of `shape` as the model's output.
  std::string Finish(const std::string& output, const std::vector<std::int64_t>& shape);

 protected:
  const ModelOptions& model_options() const { return options_; }

  void AddInput(const std::string& name, const std::vector<std::int64_t>& shape);
  /// Adds a node named after its output.
  onnx::NodeProto* AddNode(std::string_view op_type, const std::vector<std::string>& inputs,
                           const std::string& output);
  void AddCast(const std::string& value, DataType dtype, const std::string& output);
  void AddInitializer(const std::string& name, const Tensor& contents);
  /// Adds a float32 vector of scale * (element - 1) + offset. The elements are in [0.5, 1.5) and
  /// computed from the name. Returns the name.
  std::string AddVector(const std::string& name, std::int64_t count, double scale, double offset);
  std::string AddScalar(const std::string& name, DataType dtype, double value);
  /// Imports this project's own operator domain, version 1. Returns the model, for the definition
  /// of the operators.
  onnx::ModelProto* ImportOwnDomain();

  static void SetInt(onnx::NodeProto* node, const char* name, std::int64_t value);
  static void SetInts(onnx::NodeProto* node, const char* name,
                      const std::vector<std::int64_t>& values);

 private:
  void SetValueInfo(onnx::ValueInfoProto* info, const std::string& name,
                    const std::vector<std::int64_t>& shape) const;

  onnx::ModelProto model_;
  ModelOptions options_;
};

}  // namespace tilewright
