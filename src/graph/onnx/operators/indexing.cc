// Operators that select, join or pad elements.

#include <algorithm>
#include <optional>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

void ImportConcat(OnnxNode& node) {
  std::vector<int> inputs;
  for (int i = 0; i < node.input_count(); ++i) inputs.push_back(node.Input(i));
  if (inputs.empty()) return node.FailInvalid("has no input");
  if (!node.HasAttribute("axis")) return node.FailInvalid("attribute axis is missing");
  Operator op{OpKind::kConcat, {}};
  op.attributes.axis = node.Axis(node.Int("axis", 0), node.Rank(inputs[0]));
  node.Return(op, inputs);
}

void ImportSplit(OnnxNode& node) {
  const int data = node.Input(0);
  const auto axis = static_cast<std::size_t>(node.Axis(node.Int("axis", 0), node.Rank(data)));
  Shape sizes = node.IntsAttributeOrInput("split", 1, 13, {});
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  const std::int64_t parts = node.output_count();
  if (node.Int("num_outputs", parts) != parts) {
    return node.FailInvalid("attribute num_outputs is " +
                            std::to_string(node.Int("num_outputs", parts)) + ", the node has " +
                            std::to_string(parts) + " outputs");
  }
  if (sizes.empty()) {  // equal parts, the last one smaller
    const std::int64_t size = (shape[axis] + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::min(size, shape[axis] - i * size));
    }
  }
  if (std::ssize(sizes) != parts) {
    return node.FailInvalid("has " + std::to_string(parts) + " outputs, split names " +
                            std::to_string(sizes.size()) + " sizes");
  }
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > shape[axis] - begin) {
      return node.FailInvalid("part " + std::to_string(i) + " has size " +
                              std::to_string(sizes[i]) + ", " +
                              std::to_string(shape[axis] - begin) + " remain");
    }
    Operator op = WholeSlice(shape);
    op.attributes.begin[axis] = begin;
    op.attributes.end[axis] = begin += sizes[i];
    if (node.HasOutput(static_cast<int>(i))) {
      node.SetOutput(node.Emit(op, {data}), static_cast<int>(i));
    }
  }
  if (node.ok() && begin != shape[axis]) {
    node.FailInvalid("the parts have " + std::to_string(begin) + " elements, expected " +
                     std::to_string(shape[axis]));
  }
}

// Attributes until opset 9, inputs since opset 10: starts, ends, axes, steps.
void ImportSlice(OnnxNode& node) {
  const int data = node.Input(0);
  const bool attributes = node.opset() < 10;
  const Shape starts = attributes ? node.LongInts("starts") : node.KnownInts(1);
  const Shape ends = attributes ? node.LongInts("ends") : node.KnownInts(2);
  const Shape axes = node.IntsAttributeOrInput("axes", 3, 10, {});
  const Shape steps = !attributes && node.HasInput(4) ? node.KnownInts(4) : Shape();
  if (!node.ok()) return;
  const bool same_size = ends.size() == starts.size() &&
                         (axes.empty() || axes.size() == starts.size()) &&
                         (steps.empty() || steps.size() == starts.size());
  const Shape shape = node.TypeOf(data).shape;
  if (!same_size || starts.size() > shape.size()) {
    return node.FailInvalid("starts, ends, axes and steps differ in length");
  }
  Operator op = WholeSlice(shape);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(
        node.Axis(axes.empty() ? static_cast<std::int64_t>(i) : axes[i], std::ssize(shape)));
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    if (step == 0 || step < -kMaxDimension || step > kMaxDimension) {
      return node.FailInvalid("step " + std::to_string(step) + " is out of range");
    }
    if (!node.ok()) return;
    const std::int64_t extent = shape[axis];
    const auto resolve = [&](std::int64_t position) {
      if (position < 0) position += extent;  // cannot overflow: the signs differ
      return step > 0 ? std::clamp<std::int64_t>(position, 0, extent)
                      : std::clamp<std::int64_t>(position, -1, extent - 1);
    };
    op.attributes.begin[axis] = resolve(starts[i]);
    op.attributes.end[axis] = resolve(ends[i]);
    op.attributes.steps[axis] = step;
  }
  node.Return(op, {data});
}

