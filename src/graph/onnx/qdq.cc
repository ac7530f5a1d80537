#include "src/graph/onnx/qdq.h"

#include <algorithm>
#include <cmath>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr int kMaxDepth = 32;  // operators between a product and the QuantizeLinear behind it
// Values looked at for one QuantizeLinear: a value that is joined with itself again and again would
// be visited along every path.
constexpr int kMaxVisits = 512;

// Moves, compares or picks elements and changes none.
bool OnlyMoves(OpKind kind) {
  switch (kind) {
    case OpKind::kIdentity:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kGather:
    case OpKind::kBroadcastTo:
    case OpKind::kMaxPool2d:
    case OpKind::kGlobalMaxPool2d:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
      return true;
    default:
      return false;
  }
}

const Node* OperatorAt(OnnxNode& node, int id) {
  const Node& value = node.graph().node(id);
  return value.kind == NodeKind::kOperator ? &value : nullptr;
}

std::optional<double> ScalarAt(OnnxNode& node, int id) {
  const Graph& graph = node.graph();
  if (graph.node(id).type.elements() != 1 || !graph.HasContents(id)) return std::nullopt;
  return graph.Contents(id)->At(0);
}

bool IsPerTensor(const QuantizedForm& form) { return form.meaning.scales.size() == 1; }

// The numbers that `id` stands for, where it is a quantized value or one that was only moved.
std::optional<QuantizedForm> FormOf(OnnxNode& node, int id, int depth = 0) {
  if (!node.ok() || depth > kMaxDepth) return std::nullopt;
  if (const QuantizedForm* known = node.Form(id)) return *known;
  const Node* value = OperatorAt(node, id);
  if (value == nullptr) return std::nullopt;
  const Operator op = value->op;
  const std::vector<int> inputs = value->inputs;  // emitting moves the nodes
  if (!OnlyMoves(op.kind) && op.kind != OpKind::kRelu) return std::nullopt;
  auto form = FormOf(node, inputs[0], depth + 1);
  if (!form) return std::nullopt;
  if (!IsPerTensor(*form)) {  // the scales must move along
    if (op.kind != OpKind::kTranspose) return std::nullopt;
    const auto& axes = op.attributes.axes;
    form->meaning.axis = std::ranges::find(axes, form->meaning.axis) - axes.begin();
  }
  if (op.kind == OpKind::kRelu) {
    const DataType dtype = node.TypeOf(form->id).dtype;
    const int zero = node.EmitScalar(dtype, static_cast<double>(form->meaning.zero_point));
    form->id = node.Emit(OpKind::kMax, {form->id, zero});
  } else {
    std::vector<int> moved = inputs;
    moved[0] = form->id;
    form->id = node.Emit(op, std::move(moved));
  }
  if (node.ok()) node.SetForm(id, *form);
  return form;
}

bool HasQuantizedSource(OnnxNode& node, int id) {
  std::vector<int> reached = {id};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (node.Form(reached[i]) != nullptr) return true;
    const Node* value = OperatorAt(node, reached[i]);
    if (value == nullptr) continue;
    for (int input : value->inputs) {
      const bool known = std::ranges::find(reached, input) != reached.end();
      if (!known && std::ssize(reached) < kMaxVisits) reached.push_back(input);
    }
  }
  return false;
}

std::string Quoted(OnnxNode& node, int id) {
  return "'" + std::string(SourceName(node.graph().node(id).name)) + "'";
}

// q - zero_point as int32.
int Offset(OnnxNode& node, const QuantizedForm& form) {
  const int wide = node.EmitCast(form.id, kInt32);
  const auto zero = static_cast<double>(form.meaning.zero_point);
  return zero == 0 ? wide : node.Emit(OpKind::kSub, {wide, node.EmitScalar(kInt32, zero)});
}

// The form's scales divided by `scale`, shaped to broadcast against it.
Tensor FactorsOf(OnnxNode& node, const QuantizedForm& form, double scale) {
  Shape shape;
  if (!IsPerTensor(form)) {
    shape.assign(static_cast<std::size_t>(node.Rank(form.id) - form.meaning.axis), 1);
    shape[0] = std::ssize(form.meaning.scales);
  }
  Tensor factors(TensorType{shape, kFloat32});
  for (std::size_t i = 0; i < form.meaning.scales.size(); ++i) {
    factors.As<float>()[i] = form.meaning.scales[i] / static_cast<float>(scale);
  }
  return factors;
}

