// Translation of Relay operators. Texts omit attributes that equal their defaults, so the readers
// contain the defaults. An attribute that no reader requested is an error.

#include "src/graph/relay/operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/graph/relay/attributes.h"
#include "src/tensor/layout.h"
#include "src/tensor/operator_table.h"

namespace tilewright::relay {
namespace {

using Integers = std::vector<std::int64_t>;
using Arguments = std::span<const Argument>;

struct Entry {
  std::string_view name;
  OpKind kind;
  std::size_t inputs;  ///< number of inputs; 0: any
  void (*read)(AttributeReader& reader, Arguments arguments, Translation* result);
};

/// Reads two numbers (height, width), one (both), or four (top, left, bottom, right).
std::array<std::int64_t, 4> ReadPadding(AttributeReader& reader) {
  const Integers v = reader.Integers("padding", {0, 0});
  if (v.size() == 4) return {v[0], v[1], v[2], v[3]};
  if (v.size() == 2) return {v[0], v[1], v[0], v[1]};
  if (v.size() == 1) return {v[0], v[0], v[0], v[0]};
  reader.Fail(fmt::format("padding has {} numbers, expected 1, 2 or 4", v.size()));
  return {};
}

std::array<std::int64_t, 2> ReadPair(AttributeReader& reader, std::string_view name) {
  const Integers v = reader.Integers(name, {1, 1});
  if (v.size() == 2) return {v[0], v[1]};
  if (v.size() == 1) return {v[0], v[0]};
  reader.Fail(fmt::format("{} has {} numbers, expected 1 or 2", name, v.size()));
  return {1, 1};
}

/// Adds the blocks of trailing dimensions to a layout that omits them. For example, pooling of a
/// tensor [1,4,112,112,1,16] is written with layout NCHW and operates on dimensions 2 and 3.
std::string CompleteLayout(std::string layout, const TensorType& type) {
  const std::size_t rank = type.shape.size();
  if (layout == "NCHW" && rank == 6) {
    return fmt::format("NCHW{}n{}c", type.shape[4], type.shape[5]);
  }
  if (layout == "NCHW" && rank == 5) return fmt::format("NCHW{}c", type.shape[4]);
  return layout;
}

/// Returns the size of a dimension of a tensor in a layout; -1 if the tensor does not have that
/// layout.
std::int64_t SizeOf(const TensorType& type, const std::string& layout_text, char dimension) {
  auto layout = Layout::Parse(layout_text);
  if (!layout.ok() || layout->parts().size() != type.shape.size()) return -1;
  const std::string letters = layout->primal();
  const std::size_t at = letters.find(dimension);
  return at == std::string::npos ? -1 : layout->Unpack(type.shape)[at];
}

/// Checks attributes that repeat the shape of the weight.
/// groups: factor of the weight's output channels.
void ExpectKernel(AttributeReader& reader, const TensorType& weight, const std::string& layout,
                  std::int64_t groups = 1) {
  if (const auto channels = SizeOf(weight, layout, 'O'); channels > 0) {
    reader.ExpectInteger("channels", channels * groups);
  }
  const Integers kernel_size = reader.Integers("kernel_size", {});
  const Integers actual{SizeOf(weight, layout, 'H'), SizeOf(weight, layout, 'W')};
  if (!kernel_size.empty() && actual[0] > 0 && kernel_size != actual) {
    reader.Fail(fmt::format("kernel_size=[{}], but the weight's is [{}]",
                            fmt::join(kernel_size, ", "), fmt::join(actual, ", ")));
  }
}

void ReadConv2d(AttributeReader& reader, Arguments arguments, Translation* result) {
  OpAttributes& a = result->op.attributes;
  a.strides = ReadPair(reader, "strides");
  a.padding = ReadPadding(reader);
  a.dilation = ReadPair(reader, "dilation");
  a.groups = reader.Integer("groups", 1);
  a.data_layout = reader.String("data_layout", "NCHW");
  a.kernel_layout = reader.String("kernel_layout", "OIHW");
  a.dtype = reader.ElementType("out_dtype");
  // The result has the data's layout with the kernel's block of output channels. If the text means
  // another layout, the check of the type comment fails.
  const std::string out_layout = reader.String("out_layout", "");
  auto kernel = Layout::Parse(a.kernel_layout);
  auto out = Layout::Parse(out_layout.empty() ? a.data_layout : out_layout);
  if (kernel.ok() && out.ok() && kernel->BlockOf('O') != out->BlockOf('C')) {
    reader.Fail(
        fmt::format("kernel_layout {} with results in {}, expected equal blocks of channels",
                    kernel->text(), out->text()));
  }
  ExpectKernel(reader, arguments[1].type, a.kernel_layout);
}

void ReadConv2dTranspose(AttributeReader& reader, Arguments arguments, Translation* result) {
  OpAttributes& a = result->op.attributes;
  a.strides = ReadPair(reader, "strides");
  a.padding = ReadPadding(reader);
  a.dilation = ReadPair(reader, "dilation");
  const Integers more = reader.Integers("output_padding", {0, 0});
  if (more.size() != 2) return reader.Fail("output_padding: expected 2 numbers");
  a.output_padding = {more[0], more[1]};
  a.groups = reader.Integer("groups", 1);
  if (a.groups < 1 || a.groups > kMaxDim) return reader.Fail("groups: expected 1 or more");
  a.data_layout = reader.String("data_layout", "NCHW");
  a.kernel_layout = reader.String("kernel_layout", "IOHW");
  a.dtype = reader.ElementType("out_dtype");
  ExpectKernel(reader, arguments[1].type, a.kernel_layout, a.groups);
}

/// Packed operands, of 4 dimensions, have their blocks in the last two.
void ReadDense(AttributeReader& reader, Arguments arguments, Translation* result) {
  OpAttributes& a = result->op.attributes;
  a.dtype = reader.ElementType("out_dtype");
  const std::vector<std::int64_t>& data = arguments[0].type.shape;
  const std::vector<std::int64_t>& weight = arguments[1].type.shape;
  if (data.size() == 4 && weight.size() == 4) {
    a.data_layout = fmt::format("MK{}m{}k", data[2], data[3]);
    a.kernel_layout = fmt::format("NK{}n{}k", weight[2], weight[3]);
    reader.ExpectInteger("units", SizeOf(arguments[1].type, a.kernel_layout, 'N'));
  } else if (!weight.empty()) {
    reader.ExpectInteger("units", weight[0]);
  }
}

void ReadBatchMatmul(AttributeReader& reader, Arguments, Translation* result) {
  result->op.attributes.dtype = reader.ElementType("out_dtype");
  reader.ExpectInteger("transpose_a", 0);
  if (!reader.Bool("transpose_b", true)) reader.Fail("transpose_b=False, expected True");
}

void ReadPool(AttributeReader& reader, Arguments arguments, Translation* result) {
  OpAttributes& a = result->op.attributes;
  a.pool_size = ReadPair(reader, "pool_size");
  a.strides = ReadPair(reader, "strides");
  a.padding = ReadPadding(reader);
  a.dilation = ReadPair(reader, "dilation");
  a.ceil_mode = reader.Bool("ceil_mode", false);
  a.data_layout = CompleteLayout(reader.String("layout", "NCHW"), arguments[0].type);
  if (result->op.kind == OpKind::kAvgPool2d) {
    a.count_include_pad = reader.Bool("count_include_pad", false);
  }
}

void ReadGlobalPool(AttributeReader& reader, Arguments arguments, Translation* result) {
  result->op.attributes.data_layout =
      CompleteLayout(reader.String("layout", "NCHW"), arguments[0].type);
}

void ReadClip(AttributeReader& reader, Arguments, Translation* result) {
  if (!reader.Has("a_min") || !reader.Has("a_max")) reader.Fail("expected a_min and a_max");
  result->op.attributes.a_min = reader.Number("a_min", 0);
  result->op.attributes.a_max = reader.Number("a_max", 0);
}

void ReadCast(AttributeReader& reader, Arguments, Translation* result) {
  result->op.attributes.dtype = reader.ElementType("dtype");
  if (!result->op.attributes.dtype) reader.Fail("expected a dtype");
}

void ReadCastHint(AttributeReader& reader, Arguments, Translation* result) {
  result->annotation.kind = AnnotationKind::kCastHint;
  result->annotation.dtype = reader.ElementType("dtype").value_or(kInt8);
}

void ReadStopFusion(AttributeReader&, Arguments, Translation* result) {
  result->annotation.kind = AnnotationKind::kStopFusion;
}

constexpr std::string_view kValueKinds[] = {"input", "weight", "activation"};

void ReadSimulatedQuantize(AttributeReader& reader, Arguments, Translation* result) {
  result->annotation.kind = AnnotationKind::kQuantize;
  const std::string kind = reader.String("kind", "");
  const auto* found = std::ranges::find(kValueKinds, kind);
  if (found == std::end(kValueKinds)) {
    reader.Fail(
        fmt::format("kind=\"{}\", expected \"{}\"", kind, fmt::join(kValueKinds, "\", \"")));
    return;
  }
  result->annotation.value = static_cast<ValueKind>(found - std::begin(kValueKinds));
  if (reader.ElementType("dtype") == kUInt8) result->annotation.dtype = kUInt8;
  result->annotation.scales = reader.Numbers("scale");
  if (std::ranges::any_of(result->annotation.scales,
                          [](double s) { return !(s > 0) || s > 1e30; })) {
    reader.Fail("scale has a number that is not positive");
  }
}

void ReadReduce(AttributeReader& reader, Arguments arguments, Translation* result) {
  OpAttributes& a = result->op.attributes;
  const auto rank = static_cast<std::int64_t>(arguments[0].type.shape.size());
  a.axes = reader.Integers("axis", {});
  a.keepdims = reader.Bool("keepdims", false);
  if (!reader.Bool("exclude", false)) return;
  Integers others;
  for (std::int64_t i = 0; i < rank; ++i) {
    const auto same = [&](std::int64_t axis) { return axis == i || axis + rank == i; };
    if (std::ranges::none_of(a.axes, same)) others.push_back(i);
  }
  if (others.empty()) reader.Fail("exclude=True leaves no axis to reduce");
  a.axes = std::move(others);
}

void ReadSoftmax(AttributeReader& reader, Arguments, Translation* result) {
  result->op.attributes.axis = reader.Integer("axis", -1);
}

void ReadBatchNorm(AttributeReader& reader, Arguments, Translation* result) {
  result->op.attributes.axis = reader.Integer("axis", 1);
  result->op.attributes.epsilon = reader.Number("epsilon", 1e-5);
  if (!reader.Bool("center", true) || !reader.Bool("scale", true)) {
    reader.Fail("center or scale is False, expected True");
  }
}

/// newshape: 0 copies a dimension, -1 is inferred.
void ReadReshape(AttributeReader& reader, Arguments arguments, Translation* result) {
  Integers shape = reader.Integers("newshape", {});
  const Integers& from = arguments[0].type.shape;
  reader.ExpectInteger("allowzero", 0);
  std::int64_t known = 1;
  int open = -1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < from.size()) shape[i] = from[i];
    if (shape[i] == -1 && open < 0) {
      open = static_cast<int>(i);
      continue;
    }
    if (shape[i] < 1 || known > kMaxElements / shape[i]) {
      reader.Fail(fmt::format("newshape=[{}] is not supported here", fmt::join(shape, ", ")));
      return;
    }
    known *= shape[i];
  }
  if (open >= 0) shape[static_cast<std::size_t>(open)] = arguments[0].type.elements() / known;
  result->op.attributes.new_shape = std::move(shape);
}

