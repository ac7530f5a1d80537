// Normalizations of sums that ONNX Runtime's optimizer fuses: a layer with its skip connection, and
// the embeddings of a transformer.

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Default in the operators' schemas; ONNX's own is 1e-5.
constexpr double kEpsilon = 1e-12F;

// Checks that input `index` is a vector with an element for each column of `data`.
int VectorOf(OnnxNode& node, int index, int data) {
  const int vector = node.Input(index);
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(vector), all = node.TypeOf(data);
  if (type.shape.size() == 1 && !all.shape.empty() && type.shape[0] == all.shape.back()) {
    return vector;
  }
  node.FailInvalid("input " + std::to_string(index) + " is " + type.ToString() +
                   ", expected a number for each column of " + all.ToString());
  return -1;
}

// Inputs: input, skip, gamma, then (unless `rms`) beta, bias: normalizes the sum of input, skip and
// bias over the last dimension. Output 3 is the sum.
void ReturnSkipNormalization(OnnxNode& node, bool rms) {
  const int data = node.Input(0), skip = node.Input(1);
  int sum = node.Emit(OpKind::kAdd, {data, skip});
  if (!node.ok()) return;
  if (node.TypeOf(sum) != node.TypeOf(data)) {
    return node.FailInvalid("skip is " + node.TypeOf(skip).ToString() + ", expected one that " +
                            "broadcasts against " + node.TypeOf(data).ToString());
  }
  const int bias = rms ? 3 : 4;
  if (node.HasInput(bias)) sum = node.Emit(OpKind::kAdd, {sum, VectorOf(node, bias, sum)});
  const double epsilon = node.Float("epsilon", kEpsilon);
  const Shape last = {node.Rank(sum) - 1};
  const NormalizedValue normalized =
      rms ? EmitRmsNormalized(node, sum, last, epsilon) : EmitNormalized(node, sum, last, epsilon);
  int result = node.Emit(OpKind::kMul, {normalized.value, VectorOf(node, 2, sum)});
  if (!rms && node.HasInput(3)) {
    result = node.Emit(OpKind::kAdd, {result, VectorOf(node, 3, sum)});
  }
  node.SetOutput(result);
  if (!rms && node.HasOutput(1)) node.SetOutput(normalized.mean, 1);
  if (node.HasOutput(2)) node.SetOutput(normalized.inverse_deviation, 2);
  if (rms && node.HasOutput(1)) {
    return node.FailUnsupported("output 1 (the mean) is used, which is not supported");
  }
  if (node.HasOutput(3)) node.SetOutput(sum, 3);
}

void ImportSkipLayerNormalization(OnnxNode& node) { ReturnSkipNormalization(node, false); }
void ImportSkipSimplifiedLayerNormalization(OnnxNode& node) { ReturnSkipNormalization(node, true); }

// Emits rows of table `table` for the indices [batch, positions] of input `numbers`.
int Rows(OnnxNode& node, int table, int numbers) {
  node.ExpectRank(table, 2);
  return node.Emit(Operator{OpKind::kGather, {}}, {node.Input(table), node.Input(numbers)});
}

// Counts the ones of a mask for each batch; zeros without a mask.
int MaskedCounts(OnnxNode& node, const Shape& numbers) {
  if (!node.HasInput(7)) return node.EmitFilled({{numbers[0]}, kInt32}, 0);
  const int ones = node.EmitCast(node.Emit(OpKind::kEqual, node.Input(7), 1), kInt32);
  Operator sum{OpKind::kReduceSum, {}};
  sum.attributes.axes = {1};
  return node.Emit(sum, {ones});
}

// Inputs: input_ids, segment_ids, word, position and segment embeddings, gamma, beta, mask,
// position_ids. Outputs: the normalized sum of the embeddings, counts of the mask, the sum.
void ImportEmbedLayerNormalization(OnnxNode& node) {
  node.ExpectRank(0, 2);
  int sum = Rows(node, 2, 0);
  if (!node.ok()) return;
  const Shape numbers = node.TypeOf(node.Input(0)).shape;
  if (node.HasInput(8)) {
    sum = node.Emit(OpKind::kAdd, {sum, Rows(node, 3, 8)});
  } else {
    node.ExpectRank(3, 2);
    const int table = node.Input(3);
    if (!node.ok()) return;
    Operator first = WholeSlice(node.TypeOf(table).shape);
    if (numbers[1] > first.attributes.end[0]) {
      return node.FailInvalid("input 3 has " + std::to_string(first.attributes.end[0]) +
                              " positions, expected at least " + std::to_string(numbers[1]));
    }
    first.attributes.end[0] = numbers[1];
    sum = node.Emit(OpKind::kAdd, {sum, node.Emit(first, {table})});
  }
  if (node.HasInput(1) != node.HasInput(4)) {
    return node.FailInvalid("expected segment_ids and segment_embedding, or neither");
  }
  if (node.HasInput(1)) sum = node.Emit(OpKind::kAdd, {sum, Rows(node, 4, 1)});
  const double epsilon = node.Float("epsilon", kEpsilon);
  node.IgnoreAttributes({"mask_index_type"});  // attribute for shape inference
  if (!node.HasOutput(1)) node.IgnoreInput(7);
  const int value = EmitNormalized(node, sum, {2}, epsilon).value;
  const int scaled = node.Emit(OpKind::kMul, {value, VectorOf(node, 5, sum)});
  node.SetOutput(node.Emit(OpKind::kAdd, {scaled, VectorOf(node, 6, sum)}));
  if (node.HasOutput(1)) node.SetOutput(MaskedCounts(node, numbers), 1);
  if (node.HasOutput(2)) node.SetOutput(sum, 2);
}

constexpr OnnxHandlerEntry kEmbeddingHandlers[] = {
    {"EmbedLayerNormalization", &ImportEmbedLayerNormalization},
    {"SkipLayerNormalization", &ImportSkipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", &ImportSkipSimplifiedLayerNormalization},
};

}  // namespace

std::span<const OnnxHandlerEntry> RuntimeEmbeddingHandlers() { return kEmbeddingHandlers; }

}  // namespace tilewright
