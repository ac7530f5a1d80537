// Layers of recent transformers that are single operators in ONNX.

#include <algorithm>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Emits elements begin, begin + step, … of the last dimension, up to `end`.
int LastPart(OnnxNode& node, int id, std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
  if (!node.ok()) return -1;
  Operator slice = WholeSlice(node.TypeOf(id).shape);
  slice.attributes.begin.back() = begin;
  slice.attributes.end.back() = end;
  slice.attributes.steps.back() = step;
  return node.Emit(slice, {id});
}

int JoinLast(OnnxNode& node, int a, int b) {
  Operator concat{OpKind::kConcat, {}};
  concat.attributes.axis = node.Rank(a) - 1;
  return node.Emit(concat, {a, b});
}

// Emits sines or cosines of input `index` for each position: [batch,positions,1,half] or, if the
// data has four dimensions, [batch,1,positions,half].
int Angles(OnnxNode& node, int index, bool heads_first, const Shape& places, std::int64_t half) {
  int cache = node.Input(index);
  if (node.HasInput(3)) {
    cache = node.Emit(Operator{OpKind::kGather, {}}, {cache, node.Input(3)});
  }
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(cache);
  if (type.shape != Shape{places[0], places[1], half}) {
    node.FailInvalid("input " + std::to_string(index) + " gives " + type.ToString() +
                     ", expected " +
                     TensorType{{places[0], places[1], half}, type.dtype}.ToString());
    return -1;
  }
  return node.EmitReshape(cache, heads_first ? Shape{places[0], 1, places[1], half}
                                             : Shape{places[0], places[1], 1, half});
}

// Inputs: X, cos, sin, positions: rotates pairs of elements by the angle of their position.
void ImportRotaryEmbedding(OnnxNode& node) {
  int data = node.Input(0);
  const std::int64_t heads = node.Int("num_heads", 0);
  std::int64_t width = node.Int("rotary_embedding_dim", 0);
  const bool interleaved = node.Int("interleaved", 0) != 0;
  if (!node.ok()) return;
  const Shape given = node.TypeOf(data).shape;
  if (given.size() == 3) {
    if (heads < 1 || given[2] % heads != 0) {
      return node.FailInvalid("attribute num_heads is " + std::to_string(heads) +
                              ", expected a divisor of " + std::to_string(given[2]) + " columns");
    }
    data = node.EmitReshape(data, {given[0], given[1], heads, given[2] / heads});
  } else {
    node.ExpectRank(0, 4);
  }
  if (!node.ok()) return;
  const bool heads_first = given.size() == 4;
  const Shape shape = node.TypeOf(data).shape;
  if (width == 0) width = shape[3];
  if (width < 2 || width > shape[3] || width % 2 != 0) {
    return node.FailInvalid("turns " + std::to_string(width) +
                            " elements of a head, expected an even number of at most " +
                            std::to_string(shape[3]));
  }
  const std::int64_t half = width / 2;
  const Shape places = {shape[0], heads_first ? shape[2] : shape[1]};
  const int cosine = Angles(node, 1, heads_first, places, half);
  const int sine = Angles(node, 2, heads_first, places, half);
  const int left = interleaved ? LastPart(node, data, 0, width, 2) : LastPart(node, data, 0, half);
  const int right =
      interleaved ? LastPart(node, data, 1, width, 2) : LastPart(node, data, half, width);
  const auto product = [&](int a, int b) { return node.Emit(OpKind::kMul, {a, b}); };
  int real = node.Emit(OpKind::kSub, {product(left, cosine), product(right, sine)});
  int imaginary = node.Emit(OpKind::kAdd, {product(left, sine), product(right, cosine)});
  Shape turned = shape;
  turned[3] = width;
  if (interleaved) {
    const Shape apart = {shape[0], shape[1], shape[2], half, 1};
    real = node.EmitReshape(real, apart);
    imaginary = node.EmitReshape(imaginary, apart);
  }
  int result = node.EmitReshape(JoinLast(node, real, imaginary), turned);
  if (width < shape[3]) result = JoinLast(node, result, LastPart(node, data, width, shape[3]));
  node.SetOutput(node.EmitReshape(result, given));
}

// a * sigmoid(alpha * a) * b
void ImportSwiGlu(OnnxNode& node) {
  const int a = node.Input(0), b = node.Input(1);
  if (node.ok() && node.TypeOf(a) != node.TypeOf(b)) {
    return node.FailInvalid("inputs are " + node.TypeOf(a).ToString() + " and " +
                            node.TypeOf(b).ToString() + ", expected one type and shape");
  }
  const double alpha = node.Float("alpha", 1);
  const int scaled = alpha == 1 ? a : node.Emit(OpKind::kMul, a, alpha);
  const int gate = node.Emit(OpKind::kMul, {a, node.Emit(OpKind::kSigmoid, {scaled})});
  node.Return(Operator{OpKind::kMul, {}}, {gate, b});
}

