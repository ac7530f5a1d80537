// Operators that read or write elements at the positions in a tensor of indices. All of them are
// reduced to one pattern: data [O,n,I] (outer dimensions, indexed dimensions as one, inner
// dimensions) and positions from 0 to n - 1, as [O,K,I], or as [O,K,1] for whole rows of I
// elements.
//
// A read is a gather from flat data. A write to constant positions is a gather, too: a table gives
// for each element of the result its source in the data or in the updates. If the positions are
// computed at run time, each element of the result is compared with the positions of all K updates.

#include <algorithm>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Maximum number of elements of an intermediate tensor.
constexpr std::int64_t kMaxScatterComparisons = std::int64_t{1} << 26;
// Maximum number of updates of one position, each of which needs a gather.
constexpr std::size_t kMaxSummands = 16;

// Returns an integer type for positions in that many elements.
DataType IndexType(std::int64_t elements) {
  return elements <= kMaxDimension / 2 ? kInt32 : kInt64;
}

std::int64_t ProductOf(const Shape& shape, std::size_t begin, std::size_t end) {
  return Product(Shape(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                       shape.begin() + static_cast<std::ptrdiff_t>(end)));
}

// Converts constant indices (tuples of extents.size() integers) to row-major positions in
// `extents`.
Tensor ConstantIndices(OnnxNode& node, const Tensor& indices, const Shape& extents, Shape result) {
  Tensor places(TensorType{std::move(result), IndexType(Product(extents))});
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < places.elements(); ++i) {
    std::int64_t place = 0;
    for (std::int64_t extent : extents) {
      const auto at = static_cast<std::size_t>(next++);
      const std::int64_t index = indices.dtype() == kInt64 ? indices.As<std::int64_t>()[at]
                                                           : indices.As<std::int32_t>()[at];
      place = place * extent + ResolveIndex(node, index, extent);
    }
    places.Set(i, static_cast<double>(place));
  }
  return places;
}

// Emits the same conversion for indices computed at run time. Clamps indices that are out of range.
int RuntimeIndices(OnnxNode& node, int indices, const Shape& extents, const Shape& result) {
  const DataType dtype = IndexType(Product(extents));
  const std::int64_t count = Product(result), size = std::ssize(extents);
  const int tuples = node.EmitReshape(indices, {count, size});
  int places = -1;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t extent = extents[static_cast<std::size_t>(i)];
    Operator column = WholeSlice({count, size});
    column.attributes.begin[1] = i;
    column.attributes.end[1] = i + 1;
    Operator clip{OpKind::kClip, {}};
    clip.attributes.a_min = static_cast<double>(-extent);
    clip.attributes.a_max = static_cast<double>(extent - 1);
    int part = node.Emit(clip, {size == 1 ? tuples : node.Emit(column, {tuples})});
    part = node.EmitCast(node.EmitReshape(part, result), dtype);
    const int below = node.Emit(OpKind::kLess, part, 0);
    const int wrapped = node.Emit(OpKind::kAdd, part, static_cast<double>(extent));
    part = node.Emit(OpKind::kWhere, {below, wrapped, part});
    if (places >= 0) {
      places = node.Emit(OpKind::kMul, places, static_cast<double>(extent));
      part = node.Emit(OpKind::kAdd, {places, part});
    }
    places = part;
  }
  return places;
}

// Emits the positions in input 1 with shape `result`.
int Places(OnnxNode& node, const Shape& extents, const Shape& result) {
  const int indices = node.Input(1);
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(indices);
  if (type.dtype != kInt32 && type.dtype != kInt64) {
    node.FailInvalid("indices are " + type.ToString() + ", expected int32 or int64");
    return -1;
  }
  const Tensor* known = node.Contents(indices);
  if (known == nullptr) return RuntimeIndices(node, indices, extents, result);
  if (type.elements() > kMaxPicked) {
    node.FailUnsupported("indices are " + type.ToString() + ", expected at most " +
                         std::to_string(kMaxPicked) + " elements");
    return -1;
  }
  return node.EmitConstant(ConstantIndices(node, *known, extents, result));
}

