// Conversion of the operators before QuantizeLinear to integer operators. It traces the input back
// through operators with an integer form to quantized values.

#include "src/graph/onnx/operators/quantized/qdq.h"

#include <algorithm>
#include <cmath>

#include "src/graph/onnx/operators/quantized/exact_rescale.h"
#include "src/graph/onnx/operators/quantized/quantized_sum.h"
#include "src/graph/onnx/operators/quantized/quantized_value.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr int kMaxDepth = 32;  // operators between a product and the following QuantizeLinear
// Limit of visited values for one QuantizeLinear. A value that is repeatedly combined with itself
// is visited once for each path.
constexpr int kMaxVisits = 512;

std::optional<double> ScalarAt(OnnxNode& node, int id) {
  const Tensor* contents = node.TypeOf(id).elements() == 1 ? node.Contents(id) : nullptr;
  return contents == nullptr ? std::nullopt : std::optional(contents->At(0));
}

bool HasQuantizedSource(OnnxNode& node, int id) {
  std::vector<int> reached = {id};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (node.FindQuantized(reached[i]) != nullptr) return true;
    const Node* value = OperatorAt(node, reached[i]);
    if (value == nullptr) continue;
    for (int input : value->inputs) {
      const bool known = std::ranges::find(reached, input) != reached.end();
      if (!known && std::ssize(reached) < kMaxVisits) reached.push_back(input);
    }
  }
  return false;
}

/// Converter that traces back from the input of a QuantizeLinear. If a value has no integer form,
/// its functions record the reason and return -1.
class Quantizer {
 public:
  explicit Quantizer(OnnxNode& node) : node_(node) {}

  const std::string& why() const { return why_; }

  int Quantize(int id, const QuantizedRange& range, int depth = 0) {
    if (!node_.ok()) return -1;
    if (depth > kMaxDepth || ++visits_ > kMaxVisits) return Refuse("too much lies before it");
    if (const auto quantized = QuantizedValueOf(node_, id)) return Rescale(*quantized, range);
    const Node* value = OperatorAt(node_, id);
    if (value == nullptr) return Refuse(Quoted(node_, id) + " is not quantized");
    const Operator op = value->op;
    const std::vector<int> inputs = value->inputs;
    if (PreservesValues(op.kind)) return Move(op, inputs, range, depth);
    switch (op.kind) {
      case OpKind::kRelu:
        return Bound(inputs[0], 0, true, range, depth);
      case OpKind::kClip: {
        QuantizedRange bounded = range;
        bounded.low = range.Quantize(op.attributes.a_min);
        bounded.high = range.Quantize(op.attributes.a_max);
        if (bounded.low > bounded.high) return Refuse("its bounds are empty");
        return Quantize(inputs[0], bounded, depth + 1);
      }
      case OpKind::kMax:
      case OpKind::kMin:
        if (const auto bound = ScalarAt(node_, inputs[1])) {
          // A constant of higher rank than the value adds dimensions of size 1 to the result.
          const Shape shape = node_.TypeOf(id).shape;
          const int bounded = Bound(inputs[0], *bound, op.kind == OpKind::kMax, range, depth);
          return bounded < 0 ? -1 : node_.EmitReshape(bounded, shape);
        }
        return Refuse("only bounds that are constant have an integer form");
      case OpKind::kPad:
        return Pad(op, inputs[0], range, depth);
      case OpKind::kConcat:
        return Concat(op, inputs, range, depth);
      case OpKind::kAdd:
      case OpKind::kSub:
        return Sum(inputs, op.kind, range);
      case OpKind::kMul:
        return Product(inputs, range);
      case OpKind::kGlobalAvgPool2d:
        return Mean(inputs[0], {2, 3}, true, range);
      case OpKind::kReduceMean:
        return Mean(inputs[0], op.attributes.axes, op.attributes.keepdims, range);
      case OpKind::kAvgPool2d:
        return AveragePool(op.attributes, inputs[0], range);
      default:
        return IsAnchor(op.kind) ? Silence() : Refuse(NoIntegerForm(op.kind));
    }
  }

 private:
  int Refuse(std::string why) {
    if (why_.empty() && !silent_) why_ = std::move(why);
    return -1;
  }
  // A product in float32 already has its own note, if one is due.
  int Silence() {
    silent_ = true;
    return -1;
  }

