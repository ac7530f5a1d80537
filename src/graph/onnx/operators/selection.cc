// Operators that select, crop, reverse or mark elements by constant inputs.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/declared_size.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// 1 at the first of the largest elements, 0 elsewhere. Until opset 12 the dimensions from `axis` on
// are treated as one.
void ImportHardmax(OnnxNode& node) {
  int data = node.Input(0);
  const bool flatten = node.opset() < 13;
  const std::int64_t given = node.Int("axis", flatten ? 1 : -1);
  const std::int64_t rank = node.Rank(data);
  const std::int64_t axis = flatten && given == rank ? rank : node.Axis(given, rank);
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  Operator reduce{OpKind::kReduceMax, {}};
  reduce.attributes.axes = {axis};
  reduce.attributes.keepdims = true;
  if (flatten) {
    std::int64_t outer = 1;
    for (std::int64_t i = 0; i < axis; ++i) outer *= type.shape[static_cast<std::size_t>(i)];
    data = node.EmitReshape(data, {outer, type.elements() / outer});
    reduce.attributes.axes = {1};
  }
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  const auto at = static_cast<std::size_t>(reduce.attributes.axes[0]);
  const int positions = EmitPositions(node, kInt32, shape[at], shape.size() - at - 1);
  const int found = node.Emit(OpKind::kEqual, {data, node.Emit(reduce, {data})});
  const int last = node.EmitScalar(kInt32, static_cast<double>(shape[at] - 1));
  reduce.kind = OpKind::kReduceMin;
  const int first = node.Emit(reduce, {node.Emit(OpKind::kWhere, {found, positions, last})});
  const int hit = node.Emit(OpKind::kEqual, {positions, first});
  const int one = node.EmitScalar(type.dtype, 1), zero = node.EmitScalar(type.dtype, 0);
  node.SetOutput(node.EmitReshape(node.Emit(OpKind::kWhere, {hit, one, zero}), type.shape));
}

// Returns the positions of nonzero elements of a constant list.
Shape KnownHits(OnnxNode& node, int index) {
  const Tensor* known = node.KnownElements(index);
  if (!node.ok()) return {};
  if (known == nullptr || known->shape().size() != 1) {
    node.FailUnknown(
        index,
        "must be a list that is constant at import: it determines the number of elements of "
        "the result",
        KnownValues::kMaxElements);
    return {};
  }
  Shape hits;
  for (std::int64_t i = 0; i < known->elements(); ++i) {
    if (known->At(i) != 0) hits.push_back(i);
  }
  if (hits.empty()) node.FailUnsupported("the result is zero-size");
  return hits;
}

void ImportCompress(OnnxNode& node) {
  int data = node.Input(0);
  const Shape hits = KnownHits(node, 1);
  if (!node.ok()) return;
  std::int64_t axis = 0;
  if (node.HasAttribute("axis")) {
    axis = node.Axis(node.Int("axis", 0), node.Rank(data));
  } else {
    data = node.EmitReshape(data, {node.TypeOf(data).elements()});
  }
  if (!node.ok()) return;
  const std::int64_t extent = node.TypeOf(data).shape[static_cast<std::size_t>(axis)];
  if (hits.back() >= extent) {
    return node.FailInvalid("the condition keeps element " + std::to_string(hits.back()) + " of " +
                            std::to_string(extent));
  }
  node.SetOutput(EmitPick(node, data, axis, hits));
}

// Crops each dimension or pads it with zeros on both sides; an odd element is at the end.
void ImportCenterCropPad(OnnxNode& node) {
  const int data = node.Input(0);
  const Shape wanted = node.KnownInts(1);
  Shape axes(static_cast<std::size_t>(node.Rank(data)));
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.Ints("axes", axes);
  if (!node.ok()) return;
  if (wanted.size() != axes.size()) {
    return node.FailInvalid("has " + std::to_string(wanted.size()) + " sizes, expected " +
                            std::to_string(axes.size()));
  }
  const Shape shape = node.TypeOf(data).shape;
  Operator slice = WholeSlice(shape);
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_width.assign(2 * shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(node.Axis(axes[i], std::ssize(shape)));
    if (!node.ok()) return;
    const std::int64_t more = wanted[i] - shape[axis], part = std::abs(more) / 2;
    if (wanted[i] < 1 || wanted[i] > kMaxDimension) {
      return node.FailInvalid("size " + std::to_string(wanted[i]) + ", expected at least 1");
    }
    if (more < 0) {
      slice.attributes.begin[axis] = part;
      slice.attributes.end[axis] = part + wanted[i];
    } else {
      pad.attributes.pad_width[2 * axis] = part;
      pad.attributes.pad_width[2 * axis + 1] = more - part;
    }
  }
  node.Return(pad, {node.Emit(slice, {data})});
}

