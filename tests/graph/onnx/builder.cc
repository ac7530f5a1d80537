#include "tests/graph/onnx/builder.h"

#include <gtest/gtest.h>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/proto.h"

namespace tilewright {
namespace {

void SetTensor(onnx::TensorProto* proto, const std::string& name, const Tensor& contents) {
  proto->set_name(name);
  proto->set_data_type(OnnxTypeOf(contents.dtype()));
  for (std::int64_t extent : contents.shape()) proto->add_dims(extent);
  proto->set_raw_data(contents.data(), static_cast<std::size_t>(contents.bytes()));
}

}  // namespace

Tensor MakeTensor(DataType dtype, Ints shape, const std::vector<double>& values) {
  Tensor tensor(TensorType{std::move(shape), dtype});
  EXPECT_EQ(static_cast<std::size_t>(tensor.elements()), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.Set(static_cast<std::int64_t>(i), values[i]);
  }
  return tensor;
}

Tensor MakeRange(DataType dtype, Ints shape, double first, double step) {
  Tensor tensor(TensorType{std::move(shape), dtype});
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.Set(i, first + step * static_cast<double>(i));
  }
  return tensor;
}

std::vector<double> ValuesOf(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(tensor.At(i));
  return values;
}

onnx::NodeProto& AddTo(onnx::GraphProto& graph, const std::string& op_type, const Strings& inputs,
                       const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

OnnxBuilder::OnnxBuilder(std::int64_t opset) {
  model_.set_ir_version(7);
  model_.add_opset_import()->set_version(opset);
}

OnnxBuilder& OnnxBuilder::Input(const std::string& name, Ints shape, std::int32_t type) {
  auto* input = model_.mutable_graph()->add_input();
  input->set_name(name);
  auto* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  auto* dims = tensor->mutable_shape();
  for (std::int64_t extent : shape) {
    if (extent >= 0) {
      dims->add_dim()->set_dim_value(extent);
    } else {
      dims->add_dim()->set_dim_param("n");
    }
  }
  return *this;
}

OnnxBuilder& OnnxBuilder::Initializer(const std::string& name, const Tensor& contents) {
  SetTensor(model_.mutable_graph()->add_initializer(), name, contents);
  return *this;
}

OnnxBuilder& OnnxBuilder::Output(const std::string& name) {
  model_.mutable_graph()->add_output()->set_name(name);
  return *this;
}

OnnxBuilder& OnnxBuilder::Node(const std::string& op_type, const Strings& inputs,
                               const Strings& outputs, const std::string& domain) {
  auto* node = model_.mutable_graph()->add_node();
  node->set_op_type(op_type);
  node->set_domain(domain);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return *this;
}

onnx::AttributeProto* OnnxBuilder::Attribute(const std::string& name,
                                             onnx::AttributeProto::AttributeType type) {
  auto* graph = model_.mutable_graph();
  auto* attribute = graph->mutable_node(graph->node_size() - 1)->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

OnnxBuilder& OnnxBuilder::Int(const std::string& name, std::int64_t value) {
  Attribute(name, onnx::AttributeProto::INT)->set_i(value);
  return *this;
}

OnnxBuilder& OnnxBuilder::Float(const std::string& name, float value) {
  Attribute(name, onnx::AttributeProto::FLOAT)->set_f(value);
  return *this;
}

OnnxBuilder& OnnxBuilder::FloatList(const std::string& name, const std::vector<float>& values) {
  auto* attribute = Attribute(name, onnx::AttributeProto::FLOATS);
  for (float value : values) attribute->add_floats(value);
  return *this;
}

OnnxBuilder& OnnxBuilder::IntList(const std::string& name, const Ints& values) {
  auto* attribute = Attribute(name, onnx::AttributeProto::INTS);
  for (std::int64_t value : values) attribute->add_ints(value);
  return *this;
}

OnnxBuilder& OnnxBuilder::Text(const std::string& name, const std::string& value) {
  Attribute(name, onnx::AttributeProto::STRING)->set_s(value);
  return *this;
}

OnnxBuilder& OnnxBuilder::Contents(const std::string& name, const Tensor& value) {
  SetTensor(Attribute(name, onnx::AttributeProto::TENSOR)->mutable_t(), "", value);
  return *this;
}

Tensor EvaluateModel(const OnnxBuilder& model, const std::vector<const Tensor*>& inputs) {
  auto graph = model.Import();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return Tensor();
  std::vector<Tensor> given;
  for (const Tensor* input : inputs) given.push_back(input->Clone());
  auto outputs = EvaluateGraph(*graph, given);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return outputs.ok() ? std::move((*outputs)[0]) : Tensor();
}

}  // namespace tilewright