// Returns the part of the data at one constant index, in the shape of a gather.
void ReturnPart(OnnxNode& node, int data, std::int64_t axis, const Tensor& index) {
  const auto dimension = static_cast<std::size_t>(axis);
  Shape shape = node.TypeOf(data).shape;
  Operator op = WholeSlice(shape);
  op.attributes.begin[dimension] = static_cast<std::int64_t>(index.At(0));
  op.attributes.end[dimension] = op.attributes.begin[dimension] + 1;
  const auto place = shape.erase(shape.begin() + axis);
  shape.insert(place, index.shape().begin(), index.shape().end());
  const int part = node.Emit(op, {data});
  if (!node.ok()) return;
  Operator reshape{OpKind::kReshape, {}};
  reshape.attributes.new_shape = std::move(shape);
  node.Return(reshape, {part});
}

// If indices are computed at run time, indices out of range select the nearest element
// (src/tensor). Constant indices are checked here.
void ImportGather(OnnxNode& node) {
  const int data = node.Input(0);
  int indices = node.Input(1);
  Operator op{OpKind::kGather, {}};
  op.attributes.axis = node.Axis(node.Int("axis", 0), node.Rank(data));
  if (!node.ok()) return;
  const std::int64_t extent = node.TypeOf(data).shape[static_cast<std::size_t>(op.attributes.axis)];
  const Tensor* known = node.Known(1);
  if (known == nullptr) return node.Return(op, {data, indices});
  if (known->dtype() != kInt32 && known->dtype() != kInt64) {
    return node.FailInvalid("indices are " + known->type().ToString() +
                            ", expected int32 or int64");
  }
  bool negative = false;
  Tensor resolved = known->Clone();
  for (std::int64_t i = 0; i < resolved.elements(); ++i) {
    const auto position = static_cast<std::size_t>(i);
    const std::int64_t index = known->dtype() == kInt64 ? known->As<std::int64_t>()[position]
                                                        : known->As<std::int32_t>()[position];
    const std::int64_t place = ResolveIndex(node, index, extent);
    if (!node.ok()) return;
    if (index < 0) {
      resolved.Set(i, static_cast<double>(place));
      negative = true;
    }
  }
  if (resolved.elements() == 1) return ReturnPart(node, data, op.attributes.axis, resolved);
  if (negative) indices = node.EmitConstant(std::move(resolved));
  node.Return(op, {data, indices});
}

// Returns the source positions of a dimension that is padded with its own elements.
Shape PaddedPositions(const std::string& mode, std::int64_t extent, std::int64_t before,
                      std::int64_t after) {
  const std::int64_t period = std::max<std::int64_t>(mode == "wrap" ? extent : 2 * (extent - 1), 1);
  Shape positions;
  for (std::int64_t i = -before; i < extent + after; ++i) {
    if (mode == "edge") {
      positions.push_back(std::clamp<std::int64_t>(i, 0, extent - 1));
      continue;
    }
    const std::int64_t at = (i % period + period) % period;
    positions.push_back(at < extent ? at : period - at);  // descending part of a reflection
  }
  return positions;
}

// Pads with the tensor's own elements, dimension by dimension.
void ReturnPadded(OnnxNode& node, int data, const std::string& mode, const Shape& widths) {
  for (std::size_t axis = 0; axis < widths.size() / 2 && node.ok(); ++axis) {
    const std::int64_t before = widths[2 * axis], after = widths[2 * axis + 1];
    const std::int64_t extent = node.TypeOf(data).shape[axis];
    if (before == 0 && after == 0) continue;
    if (extent + before + after > kMaxPicked) {
      return node.FailUnsupported("dimension " + std::to_string(axis) + " becomes " +
                                  std::to_string(extent + before + after) +
                                  " elements, expected at most " + std::to_string(kMaxPicked));
    }
    data = EmitPick(node, data, static_cast<std::int64_t>(axis),
                    PaddedPositions(mode, extent, before, after));
  }
  node.SetOutput(data);
}

// Returns the single element of an input; nothing if it is computed at run time or is an integer
// that no double represents.
std::optional<double> ScalarOfInput(OnnxNode& node, int index) {
  if (node.TypeOf(node.Input(index)).elements() != 1) return node.KnownScalar(index);
  if (node.Known(index) == nullptr || !node.FitsDouble(index)) return std::nullopt;
  return node.KnownScalar(index);
}