// Reverses the first elements along one dimension; a list gives their number for each batch.
void ImportReverseSequence(OnnxNode& node) {
  int data = node.Input(0);
  const Shape lengths = node.KnownInts(1);
  const std::int64_t rank = node.Rank(data);
  const std::int64_t batch = node.Axis(node.Int("batch_axis", 1), rank);
  const std::int64_t time = node.Axis(node.Int("time_axis", 0), rank);
  if (!node.ok()) return;
  Shape axes = {batch, time};
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != batch && i != time) axes.push_back(i);
  }
  const Shape shape = node.TypeOf(data).shape;
  const std::int64_t batches = shape[static_cast<std::size_t>(batch)];
  const std::int64_t count = shape[static_cast<std::size_t>(time)];
  const bool sane = batch != time && std::ssize(lengths) == batches &&
                    std::ranges::all_of(lengths, [&](auto n) { return n >= 0 && n <= count; });
  if (!sane || batches > kMaxPicked / count) {
    return node.FailInvalid("has " + std::to_string(lengths.size()) + " lengths, expected " +
                            std::to_string(batches) + " of at most " + std::to_string(count));
  }
  Shape rows;
  for (std::int64_t b = 0; b < batches; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    for (std::int64_t i = 0; i < count; ++i) {
      rows.push_back(b * count + (i < length ? length - 1 - i : i));
    }
  }
  data = node.EmitTranspose(data, axes);
  const Shape moved = node.TypeOf(data).shape;
  const std::int64_t width = node.TypeOf(data).elements() / (batches * count);
  const int picked = EmitPick(node, node.EmitReshape(data, {batches * count, width}), 0, rows);
  Shape back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  }
  node.SetOutput(node.EmitTranspose(node.EmitReshape(picked, moved), std::move(back)));
}

void ImportEyeLike(OnnxNode& node) {
  const TensorType type = node.InputType(0);
  DataType dtype = type.dtype;
  if (node.HasAttribute("dtype")) {
    auto named = DataTypeOfOnnx(static_cast<std::int32_t>(node.Int("dtype", 0)));
    if (!named.ok()) return node.Fail(named.status());
    dtype = *named;
  }
  const std::int64_t diagonal = node.Int("k", 0);
  if (!node.ok()) return;
  if (type.shape.size() != 2 || type.elements() > kMaxPicked) {
    return node.FailInvalid("input 0 is " + type.ToString() +
                            ", expected a matrix of at most 2^22 elements");
  }
  Tensor contents(TensorType{type.shape, dtype});
  for (std::int64_t i = 0; i < type.shape[0]; ++i) {
    const std::int64_t column = i + diagonal;
    if (column >= 0 && column < type.shape[1]) contents.Set(i * type.shape[1] + column, 1);
  }
  node.SetOutput(node.EmitConstant(std::move(contents)));
}

// Returns the contents of input 0, which determine the number of result elements.
const Tensor* ExpectKnown(OnnxNode& node) {
  const Tensor* known = node.KnownElements(0);
  if (node.ok() && known == nullptr) {
    node.FailUnknown(0,
                     "must be constant at import: it determines the number of elements of the "
                     "result",
                     KnownValues::kMaxElements);
  }
  return node.ok() ? known : nullptr;
}

// Positions of nonzero elements, one row per dimension.
void ImportNonZero(OnnxNode& node) {
  const Tensor* known = node.KnownElements(0);
  if (!node.ok()) return;
  if (known == nullptr) return ReturnNonZeroOfDeclaredSize(node);
  const Shape shape = known->shape();
  Shape hits;
  for (std::int64_t i = 0; i < known->elements(); ++i) {
    if (known->At(i) != 0) hits.push_back(i);
  }
  const auto count = std::ssize(hits), rank = std::ssize(shape);
  if (count == 0 || rank == 0) return node.FailUnsupported("the result is zero-size");
  Tensor places(TensorType{{rank, count}, kInt64});
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = hits[static_cast<std::size_t>(i)];
    for (std::int64_t d = rank; d-- > 0;) {
      const std::int64_t extent = shape[static_cast<std::size_t>(d)];
      places.Set(d * count + i, static_cast<double>(rest % extent));
      rest /= extent;
    }
  }
  node.SetOutput(node.EmitConstant(std::move(places)));
}