/// Goes back from the input of a QuantizeLinear. Every function gives -1 where there is no integer
/// form, and says why.
class Quantizer {
 public:
  explicit Quantizer(OnnxNode& node) : node_(node) {}

  const std::string& why() const { return why_; }

  int Quantize(int id, const QuantizedRange& range, int depth = 0) {
    if (!node_.ok()) return -1;
    if (depth > kMaxDepth || ++visits_ > kMaxVisits) return Refuse("too much lies before it");
    if (const auto form = FormOf(node_, id)) return Rescale(*form, range);
    const Node* value = OperatorAt(node_, id);
    if (value == nullptr) return Refuse(Quoted(node_, id) + " is not quantized");
    const Operator op = value->op;
    const std::vector<int> inputs = value->inputs;
    if (OnlyMoves(op.kind)) return Move(op, inputs, range, depth);
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
          return Bound(inputs[0], *bound, op.kind == OpKind::kMax, range, depth);
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
        return IsAnchor(op.kind) ? Silence() : Refuse(NoForm(op.kind));
    }
  }

 private:
  int Refuse(std::string why) {
    if (why_.empty() && !silent_) why_ = std::move(why);
    return -1;
  }
  // A product in float32 has its own note, where one is due.
  int Silence() {
    silent_ = true;
    return -1;
  }

  static std::string NoForm(OpKind kind) {
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

  int Rescale(const QuantizedForm& form, const QuantizedRange& range) {
    const DataType dtype = node_.TypeOf(form.id).dtype;
    const bool same_scale =
        IsPerTensor(form) && form.meaning.scales[0] == static_cast<float>(range.scale);
    if (same_scale && form.meaning.zero_point == range.zero_point && dtype == range.dtype) {
      if (range.IsWhole()) return form.id;
      Operator clip{OpKind::kClip, {}};
      clip.attributes.a_min = static_cast<double>(range.low);
      clip.attributes.a_max = static_cast<double>(range.high);
      return node_.Emit(clip, {form.id});
    }
    const int value = Offset(node_, form);
    if (same_scale) return EmitNarrowed(node_, value, range);
    return EmitRequantized(node_, value, FactorsOf(node_, form, range.scale), range);
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

  // An operand of a sum or product.
  std::optional<QuantizedForm> Operand(int id) {
    auto form = FormOf(node_, id);
    if (form) return form;
    const Node* value = OperatorAt(node_, id);
    if (value != nullptr && IsAnchor(value->op.kind)) Silence();
    Refuse("its operand " + Quoted(node_, id) + " is not quantized");
    return std::nullopt;
  }

  // Sums are formed by integers whatever the import asks for: of two float products, code for a
  // machine with fused multiply-add would round only the sum.
  int Sum(const std::vector<int>& inputs, OpKind kind, const QuantizedRange& range) {
    const auto a = Operand(inputs[0]), b = Operand(inputs[1]);
    if (!a || !b) return -1;
    int left = Offset(node_, *a), right = Offset(node_, *b);
    if (IsPerTensor(*a) && a->meaning.scales == b->meaning.scales) {
      return Rescale({node_.Emit(kind, {left, right}), {a->meaning.scales, 0, 0}}, range);
    }
    if (const auto shift = CommonShift(*a, *b, range.scale)) {
      left = Multiplied(left, a->meaning.scales[0] / range.scale, *shift);
      right = Multiplied(right, b->meaning.scales[0] / range.scale, *shift);
      const int half = node_.EmitScalar(kInt32, std::exp2(*shift - 1));
      const int sum = node_.Emit(OpKind::kAdd, {node_.Emit(kind, {left, right}), half});
      const int count = node_.EmitScalar(kInt32, *shift);
      return EmitNarrowed(node_, node_.Emit(OpKind::kShiftRight, {sum, count}), range);
    }
    left = EmitFixedPoint(node_, left, FactorsOf(node_, *a, range.scale));
    right = EmitFixedPoint(node_, right, FactorsOf(node_, *b, range.scale));
    return EmitNarrowed(node_, node_.Emit(kind, {left, right}), range);
  }

  // Bits to the right of the point of both factors, such that the larger one has 21 and the sum of
  // two products with 8-bit numbers fits in int32.
  std::optional<int> CommonShift(const QuantizedForm& a, const QuantizedForm& b, double scale) {
    for (const auto* form : {&a, &b}) {
      if (!IsPerTensor(*form) || node_.TypeOf(form->id).dtype.bits > 8) return std::nullopt;
    }
    int exponent = 0;
    std::frexp(std::max(a.meaning.scales[0], b.meaning.scales[0]) / scale, &exponent);
    const int shift = 21 - exponent;
    return shift >= 1 && shift <= 30 ? std::optional(shift) : std::nullopt;
  }

  int Multiplied(int value, double factor, int shift) {
    const int multiplier = node_.EmitScalar(kInt32, std::round(std::ldexp(factor, shift)));
    return node_.Emit(OpKind::kMul, {value, multiplier});
  }

  int Product(const std::vector<int>& inputs, const QuantizedRange& range) {
    const auto a = Operand(inputs[0]), b = Operand(inputs[1]);
    if (!a || !b) return -1;
    for (const auto* form : {&*a, &*b}) {
      if (!IsPerTensor(*form) || node_.TypeOf(form->id).dtype.bits > 8) {
        return Refuse(
            "an operand has more than 8 bits or scales per channel; quantize it with one");
      }
    }
    const int product = node_.Emit(OpKind::kMul, {Offset(node_, *a), Offset(node_, *b)});
    return Rescale({product, {{a->meaning.scales[0] * b->meaning.scales[0]}, 0, 0}}, range);
  }

  // `sum`, int32 sums of `form` over `count` elements, minus their zero points, divided by `count`.
  int Divide(int sum, const QuantizedForm& form, std::int64_t count, const QuantizedRange& range) {
    const std::int64_t zeros = count * form.meaning.zero_point;
    if (zeros != 0) {
      sum = node_.Emit(OpKind::kSub, {sum, node_.EmitScalar(kInt32, static_cast<double>(zeros))});
    }
    return Rescale({sum, {{form.meaning.scales[0] / static_cast<float>(count)}, 0, 0}}, range);
  }

  // An operand of a mean over `count` elements.
  std::optional<QuantizedForm> Averaged(int data, std::int64_t count) {
    auto form = Operand(data);
    if (!form) return std::nullopt;
    constexpr std::int64_t kMostElements = std::int64_t{1} << 22;  // of 8 bits: a sum fits in int32
    const bool fits = IsPerTensor(*form) && node_.TypeOf(form->id).dtype.bits <= 8;
    if (fits && count <= kMostElements) return form;
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
    const auto form = Averaged(data, count);
    if (!form) return -1;
    Operator op{OpKind::kReduceSum, {}};
    op.attributes.axes = std::move(axes);
    op.attributes.keepdims = keepdims;
    return Divide(node_.Emit(op, {node_.EmitCast(form->id, kInt32)}), *form, count, range);
  }

  // Sums of windows are a depthwise convolution with ones.
  int AveragePool(const OpAttributes& pool, int data, const QuantizedRange& range) {
    const std::int64_t count = pool.pool_size[0] * pool.pool_size[1];
    const auto form = Averaged(data, count);
    if (!form) return -1;
    const bool padded = std::ranges::any_of(pool.padding, [](std::int64_t p) { return p != 0; });
    if (pool.ceil_mode || (padded && !pool.count_include_pad)) {
      return Refuse(
          "its windows differ in size; average_pool has an integer form without padding, "
          "or with count_include_pad, and without ceil_mode");
    }
    int numbers = form->id;
    Operator op{OpKind::kConv2d, {}};
    op.attributes.strides = pool.strides;
    op.attributes.dilation = pool.dilation;
    op.attributes.padding = pool.padding;
    op.attributes.groups = node_.TypeOf(numbers).shape[1];
    op.attributes.data_layout = "NCHW";
    op.attributes.kernel_layout = "OIHW";
    op.attributes.dtype = kInt32;
    if (padded && form->meaning.zero_point != 0) {
      const auto& p = pool.padding;
      Operator pad{OpKind::kPad, {}};
      pad.attributes.pad_width = {0, 0, 0, 0, p[0], p[2], p[1], p[3]};
      pad.attributes.pad_value = static_cast<double>(form->meaning.zero_point);
      numbers = node_.Emit(pad, {numbers});
      op.attributes.padding = {0, 0, 0, 0};
    }
    Tensor ones(TensorType{{op.attributes.groups, 1, pool.pool_size[0], pool.pool_size[1]}, kInt8});
    std::ranges::fill(ones.As<std::int8_t>(), std::int8_t{1});
    const int sum = node_.Emit(op, {numbers, node_.EmitConstant(std::move(ones))});
    return Divide(sum, *form, count, range);
  }

  OnnxNode& node_;
  int visits_ = 0;
  bool silent_ = false;
  std::string why_;
};

// Data and weight of a product as quantized numbers, the weight centred.
struct Operands {
  QuantizedForm data;
  int weight = -1;
  std::vector<float> scales;  // of the sums: one, or one per output channel
};

// channel: the dimension of the weight that makes output channels; scales along any other have no
// integer form. taps: products in one sum.
std::optional<Operands> QuantizedOperands(OnnxNode& node, std::int64_t channel, std::int64_t taps) {
  const int data_id = node.Input(0), weight_id = node.Input(1);
  if (!node.ok()) return std::nullopt;
  auto data = FormOf(node, data_id);
  const auto weight = FormOf(node, weight_id);
  if (!data && !weight) return std::nullopt;
  const std::string head = node.op_type() + " '" + node.OutputName() + "' is computed in float32: ";
  if (!data || !weight) {
    node.Note(head + "its " + (data ? "weight " : "data ") +
              Quoted(node, data ? weight_id : data_id) +
              " is not quantized; export it with QuantizeLinear and DequantizeLinear on both");
    return std::nullopt;
  }
  const int data_bits = node.TypeOf(data->id).dtype.bits;
  const int weight_bits = node.TypeOf(weight->id).dtype.bits;
  const bool fits = data_bits == 8 && weight_bits <= 16 &&
                    taps <= (std::int64_t{1} << (31 - data_bits - weight_bits)) * 2;
  if (!fits) {
    node.Note(head + "sums of products of " + std::to_string(data_bits) + " and " +
              std::to_string(weight_bits) + " bits do not fit in int32; quantize to 8 bits");
    return std::nullopt;
  }
  const bool along = IsPerTensor(*weight) || weight->meaning.axis == channel;
  if (!IsPerTensor(*data) || !along) {
    node.Note(head +
              "scales differ along a dimension that is summed over; quantize the weight per "
              "tensor or per output channel (axis " +
              std::to_string(channel) + ")");
    return std::nullopt;
  }
  Operands operands{*data, Centred(node, weight->id, weight->meaning.zero_point), {}};
  for (float scale : weight->meaning.scales) {
    operands.scales.push_back(data->meaning.scales[0] * scale);
  }
  return operands;
}

// The bias (input 2) as int32 in units of the sums; -1 if it has no such form.
int IntegerBias(OnnxNode& node, const std::vector<float>& scales) {
  const int id = node.Input(2);
  const auto near = [](float a, float b) { return std::abs(a - b) <= 1e-5F * std::abs(b); };
  if (const auto form = FormOf(node, id)) {
    const bool numbers = node.TypeOf(form->id).dtype == kInt32 && form->meaning.zero_point == 0;
    if (numbers && std::ranges::equal(form->meaning.scales, scales, near)) return form->id;
  }
  const Tensor* known = node.Known(2);
  if (known == nullptr || !known->dtype().is_float()) return -1;
  Tensor bias(TensorType{known->shape(), kInt32});
  for (std::int64_t i = 0; i < bias.elements(); ++i) {
    const auto channel = scales.size() == 1 ? 0 : static_cast<std::size_t>(i);
    if (channel >= scales.size()) return -1;
    bias.Set(i, known->At(i) / static_cast<double>(scales[channel]));
  }
  return node.EmitConstant(std::move(bias));
}

// Ends a product: its sums, with the bias if there is one, as the numbers that the output stands
// for. channel: their dimension of output channels. Where a float is read it has the bias as the
// file gives it: in units of the sums a float bias is rounded.
void ReturnSums(OnnxNode& node, int sum, std::int64_t channel, const std::vector<float>& scales,
                bool has_bias) {
  if (!node.ok()) return;
  const auto along = [&](int id) { return AlongAxis(node, id, channel, node.Rank(sum)); };
  QuantizedForm form{sum, {scales, channel, 0}};
  const int factors = node.EmitConstant(FactorsOf(node, form, 1));
  int real = node.Emit(OpKind::kMul, {node.EmitCast(sum, kFloat32), factors});
  if (has_bias) {
    const int bias = IntegerBias(node, scales);
    real = node.Emit(OpKind::kAdd, {real, along(node.Input(2))});
    form.id = bias < 0 ? -1 : node.Emit(OpKind::kAdd, {sum, along(bias)});
  }
  if (node.ok() && form.id >= 0) node.SetForm(real, form);
  node.SetOutput(real);
}

std::int64_t ProductOf(const Shape& shape, std::size_t first) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < shape.size(); ++i) product *= shape[i];
  return product;
}

}  // namespace