  static std::string NoIntegerForm(OpKind kind) {
    const std::string name(OpName(kind));
    if (kind == OpKind::kBatchNorm) {
      return name + " has no integer form; fold it into the convolution before quantizing";
    }
    if (IsElementwise(kind)) {
      return name +
             " has no integer form; it is computed element by element in the kernel that "
             "quantizes it";
    }
    return name + " has no integer form, or its operands are not quantized";
  }

  int Rescale(const QuantizedValue& quantized, const QuantizedRange& range) {
    const DataType dtype = node_.TypeOf(quantized.id).dtype;
    const bool same_scale = IsPerTensor(quantized) && quantized.quantization_params.scales[0] ==
                                                          static_cast<float>(range.scale);
    if (same_scale && quantized.quantization_params.zero_point == range.zero_point &&
        dtype == range.dtype) {
      if (range.IsWhole()) return quantized.id;
      Operator clip{OpKind::kClip, {}};
      clip.attributes.a_min = static_cast<double>(range.low);
      clip.attributes.a_max = static_cast<double>(range.high);
      return node_.Emit(clip, {quantized.id});
    }
    if (!same_scale) {
      if (const int exact = EmitExactRescale(node_, quantized, range); exact >= 0) return exact;
    }
    const int value = EmitOffset(node_, quantized);
    if (same_scale) {
      return dtype.is_float() ? EmitRounded(node_, value, range)
                              : EmitNarrowed(node_, value, range);
    }
    return EmitRequantized(node_, value, FactorsOf(node_, quantized, range.scale), range);
  }

  int Move(const Operator& op, std::vector<int> inputs, const QuantizedRange& range, int depth) {
    inputs[0] = Quantize(inputs[0], range, depth + 1);
    return node_.Emit(op, std::move(inputs));
  }

  int Bound(int id, double bound, bool below, QuantizedRange range, int depth) {
    (below ? range.low : range.high) = range.Quantize(bound);
    return Quantize(id, range, depth + 1);
  }

  int Pad(Operator op, int data, const QuantizedRange& range, int depth) {
    op.attributes.pad_value = static_cast<double>(range.Quantize(op.attributes.pad_value));
    return node_.Emit(op, {Quantize(data, range, depth + 1)});
  }

  int Concat(const Operator& op, std::vector<int> inputs, const QuantizedRange& range, int depth) {
    for (int& input : inputs) input = Quantize(input, range, depth + 1);
    return node_.Emit(op, std::move(inputs));
  }

  // Returns an operand of a sum or product.
  std::optional<QuantizedValue> Operand(int id) {
    auto quantized = QuantizedValueOf(node_, id);
    if (quantized) return quantized;
    const Node* value = OperatorAt(node_, id);
    if (value != nullptr && IsAnchor(value->op.kind)) Silence();
    Refuse("its operand " + Quoted(node_, id) + " is not quantized");
    return std::nullopt;
  }

  int Sum(const std::vector<int>& inputs, OpKind kind, const QuantizedRange& range) {
    const auto a = Operand(inputs[0]), b = Operand(inputs[1]);
    if (!a || !b) return -1;
    if (const int exact = EmitExactPair(node_, kind, *a, *b, range); exact >= 0) return exact;
    if (IsPerTensor(*a) && a->quantization_params.scales == b->quantization_params.scales) {
      const int sum = node_.Emit(kind, {EmitOffset(node_, *a), EmitOffset(node_, *b)});
      return Rescale({sum, {a->quantization_params.scales, 0, 0}}, range);
    }
    const int sum = EmitQuantizedSum(node_, kind, *a, *b, range);
    return sum < 0 ? Refuse("the scales of its operands are too far apart") : sum;
  }

  int Product(const std::vector<int>& inputs, const QuantizedRange& range) {
    const auto a = Operand(inputs[0]), b = Operand(inputs[1]);
    if (!a || !b) return -1;
    for (const auto* quantized : {&*a, &*b}) {
      if (!IsPerTensor(*quantized) || node_.TypeOf(quantized->id).dtype.bits > 8) {
        return Refuse(
            "an operand has more than 8 bits or scales per channel; quantize it with one");
      }
    }
    const int exact = EmitExactPair(node_, OpKind::kMul, *a, *b, range);
    if (exact >= 0) return exact;
    const int product = node_.Emit(OpKind::kMul, {EmitOffset(node_, *a), EmitOffset(node_, *b)});
    return Rescale(
        {product, {{a->quantization_params.scales[0] * b->quantization_params.scales[0]}, 0, 0}},
        range);
  }