Tensor Listed(const Shape& numbers) {
  Tensor list(TensorType{{std::ssize(numbers)}, kInt64});
  std::ranges::copy(numbers, list.As<std::int64_t>().begin());
  return list;
}

// Returns the sort key of an element: its value and, for integers that a double does not represent
// exactly, the missing digits. A NaN differs from every other element and is sorted last.
std::pair<double, std::int64_t> OrderOf(const Tensor& tensor, std::int64_t index) {
  const DataType dtype = tensor.dtype();
  const double value = tensor.At(index);
  if (std::isnan(value)) return {std::numeric_limits<double>::infinity(), index + 1};
  if (!dtype.is_integer() || dtype.bits < 64) return {value, 0};
  const std::uint64_t bits = tensor.As<std::uint64_t>()[static_cast<std::size_t>(index)];
  const std::uint64_t sign = dtype.code == TypeCode::kUInt ? std::uint64_t{1} << 63 : 0;
  return {value, static_cast<std::int64_t>(bits ^ sign)};
}

// Distinct elements (or slices along `axis`): values, first position of each, index of each input
// element, and counts.
void ImportUnique(OnnxNode& node) {
  const Tensor* known = ExpectKnown(node);
  const bool sorted = node.Int("sorted", 1) != 0, whole = !node.HasAttribute("axis");
  if (known == nullptr) return;
  const std::int64_t axis = whole ? 0 : node.Axis(node.Int("axis", 0), std::ssize(known->shape()));
  if (!node.ok()) return;
  const Shape shape = whole ? Shape{known->elements()} : known->shape();
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  // Slice i as a list, in the order of its elements.
  std::vector<std::vector<std::pair<double, std::int64_t>>> slices(
      static_cast<std::size_t>(extent));
  for (std::int64_t i = 0; i < known->elements(); ++i) {
    slices[static_cast<std::size_t>(i / inner % extent)].push_back(OrderOf(*known, i));
  }
  Shape first, which(slices.size()), counts;
  const auto less = [&](std::size_t a, std::size_t b) { return slices[a] < slices[b]; };
  std::map<std::size_t, std::int64_t, decltype(less)> groups(less);  // key: one slice of the group
  Shape same(slices.size());                                         // the first equal slice
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto own = static_cast<std::int64_t>(i);
    const auto [group, added] = groups.emplace(i, own);
    if (added) first.push_back(own);
    same[i] = group->second;
  }
  if (sorted) {
    std::ranges::sort(first, [&](std::int64_t a, std::int64_t b) {
      return less(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    });
  }
  counts.assign(first.size(), 0);
  Shape number(slices.size());
  for (std::size_t u = 0; u < first.size(); ++u) {
    number[static_cast<std::size_t>(first[u])] = static_cast<std::int64_t>(u);
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    which[i] = number[static_cast<std::size_t>(same[i])];
    ++counts[static_cast<std::size_t>(which[i])];
  }
  int data = node.Input(0);
  if (whole) data = node.EmitReshape(data, shape);
  node.SetOutput(EmitPick(node, data, axis, first));
  if (node.HasOutput(1)) node.SetOutput(node.EmitConstant(Listed(first)), 1);
  if (node.HasOutput(2)) node.SetOutput(node.EmitConstant(Listed(which)), 2);
  if (node.HasOutput(3)) node.SetOutput(node.EmitConstant(Listed(counts)), 3);
}

constexpr OnnxHandlerEntry kSelectionHandlers[] = {
    {"CenterCropPad", &ImportCenterCropPad},
    {"Compress", &ImportCompress},
    {"EyeLike", &ImportEyeLike},
    {"Hardmax", &ImportHardmax},
    {"NonZero", &ImportNonZero},
    {"ReverseSequence", &ImportReverseSequence},
    {"Unique", &ImportUnique},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxSelectionHandlers() { return kSelectionHandlers; }

}  // namespace tilewright
