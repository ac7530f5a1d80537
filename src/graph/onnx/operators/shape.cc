// Operators that only change the shape of a tensor, and operators that create constants.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Emits a reshape with the output's name even if the shape does not change.
void ReturnReshape(OnnxNode& node, int data, Shape shape) {
  Operator op{OpKind::kReshape, {}};
  op.attributes.new_shape = std::move(shape);
  node.Return(op, {data});
}

void ImportReshape(OnnxNode& node) {
  const int data = node.Input(0);
  Shape target = node.KnownInts(1);
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  const bool keep_zero = node.Int("allowzero", 0) != 0;
  std::int64_t known = 1;
  std::ptrdiff_t rest = -1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !keep_zero) {
      if (i >= type.shape.size()) {
        return node.FailInvalid("target dimension " + std::to_string(i) +
                                " is 0 (copied), the input is " + type.ToString());
      }
      target[i] = type.shape[i];
    }
    if (target[i] == -1) {
      if (rest >= 0) return node.FailInvalid("the target has two dimensions of -1");
      rest = static_cast<std::ptrdiff_t>(i);
    } else if (target[i] < 0 || __builtin_mul_overflow(known, target[i], &known)) {
      return node.FailInvalid("target dimension " + std::to_string(i) + " is " +
                              std::to_string(target[i]) + ", expected -1 or more");
    }
  }
  if (rest >= 0) {
    if (known == 0 || type.elements() % known != 0) {
      return node.FailInvalid("the input " + type.ToString() + " does not divide by " +
                              std::to_string(known));
    }
    target[static_cast<std::size_t>(rest)] = type.elements() / known;
  }
  ReturnReshape(node, data, std::move(target));
}

void ImportFlatten(OnnxNode& node) {
  const int data = node.Input(0);
  const std::int64_t rank = node.Rank(data);
  const std::int64_t given = node.Int("axis", 1);
  const std::int64_t axis = given == rank ? rank : node.Axis(given, rank);
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  const Shape outer(shape.begin(), shape.begin() + axis), inner(shape.begin() + axis, shape.end());
  ReturnReshape(node, data, {Product(outer), Product(inner)});
}

void ImportSqueeze(OnnxNode& node) {
  const int data = node.Input(0);
  const Shape axes = node.IntsAttributeOrInput("axes", 1, 13, {});
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  std::vector<bool> drop(shape.size(), false);
  for (std::size_t i = 0; axes.empty() && i < shape.size(); ++i) drop[i] = shape[i] == 1;
  for (std::int64_t given : axes) {
    const auto axis = static_cast<std::size_t>(node.Axis(given, std::ssize(shape)));
    if (!node.ok()) return;
    if (shape[axis] != 1) {
      return node.FailInvalid("dimension " + std::to_string(axis) + " has size " +
                              std::to_string(shape[axis]) + ", expected 1");
    }
    drop[axis] = true;
  }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!drop[i]) result.push_back(shape[i]);
  }
  ReturnReshape(node, data, std::move(result));
}

void ImportUnsqueeze(OnnxNode& node) {
  const int data = node.Input(0);
  const Shape axes = node.IntsAttributeOrInput("axes", 1, 13, {});
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  const std::size_t rank = shape.size() + axes.size();
  std::vector<bool> added(rank, false);
  for (std::int64_t given : axes) {
    const auto axis = static_cast<std::size_t>(node.Axis(given, static_cast<std::int64_t>(rank)));
    if (!node.ok()) return;
    if (added[axis]) return node.FailInvalid("axis " + std::to_string(given) + " occurs twice");
    added[axis] = true;
  }
  Shape result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) result.push_back(added[i] ? 1 : shape[next++]);
  ReturnReshape(node, data, std::move(result));
}