bool ImportQuantizedConv(OnnxNode& node) {
  const auto operands = QuantizedOperands(node, 0, ProductOf(node.InputType(1).shape, 1));
  if (!operands) return !node.ok();
  const QuantizedForm& data = operands->data;
  const int sum = IntegerConvolution(node, data.id, data.meaning.zero_point, operands->weight);
  ReturnSums(node, sum, 1, operands->scales, node.HasInput(2));
  return true;
}

bool ImportQuantizedConvTranspose(OnnxNode& node) {
  const Shape weight = node.InputType(1).shape;
  const std::int64_t taps = weight[0] * weight[2] * weight[3];
  const auto operands = QuantizedOperands(node, 1, taps);
  if (!operands) return !node.ok();
  const bool grouped = node.Int("group", 1) != 1 && operands->scales.size() > 1;
  if (grouped) {
    node.Note("ConvTranspose '" + node.OutputName() +
              "' is computed in float32: scales per channel of several groups have no integer "
              "form; quantize the weight per tensor");
    return false;
  }
  const QuantizedForm& data = operands->data;
  const int centred = Centred(node, data.id, data.meaning.zero_point);
  ReturnSums(node, IntegerConvTranspose(node, centred, operands->weight), 1, operands->scales,
             node.HasInput(2));
  return true;
}