void ReadBatchFlatten(AttributeReader& reader, Arguments arguments, Translation* result) {
  const TensorType& type = arguments[0].type;
  if (type.shape.empty() || type.shape[0] < 1) {
    reader.Fail(fmt::format("data is {}, expected a batch dimension", type.ToString()));
    return;
  }
  result->op.attributes.new_shape = {type.shape[0], type.elements() / type.shape[0]};
}

void ReadTranspose(AttributeReader& reader, Arguments arguments, Translation* result) {
  Integers axes = reader.Integers("axes", {});
  if (axes.empty()) {
    for (std::size_t i = arguments[0].type.shape.size(); i > 0; --i) {
      axes.push_back(static_cast<std::int64_t>(i) - 1);
    }
  }
  result->op.attributes.axes = std::move(axes);
}

void ReadBroadcastTo(AttributeReader& reader, Arguments, Translation* result) {
  result->op.attributes.new_shape = reader.Integers("shape", {});
  reader.String("dtype", "");
}

void ReadAxis(AttributeReader& reader, Arguments, Translation* result) {
  result->op.attributes.axis = reader.Integer("axis", 0);
}

void ReadLayoutTransform(AttributeReader& reader, Arguments, Translation* result) {
  result->op.attributes.src_layout = reader.String("src_layout", "");
  result->op.attributes.dst_layout = reader.String("dst_layout", "");
}

