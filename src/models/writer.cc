#include "src/models/writer.h"

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/proto.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

/// Returns each element as float16.
Tensor InHalf(const Tensor& contents) {
  Tensor half(TensorType{contents.shape(), kFloat16});
  for (std::int64_t i = 0; i < contents.elements(); ++i) half.Set(i, contents.At(i));
  return half;
}

}  // namespace

ModelWriter::ModelWriter(std::string_view name, const ModelOptions& options) : options_(options) {
  model_.set_ir_version(8);  // functions
  model_.set_producer_name("tilewright");
  model_.add_opset_import()->set_version(kModelOpset);
  model_.mutable_graph()->set_name(std::string(name));
}

onnx::ModelProto* ModelWriter::ImportOwnDomain() {
  auto* own = model_.add_opset_import();
  own->set_domain(std::string(kOwnDomain));
  own->set_version(1);
  return &model_;
}

void ModelWriter::SetInts(onnx::NodeProto* node, const char* name,
                          const std::vector<std::int64_t>& values) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (std::int64_t value : values) attribute->add_ints(value);
}

void ModelWriter::SetInt(onnx::NodeProto* node, const char* name, std::int64_t value) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

onnx::NodeProto* ModelWriter::AddNode(std::string_view op_type,
                                      const std::vector<std::string>& inputs,
                                      const std::string& output) {
  onnx::NodeProto* node = model_.mutable_graph()->add_node();
  node->set_op_type(std::string(op_type));
  node->set_name(output);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return node;
}

void ModelWriter::AddCast(const std::string& value, DataType dtype, const std::string& output) {
  SetInt(AddNode("Cast", {value}, output), "to", OnnxTypeOf(dtype));
}

void ModelWriter::SetValueInfo(onnx::ValueInfoProto* info, const std::string& name,
                               const std::vector<std::int64_t>& shape) const {
  info->set_name(name);
  auto* type = info->mutable_type()->mutable_tensor_type();
  type->set_elem_type(options_.float16 ? onnx::TensorProto::FLOAT16 : onnx::TensorProto::FLOAT);
  for (std::int64_t extent : shape) type->mutable_shape()->add_dim()->set_dim_value(extent);
}

void ModelWriter::AddInput(const std::string& name, const std::vector<std::int64_t>& shape) {
  SetValueInfo(model_.mutable_graph()->add_input(), name, shape);
}

void ModelWriter::AddInitializer(const std::string& name, const Tensor& contents) {
  if (options_.float16 && contents.dtype() == kFloat32) {
    return AddInitializer(name, InHalf(contents));
  }
  onnx::TensorProto* proto = model_.mutable_graph()->add_initializer();
  proto->set_name(name);
  proto->set_data_type(OnnxTypeOf(contents.dtype()));
  for (std::int64_t extent : contents.shape()) proto->add_dims(extent);
  proto->set_raw_data(contents.data(), static_cast<std::size_t>(contents.bytes()));
}

std::string ModelWriter::AddVector(const std::string& name, std::int64_t count, double scale,
                                   double offset) {
  Tensor vector = MakeSeededFloat(name, TensorType{{count}, kFloat32}, 1);
  for (float& x : vector.As<float>()) {
    x = static_cast<float>(scale * (static_cast<double>(x) - 1) + offset);
  }
  AddInitializer(name, vector);
  return name;
}

std::string ModelWriter::AddScalar(const std::string& name, DataType dtype, double value) {
  Tensor scalar(TensorType{{}, dtype});
  scalar.Set(0, value);
  AddInitializer(name, scalar);
  return name;
}

std::string ModelWriter::Finish(const std::string& output, const std::vector<std::int64_t>& shape) {
  SetValueInfo(model_.mutable_graph()->add_output(), output, shape);
  return model_.SerializeAsString();
}

}  // namespace tilewright
