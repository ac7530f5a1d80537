// Exporters compute target shapes, sizes and axes at run time but declare the resulting shapes. If
// such an input only determines the shape of the result, its contents follow from the declared
// shape.

#include "src/graph/onnx/declared_shapes.h"

#include <algorithm>
#include <set>

namespace tilewright {
namespace {
namespace declared {

using Shape = std::vector<std::int64_t>;

// Shapes of data and results for one rule. All of them are constant.
class Declared {
 public:
  Declared(const OnnxImport& import, const onnx::NodeProto& node) : import_(import), node_(node) {}

  std::optional<Shape> Data() const {
    if (node_.input_size() == 0) return std::nullopt;
    auto type = import_.TypeOfValue(node_.input(0));
    if (!type.ok()) return std::nullopt;
    return type->shape;
  }
  std::optional<Shape> Result(int index = 0) const {
    if (index >= node_.output_size()) return std::nullopt;
    const auto found = import_.declared.find(node_.output(index));
    if (found == import_.declared.end()) return std::nullopt;
    return found->second;
  }
  int results() const { return node_.output_size(); }
  const onnx::AttributeProto* Attribute(std::string_view name) const {
    for (const auto& attribute : node_.attribute()) {
      if (attribute.name() == name) return &attribute;
    }
    return nullptr;
  }
  std::int64_t Int(std::string_view name, std::int64_t fallback) const {
    const auto* attribute = Attribute(name);
    return attribute == nullptr ? fallback : attribute->i();
  }