/// The padding value is an argument of any type. It is converted to the type of the data.
void ReadPad(AttributeReader& reader, Arguments arguments, Translation* result) {
  OpAttributes& a = result->op.attributes;
  a.pad_width = reader.Integers("pad_width", {});
  reader.ExpectString("pad_mode", "constant");
  result->operands = 1;
  if (!arguments[1].scalar) {
    reader.Fail(
        "the padding value is computed at run time or beyond 2^53, expected a constant within "
        "2^53");
    return;
  }
  a.pad_value = *arguments[1].scalar;
  Tensor converted(TensorType{{}, arguments[0].type.dtype});
  converted.Set(0, a.pad_value);
  if (!arguments[0].type.dtype.is_float() && converted.At(0) != a.pad_value) {
    reader.Fail(fmt::format("padding value {}, expected a value of {}", a.pad_value,
                            DataTypeName(arguments[0].type.dtype)));
  }
}

/// The bias is a vector along `axis`; it is reshaped to broadcast.
void ReadBiasAdd(AttributeReader& reader, Arguments arguments, Translation* result) {
  const auto rank = static_cast<std::int64_t>(arguments[0].type.shape.size());
  const std::int64_t axis = reader.Integer("axis", 1);
  if (axis < -rank || axis >= rank) {
    reader.Fail(fmt::format("axis={}, expected {} to {}", axis, -rank, rank - 1));
    return;
  }
  const auto after = static_cast<std::size_t>(axis < 0 ? -axis - 1 : rank - 1 - axis);
  result->reshape_last.assign(1 + after, 1);
  result->reshape_last[0] = arguments[1].type.elements();
}