// Updates of data [O,n,I]: [O,K,I], at `places` [O,K,I] or [O,K,1].
struct Updates {
  int data = -1, places = -1, values = -1;
  std::optional<OpKind> combine;  // combiner with the old element: kAdd, kMul, kMax or kMin
};

// Emits the result by a table of source rows: the rows of the data, followed by those of the
// updates.
int Replaced(OnnxNode& node, int rows, int values, const Shape& targets) {
  Shape source(static_cast<std::size_t>(node.TypeOf(rows).shape[0]));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::int64_t>(i);
  for (std::size_t k = 0; k < targets.size(); ++k) {
    source[static_cast<std::size_t>(targets[k])] = static_cast<std::int64_t>(source.size() + k);
  }
  return EmitPick(node, node.Emit(Operator{OpKind::kConcat, {}}, {rows, values}), 0, source);
}

// Combines the rows with the first update of each row, then the second one, and so on. Rows without
// an update are combined with a row of identity elements (zeros or ones) or with themselves.
int Combined(OnnxNode& node, OpKind combine, int rows, int values, const Shape& targets) {
  const auto count = static_cast<std::size_t>(node.TypeOf(rows).shape[0]);
  const bool extreme = combine == OpKind::kMax || combine == OpKind::kMin;
  Shape none(count, std::ssize(targets));
  for (std::size_t i = 0; extreme && i < count; ++i) none[i] += static_cast<std::int64_t>(i);
  std::vector<std::size_t> seen(count, 0);
  std::vector<Shape> sources;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const auto target = static_cast<std::size_t>(targets[k]);
    const std::size_t layer = seen[target]++;
    if (layer >= kMaxSummands) {
      node.FailUnsupported("more than " + std::to_string(kMaxSummands) +
                           " updates are combined at one position");
      return -1;
    }
    if (layer == sources.size()) sources.push_back(none);
    sources[layer][target] = static_cast<std::int64_t>(k);
  }
  Operator pad{OpKind::kPad, {}};
  pad.attributes.pad_width = {0, 1, 0, 0};
  pad.attributes.pad_value = combine == OpKind::kMul ? 1 : 0;
  const int padded =
      extreme ? node.Emit(Operator{OpKind::kConcat, {}}, {values, rows}) : node.Emit(pad, {values});
  for (const Shape& source : sources) {
    rows = node.Emit(combine, {rows, EmitPick(node, padded, 0, source)});
  }
  return rows;
}

int ScatteredByTable(OnnxNode& node, const Updates& updates) {
  const Shape shape = node.TypeOf(updates.data).shape;
  const Shape at = node.TypeOf(updates.places).shape;
  const std::int64_t per_row = at[2], count = shape[0] * shape[1] * per_row;
  if (count > kMaxPicked) {
    node.FailUnsupported("a table of " + std::to_string(count) + " positions, expected at most " +
                         std::to_string(kMaxPicked));
    return -1;
  }
  const Tensor& places = *node.Contents(updates.places);
  Shape targets;
  for (std::int64_t i = 0; i < places.elements(); ++i) {
    const std::int64_t outer = i / (at[1] * per_row);
    const auto place = static_cast<std::int64_t>(places.At(i));
    targets.push_back((outer * shape[1] + place) * per_row + i % per_row);
  }
  const std::int64_t width = shape[2] / per_row;
  const int rows = node.EmitReshape(updates.data, {count, width});
  const int values = node.EmitReshape(updates.values, {std::ssize(targets), width});
  return node.EmitReshape(updates.combine ? Combined(node, *updates.combine, rows, values, targets)
                                          : Replaced(node, rows, values, targets),
                          shape);
}

