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

/// Target root mean square of int8 values before an activation: 127 is six times as much, so hardly
/// any value saturates, and the smaller ones still have several bits.
inline constexpr double kTargetRms = 20;
/// Share of the square that a rectifier keeps of a symmetric value.
inline constexpr double kReluPowerRatio = 0.5;

/// ONNX file while one network is written: nodes, initializers, inputs and outputs. Base of the
/// writers that know layers. Float32 contents become float16 if the options say so.
class ModelWriter {
 public:
  ModelWriter(std::string_view name, const ModelOptions& options);

  /// Returns the file, with value `output` of `shape` as its result.
  std::string Finish(const std::string& output, const std::vector<std::int64_t>& shape);

 protected:
  const ModelOptions& model_options() const { return options_; }

  void AddInput(const std::string& name, const std::vector<std::int64_t>& shape);
  /// Adds a node with the name of its output.
  onnx::NodeProto* AddNode(std::string_view op_type, const std::vector<std::string>& inputs,
                           const std::string& output);
  void AddCast(const std::string& value, DataType dtype, const std::string& output);
  void AddInitializer(const std::string& name, const Tensor& contents);
  /// Adds a float32 vector: scale * (element - 1) + offset of the elements in [0.5, 1.5) that its
  /// name gives. Returns the name.
  std::string AddVector(const std::string& name, std::int64_t count, double scale, double offset);
  std::string AddScalar(const std::string& name, DataType dtype, double value);
  /// Imports the project's own operators, version 1. Returns the model, to define them in it.
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