/// Supports positive steps only. Negative positions count from the end; too large positions are
/// clamped.
void ReadStridedSlice(AttributeReader& reader, Arguments arguments, Translation* result) {
  const Integers& shape = arguments[0].type.shape;
  OpAttributes& a = result->op.attributes;
  a.begin = reader.Integers("begin", {});
  a.end = reader.Integers("end", {});
  a.steps = reader.Integers("strides", Integers(shape.size(), 1));
  reader.ExpectString("slice_mode", "end");
  if (a.begin.size() != shape.size() || a.end.size() != shape.size() ||
      a.steps.size() != shape.size() || std::ranges::count(a.steps, 0) != 0) {
    reader.Fail(fmt::format("expected {} numbers each for begin, end and strides other than 0",
                            shape.size()));
    return;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (a.begin[i] < 0) a.begin[i] += shape[i];
    if (a.end[i] < 0) a.end[i] += shape[i];
    if (a.steps[i] > 0) {
      a.end[i] = std::min(a.end[i], shape[i]);
    } else {
      a.begin[i] = std::min(a.begin[i], shape[i] - 1);
      a.end[i] = std::max<std::int64_t>(a.end[i], -1);  // index -1 ends after the first element
    }
  }
}

void ReadLrn(AttributeReader& reader, Arguments, Translation* result) {
  OpAttributes& a = result->op.attributes;
  a.size = reader.Integer("size", 5);
  reader.ExpectInteger("axis", 1);
  a.bias = reader.Number("bias", 2);
  a.alpha = reader.Number("alpha", 1e-5);
  a.beta = reader.Number("beta", 0.75);
}

/// Reads the numeric attributes that the operator table names; 0 if omitted.
void ReadArguments(AttributeReader& reader, Arguments, Translation* result) {
  OpAttributes& a = result->op.attributes;
  const auto read = [&](std::string_view name, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, double>) {
      value = reader.Number(name, 0);
    } else if constexpr (std::is_same_v<Value, std::int64_t>) {
      value = reader.Integer(name, 0);
    } else {
      value = reader.ElementType(name);
    }
  };
  for (const OpArgument& argument : RowOf(result->op.kind).arguments) {
    std::visit([&](auto field) { read(argument.name, a.*field); }, argument.field);
  }
}

void ReadResultType(AttributeReader& reader, Arguments, Translation* result) {
  result->op.attributes.dtype = reader.ElementType("out_dtype");
}

