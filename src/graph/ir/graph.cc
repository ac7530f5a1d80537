// Values of a graph and their contents. The contents of a filled constant are created at their
// first use.

#include "src/graph/ir/graph.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

template <typename T>
void FillAs(Tensor& tensor, const Tensor& one) {
  std::ranges::fill(tensor.As<T>(), one.As<T>()[0]);
}

Tensor MakeFilled(const TensorType& type, double fill) {
  Tensor tensor(type), one(TensorType{{}, type.dtype});
  if (fill == 0 && !std::signbit(fill)) return tensor;
  one.Set(0, fill);
  switch (type.dtype.bytes()) {
    case 1:
      FillAs<std::uint8_t>(tensor, one);
      break;
    case 2:
      FillAs<std::uint16_t>(tensor, one);
      break;
    case 4:
      FillAs<std::uint32_t>(tensor, one);
      break;
    default:
      FillAs<std::uint64_t>(tensor, one);
  }
  return tensor;
}

}  // namespace

Status CheckTensorType(const TensorType& type) {
  constexpr std::size_t kMaxDimensions = 16;  // limit of a compiled library (src/runtime)
  if (type.shape.size() > kMaxDimensions) {
    return InvalidArgument("a tensor has " + std::to_string(type.shape.size()) +
                           " dimensions, expected at most 16");
  }
  std::int64_t elements = 1;
  for (std::int64_t extent : type.shape) {
    if (extent < 1 || extent > kMaxDimension) {
      return InvalidArgument("a dimension has size " + std::to_string(extent) +
                             ", expected 1 to 2147483648");
    }
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMaxElements) {
      return InvalidArgument("a tensor has more than 2^40 elements");
    }
  }
  return Status();
}

std::string_view SourceName(std::string_view value_name) {
  const std::size_t separator = value_name.rfind('#');
  return separator == std::string_view::npos || separator == 0 ? value_name
                                                               : value_name.substr(0, separator);
}

std::string NameOfPart(const std::string& name, std::string_view part) {
  return name + (SourceName(name) == name ? "#" : ".") + std::string(part);
}

bool IsLocalName(std::string_view value_name) {
  const bool number =
      value_name.size() > 1 && value_name[0] == '%' && value_name[1] >= '0' && value_name[1] <= '9';
  return number || SourceName(value_name) != value_name;
}

int Graph::AddInput(std::string value_name, TensorType type) {
  Node node;
  node.kind = NodeKind::kInput;
  node.type = std::move(type);
  node.name = std::move(value_name);
  nodes_.push_back(std::move(node));
  return size() - 1;
}

int Graph::AddConstant(std::string value_name, Tensor contents) {
  const int id = AddConstant(std::move(value_name), contents.type());
  store_->contents.emplace(id, std::move(contents));
  return id;
}

int Graph::AddConstant(std::string value_name, TensorType type) {
  const int id = AddInput(std::move(value_name), std::move(type));
  nodes_.back().kind = NodeKind::kConstant;
  return id;
}

int Graph::AddFilledConstant(std::string value_name, TensorType type, double fill) {
  const int id = AddConstant(std::move(value_name), std::move(type));
  fills_.emplace(id, fill);
  return id;
}

Result<int> Graph::AddOperator(std::string value_name, Operator op, std::vector<int> inputs) {
  std::vector<TensorType> types;
  for (int input : inputs) {
    if (input < 0 || input >= size()) {
      return InvalidArgument("value " + value_name + ": input " + std::to_string(input) +
                             " is not an earlier node");
    }
    types.push_back(node(input).type);
  }
  auto type = InferType(op, types);
  if (!type.ok()) return type.status().WithContext("value " + value_name);
  if (Status status = CheckTensorType(*type); !status.ok()) {
    return status.WithContext("value " + value_name);
  }
  if (op.kind == OpKind::kTranspose) {  // readers expect non-negative axes
    for (std::int64_t& axis : op.attributes.axes) {
      if (axis < 0) axis += std::ssize(op.attributes.axes);
    }
  }
  Node node;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.type = *std::move(type);
  node.name = std::move(value_name);
  nodes_.push_back(std::move(node));
  return size() - 1;
}

