// Attention and MultiHeadAttention of ONNX Runtime's domain. For masked keys a large negative
// number (mask_filter_value), not minus infinity, is added to the scores. If all keys of a row are
// masked, the row therefore attends to all keys.

#include <array>
#include <cmath>
#include <limits>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/attention.h"
#include "src/graph/onnx/operators/quantized/integer.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Queries, keys and values, [batch, heads, rows, size] each.
struct AttentionOperands {
  int query = -1, key = -1, value = -1;
};

// Input and output indices of the operator's operands.
struct AttentionPlaces {
  int mask = -1, bias = -1, scores = -1, past = -1;
};

int Slice(OnnxNode& node, int id, std::size_t axis, std::int64_t begin, std::int64_t end) {
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(id);
  if (axis >= type.shape.size()) {
    node.FailInvalid("an operand is " + type.ToString() + ", expected more dimensions");
    return -1;
  }
  Operator slice = WholeSlice(type.shape);
  slice.attributes.begin[axis] = begin;
  slice.attributes.end[axis] = end;
  return node.Emit(slice, {id});
}

// Emits element `index` of dimension `axis` and drops the dimension.
int PartAt(OnnxNode& node, int id, std::size_t axis, std::int64_t index) {
  const int part = Slice(node, id, axis, index, index + 1);
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(part).shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return node.EmitReshape(part, shape);
}

// Concatenates `earlier` and `later` along the rows.
int Behind(OnnxNode& node, int earlier, int later) {
  Operator concat{OpKind::kConcat, {}};
  concat.attributes.axis = 2;
  return node.Emit(concat, {earlier, later});
}

// Emits 0 if `allowed`, else the number that replaces minus infinity.
int FilteredMask(OnnxNode& node, int allowed, DataType dtype) {
  const double filter = node.Float("mask_filter_value", -10000);
  return node.Emit(OpKind::kWhere,
                   {allowed, node.EmitScalar(dtype, 0), node.EmitScalar(dtype, filter)});
}

// Emits the term of a mask: lengths [batch], ends and begins [2 * batch], or numbers that are
// positive for allowed keys: [batch, keys] or [batch, queries, keys]. The term broadcasts to
// `scores`.
int MaskTerm(OnnxNode& node, int index, const Shape& scores, DataType dtype) {
  const int given = node.Input(index);
  if (!node.ok()) return -1;
  const Shape shape = node.TypeOf(given).shape;
  const std::int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  const int mask = node.EmitCast(given, kInt32);
  if (shape == Shape{batch} || shape == Shape{2 * batch}) {
    const int places = EmitPositions(node, kInt32, keys);
    const int ends = node.EmitReshape(Slice(node, mask, 0, 0, batch), {batch, 1, 1, 1});
    const int before = node.Emit(OpKind::kLess, {places, ends});
    if (shape[0] == batch) return FilteredMask(node, before, dtype);
    const int begins = node.EmitReshape(Slice(node, mask, 0, batch, 2 * batch), {batch, 1, 1, 1});
    const int outside = node.Emit(OpKind::kLess, {places, begins});
    const int inside = node.Emit(OpKind::kWhere, {outside, node.EmitScalar(kBool, 0), before});
    return FilteredMask(node, inside, dtype);
  }
  const bool rows = shape == Shape{batch, queries, keys};
  if (!rows && shape != Shape{batch, keys}) {
    node.FailUnsupported("the mask is " + node.TypeOf(given).ToString() + ", expected " +
                         std::to_string(batch) + " lengths, twice as many, or a number for each " +
                         "key (" + std::to_string(keys) + "), also of each query (" +
                         std::to_string(queries) + ")");
    return -1;
  }
  const int shaped = node.EmitReshape(mask, {batch, 1, rows ? queries : 1, keys});
  return FilteredMask(node, node.Emit(OpKind::kLess, {node.EmitScalar(kInt32, 0), shaped}), dtype);
}

// Emits the lowest float for keys after the query. The last query is aligned with the last key.
int CausalTerm(OnnxNode& node, const Shape& scores, DataType dtype) {
  const std::int64_t queries = scores[2], keys = scores[3], past = keys - queries;
  const int places = EmitPositions(node, kInt32, keys);
  const int rows = EmitPositions(node, kInt32, queries, 1);
  const int last = node.Emit(OpKind::kAdd, rows, static_cast<double>(past + 1));
  const double least = dtype == kFloat16 ? -65504.0 : std::numeric_limits<float>::lowest();
  return node.Emit(OpKind::kWhere, {node.Emit(OpKind::kLess, {places, last}),
                                    node.EmitScalar(dtype, 0), node.EmitScalar(dtype, least)});
}

