// Conversion of workloads to and from operators, and the sizes that follow: output, convolution,
// operations.

#include "src/tensor/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "src/tensor/layout.h"
#include "src/tensor/open_workload.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/windows.h"

namespace tilewright {
namespace {

// Sizes and steps beyond these can only come from damaged input; they keep the products of the
// shape rules inside 64 bits.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

bool IsConvolution(OpKind op) { return op == OpKind::kConv2d || op == OpKind::kConv2dTranspose; }

/// Layout of a tensor and the sizes of its primal dimensions.
struct NamedSizes {
  Layout layout;
  std::string letters;
  std::vector<std::int64_t> sizes;
  std::int64_t operator[](char dimension) const { return sizes[letters.find(dimension)]; }
};

/// Errors: kInvalidArgument unless the layout has exactly these dimensions and the type fits it.
Result<NamedSizes> SizesOf(std::string_view what, const TensorType& type, std::string_view text,
                           std::string_view dimensions) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(text));
  const std::string letters = layout.primal();
  if (letters.size() != dimensions.size() || !std::ranges::is_permutation(letters, dimensions)) {
    return InvalidArgument(
        fmt::format("{} layout {}, expected the dimensions {}", what, text, dimensions));
  }
  const bool in_range = std::ranges::all_of(
      type.shape, [](std::int64_t size) { return size >= 1 && size <= kMaxSize; });
  if (!in_range) {
    return InvalidArgument(
        fmt::format("{} is {}, expected sizes from 1 to 2147483648", what, type.ToString()));
  }
  std::vector<std::int64_t> sizes;
  if (layout.parts().size() == type.shape.size()) sizes = layout.Unpack(type.shape);
  if (sizes.empty() || layout.Pack(sizes) != type.shape) {
    return InvalidArgument(
        fmt::format("{} is {}, expected layout {}", what, type.ToString(), text));
  }
  return NamedSizes{std::move(layout), letters, std::move(sizes)};
}

/// Errors: kInvalidArgument unless the operator may have reduced-range weights.
Status CheckReducedRangeWeights(const Workload& w) {
  const DataType a = w.data.dtype, b = w.weight.dtype;
  const bool may_be = w.op == OpKind::kConv2d || w.op == OpKind::kDense;
  if (may_be && (a == kInt8 || a == kUInt8) && b == kInt8) return {};
  return InvalidArgument(
      fmt::format("narrow weights (w{}), expected conv2d or dense of 8-bit data and int8 weights",
                  kReducedRangeMagnitude));
}

/// Returns true if sums of products of two such types have this type, too.
bool KeepsIntegerType(OpKind op, DataType data, DataType weight) {
  const bool wide = data == kUInt32 || (data.is_integer() && data.bits == 64);
  return wide && data == weight && IsMatrixProduct(op);
}

/// Returns the type of a product without a stated one. Floats keep their type; in matrix products,
/// so do unsigned and wide integers. Other integers are summed in int32.
DataType ProductType(OpKind op, DataType data, DataType weight) {
  return data.is_float() || KeepsIntegerType(op, data, weight) ? data : kInt32;
}

/// Errors: kInvalidArgument unless both can be multiplied and summed in `out`.
Status CheckTypes(const Workload& w) {
  const DataType a = w.data.dtype, b = w.weight.dtype;
  const bool widened = a.is_half() && w.out_dtype == kFloat32;
  const bool floats = a.is_float() && a == b && (w.out_dtype == a || widened);
  const bool integers =
      a.is_integer() && b.is_integer() && a.bits <= 32 && b.bits <= 32 && w.out_dtype == kInt32;
  if (floats || integers) return {};
  if (KeepsIntegerType(w.op, a, b) && w.out_dtype == a) return {};
  return InvalidArgument(
      fmt::format("{} x {} -> {}, expected one float type (float16 also with float32 sums) "
                  "or integers with int32 sums (matrix products of uint32, int64 and uint64: with "
                  "sums of that type)",
                  DataTypeName(a), DataTypeName(b), DataTypeName(w.out_dtype)));
}

Status CheckSteps(const Workload& w) {
  for (std::int64_t v : {w.strides[0], w.strides[1], w.dilation[0], w.dilation[1], w.groups}) {
    if (v < 1 || v > kMaxStep) {
      return InvalidArgument(fmt::format("strides, dilation or groups {}, expected at least 1", v));
    }
  }
  for (std::int64_t v : w.padding) {
    if (v < 0 || v > kMaxStep) {
      return InvalidArgument(fmt::format("padding {}, expected 0 to {}", v, kMaxStep));
    }
  }
  for (std::int64_t v : w.output_padding) {
    if (v < 0 || v > kMaxStep) {
      return InvalidArgument(fmt::format("output padding {}, expected 0 to {}", v, kMaxStep));
    }
  }
  return {};
}