 private:
  const OnnxImport& import_;
  const onnx::NodeProto& node_;
};

using Numbers = std::optional<Shape>;

// Returns the dimensions of `longer` that `shorter` lacks; `shorter` has the others in order, and
// the missing ones are 1. Returns nothing if the shapes do not match in this way.
Numbers Added(const Shape& longer, const Shape& shorter) {
  Shape axes;
  std::size_t next = 0;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    if (next < shorter.size() && longer[i] == shorter[next]) {
      ++next;
    } else if (longer[i] == 1) {
      axes.push_back(static_cast<std::int64_t>(i));
    } else {
      return std::nullopt;
    }
  }
  if (next < shorter.size()) return std::nullopt;
  return axes;
}

Numbers Target(const Declared& node) {
  const auto result = node.Result();
  // 0 would mean a dimension of the data.
  if (!result || std::ranges::count(*result, 0) > 0) return std::nullopt;
  return result;
}

Numbers SqueezedAxes(const Declared& node) {
  const auto data = node.Data(), result = node.Result();
  Numbers axes = data && result ? Added(*data, *result) : std::nullopt;
  if (axes && axes->empty()) return std::nullopt;  // an empty list means all of them
  return axes;
}

Numbers UnsqueezedAxes(const Declared& node) {
  const auto data = node.Data(), result = node.Result();
  return data && result ? Added(*result, *data) : std::nullopt;
}

Numbers Repeats(const Declared& node) {
  const auto data = node.Data(), result = node.Result();
  if (!data || !result || data->size() != result->size()) return std::nullopt;
  Shape repeats;
  for (std::size_t i = 0; i < data->size(); ++i) {
    if ((*data)[i] == 0 || (*result)[i] % (*data)[i] != 0) return std::nullopt;
    repeats.push_back((*result)[i] / (*data)[i]);
  }
  return repeats;
}

// Returns the size of the result along attribute `axis`.
Numbers SizeAlongAxis(const Declared& node) {
  const auto result = node.Result();
  if (!result) return std::nullopt;
  const std::int64_t rank = std::ssize(*result), given = node.Int("axis", -1);
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return Shape{(*result)[static_cast<std::size_t>(axis)]};
}

Numbers PartSizes(const Declared& node) {
  Shape sizes;
  for (int i = 0; i < node.results(); ++i) {
    const auto part = node.Result(i);
    if (!part) return std::nullopt;
    const std::int64_t rank = std::ssize(*part), given = node.Int("axis", 0);
    const std::int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) return std::nullopt;
    sizes.push_back((*part)[static_cast<std::size_t>(axis)]);
  }
  return sizes;
}

// Returns the sizes of the dimensions in attribute `axes`; of all dimensions without it.
Numbers Sizes(const Declared& node) {
  const auto result = node.Result();
  const auto* axes = node.Attribute("axes");
  if (!result || axes == nullptr) return result;
  Shape sizes;
  for (std::int64_t given : axes->ints()) {
    const std::int64_t axis = given < 0 ? given + std::ssize(*result) : given;
    if (axis < 0 || axis >= std::ssize(*result)) return std::nullopt;
    sizes.push_back((*result)[static_cast<std::size_t>(axis)]);
  }
  return sizes;
}

// With an aspect ratio policy, other sizes can give the same result.
Numbers ResizedSizes(const Declared& node) {
  const auto* policy = node.Attribute("keep_aspect_ratio_policy");
  if (policy != nullptr && policy->s() != "stretch") return std::nullopt;
  return Sizes(node);
}

// Collects in `found` all sets of reduced dimensions, of more than one element each, for which
// reducing `data` gives `result`.
void FindReduced(const Shape& data, const Shape& result, std::size_t at, std::size_t next,
                 Shape& reduced, std::set<Shape>& found) {
  if (found.size() > 1 || result.size() - next > data.size() - at) return;
  if (at == data.size()) {
    found.insert(reduced);
    return;
  }
  if (next < result.size() && data[at] == result[next]) {
    FindReduced(data, result, at + 1, next + 1, reduced, found);
  }
  if (data[at] != 1) reduced.push_back(static_cast<std::int64_t>(at));
  FindReduced(data, result, at + 1, next, reduced, found);
  if (data[at] != 1) reduced.pop_back();
}

// Dimensions of one element are ignored: their reduction changes only the shape. An empty list has
// special meanings, so it is never returned.
Numbers ReducedAxes(const Declared& node) {
  constexpr std::size_t kMaxDimensions = 12;  // each may be reduced or not
  const auto data = node.Data(), result = node.Result();
  if (!data || !result || data->size() > kMaxDimensions) return std::nullopt;
  Shape axes;
  if (node.Int("keepdims", 1) != 0) {
    if (data->size() != result->size()) return std::nullopt;
    for (std::size_t i = 0; i < data->size(); ++i) {
      if ((*data)[i] == (*result)[i]) continue;
      if ((*result)[i] != 1) return std::nullopt;
      axes.push_back(static_cast<std::int64_t>(i));
    }
  } else {
    std::set<Shape> found;
    if (std::ranges::count(*data, 1) > 0) return std::nullopt;  // the reduced ones are ambiguous
    FindReduced(*data, *result, 0, 0, axes, found);
    if (found.size() != 1) return std::nullopt;
    axes = *found.begin();
  }
  if (axes.empty()) return std::nullopt;
  return axes;
}

struct Rule {
  std::string_view op_type;
  int input;
  Numbers (*numbers)(const Declared&);
};

constexpr Rule kDeclaredRules[] = {
    {"CenterCropPad", 1, &Sizes},
    {"ConstantOfShape", 0, &Target},
    {"Expand", 1, &Target},
    {"OneHot", 1, &SizeAlongAxis},
    {"ReduceL1", 1, &ReducedAxes},
    {"ReduceL2", 1, &ReducedAxes},
    {"ReduceLogSum", 1, &ReducedAxes},
    {"ReduceLogSumExp", 1, &ReducedAxes},
    {"ReduceMax", 1, &ReducedAxes},
    {"ReduceMean", 1, &ReducedAxes},
    {"ReduceMin", 1, &ReducedAxes},
    {"ReduceProd", 1, &ReducedAxes},
    {"ReduceSum", 1, &ReducedAxes},
    {"ReduceSumSquare", 1, &ReducedAxes},
    {"Reshape", 1, &Target},
    {"Resize", 3, &ResizedSizes},
    {"Split", 1, &PartSizes},
    {"Squeeze", 1, &SqueezedAxes},
    {"Tile", 1, &Repeats},
    {"TopK", 1, &SizeAlongAxis},
    {"Unsqueeze", 1, &UnsqueezedAxes},
};

using NamedSizes = std::map<std::string, std::int64_t, std::less<>>;

void Declare(const onnx::ValueInfoProto& value, const NamedSizes& sizes, OnnxImport& import) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return;
  Shape shape;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    const auto named = dim.has_dim_value() ? sizes.end() : sizes.find(dim.dim_param());
    const bool known = dim.has_dim_value() || named != sizes.end();
    const std::int64_t size = named != sizes.end() ? named->second : dim.dim_value();
    if (!known) import.open.emplace(value.name(), dim.dim_param());
    if (!known || size < 0 || size > kMaxDimension) return;
    shape.push_back(size);
  }
  import.declared.emplace(value.name(), std::move(shape));
}

}  // namespace declared
}  // namespace

void DeclareShapes(const onnx::GraphProto& graph, const declared::NamedSizes& sizes,
                   OnnxImport& import) {
  for (const auto& output : graph.output()) declared::Declare(output, sizes, import);
  for (const auto& value : graph.value_info()) declared::Declare(value, sizes, import);
}

std::optional<Tensor> InputByDeclaredShape(const OnnxImport& import, const onnx::NodeProto& node,
                                           int index) {
  const auto rule =
      std::ranges::find_if(declared::kDeclaredRules, [&](const declared::Rule& known) {
        return known.op_type == node.op_type() && known.input == index;
      });
  const bool known = rule != std::end(declared::kDeclaredRules) &&
                     (node.domain().empty() || node.domain() == "ai.onnx");
  if (!known) return std::nullopt;
  const declared::Numbers numbers = rule->numbers(declared::Declared(import, node));
  if (!numbers) return std::nullopt;
  const auto type = import.TypeOfValue(node.input(index));
  if (!type.ok()) return std::nullopt;
  const bool scalar = type->shape.empty() && numbers->size() == 1;
  using declared::Shape;
  Tensor contents(TensorType{scalar ? Shape() : Shape{std::ssize(*numbers)}, kInt64});
  std::ranges::copy(*numbers, contents.As<std::int64_t>().begin());
  return contents;
}

}  // namespace tilewright