// Operators whose attributes have their own readers, and operators with other names. The others
// follow from the operator table.
constexpr Entry kOperators[] = {
    {"annotation.cast_hint", OpKind::kIdentity, 1, ReadCastHint},
    {"annotation.stop_fusion", OpKind::kIdentity, 1, ReadStopFusion},
    {"broadcast_to", OpKind::kBroadcastTo, 1, ReadBroadcastTo},
    {"cast", OpKind::kCast, 1, ReadCast},
    {"clip", OpKind::kClip, 1, ReadClip},
    {"concatenate", OpKind::kConcat, 0, ReadAxis},
    {"equal", OpKind::kEqual, 2, ReadArguments},
    {"layout_transform", OpKind::kLayoutTransform, 1, ReadLayoutTransform},
    {"less", OpKind::kLess, 2, ReadArguments},
    {"nn.avg_pool2d", OpKind::kAvgPool2d, 1, ReadPool},
    {"nn.batch_flatten", OpKind::kReshape, 1, ReadBatchFlatten},
    {"nn.batch_matmul", OpKind::kBatchMatmul, 2, ReadBatchMatmul},
    {"nn.batch_norm", OpKind::kBatchNorm, 5, ReadBatchNorm},
    {"nn.bias_add", OpKind::kAdd, 2, ReadBiasAdd},
    {"nn.contrib_conv2d_NCHWc", OpKind::kConv2d, 2, ReadConv2d},
    {"nn.contrib_depthwise_conv2d_NCHWc", OpKind::kConv2d, 2, ReadConv2d},
    {"nn.conv2d", OpKind::kConv2d, 2, ReadConv2d},
    {"nn.conv2d_transpose", OpKind::kConv2dTranspose, 2, ReadConv2dTranspose},
    {"nn.dense", OpKind::kDense, 2, ReadDense},
    {"nn.global_avg_pool2d", OpKind::kGlobalAvgPool2d, 1, ReadGlobalPool},
    {"nn.global_max_pool2d", OpKind::kGlobalMaxPool2d, 1, ReadGlobalPool},
    {"nn.log_softmax", OpKind::kLogSoftmax, 1, ReadSoftmax},
    {"nn.lrn", OpKind::kLrn, 1, ReadLrn},
    {"nn.max_pool2d", OpKind::kMaxPool2d, 1, ReadPool},
    {"nn.pad", OpKind::kPad, 2, ReadPad},
    {"nn.softmax", OpKind::kSoftmax, 1, ReadSoftmax},
    {"reshape", OpKind::kReshape, 1, ReadReshape},
    {"strided_slice", OpKind::kSlice, 1, ReadStridedSlice},
    {"tilewright.gather", OpKind::kGather, 2, ReadAxis},
    {"tilewright.saturate_cast", OpKind::kSaturateCast, 1, ReadCast},
    {"tilewright.simulated_quantize", OpKind::kIdentity, 1, ReadSimulatedQuantize},
    {"transpose", OpKind::kTranspose, 1, ReadTranspose},
    {"where", OpKind::kWhere, 3, ReadArguments},
};
static_assert(std::ranges::is_sorted(kOperators, {}, &Entry::name));

/// Returns the entry of an operator in the operator table.
Entry EntryOf(const OperatorRow& row) {
  const bool two = row.family == OpFamily::kBinary || row.family == OpFamily::kAnchor;
  auto* read = &ReadArguments;
  if (row.family == OpFamily::kReduction) read = &ReadReduce;
  if (row.family == OpFamily::kAnchor) read = &ReadResultType;
  return {row.relay, row.kind, two ? 2U : 1U, read};
}

std::optional<Entry> FindOperator(std::string_view name) {
  const auto found = std::ranges::lower_bound(kOperators, name, {}, &Entry::name);
  if (found != std::end(kOperators) && found->name == name) return *found;
  for (const OperatorRow* row : AllOperators()) {
    if (!row->relay.empty() && row->relay == name) return EntryOf(*row);
  }
  return std::nullopt;
}

}  // namespace

Type TypeOf(const TensorType& type) {
  return Type{TypeKind::kTensor, DataTypeName(type.dtype), type.shape, {}};
}

bool IsKnownOperator(std::string_view name) { return FindOperator(name).has_value(); }

std::string_view RelayName(OpKind kind) { return RowOf(kind).relay; }

std::string_view RelayName(AnnotationKind annotation) {
  switch (annotation) {
    case AnnotationKind::kCastHint:
      return "annotation.cast_hint";
    case AnnotationKind::kStopFusion:
      return "annotation.stop_fusion";
    case AnnotationKind::kQuantize:
      return "tilewright.simulated_quantize";
    case AnnotationKind::kNone:
      break;
  }
  return RelayName(OpKind::kIdentity);
}

std::string_view ValueKindName(ValueKind kind) {
  return kValueKinds[static_cast<std::size_t>(kind)];
}

Result<Translation> Translate(const Expr& call, Arguments arguments) {
  const auto entry = FindOperator(call.text);
  if (!entry) return Unsupported("operator " + call.text + " is not supported");
  if (entry->inputs != 0 && arguments.size() != entry->inputs) {
    return InvalidArgument(fmt::format("{} with {} arguments, expected {}", call.text,
                                       arguments.size(), entry->inputs));
  }
  Translation result;
  result.op.kind = entry->kind;
  result.operands = arguments.size();
  AttributeReader reader(call);
  entry->read(reader, arguments, &result);
  if (Status status = reader.Finish(); !status.ok()) return status.WithContext(call.text);
  return result;
}

}  // namespace tilewright::relay