/// Sizes of a matrix product; batch is 1 without one.
struct MatmulShape {
  std::int64_t batch, m, n, k;
};

Result<MatmulShape> MatmulShapeOf(const Workload& w) {
  const AnchorLayouts& layouts = RowOf(w.op).layouts;
  TW_ASSIGN_OR_RETURN(auto a, SizesOf("data", w.data, w.data_layout, layouts.data));
  TW_ASSIGN_OR_RETURN(auto b, SizesOf("weight", w.weight, w.kernel_layout, layouts.weight));
  const bool batched = layouts.data.starts_with('B');
  const bool same_batch = !layouts.weight.starts_with('B') || a['B'] == b['B'];
  if (!same_batch || a['K'] != b['K']) {
    return InvalidArgument(fmt::format("data {} and weight {}: expected equal {}",
                                       w.data.ToString(), w.weight.ToString(),
                                       same_batch ? "K" : "B"));
  }
  return MatmulShape{batched ? a['B'] : 1, a['M'], b['N'], a['K']};
}

/// Returns the type of the result of an operator that is no anchor.
Result<TensorType> PlainOutputType(const Workload& w) {
  const auto integer = [](DataType dtype) { return dtype.is_integer() && dtype.bits <= 32; };
  if (!integer(w.data.dtype) || (w.has_weight() && !integer(w.weight.dtype))) {
    return InvalidArgument(fmt::format("{}: expected integers of at most 32 bits", OpName(w.op)));
  }
  TW_RETURN_IF_ERROR(SizesOf("data", w.data, w.data_layout, "NCHW"));
  const DataType expected = w.op == OpKind::kMaxPool2d ? w.data.dtype : kInt32;
  if (w.out_dtype != expected) {
    return InvalidArgument(fmt::format("{}: makes {}, expected {}", OpName(w.op),
                                       DataTypeName(w.out_dtype), DataTypeName(expected)));
  }
  switch (w.op) {
    case OpKind::kAdd:
    case OpKind::kMul:
      if (w.weight.shape != w.data.shape || w.kernel_layout != w.data_layout) {
        return InvalidArgument(fmt::format("{}: {}{} and {}{}, expected equal shapes and layouts",
                                           OpName(w.op), w.data.ToString(), w.data_layout,
                                           w.weight.ToString(), w.kernel_layout));
      }
      return TensorType{w.data.shape, w.out_dtype};
    case OpKind::kIdentity:
      return TensorType{w.data.shape, w.out_dtype};
    case OpKind::kMaxPool2d:
      return InferType(w.ToOperator(), {&w.data, 1});
    default:
      return InvalidArgument(fmt::format("{} has no workload", OpName(w.op)));
  }
}

/// Returns an output layout: that of `from` with one dimension renamed and its block replaced by
/// `block` (1: none).
std::string Relabel(const Layout& from, char old_letter, char new_letter, std::int64_t block) {
  std::string text;
  for (const Layout::Part& part : from.parts()) {
    const bool renamed = part.dimension == old_letter;
    const char letter = renamed ? new_letter : part.dimension;
    if (part.block == 0) {
      text.push_back(letter);
    } else {
      text +=
          fmt::format("{}{}", renamed ? block : part.block, static_cast<char>(letter - 'A' + 'a'));
    }
  }
  return text;
}

/// Returns the product of positive factors, at most the largest 64-bit number.
std::int64_t CappedProduct(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (std::int64_t factor : factors) {
    if (product > std::numeric_limits<std::int64_t>::max() / factor) {
      return std::numeric_limits<std::int64_t>::max();
    }
    product *= factor;
  }
  return product;
}

}  // namespace