int ScatteredByComparing(OnnxNode& node, const Updates& updates) {
  const TensorType type = node.TypeOf(updates.data), places = node.TypeOf(updates.places);
  const Shape &shape = type.shape, &at = places.shape;
  if (updates.combine == OpKind::kMul) {
    node.FailUnknown(1, "must be indices that are constant at import, for reduction mul");
    return -1;
  }
  const std::int64_t width = updates.combine ? shape[2] : at[2];
  double looks = static_cast<double>(shape[0]) * static_cast<double>(shape[1]);
  looks *= static_cast<double>(at[1]) * static_cast<double>(width);
  if (looks > static_cast<double>(kMaxScatterComparisons)) {
    node.FailUnsupported("indices computed at run time need more than " +
                         std::to_string(kMaxScatterComparisons) +
                         " comparisons; export the model with constant indices");
    return -1;
  }
  const int own = node.EmitReshape(updates.places, {at[0], at[1], 1, at[2]});
  const int hit = node.Emit(OpKind::kEqual, {own, EmitPositions(node, places.dtype, shape[1], 1)});
  Operator reduce{OpKind::kReduceMax, {}};
  reduce.attributes.axes = {1};
  if (updates.combine) {
    const bool add = updates.combine == OpKind::kAdd;
    if (add) reduce.kind = OpKind::kReduceSum;
    if (updates.combine == OpKind::kMin) reduce.kind = OpKind::kReduceMin;
    const int values = node.EmitReshape(updates.values, {at[0], at[1], 1, shape[2]});
    const int others = add ? node.EmitScalar(type.dtype, 0)
                           : node.EmitReshape(updates.data, {shape[0], 1, shape[1], shape[2]});
    const int terms = node.Emit(OpKind::kWhere, {hit, values, others});
    return node.Emit(*updates.combine, {updates.data, node.Emit(reduce, {terms})});
  }
  // Of several updates of one position the last one counts; -1: no update.
  const int numbers = EmitPositions(node, kInt32, at[1], 2);
  const int candidates = node.Emit(OpKind::kWhere, {hit, numbers, node.EmitScalar(kInt32, -1)});
  const int last = node.Emit(reduce, {candidates});
  const int values = EmitGathered(node, updates.values, node.Emit(OpKind::kMax, last, 0));
  return node.Emit(OpKind::kWhere, {node.Emit(OpKind::kLess, last, 0), updates.data, values});
}

void ReturnScattered(OnnxNode& node, const Updates& updates, const Shape& shape) {
  if (!node.ok()) return;
  const int result = node.Contents(updates.places) != nullptr ? ScatteredByTable(node, updates)
                                                              : ScatteredByComparing(node, updates);
  node.SetOutput(node.EmitReshape(result, shape));
}

std::optional<OpKind> CombinationOf(OnnxNode& node) {
  const std::string reduction = node.String("reduction", "none");
  if (reduction == "add") return OpKind::kAdd;
  if (reduction == "mul") return OpKind::kMul;
  if (reduction == "max") return OpKind::kMax;
  if (reduction == "min") return OpKind::kMin;
  if (reduction != "none") {
    node.FailInvalid("attribute reduction is " + reduction +
                     ", expected none, add, mul, max or min");
  }
  return std::nullopt;
}

// Checks that input `index` has the shape that the other inputs require.
void ExpectShape(OnnxNode& node, int index, const Shape& expected) {
  const TensorType type = node.InputType(index);
  if (!node.ok() || type.shape == expected) return;
  node.FailInvalid("input " + std::to_string(index) + " is " + type.ToString() + ", expected " +
                   TensorType{expected, type.dtype}.ToString());
}