bool ImportQuantizedGemm(OnnxNode& node) {
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok()) return true;
  if (node.Rank(data) != 2 || node.Rank(weight) != 2) return false;
  const bool transposed = node.Int("transB", 0) != 0;
  const bool plain = node.Int("transA", 0) == 0 && node.Float("alpha", 1) == 1;
  const double beta = node.Float("beta", 1);
  const bool has_bias = node.HasInput(2) && beta != 0;
  const Shape shape = node.TypeOf(weight).shape;
  const std::int64_t columns = shape[transposed ? 0 : 1];
  bool simple = plain;
  if (has_bias) {
    const TensorType bias = node.InputType(2);
    simple &= beta == 1 && bias.elements() == columns &&
              (bias.shape.size() == 1 || (bias.shape.size() == 2 && bias.shape[0] == 1));
  }
  if (!simple) {
    if (node.Form(data) != nullptr || node.Form(weight) != nullptr) {
      node.Note("Gemm '" + node.OutputName() +
                "' is computed in float32: its integer form needs alpha 1, beta 1, transA 0 and a "
                "bias per column; export it as a plain linear layer");
    }
    return false;
  }
  const auto operands = QuantizedOperands(node, transposed ? 0 : 1, shape[transposed ? 1 : 0]);
  if (!operands) return !node.ok();
  const QuantizedForm& form = operands->data;
  const int sum =
      IntegerMatmul(node, form.id, form.meaning.zero_point, operands->weight, transposed);
  ReturnSums(node, sum, 1, operands->scales, has_bias);
  return true;
}

bool ImportQuantizedMatMul(OnnxNode& node) {
  const int data = node.Input(0), weight = node.Input(1);
  if (!node.ok()) return true;
  if (node.Rank(data) < 2 || node.Rank(weight) < 2) return false;
  const Shape shape = node.TypeOf(weight).shape;
  const auto operands = QuantizedOperands(node, std::ssize(shape) - 1, shape[shape.size() - 2]);
  if (!operands) return !node.ok();
  const QuantizedForm& form = operands->data;
  const int sum = IntegerMatmul(node, form.id, form.meaning.zero_point, operands->weight);
  if (node.ok()) ReturnSums(node, sum, node.Rank(sum) - 1, operands->scales, false);
  return true;
}

int QuantizeByIntegers(OnnxNode& node, int id, const QuantizedRange& range) {
  if (node.graph().node(id).kind == NodeKind::kConstant && node.Form(id) == nullptr) return -1;
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