Result<ConvShape> ConvShapeOf(const Workload& w) {
  if (!IsConvolution(w.op)) {
    return InvalidArgument(fmt::format("{} is not a convolution", OpName(w.op)));
  }
  TW_RETURN_IF_ERROR(CheckSteps(w));
  TW_ASSIGN_OR_RETURN(auto data, SizesOf("data", w.data, w.data_layout, "NCHW"));
  TW_ASSIGN_OR_RETURN(auto weight, SizesOf("weight", w.weight, w.kernel_layout, "OIHW"));
  ConvShape s{};
  s.n = data['N'], s.c = data['C'], s.h = data['H'], s.w = data['W'];
  s.r = weight['H'], s.s = weight['W'];
  s.groups = w.groups;
  s.stride_h = w.strides[0], s.stride_w = w.strides[1];
  s.pad_top = w.padding[0], s.pad_left = w.padding[1];
  s.pad_bottom = w.padding[2], s.pad_right = w.padding[3];
  s.dilation_h = w.dilation[0], s.dilation_w = w.dilation[1];
  const bool transposed = w.op == OpKind::kConv2dTranspose;
  const std::int64_t per_group = transposed ? weight['O'] : weight['I'];
  const std::int64_t all = transposed ? weight['I'] : weight['O'];
  s.k = transposed ? per_group * w.groups : all;
  const std::int64_t channels = transposed ? all : per_group * w.groups;
  if (channels != s.c) {
    return InvalidArgument(fmt::format("weight {} in {} groups takes {} channels, data {} has {}",
                                       w.weight.ToString(), w.groups, channels, w.data.ToString(),
                                       s.c));
  }
  if (s.k % w.groups != 0 || s.c % w.groups != 0) {
    return InvalidArgument(
        fmt::format("{} groups, expected a divisor of {} and {} channels", w.groups, s.c, s.k));
  }
  const std::int64_t reach_h = s.dilation_h * (s.r - 1) + 1;
  const std::int64_t reach_w = s.dilation_w * (s.s - 1) + 1;
  if (transposed) {
    s.oh = (s.h - 1) * s.stride_h - s.pad_top - s.pad_bottom + reach_h + w.output_padding[0];
    s.ow = (s.w - 1) * s.stride_w - s.pad_left - s.pad_right + reach_w + w.output_padding[1];
  } else {
    s.oh = FloorDiv(s.h + s.pad_top + s.pad_bottom - reach_h, s.stride_h) + 1;
    s.ow = FloorDiv(s.w + s.pad_left + s.pad_right - reach_w, s.stride_w) + 1;
  }
  if (s.oh < 1 || s.ow < 1) {
    return InvalidArgument(fmt::format("kernel {}x{} is larger than the padded image {}x{}",
                                       reach_h, reach_w, s.h + s.pad_top + s.pad_bottom,
                                       s.w + s.pad_left + s.pad_right));
  }
  return s;
}

std::string PlainLayout(std::size_t rank) {
  std::string layout;
  for (std::size_t i = 0; i < rank; ++i) layout += static_cast<char>('A' + i);
  return layout;
}

Workload Workload::FromExpression(const Expression& expression, std::vector<int>* inputs) {
  CanonicalExpression canonical = Canonical(expression);
  if (inputs != nullptr) *inputs = std::move(canonical.inputs);
  Workload w;
  w.op = OpKind::kExpression;
  w.expression = std::move(canonical.expression);
  if (!w.expression.inputs.empty()) w.data = w.expression.inputs.front().type;
  w.data_layout = PlainLayout(w.data.shape.size());
  w.out_dtype = w.expression.result().dtype;
  return w;
}

std::string Workload::op_name() const {
  if (IsOpen(*this)) return "open";
  if (op != OpKind::kConv2d || groups == 1) return std::string(OpName(op));
  const auto shape = ConvShapeOf(*this);
  const bool depthwise = shape.ok() && shape->c == groups && shape->k == groups;
  return depthwise ? "depthwise_conv2d" : "group_conv2d";
}

Operator Workload::ToOperator() const {
  Operator result{op, {}};
  OpAttributes& a = result.attributes;
  a.strides = strides;
  a.padding = padding;
  a.dilation = dilation;
  a.output_padding = output_padding;
  a.pool_size = pool_size;
  a.groups = groups;
  a.data_layout = data_layout;
  a.kernel_layout = kernel_layout;
  a.reduced_range_weights = reduced_range_weights;
  a.dtype = out_dtype;
  a.expression = expression;
  return result;
}