void Graph::Rename(int id, std::string value_name) {
  nodes_[static_cast<std::size_t>(id)].name = std::move(value_name);
}

std::string Graph::DescribeOrigin(int id) const {
  const std::string& found = OriginOrName(id);
  return &found == &node(id).name ? "value " + found : found;
}

const std::string& Graph::OriginOrName(int id) const {
  const std::string& own = node(id).name;
  const auto found = origins.find(SourceName(own));
  return found == origins.end() ? own : found->second;
}

std::string Graph::FloatName(int id) const {
  const std::string& own = node(id).name;
  const auto found = quantization.find(own);
  if (found != quantization.end() && !found->second.value.empty()) return found->second.value;
  return IsLocalName(own) ? std::string() : own;
}

void Graph::Annotate(int id, std::string source, Annotation annotation) {
  Node& node = nodes_[static_cast<std::size_t>(id)];
  node.source = std::move(source);
  node.annotation = std::move(annotation);
}

std::vector<int> Graph::inputs() const {
  std::vector<int> ids;
  for (int id = 0; id < size(); ++id) {
    if (node(id).kind == NodeKind::kInput) ids.push_back(id);
  }
  return ids;
}

const Tensor* Graph::Contents(int id) const {
  std::scoped_lock lock(store_->mutex);
  if (auto found = store_->contents.find(id); found != store_->contents.end()) {
    return &found->second;
  }
  const auto fill = fills_.find(id);
  if (fill == fills_.end()) return nullptr;
  return &store_->contents.emplace(id, MakeFilled(node(id).type, fill->second)).first->second;
}

bool Graph::HasContents(int id) const {
  std::scoped_lock lock(store_->mutex);
  return store_->contents.contains(id) || fills_.contains(id);
}

void Graph::SetContents(int id, Tensor contents) {
  TW_CHECK(node(id).kind == NodeKind::kConstant && node(id).type == contents.type(), node(id).name);
  fills_.erase(id);
  store_->contents.insert_or_assign(id, std::move(contents));
}

std::vector<std::vector<int>> Graph::Users() const {
  std::vector<std::vector<int>> users(nodes_.size());
  for (int id = 0; id < size(); ++id) {
    for (int input : node(id).inputs) users[static_cast<std::size_t>(input)].push_back(id);
  }
  return users;
}

Tensor Graph::TakeContents(int id) {
  TW_CHECK(Contents(id) != nullptr, node(id).name);
  fills_.erase(id);
  return std::move(store_->contents.extract(id).mapped());
}

const double* Graph::Fill(int id) const {
  std::scoped_lock lock(store_->mutex);
  const auto fill = fills_.find(id);
  return fill == fills_.end() || store_->contents.contains(id) ? nullptr : &fill->second;
}

void Graph::CopyDescription(const Graph& from) {
  name = from.name;
  style = from.style;
  quantization = from.quantization;
  notes = from.notes;
  origins = from.origins;
  synthetic_constants = from.synthetic_constants;
  binding_options = from.binding_options;
  precision = from.precision;
  float32_products = from.float32_products;
}

Graph Graph::Clone() const { return CloneWithout(std::numeric_limits<std::int64_t>::max()); }

Graph Graph::CloneWithout(std::int64_t max_elements) const {
  Graph clone;
  clone.CopyDescription(*this);
  clone.nodes_ = nodes_;
  clone.outputs_ = outputs_;
  clone.fills_ = fills_;
  std::erase_if(clone.fills_, [&](const auto& entry) {
    return node(entry.first).type.elements() > max_elements;
  });
  std::scoped_lock lock(store_->mutex);
  for (const auto& [id, contents] : store_->contents) {
    if (contents.elements() <= max_elements) {
      clone.fills_.erase(id);
      clone.store_->contents.emplace(id, contents.Clone());
    }
  }
  return clone;
}

}  // namespace tilewright
