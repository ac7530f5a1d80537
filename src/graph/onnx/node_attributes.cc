// Attributes of an ONNX node, as handlers read them.

#include "src/graph/onnx/node.h"

namespace tilewright {

using onnx::AttributeProto;

const AttributeProto* OnnxNode::Find(std::string_view name) {
  read_.emplace(name);
  for (const AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const AttributeProto* OnnxNode::Find(std::string_view name, AttributeProto::AttributeType type) {
  const AttributeProto* attribute = Find(name);
  // Old files omit the type; then the contents determine it.
  if (attribute != nullptr && attribute->type() != type &&
      attribute->type() != AttributeProto::UNDEFINED) {
    FailInvalid("attribute " + std::string(name) + " has type code " +
                std::to_string(attribute->type()) + ", expected " + std::to_string(type));
    return nullptr;
  }
  return attribute;
}

std::int64_t OnnxNode::Int(std::string_view name, std::int64_t fallback) {
  const AttributeProto* attribute = Find(name, AttributeProto::INT);
  if (attribute == nullptr) return fallback;
  if (attribute->i() > kMaxDimension || attribute->i() < -kMaxDimension) {
    FailInvalid("attribute " + std::string(name) + " is " + std::to_string(attribute->i()) +
                ", expected at most 2^31");
    return fallback;
  }
  return attribute->i();
}

std::int64_t OnnxNode::LongInt(std::string_view name) {
  const AttributeProto* attribute = Find(name, AttributeProto::INT);
  return attribute == nullptr ? 0 : attribute->i();
}

double OnnxNode::Float(std::string_view name, double fallback) {
  const AttributeProto* attribute = Find(name, AttributeProto::FLOAT);
  return attribute == nullptr ? fallback : static_cast<double>(attribute->f());
}

std::string OnnxNode::String(std::string_view name, std::string_view fallback) {
  const AttributeProto* attribute = Find(name, AttributeProto::STRING);
  return attribute == nullptr ? std::string(fallback) : attribute->s();
}

std::vector<std::int64_t> OnnxNode::Ints(std::string_view name, std::vector<std::int64_t> fallback,
                                         std::size_t count) {
  const AttributeProto* attribute = Find(name, AttributeProto::INTS);
  if (attribute == nullptr) return fallback;
  std::vector<std::int64_t> values(attribute->ints().begin(), attribute->ints().end());
  if (count != 0 && values.size() != count) {
    FailInvalid("attribute " + std::string(name) + " has " + std::to_string(values.size()) +
                " numbers, expected " + std::to_string(count));
    return fallback;
  }
  for (std::int64_t value : values) {
    if (value > kMaxDimension || value < -kMaxDimension) {
      FailInvalid("attribute " + std::string(name) + " holds " + std::to_string(value) +
                  ", expected at most 2^31");
      return fallback;
    }
  }
  return values;
}

std::vector<std::int64_t> OnnxNode::LongInts(std::string_view name) {
  const AttributeProto* attribute = Find(name, AttributeProto::INTS);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<double> OnnxNode::Floats(std::string_view name) {
  const AttributeProto* attribute = Find(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> OnnxNode::Strings(std::string_view name) {
  const AttributeProto* attribute = Find(name, AttributeProto::STRINGS);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

const onnx::TensorProto* OnnxNode::TensorAttribute(std::string_view name) {
  const AttributeProto* attribute = Find(name, AttributeProto::TENSOR);
  return attribute == nullptr ? nullptr : &attribute->t();
}

const onnx::SparseTensorProto* OnnxNode::SparseAttribute(std::string_view name) {
  const AttributeProto* attribute = Find(name, AttributeProto::SPARSE_TENSOR);
  return attribute == nullptr ? nullptr : &attribute->sparse_tensor();
}

void OnnxNode::IgnoreAttributes(std::initializer_list<std::string_view> names) {
  read_.insert(names.begin(), names.end());
}

}  // namespace tilewright