Result<Workload> Workload::FromOperator(const Operator& op, const TensorType& data,
                                        const TensorType& weight) {
  if (!IsAnchor(op.kind))
    return InvalidArgument(fmt::format("{} is not an anchor", OpName(op.kind)));
  const OpAttributes& a = op.attributes;
  Workload w;
  w.op = op.kind;
  w.data = data;
  w.weight = weight;
  w.out_dtype = a.dtype.value_or(ProductType(op.kind, data.dtype, weight.dtype));
  w.data_layout = a.data_layout;
  w.kernel_layout = a.kernel_layout;
  w.reduced_range_weights = a.reduced_range_weights;
  if (IsConvolution(op.kind)) {
    w.strides = a.strides;
    w.padding = a.padding;
    w.dilation = a.dilation;
    w.groups = a.groups;
    if (op.kind == OpKind::kConv2dTranspose) w.output_padding = a.output_padding;
  }
  const AnchorLayouts& layouts = RowOf(op.kind).layouts;
  if (w.data_layout.empty()) w.data_layout = layouts.data;
  if (w.kernel_layout.empty()) w.kernel_layout = layouts.weight;
  if (auto type = w.OutputType(); !type.ok()) return type.status().WithContext(OpName(op.kind));
  return w;
}

Result<std::string> Workload::OutputLayout() const {
  if (IsOpen(*this)) return Unsupported("an open task has no tensors");
  if (op == OpKind::kExpression) return PlainLayout(expression.result().shape.size());
  if (!IsAnchor(op)) return data_layout;
  TW_ASSIGN_OR_RETURN(auto data_parts, Layout::Parse(data_layout));
  TW_ASSIGN_OR_RETURN(auto kernel_parts, Layout::Parse(kernel_layout));
  const bool convolution = IsConvolution(op);
  const char channel = convolution ? 'C' : 'K';
  const int blocks =
      static_cast<int>(std::ranges::count_if(data_parts.parts(), [&](const Layout::Part& part) {
        return part.dimension == channel && part.block != 0;
      }));
  if (blocks > 1) {
    return InvalidArgument(
        fmt::format("data layout {}, expected one block of {}", data_layout, channel));
  }
  const std::int64_t kernel_block = kernel_parts.BlockOf(convolution ? 'O' : 'N');
  const std::int64_t block =
      kernel_block == 1 && convolution ? data_parts.BlockOf('C') : kernel_block;
  return Relabel(data_parts, channel, convolution ? 'C' : 'N', block);
}

Result<TensorType> Workload::OutputType() const {
  if (IsOpen(*this)) return Unsupported("an open task has no tensors");
  if (op == OpKind::kExpression) {
    if (expression.empty()) return InvalidArgument("expression: nothing to compute");
    if (expression.inputs.empty()) {
      return InvalidArgument("expression: the result depends on no input, expected one that does");
    }
    return expression.result();
  }
  if (reduced_range_weights) TW_RETURN_IF_ERROR(CheckReducedRangeWeights(*this));
  if (!IsAnchor(op)) return PlainOutputType(*this);
  TW_RETURN_IF_ERROR(CheckElementCount(data));
  TW_RETURN_IF_ERROR(CheckElementCount(weight));
  TW_RETURN_IF_ERROR(CheckTypes(*this));
  std::vector<std::int64_t> sizes;
  std::string letters;
  if (IsConvolution(op)) {
    TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(*this));
    letters = "NCHW";
    sizes = {shape.n, shape.k, shape.oh, shape.ow};
  } else {
    TW_ASSIGN_OR_RETURN(auto shape, MatmulShapeOf(*this));
    letters = "BMN";
    sizes = {shape.batch, shape.m, shape.n};
  }
  TW_ASSIGN_OR_RETURN(auto text, OutputLayout());
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(text));
  std::vector<std::int64_t> primal;
  for (char c : layout.primal()) primal.push_back(sizes[letters.find(c)]);
  TensorType type{layout.Pack(primal), out_dtype};
  TW_RETURN_IF_ERROR(CheckElementCount(type));
  return type;
}

std::int64_t Workload::macs() const {
  if (IsOpen(*this)) return 0;
  if (op == OpKind::kExpression) {
    constexpr double kMax = 9e18;
    return static_cast<std::int64_t>(std::min(kMax, expression.operations() / 2));
  }
  if (!IsAnchor(op)) return 0;
  if (!IsConvolution(op)) {
    const auto shape = MatmulShapeOf(*this);
    return shape.ok() ? CappedProduct({shape->batch, shape->m, shape->n, shape->k}) : 0;
  }
  const auto shape = ConvShapeOf(*this);
  if (!shape.ok()) return 0;
  const ConvShape& s = *shape;
  // A transposed convolution spreads each input value over its window.
  const bool transposed = op == OpKind::kConv2dTranspose;
  return CappedProduct(
      {s.n, transposed ? s.h : s.oh, transposed ? s.w : s.ow, s.k, s.c / s.groups, s.r, s.s});
}

}  // namespace tilewright