void ImportTranspose(OnnxNode& node) {
  const int data = node.Input(0);
  Shape reversed(node.TypeOf(data).shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  Operator op{OpKind::kTranspose, {}};
  op.attributes.axes = node.Ints("perm", std::move(reversed));
  node.Return(op, {data});
}

void ImportExpand(OnnxNode& node) {
  const int data = node.Input(0);
  Shape target = node.KnownInts(1);
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  // A 1 in the target keeps a dimension; a short target gets leading ones.
  while (target.size() < shape.size()) target.insert(target.begin(), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t& extent = target[target.size() - 1 - i];
    if (extent == 1) extent = shape[shape.size() - 1 - i];
  }
  Operator op{OpKind::kBroadcastTo, {}};
  op.attributes.new_shape = std::move(target);
  node.Return(op, {data});
}

void ImportShape(OnnxNode& node) {
  const Shape shape = node.InputType(0).shape;
  const auto rank = std::ssize(shape);
  const auto clamp = [&](std::int64_t position) {
    return std::clamp<std::int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  const std::int64_t begin = clamp(node.Int("start", 0)), end = clamp(node.Int("end", rank));
  if (!node.ok()) return;
  const std::int64_t count = std::max<std::int64_t>(end - begin, 0);
  Tensor contents(TensorType{{count}, kInt64});
  std::copy_n(shape.begin() + begin, count, contents.As<std::int64_t>().begin());
  node.ReturnConstant(std::move(contents));
}

void ImportConstant(OnnxNode& node) {
  if (const onnx::TensorProto* proto = node.TensorAttribute("value")) {
    return node.ReturnConstant(*proto);
  }
  if (const onnx::SparseTensorProto* sparse = node.SparseAttribute("sparse_value")) {
    return node.ReturnConstant(node.ContentsOf(*sparse));
  }
  if (node.HasAttribute("value_int") || node.HasAttribute("value_ints")) {
    const bool scalar = node.HasAttribute("value_int");
    const Shape values = scalar ? Shape{node.LongInt("value_int")} : node.LongInts("value_ints");
    Tensor contents(TensorType{scalar ? Shape{} : Shape{std::ssize(values)}, kInt64});
    std::ranges::copy(values, contents.As<std::int64_t>().begin());
    return node.ReturnConstant(std::move(contents));
  }
  if (node.HasAttribute("value_float")) {
    Tensor contents(TensorType{{}, kFloat32});
    contents.Set(0, node.Float("value_float", 0));
    return node.ReturnConstant(std::move(contents));
  }
  if (node.HasAttribute("value_floats")) {
    const std::vector<double> values = node.Floats("value_floats");
    Tensor contents(TensorType{{std::ssize(values)}, kFloat32});
    for (std::size_t i = 0; i < values.size(); ++i) {
      contents.Set(static_cast<std::int64_t>(i), values[i]);
    }
    return node.ReturnConstant(std::move(contents));
  }
  node.FailUnsupported("expected attribute value, sparse_value, value_int(s) or value_float(s)");
}

void ImportConstantOfShape(OnnxNode& node) {
  TensorType type{node.KnownInts(0), kFloat32};
  Tensor value(TensorType{{}, kFloat32});
  if (const onnx::TensorProto* proto = node.TensorAttribute("value")) {
    auto dtype = DataTypeOfOnnx(proto->data_type());
    if (!dtype.ok()) return node.Fail(dtype.status().WithContext("attribute value"));
    value = node.ContentsOf(*proto);
    if (!node.ok()) return;
    if (value.elements() != 1) {
      return node.FailInvalid("attribute value has " + std::to_string(value.elements()) +
                              " elements, expected 1");
    }
    value.Reshape({});
    type.dtype = *dtype;
  }
  if (!node.ok()) return;
  // 2^32 elements: a machine may have to hold all of them when the contents are needed.
  Status status = CheckOnnxType(type);
  if (status.ok() && type.elements() > (std::int64_t{1} << 32)) {
    status = InvalidArgument(type.ToString() + " has more than 2^32 elements");
  }
  if (!status.ok()) return node.Fail(std::move(status));
  Tensor same(value.type());
  const double fill = value.At(0);
  same.Set(0, fill);
  const auto bytes = static_cast<std::size_t>(value.bytes());
  if (std::isnan(fill) || std::memcmp(same.data(), value.data(), bytes) == 0) {
    return node.ReturnFilled(std::move(type), fill);
  }
  Operator op{OpKind::kBroadcastTo, {}};  // for an integer that no double represents
  op.attributes.new_shape = type.shape;
  node.Return(op, {node.EmitConstant(std::move(value))});
}

constexpr OnnxHandlerEntry kShapeHandlers[] = {
    {"Constant", &ImportConstant},   {"ConstantOfShape", &ImportConstantOfShape},
    {"Expand", &ImportExpand},       {"Flatten", &ImportFlatten},
    {"Reshape", &ImportReshape},     {"Shape", &ImportShape},
    {"Squeeze", &ImportSqueeze},     {"Transpose", &ImportTranspose},
    {"Unsqueeze", &ImportUnsqueeze},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxShapeHandlers() { return kShapeHandlers; }

}  // namespace tilewright
