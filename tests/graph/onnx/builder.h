#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

using Ints = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

/// Returns a tensor of any type with the given numbers.
Tensor MakeTensor(DataType dtype, Ints shape, const std::vector<double>& values);
/// Returns first, first + step, first + 2 * step, ….
Tensor MakeRange(DataType dtype, Ints shape, double first = 0, double step = 1);
std::vector<double> ValuesOf(const Tensor& tensor);

/// Appends a node with one result to the graph.
onnx::NodeProto& AddTo(onnx::GraphProto& graph, const std::string& op_type, const Strings& inputs,
                       const std::string& output);

/// Builder of small ONNX models.
class OnnxBuilder {
 public:
  explicit OnnxBuilder(std::int64_t opset = 13);

  OnnxBuilder& Input(const std::string& name, Ints shape,
                     std::int32_t type = onnx::TensorProto::FLOAT);
  OnnxBuilder& Initializer(const std::string& name, const Tensor& contents);
  OnnxBuilder& Output(const std::string& name);
  /// Appends a node and returns it for its attributes. The reference is valid until the next node
  /// is added.
  OnnxBuilder& Node(const std::string& op_type, const Strings& inputs, const Strings& outputs,
                    const std::string& domain = "");
  /// Sets attributes of the last added node.
  OnnxBuilder& Int(const std::string& name, std::int64_t value);
  OnnxBuilder& Float(const std::string& name, float value);
  OnnxBuilder& FloatList(const std::string& name, const std::vector<float>& values);
  OnnxBuilder& IntList(const std::string& name, const Ints& values);
  OnnxBuilder& Text(const std::string& name, const std::string& value);
  OnnxBuilder& Contents(const std::string& name, const Tensor& value);

  onnx::ModelProto& proto() { return model_; }
  std::string Bytes() const { return model_.SerializeAsString(); }
  Result<Graph> Import() const { return ImportOnnx(Bytes(), "test"); }

 private:
  onnx::AttributeProto* Attribute(const std::string& name,
                                  onnx::AttributeProto::AttributeType type);
  onnx::ModelProto model_;
};

/// Imports and evaluates a model with one output. Reports failures as test failures.
Tensor EvaluateModel(const OnnxBuilder& model, const std::vector<const Tensor*>& inputs);

}  // namespace tilewright