// Returns the axis of GatherElements and ScatterElements. Errors: the indices have more elements
// than the data along another dimension.
std::size_t ElementsAxis(OnnxNode& node) {
  const int data = node.Input(0), indices = node.Input(1);
  const auto axis = static_cast<std::size_t>(node.Axis(node.Int("axis", 0), node.Rank(data)));
  if (!node.ok()) return 0;
  const TensorType type = node.TypeOf(data), at = node.TypeOf(indices);
  bool fits = type.shape.size() == at.shape.size();
  for (std::size_t i = 0; fits && i < type.shape.size(); ++i) {
    fits = i == axis || at.shape[i] <= type.shape[i];
  }
  if (!fits) {
    node.FailInvalid("indices are " + at.ToString() + ", expected the dimensions of " +
                     type.ToString() + " but for dimension " + std::to_string(axis));
  }
  return axis;
}

// Returns [O,n,I] for dimension `axis`.
Shape Around(const Shape& shape, std::size_t axis) {
  return {ProductOf(shape, 0, axis), shape[axis], ProductOf(shape, axis + 1, shape.size())};
}

void ImportGatherElements(OnnxNode& node) {
  const std::size_t axis = ElementsAxis(node);
  if (!node.ok()) return;
  int data = node.Input(0);
  const Shape at = node.InputType(1).shape, shape = node.TypeOf(data).shape;
  Operator part = WholeSlice(at);  // the remaining elements are not read
  part.attributes.end[axis] = shape[axis];
  if (part.attributes.end != shape) data = node.Emit(part, {data});
  const int places = Places(node, {shape[axis]}, Around(at, axis));
  if (!node.ok()) return;
  data = node.EmitReshape(data, Around(node.TypeOf(data).shape, axis));
  node.SetOutput(node.EmitReshape(EmitGathered(node, data, places), at));
}

void ImportScatterElements(OnnxNode& node) {
  const std::size_t axis = ElementsAxis(node);
  Updates updates{.combine = CombinationOf(node)};
  if (!node.ok()) return;
  const Shape shape = node.InputType(0).shape, at = node.InputType(1).shape;
  ExpectShape(node, 2, at);
  Shape whole = shape;
  whole[axis] = at[axis];
  if (node.ok() && at != whole) {
    node.FailUnsupported("indices " + node.InputType(1).ToString() +
                         " that leave out a part of data " + node.InputType(0).ToString() +
                         " along other dimensions than " + std::to_string(axis));
    return;
  }
  updates.data = node.EmitReshape(node.Input(0), Around(shape, axis));
  updates.places = Places(node, {shape[axis]}, Around(at, axis));
  updates.values = node.EmitReshape(node.Input(2), Around(at, axis));
  ReturnScattered(node, updates, shape);
}

// Interpretation of shapes by GatherND and ScatterND. Data and indices share `batch` leading
// dimensions. The last dimension of the indices contains an index for each of the next dimensions
// of the data.
struct Tuples {
  Shape extents;  // indexed dimensions
  Shape data;     // [O,n,I]
  Shape places;   // [O,K,1]
  // Dimensions of the indices without the last one; dimensions of the elements that one tuple
  // selects.
  Shape rows, row;
};

Tuples TuplesOf(OnnxNode& node, std::int64_t batch) {
  const TensorType type = node.InputType(0), at = node.InputType(1);
  if (!node.ok()) return {};
  const std::int64_t rank = std::ssize(type.shape), most = std::ssize(at.shape) - 1;
  const std::int64_t size = at.shape.empty() ? 0 : at.shape.back();
  const bool fits = at.elements() > 0 && batch >= 0 && batch <= most && size >= 1 &&
                    size <= rank - batch &&
                    std::equal(at.shape.begin(), at.shape.begin() + batch, type.shape.begin());
  if (!fits) {
    node.FailInvalid("indices " + at.ToString() + " do not fit data " + type.ToString() + " with " +
                     std::to_string(batch) + " batch dimensions");
    return {};
  }
  Tuples tuples;
  const auto first = type.shape.begin() + batch;
  tuples.extents = Shape(first, first + size);
  tuples.row = Shape(first + size, type.shape.end());
  tuples.rows = Shape(at.shape.begin(), at.shape.end() - 1);
  const std::int64_t outer = ProductOf(type.shape, 0, static_cast<std::size_t>(batch));
  tuples.data = {outer, Product(tuples.extents), Product(tuples.row)};
  tuples.places = {outer, Product(tuples.rows) / outer, 1};
  return tuples;
}

