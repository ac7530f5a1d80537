// Attention as separate operators: products of queries and keys, additive masks, a softmax along
// the keys, and a product with the values. All kinds of masks become one bias of zeros and minus
// infinity. The result of a query for which all keys are masked is zero.

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/attention.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Returns input `index` as [batch, heads, rows, size]. An input of three dimensions has its heads
// in the last dimension.
int Heads(OnnxNode& node, int index, const char* attribute) {
  const int id = node.Input(index);
  const std::int64_t heads = node.Int(attribute, 0);
  if (!node.ok() || node.Rank(id) == 4) return id;
  node.ExpectRank(index, 3);
  return EmitSplitHeads(node, id, heads,
                        "input " + std::to_string(index) + ", attribute " + attribute);
}

// Emits earlier keys or values (input `past`) followed by `id`, and makes the result output
// `present`.
int WithPast(OnnxNode& node, int id, int past, int present) {
  if (node.HasInput(past)) {
    Operator concat{OpKind::kConcat, {}};
    concat.attributes.axis = 2;
    id = node.Emit(concat, {node.Input(past), id});
  }
  node.SetOutput(id, present);
  return id;
}

// Mask of the keys for each query. Row i of the queries corresponds to key i + `offset`.
class Bias {
 public:
  Bias(OnnxNode& node, Shape scores, std::int64_t offset)
      : node_(node), scores_(std::move(scores)), offset_(offset) {}

  // Emits a bias that broadcasts to the scores [batch, heads, queries, keys]; -1 if there is no
  // mask.
  int Emit(DataType dtype) {
    dtype_ = dtype;
    if (node_.HasInput(3)) AddMask(node_.Input(3));
    if (node_.HasInput(6)) ReadLengths();
    if (node_.Int("is_causal", 0) != 0) AddAllowed(Distances(), OpKind::kMax, 0);
    const std::int64_t left = node_.Int("left_window_size", -1);
    const std::int64_t right = node_.Int("right_window_size", -1);
    if (left < -1 || right < -1) {
      node_.FailInvalid("a window's size is below -1");
      return -1;
    }
    if (right >= 0) AddAllowed(Distances(), OpKind::kMax, right);
    if (left >= 0) AddAllowed(Distances(), OpKind::kMin, -left);
    if (lengths_ >= 0) {
      const int within =
          node_.Emit(OpKind::kLess, {EmitPositions(node_, kInt32, scores_[3]), lengths_});
      Add(Chosen(within));
    }
    return bias_;
  }

 private:
  int Chosen(int allowed) {
    const int zero = node_.EmitScalar(dtype_, 0), never = node_.EmitScalar(dtype_, kNever);
    return node_.Emit(OpKind::kWhere, {allowed, zero, never});
  }

  void Add(int term) { bias_ = bias_ < 0 ? term : node_.Emit(OpKind::kAdd, {bias_, term}); }

  // Masks out the keys that a mask of fewer keys does not cover.
  void AddMask(int mask) {
    if (!node_.ok()) return;
    const TensorType type = node_.TypeOf(mask);
    if (type.shape.empty() || type.shape.size() > 4) {
      return node_.FailInvalid("the mask is " + type.ToString() + ", expected 1 to 4 dimensions");
    }
    int term = type.dtype.is_bool() ? Chosen(mask) : node_.EmitCast(mask, dtype_);
    const std::int64_t missing = scores_[3] - type.shape.back();
    const bool broadcasts = type.shape.back() == 1 && node_.opset() < 24;
    if (missing > 0 && !broadcasts) {
      Operator pad{OpKind::kPad, {}};
      pad.attributes.pad_width.assign(2 * type.shape.size(), 0);
      pad.attributes.pad_width.back() = missing;
      pad.attributes.pad_value = kNever;
      term = node_.Emit(pad, {term});
    }
    Add(term);
  }

  // Reads the number of valid keys of each batch, [batch,1,1,1].
  void ReadLengths() {
    const int given = node_.Input(6);
    if (!node_.ok()) return;
    if (node_.TypeOf(given).elements() != scores_[0]) {
      return node_.FailInvalid("nonpad_kv_seqlen is " + node_.TypeOf(given).ToString() +
                               ", expected one number for each of " + std::to_string(scores_[0]) +
                               " batches");
    }
    lengths_ = node_.EmitReshape(node_.EmitCast(given, kInt32), {scores_[0], 1, 1, 1});
  }