// Emits scores, their softmax, and its products with the values: output 0.
void ReturnAttention(OnnxNode& node, const AttentionOperands& of, const AttentionPlaces& places) {
  if (!node.ok()) return;
  const TensorType query = node.TypeOf(of.query), key = node.TypeOf(of.key),
                   value = node.TypeOf(of.value);
  const Shape &q = query.shape, &k = key.shape, &v = value.shape;
  if (q[0] != k[0] || q[1] != k[1] || q[3] != k[3] || k[0] != v[0] || k[1] != v[1] ||
      k[2] != v[2]) {
    return node.FailInvalid("queries " + query.ToString() + ", keys " + key.ToString() +
                            " and values " + value.ToString() +
                            " do not fit (batch, heads, length, size)");
  }
  double scale = node.Float("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(q[3]));
  if (!(scale > 0) || !std::isfinite(scale)) {
    return node.FailInvalid("attribute scale is negative or not a number");
  }
  node.IgnoreAttributes({"mask_filter_value"});  // no mask uses it
  const Shape shape = {q[0], q[1], q[2], k[2]};
  int scores = EmitScores(node, of.query, of.key, scale);
  const auto add = [&](int term) { scores = node.Emit(OpKind::kAdd, {scores, term}); };
  if (node.HasInput(places.mask)) add(MaskTerm(node, places.mask, shape, query.dtype));
  if (node.Int("unidirectional", 0) != 0) add(CausalTerm(node, shape, query.dtype));
  if (node.HasInput(places.bias)) add(node.Input(places.bias));
  if (!node.ok()) return;
  if (node.TypeOf(scores).shape != shape) {
    return node.FailInvalid("the bias of the scores is " + node.InputType(places.bias).ToString() +
                            ", expected one that broadcasts against " +
                            TensorType{shape, query.dtype}.ToString());
  }
  const int result = EmitMatmul(node, EmitScoreSoftmax(node, scores), of.value);
  node.SetOutput(EmitJoinedHeads(node, result));
}

// Emits the attention of `all`, the projections [B,S,q+k+v].
void ReturnPackedAttention(OnnxNode& node, int all, const AttentionPlaces& places) {
  const std::int64_t heads = node.Int("num_heads", 0);
  if (node.Int("do_rotary", 0) != 0) node.FailUnsupported("attribute do_rotary is not supported");
  if (node.Int("past_present_share_buffer", 0) != 0) {
    node.FailUnsupported("attribute past_present_share_buffer is not supported");
  }
  node.IgnoreAttributes({"rotary_embedding_dim"});
  if (!node.ok()) return;
  const std::int64_t columns = node.TypeOf(all).shape[2];
  const Shape sizes = node.Ints("qkv_hidden_sizes", {columns / 3, columns / 3, columns / 3}, 3);
  if (!node.ok()) return;
  if (sizes[0] < 1 || sizes[2] < 1 || sizes[1] != sizes[0] || 2 * sizes[0] + sizes[2] != columns) {
    return node.FailInvalid("weights of " + std::to_string(columns) +
                            " columns do not fit the sizes of queries, keys and values");
  }
  AttentionOperands of;
  std::int64_t begin = 0;
  int* const parts[] = {&of.query, &of.key, &of.value};
  for (std::size_t i = 0; i < 3; ++i) {
    const int part = Slice(node, all, 2, begin, begin + sizes[i]);
    *parts[i] = EmitSplitHeads(node, part, heads, "attribute num_heads");
    begin += sizes[i];
  }
  if (node.HasInput(places.past)) {
    node.ExpectRank(places.past, 5);
    of.key = Behind(node, PartAt(node, node.Input(places.past), 0, 0), of.key);
    of.value = Behind(node, PartAt(node, node.Input(places.past), 0, 1), of.value);
  }
  if (node.HasOutput(1) && node.ok()) {
    Operator concat{OpKind::kConcat, {}};
    std::vector<int> both;
    for (const int id : {of.key, of.value}) {
      Shape shape = node.TypeOf(id).shape;
      shape.insert(shape.begin(), 1);
      both.push_back(node.EmitReshape(id, shape));
    }
    node.SetOutput(node.Emit(concat, both), 1);
  }
  ReturnAttention(node, of, places);
}

// Inputs: input [B,S,I], weights [I,q+k+v], bias, mask, past [2,B,N,P,h], bias of the scores.
void ImportRuntimeAttention(OnnxNode& node) {
  node.ExpectRank(0, 3);
  node.ExpectRank(1, 2);
  int all = EmitMatmul(node, node.Input(0), node.Input(1));
  if (node.HasInput(2)) all = node.Emit(OpKind::kAdd, {all, node.Input(2)});
  ReturnPackedAttention(node, all, {.mask = 3, .bias = 5, .past = 4});
}

// Inputs: input [B,S,I] and weights [I,q+k+v] (8-bit integers), bias, input scale, weight scales,
// mask, input zero point, weight zero points, past. Only the projections are computed by integers.
void ImportQuantizedAttention(OnnxNode& node) {
  node.ExpectRank(0, 3);
  node.ExpectRank(1, 2);
  const int sums = IntegerMatmulOfInputs(node, 0, 6, 1, 7);
  const int all = EmitRealSums(node, sums, node.Input(3), 4, 2);
  ReturnPackedAttention(node, all, {.mask = 5, .past = 8});
}

// Adds the elements from `begin` on of input 3, if present, to `id` [B,S,size].
int WithBias(OnnxNode& node, int id, std::int64_t begin) {
  if (!node.HasInput(3) || !node.ok()) return id;
  const std::int64_t size = node.TypeOf(id).shape.back();
  return node.Emit(OpKind::kAdd, {id, Slice(node, node.Input(3), 0, begin, begin + size)});
}

// Reads queries, keys and values of MultiHeadAttention: three inputs of three dimensions; keys and
// values of four (already split into heads); all of them packed, [B,S,N,3,h]; or packed keys and
// values, [B,S,N,2,h].
AttentionOperands MultiHeadOperands(OnnxNode& node, std::int64_t heads) {
  AttentionOperands of;
  const int query = node.Input(0);
  if (!node.ok()) return of;
  const auto packed = [&](int id, std::int64_t index) {
    return node.EmitTranspose(PartAt(node, id, 3, index), {0, 2, 1, 3});
  };
  const auto fits = [&](int id, std::int64_t count) {
    const Shape shape = node.TypeOf(id).shape;
    return shape.size() == 5 && shape[2] == heads && shape[3] == count;
  };
  if (fits(query, 3) && !node.HasInput(1) && !node.HasInput(2) && !node.HasInput(3)) {
    return {packed(query, 0), packed(query, 1), packed(query, 2)};
  }
  node.ExpectRank(0, 3);
  const auto split = [&](int id, std::int64_t begin) {
    return EmitSplitHeads(node, WithBias(node, id, begin), heads, "attribute num_heads");
  };
  of.query = split(query, 0);
  const int key = node.Input(1);
  if (!node.ok()) return of;
  const std::int64_t width = node.TypeOf(query).shape[2];
  if (fits(key, 2) && !node.HasInput(2) && !node.HasInput(3)) {
    of.key = packed(key, 0);
    of.value = packed(key, 1);
    return of;
  }
  const int value = node.Input(2);
  if (node.ok() && node.Rank(key) == 4 && node.Rank(value) == 4) {
    if (node.HasInput(3)) node.FailUnsupported("a bias for keys of four dimensions");
    of.key = key;
    of.value = value;
    return of;
  }
  node.ExpectRank(1, 3);
  node.ExpectRank(2, 3);
  of.key = split(key, width);
  of.value = split(value, 2 * width);
  return of;
}

// Inputs: query, key, value, bias, key padding mask, bias of the scores, past keys and values.
void ImportMultiHeadAttention(OnnxNode& node) {
  const std::int64_t heads = node.Int("num_heads", 0);
  AttentionOperands of = MultiHeadOperands(node, heads);
  if (node.HasInput(6) != node.HasInput(7)) {
    return node.FailInvalid("expected past keys and values, or neither");
  }
  if (node.HasInput(6)) {
    node.ExpectRank(6, 4);
    node.ExpectRank(7, 4);
    of.key = Behind(node, node.Input(6), of.key);
    of.value = Behind(node, node.Input(7), of.value);
  }
  if (node.HasOutput(1)) node.SetOutput(of.key, 1);
  if (node.HasOutput(2)) node.SetOutput(of.value, 2);
  if (node.HasOutput(3)) {
    return node.FailUnsupported("output 3 (the scores) is used, which is not supported");
  }
  ReturnAttention(node, of, {.mask = 4, .bias = 5});
}

constexpr OnnxHandlerEntry kRuntimeAttentionHandlers[] = {
    {"Attention", &ImportRuntimeAttention},
    {"MultiHeadAttention", &ImportMultiHeadAttention},
    {"QAttention", &ImportQuantizedAttention},
};

}  // namespace

std::span<const OnnxHandlerEntry> RuntimeAttentionHandlers() { return kRuntimeAttentionHandlers; }

}  // namespace tilewright