// Returns the result of `pad` with the fill value of input `index`.
void ReturnFilledByInput(OnnxNode& node, const Operator& pad, int data, int index) {
  const TensorType type = node.TypeOf(data);
  const int inside = node.Emit(pad, {node.EmitFilled({type.shape, kUInt8}, 1)});
  const int outside = node.Emit(OpKind::kEqual, inside, 0);
  const int fill = node.EmitReshape(node.EmitCast(node.Input(index), type.dtype), {});
  node.Return(Operator{OpKind::kWhere, {}}, {outside, fill, node.Emit(pad, {data})});
}

// Attributes until opset 10, inputs since opset 11: pads, value, axes. A negative pad crops.
void ImportPad(OnnxNode& node) {
  const int data = node.Input(0);
  const Shape pads = node.IntsAttributeOrInput("pads", 1, 11, {});
  const std::string mode = node.String("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return node.FailInvalid("attribute mode is " + mode +
                            ", expected constant, reflect, edge or wrap");
  }
  std::optional<double> value = node.opset() < 11 ? node.Float("value", 0) : 0;
  if (node.opset() >= 11 && node.HasInput(2)) value = ScalarOfInput(node, 2);
  const Shape axes = node.HasInput(3) ? node.KnownInts(3) : Shape();
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  const std::size_t count = axes.empty() ? shape.size() : axes.size();
  if (pads.size() != 2 * count) {
    return node.FailInvalid("has " + std::to_string(pads.size()) + " pads, expected " +
                            std::to_string(2 * count));
  }
  Operator slice = WholeSlice(shape);
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_value = value.value_or(0);
  pad.attributes.pad_width.assign(2 * shape.size(), 0);
  bool cropped = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = static_cast<std::size_t>(
        node.Axis(axes.empty() ? static_cast<std::int64_t>(i) : axes[i], std::ssize(shape)));
    const std::int64_t before = pads[i], after = pads[i + count];
    if (std::max(before, after) > kMaxDimension || std::min(before, after) < -kMaxDimension) {
      return node.FailInvalid("a pad is beyond 2^31");
    }
    if (!node.ok()) return;
    pad.attributes.pad_width[2 * axis] = std::max<std::int64_t>(before, 0);
    pad.attributes.pad_width[2 * axis + 1] = std::max<std::int64_t>(after, 0);
    slice.attributes.begin[axis] = std::max<std::int64_t>(-before, 0);
    slice.attributes.end[axis] = shape[axis] + std::min<std::int64_t>(after, 0);
    cropped |= before < 0 || after < 0;
  }
  const int inner = cropped ? node.Emit(slice, {data}) : data;
  if (mode != "constant") return ReturnPadded(node, inner, mode, pad.attributes.pad_width);
  if (!value) return ReturnFilledByInput(node, pad, inner, 2);
  node.Return(pad, {inner});
}

constexpr OnnxHandlerEntry kIndexingHandlers[] = {
    {"Concat", &ImportConcat}, {"Gather", &ImportGather}, {"Pad", &ImportPad},
    {"Slice", &ImportSlice},   {"Split", &ImportSplit},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxIndexingHandlers() { return kIndexingHandlers; }

Operator WholeSlice(const Shape& shape) {
  Operator op{OpKind::kSlice, {}};
  op.attributes.begin.assign(shape.size(), 0);
  op.attributes.end = shape;
  op.attributes.steps.assign(shape.size(), 1);
  return op;
}

int EmitColumn(OnnxNode& node, int id, std::int64_t at) {
  if (!node.ok()) return -1;
  Operator slice = WholeSlice(node.TypeOf(id).shape);
  slice.attributes.begin[1] = at;
  slice.attributes.end[1] = at + 1;
  return node.Emit(slice, {id});
}

int EmitPick(OnnxNode& node, int id, std::int64_t axis,
             const std::vector<std::int64_t>& positions) {
  Tensor indices(TensorType{{std::ssize(positions)}, kInt32});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    indices.As<std::int32_t>()[i] = static_cast<std::int32_t>(positions[i]);
  }
  Operator op{OpKind::kGather, {}};
  op.attributes.axis = axis;
  return node.Emit(op, {id, node.EmitConstant(std::move(indices))});
}

}  // namespace tilewright