  // Emits the distance of key j from query i: j - i - offset.
  int Distances() {
    const int keys = EmitPositions(node_, kInt32, scores_[3]);
    const int queries = EmitPositions(node_, kInt32, scores_[2], 1);
    const int rows = node_.Emit(OpKind::kSub, {keys, queries});
    if (lengths_ < 0 || node_.HasInput(4)) {
      return node_.Emit(OpKind::kSub, rows, static_cast<double>(offset_));
    }
    const int begin = node_.Emit(OpKind::kSub, lengths_, static_cast<double>(scores_[2]));
    return node_.Emit(OpKind::kSub, {rows, begin});
  }

  // Allows distances of at most (kMax) or at least (kMin) `bound`.
  void AddAllowed(int distances, OpKind side, std::int64_t bound) {
    const auto limit = static_cast<double>(bound);
    const int beyond = node_.EmitScalar(kInt32, side == OpKind::kMax ? limit + 1 : limit - 1);
    Add(Chosen(side == OpKind::kMax ? node_.Emit(OpKind::kLess, {distances, beyond})
                                    : node_.Emit(OpKind::kLess, {beyond, distances})));
  }

  OnnxNode& node_;
  Shape scores_;
  std::int64_t offset_;
  DataType dtype_;
  int bias_ = -1, lengths_ = -1;
};

// Returns the element type in which the softmax is computed.
DataType SoftmaxType(OnnxNode& node, DataType fallback) {
  const std::int64_t code = node.Int("softmax_precision", 0);
  if (code == 0) return fallback;
  auto dtype = DataTypeOfOnnx(static_cast<std::int32_t>(code));
  if (!dtype.ok()) node.Fail(dtype.status().WithContext("attribute softmax_precision"));
  if (dtype.ok() && !dtype->is_float()) node.FailInvalid("softmax_precision names no float type");
  return node.ok() ? *dtype : fallback;
}

// Emits the softmax along the keys. Rows whose bias is minus infinity for all keys become zero.
int Probabilities(OnnxNode& node, int scores, int bias) {
  if (bias < 0) return EmitScoreSoftmax(node, scores);
  Operator most{OpKind::kReduceMax, {}};
  most.attributes.axes = {node.Rank(bias) - 1};
  most.attributes.keepdims = true;
  const int masked = node.Emit(OpKind::kEqual, node.Emit(most, {bias}), kNever);
  const int zero = node.EmitScalar(node.TypeOf(scores).dtype, 0);
  const int safe = node.Emit(OpKind::kWhere, {masked, zero, scores});
  return node.Emit(OpKind::kWhere, {masked, zero, EmitScoreSoftmax(node, safe)});
}

// Repeats each head consecutively until there are as many heads as queries have.
int Repeated(OnnxNode& node, int id, std::int64_t heads) {
  if (!node.ok()) return -1;
  const Shape s = node.TypeOf(id).shape;
  if (s[1] == heads) return id;
  Operator broadcast{OpKind::kBroadcastTo, {}};
  broadcast.attributes.new_shape = {s[0], s[1], heads / s[1], s[2], s[3]};
  const int apart = node.EmitReshape(id, {s[0], s[1], 1, s[2], s[3]});
  return node.EmitReshape(node.Emit(broadcast, {apart}), {s[0], heads, s[2], s[3]});
}

// Checks that queries [B,H,q,d], keys [B,G,k,d] and values [B,G,k,v] fit each other.
void CheckFit(OnnxNode& node, int query, int key, int value) {
  if (!node.ok()) return;
  const TensorType types[] = {node.TypeOf(query), node.TypeOf(key), node.TypeOf(value)};
  const Shape &q = types[0].shape, &k = types[1].shape, &v = types[2].shape;
  const bool fits = q[0] == k[0] && q[0] == v[0] && k[1] == v[1] && q[1] % k[1] == 0 &&
                    k[2] == v[2] && q[3] == k[3];
  if (fits && types[0].dtype == types[1].dtype && types[0].dtype == types[2].dtype) return;
  node.FailInvalid("queries " + types[0].ToString() + ", keys " + types[1].ToString() +
                   " and values " + types[2].ToString() +
                   " do not fit (batch, heads, length, size)");
}

// Outputs the stage of the scores that the attribute selects.
void ReturnScores(OnnxNode& node, int stage, int scores, DataType dtype) {
  if (!node.HasOutput(3) || node.Int("qk_matmul_output_mode", 0) != stage) return;
  node.SetOutput(node.EmitCast(scores, dtype), 3);
}