void ImportGatherNd(OnnxNode& node) {
  const Tuples tuples = TuplesOf(node, node.Int("batch_dims", 0));
  const int places = Places(node, tuples.extents, tuples.places);
  if (!node.ok()) return;
  const int data = node.EmitReshape(node.Input(0), tuples.data);
  Shape result = tuples.rows;
  result.insert(result.end(), tuples.row.begin(), tuples.row.end());
  node.SetOutput(node.EmitReshape(EmitGathered(node, data, places), result));
}

void ImportScatterNd(OnnxNode& node) {
  const Tuples tuples = TuplesOf(node, 0);
  Updates updates{.combine = CombinationOf(node)};
  if (!node.ok()) return;
  Shape expected = tuples.rows;
  expected.insert(expected.end(), tuples.row.begin(), tuples.row.end());
  ExpectShape(node, 2, expected);
  updates.data = node.EmitReshape(node.Input(0), tuples.data);
  updates.places = Places(node, tuples.extents, tuples.places);
  updates.values = node.EmitReshape(node.Input(2), {1, tuples.places[1], tuples.data[2]});
  ReturnScattered(node, updates, node.InputType(0).shape);
}

constexpr OnnxHandlerEntry kGatherScatterHandlers[] = {
    {"GatherElements", &ImportGatherElements},   {"GatherND", &ImportGatherNd},
    {"Scatter", &ImportScatterElements},  // name in opsets 9 and 10
    {"ScatterElements", &ImportScatterElements}, {"ScatterND", &ImportScatterNd},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxGatherScatterHandlers() { return kGatherScatterHandlers; }

std::int64_t ResolveIndex(OnnxNode& node, std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) {
    node.FailInvalid("index " + std::to_string(index) + " is outside of " + std::to_string(extent) +
                     " elements");
    return 0;
  }
  return index < 0 ? index + extent : index;
}

int EmitPositions(OnnxNode& node, DataType dtype, std::int64_t count, std::size_t behind) {
  if (count > kMaxPicked) {
    node.FailUnsupported("needs the positions of " + std::to_string(count) +
                         " elements, expected at most " + std::to_string(kMaxPicked));
    return -1;
  }
  Tensor positions(TensorType{{count}, dtype});
  for (std::int64_t i = 0; i < count; ++i) positions.Set(i, static_cast<double>(i));
  Shape shape(behind + 1, 1);
  shape[0] = count;
  positions.Reshape(shape);
  return node.EmitConstant(std::move(positions));
}

int EmitGathered(OnnxNode& node, int data, int places) {
  if (!node.ok()) return -1;
  const Shape shape = node.TypeOf(data).shape, at = node.TypeOf(places).shape;
  const std::int64_t per_row = at[2], count = shape[0] * shape[1] * per_row;
  const DataType dtype = IndexType(count);
  int rows = node.EmitCast(places, dtype);
  if (per_row > 1) {
    rows = node.Emit(OpKind::kMul, rows, static_cast<double>(per_row));
    rows = node.Emit(OpKind::kAdd, {rows, EmitPositions(node, dtype, per_row)});
  }
  if (shape[0] > 1) {
    const auto size = static_cast<double>(shape[1] * per_row);
    const int begin = node.Emit(OpKind::kMul, EmitPositions(node, dtype, shape[0], 2), size);
    rows = node.Emit(OpKind::kAdd, {rows, begin});
  }
  const std::int64_t width = shape[2] / per_row;
  const int flat = node.EmitReshape(data, {count, width});
  const int gathered = node.Emit(Operator{OpKind::kGather, {}}, {flat, rows});
  return node.EmitReshape(gathered, {at[0], at[1], shape[2]});
}

}  // namespace tilewright