// Inputs: input [B,C,L], weight [C,1,k], bias [C], state [B,C,k-1] before the input: a causal
// convolution of each channel, and the state after it.
void ImportCausalConvWithState(OnnxNode& node) {
  node.ExpectRank(0, 3);
  node.ExpectRank(1, 3);
  const std::string activation = node.String("activation", "none");
  if (!node.ok()) return;
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return node.FailInvalid("attribute activation is " + activation +
                            ", expected none, silu or swish");
  }
  const Shape s = node.InputType(0).shape, w = node.InputType(1).shape;
  const std::int64_t back = w[2] - 1;
  int data = node.Input(0);
  if (back > 0 && node.HasInput(3)) {
    data = JoinLast(node, node.Input(3), data);
  } else if (back > 0) {
    Operator pad{OpKind::kPad, {}};
    pad.attributes.pad_width = {0, 0, 0, 0, back, 0};
    data = node.Emit(pad, {data});
  }
  Operator op{OpKind::kConv2d, {}};
  op.attributes.data_layout = "NCHW";
  op.attributes.kernel_layout = "OIHW";
  op.attributes.groups = s[1];
  const int image = node.EmitReshape(data, {s[0], s[1], 1, s[2] + back});
  const int kernel = node.EmitReshape(node.Input(1), {w[0], w[1], 1, w[2]});
  int result = AddBias(node, node.Emit(op, {image, kernel}), 2);
  if (activation != "none") {
    result = node.Emit(OpKind::kMul, {result, node.Emit(OpKind::kSigmoid, {result})});
  }
  node.SetOutput(node.EmitReshape(result, {s[0], w[0], s[2]}));
  if (back == 0 && node.HasOutput(1)) {
    return node.FailUnsupported("a kernel of one element has a zero-size state");
  }
  if (node.HasOutput(1)) node.SetOutput(LastPart(node, data, s[2], s[2] + back), 1);
}

// Inputs: past [B,…], update, the position in each batch where it is written along `axis`.
void ImportTensorScatter(OnnxNode& node) {
  const int data = node.Input(0), update = node.Input(1);
  const std::int64_t rank = node.Rank(data), axis = node.Axis(node.Int("axis", -2), rank);
  const std::string mode = node.String("mode", "linear");
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape, written = node.TypeOf(update).shape;
  const auto at = static_cast<std::size_t>(axis);
  Shape fitting = shape;
  if (written.size() == shape.size()) fitting[at] = written[at];
  if (axis == 0 || written != fitting || written[at] > shape[at] ||
      (mode != "linear" && mode != "circular")) {
    return node.FailInvalid("update " + node.TypeOf(update).ToString() + " of " +
                            node.TypeOf(data).ToString() + " along dimension " +
                            std::to_string(axis) + " in mode " + mode + " does not fit");
  }
  // Position in the update of each result element: its position minus the start.
  const auto behind = static_cast<std::size_t>(rank - axis - 1);
  int place = EmitPositions(node, kInt32, shape[at], behind);
  if (node.HasInput(2)) {
    Shape begins(static_cast<std::size_t>(rank), 1);
    begins[0] = shape[0];
    const int begin = node.EmitReshape(node.EmitCast(node.Input(2), kInt32), begins);
    place = node.Emit(OpKind::kSub, {place, begin});
  }
  if (mode == "circular") {
    const auto size = static_cast<double>(shape[at]);
    const int wrapped = node.Emit(OpKind::kAdd, place, size);
    place = node.Emit(OpKind::kWhere, {node.Emit(OpKind::kLess, place, 0), wrapped, place});
  }
  const int before = node.Emit(OpKind::kLess, place, 0);
  const int inside = node.Emit(OpKind::kLess, place, static_cast<double>(written[at]));
  const int no = node.EmitScalar(kBool, 0);
  const int own = node.Emit(OpKind::kWhere, {before, no, inside});
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_max = static_cast<double>(written[at] - 1);
  Shape places(static_cast<std::size_t>(rank), 1);
  places[0] = shape[0];
  places[at] = shape[at];
  Operator broadcast{OpKind::kBroadcastTo, {}};
  broadcast.attributes.new_shape = places;
  place = node.Emit(broadcast, {node.Emit(clip, {place})});
  // As rows: batches and dimensions before the axis, the axis, dimensions after it.
  std::int64_t middle = 1, inner = 1;
  for (std::size_t i = 1; i < at; ++i) middle *= shape[i];
  for (std::size_t i = at + 1; i < shape.size(); ++i) inner *= shape[i];
  broadcast.attributes.new_shape = {shape[0], middle, shape[at]};
  const int rows = node.Emit(broadcast, {node.EmitReshape(place, {shape[0], 1, shape[at]})});
  const int gathered =
      EmitGathered(node, node.EmitReshape(update, {shape[0] * middle, written[at], inner}),
                   node.EmitReshape(rows, {shape[0] * middle, shape[at], 1}));
  node.Return(Operator{OpKind::kWhere, {}}, {own, node.EmitReshape(gathered, shape), data});
}

constexpr OnnxHandlerEntry kTransformerHandlers[] = {
    {"CausalConvWithState", &ImportCausalConvWithState},
    {"RotaryEmbedding", &ImportRotaryEmbedding},
    {"SwiGLU", &ImportSwiGlu},
    {"TensorScatter", &ImportTensorScatter},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxTransformerHandlers() { return kTransformerHandlers; }

}  // namespace tilewright