void ImportAttention(OnnxNode& node) {
  const int query = Heads(node, 0, "q_num_heads");
  int key = WithPast(node, Heads(node, 1, "kv_num_heads"), 4, 1);
  int value = WithPast(node, Heads(node, 2, "kv_num_heads"), 5, 2);
  if (node.HasInput(4) != node.HasInput(5) || (node.HasInput(4) && node.HasInput(6))) {
    return node.FailInvalid("expected past keys and values, or lengths (nonpad_kv_seqlen)");
  }
  CheckFit(node, query, key, value);
  const std::int64_t mode = node.Int("qk_matmul_output_mode", 0);
  if (!node.ok()) return;
  if (mode < 0 || mode > 3) {
    return node.FailInvalid("attribute qk_matmul_output_mode is " + std::to_string(mode) +
                            ", expected 0 to 3");
  }
  const TensorType type = node.TypeOf(query);
  const Shape q = type.shape, k = node.TypeOf(key).shape;
  key = Repeated(node, key, q[1]);
  value = Repeated(node, value, q[1]);
  const double scale = node.Float("scale", 1 / std::sqrt(static_cast<double>(q[3])));
  if (!(scale >= 0) || !std::isfinite(scale)) {
    return node.FailInvalid("attribute scale is negative or not a number");
  }
  int scores = EmitScores(node, query, key, scale);
  ReturnScores(node, 0, scores, type.dtype);
  if (const double cap = node.Float("softcap", 0); cap > 0) {
    const int bounded = node.Emit(OpKind::kTanh, {node.Emit(OpKind::kDiv, scores, cap)});
    scores = node.Emit(OpKind::kMul, bounded, cap);
  }
  ReturnScores(node, 1, scores, type.dtype);
  const std::int64_t offset = node.HasInput(4) ? k[2] - node.InputType(1).shape.end()[-2] : 0;
  const int bias = Bias(node, {q[0], q[1], q[2], k[2]}, offset).Emit(type.dtype);
  if (bias >= 0) scores = node.Emit(OpKind::kAdd, {scores, bias});
  ReturnScores(node, 2, scores, type.dtype);
  scores = node.EmitCast(scores, SoftmaxType(node, type.dtype));
  const int shares = Probabilities(node, scores, bias);
  ReturnScores(node, 3, shares, type.dtype);
  int result = EmitMatmul(node, node.EmitCast(shares, type.dtype), value);
  if (node.ok() && node.Rank(node.Input(0)) == 3) result = EmitJoinedHeads(node, result);
  node.SetOutput(result);
}

constexpr OnnxHandlerEntry kAttentionHandlers[] = {{"Attention", &ImportAttention}};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxAttentionHandlers() { return kAttentionHandlers; }

int EmitSplitHeads(OnnxNode& node, int id, std::int64_t heads, const std::string& what) {
  if (!node.ok()) return -1;
  const Shape s = node.TypeOf(id).shape;
  if (heads < 1 || s[2] % heads != 0) {
    node.FailInvalid(what + ": " + std::to_string(heads) + " heads, expected a divisor of " +
                     std::to_string(s[2]) + " columns");
    return -1;
  }
  return node.EmitTranspose(node.EmitReshape(id, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

int EmitJoinedHeads(OnnxNode& node, int id) {
  if (!node.ok()) return -1;
  const Shape s = node.TypeOf(id).shape;
  return node.EmitReshape(node.EmitTranspose(id, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

int EmitScores(OnnxNode& node, int query, int key, double scale) {
  if (!node.ok()) return -1;
  const Shape q = node.TypeOf(query).shape, k = node.TypeOf(key).shape;
  const auto times = [&](int id, double factor) {
    return factor == 1 ? id : node.Emit(OpKind::kMul, id, factor);
  };
  // float16 scales both sides by the square root, because a product of unscaled values can
  // overflow.
  const bool half = node.TypeOf(query).dtype == kFloat16;
  const double before = half ? std::sqrt(scale) : 1;
  Operator product{OpKind::kBatchMatmul, {}};
  product.attributes.data_layout = "BMK";
  product.attributes.kernel_layout = "BNK";
  const int left = node.EmitReshape(times(query, before), {q[0] * q[1], q[2], q[3]});
  const int right = node.EmitReshape(times(key, before), {q[0] * q[1], k[2], q[3]});
  const int scores = times(node.Emit(product, {left, right}), half ? 1 : scale);
  return node.EmitReshape(scores, {q[0], q[1], q[2], k[2]});
}

int EmitScoreSoftmax(OnnxNode& node, int scores) {
  Operator softmax{OpKind::kSoftmax, {}};
  softmax.attributes.axis = node.Rank(scores) - 1;
  return node.Emit(softmax, {scores});
}

}  // namespace tilewright