  // Divides `sum`, int32 sums over `count` elements, minus their zero points, by `count`.
  int Divide(int sum, const QuantizedValue& quantized, std::int64_t count,
             const QuantizedRange& range) {
    const std::int64_t zeros = count * quantized.quantization_params.zero_point;
    if (zeros != 0) {
      sum = node_.Emit(OpKind::kSub, {sum, node_.EmitScalar(kInt32, static_cast<double>(zeros))});
    }
    return Rescale(
        {sum, {{quantized.quantization_params.scales[0] / static_cast<float>(count)}, 0, 0}},
        range);
  }

  // Returns an operand of a mean over `count` elements.
  std::optional<QuantizedValue> Averaged(int data, std::int64_t count) {
    auto quantized = Operand(data);
    if (!quantized) return std::nullopt;
    // 8-bit elements, so that a sum fits in int32.
    constexpr std::int64_t kMaxElements = std::int64_t{1} << 22;
    const bool fits = IsPerTensor(*quantized) && node_.TypeOf(quantized->id).dtype.bits <= 8;
    if (fits && count <= kMaxElements) return quantized;
    Refuse("its operand has more than 8 bits, scales per channel or too many elements");
    return std::nullopt;
  }

  int Mean(int data, Shape axes, bool keepdims, const QuantizedRange& range) {
    const Shape shape = node_.TypeOf(data).shape;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool over = axes.empty() || std::ranges::count(axes, static_cast<std::int64_t>(i)) > 0;
      if (over) count *= shape[i];
    }
    const auto quantized = Averaged(data, count);
    if (!quantized) return -1;
    Operator op{OpKind::kReduceSum, {}};
    op.attributes.axes = std::move(axes);
    op.attributes.keepdims = keepdims;
    return Divide(node_.Emit(op, {node_.EmitCast(quantized->id, kInt32)}), *quantized, count,
                  range);
  }

  // Sums over windows are a depthwise convolution with ones.
  int AveragePool(const OpAttributes& pool, int data, const QuantizedRange& range) {
    const std::int64_t count = pool.pool_size[0] * pool.pool_size[1];
    const auto quantized = Averaged(data, count);
    if (!quantized) return -1;
    const bool padded = std::ranges::any_of(pool.padding, [](std::int64_t p) { return p != 0; });
    if (pool.ceil_mode || (padded && !pool.count_include_pad)) {
      return Refuse(
          "its windows differ in size; average_pool has an integer form without padding, "
          "or with count_include_pad, and without ceil_mode");
    }
    int numbers = quantized->id;
    Operator op{OpKind::kConv2d, {}};
    op.attributes.strides = pool.strides;
    op.attributes.dilation = pool.dilation;
    op.attributes.padding = pool.padding;
    op.attributes.groups = node_.TypeOf(numbers).shape[1];
    op.attributes.data_layout = "NCHW";
    op.attributes.kernel_layout = "OIHW";
    op.attributes.dtype = kInt32;
    if (padded && quantized->quantization_params.zero_point != 0) {
      const auto& p = pool.padding;
      Operator pad{OpKind::kPad, {}};
      pad.attributes.pad_width = {0, 0, 0, 0, p[0], p[2], p[1], p[3]};
      pad.attributes.pad_value = static_cast<double>(quantized->quantization_params.zero_point);
      numbers = node_.Emit(pad, {numbers});
      op.attributes.padding = {0, 0, 0, 0};
    }
    Tensor ones(TensorType{{op.attributes.groups, 1, pool.pool_size[0], pool.pool_size[1]}, kInt8});
    std::ranges::fill(ones.As<std::int8_t>(), std::int8_t{1});
    const int sum = node_.Emit(op, {numbers, node_.EmitConstant(std::move(ones))});
    return Divide(sum, *quantized, count, range);
  }

  OnnxNode& node_;
  int visits_ = 0;
  bool silent_ = false;
  std::string why_;
};

}  // namespace

int QuantizeByIntegers(OnnxNode& node, int id, const QuantizedRange& range) {
  if (node.graph().node(id).kind == NodeKind::kConstant && node.FindQuantized(id) == nullptr)
    return -1;
  Quantizer quantizer(node);
  const int result = quantizer.Quantize(id, range);
  if (result >= 0 || !node.ok()) return result;
  if (!quantizer.why().empty() && HasQuantizedSource(node, id)) {
    node.Note(Quoted(node, id) +
              " is computed in float32 between quantized values: " + quantizer.why());
  }
  return -1;
}

}  // namespace tilewright
