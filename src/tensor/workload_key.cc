// Canonical text of a workload:
//   <name>(<dtype>[<shape>]<layout>,<dtype>[<shape>]<layout>{,<attribute>})-><dtype>
// Attributes are s (strides), p (padding), d (dilation), g (groups) for convolutions and o (output
// padding) for transposed ones; k (window), s and p for max_pool2d; w64 for reduced-range weights.
// Operators of one tensor name only that. There is one spelling: printing and parsing are inverse.
// Of an expression: expression(<canonical text>)
// Of an open task: open(<name>,<hash>)
#include <fmt/format.h>

#include <array>

#include "src/tensor/open_workload.h"
#include "src/tensor/operator_names.h"
#include "src/tensor/text_scanner.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

constexpr std::size_t kMaxKeyLength = 2000;
constexpr std::size_t kMaxDimensions = 12;
constexpr std::string_view kExpressionPrefix = "expression(";

/// Returns the kind with this name of task extraction.
std::optional<OpKind> KindOf(std::string_view name) {
  if (name == "depthwise_conv2d" || name == "group_conv2d") return OpKind::kConv2d;
  const auto kind = OpKindNamed(name);
  const bool plain = kind == OpKind::kAdd || kind == OpKind::kMul || kind == OpKind::kIdentity ||
                     kind == OpKind::kMaxPool2d;
  return kind && (plain || IsAnchor(*kind)) ? kind : std::nullopt;
}

Status ReadTensor(TextScanner& scanner, TensorType& type, std::string& layout) {
  TW_ASSIGN_OR_RETURN(type.dtype, scanner.ElementType());
  TW_RETURN_IF_ERROR(scanner.Expect("["));
  do {
    if (type.shape.size() == kMaxDimensions) return scanner.Error("at most 12 dimensions");
    TW_ASSIGN_OR_RETURN(auto size, scanner.Int());
    type.shape.push_back(size);
  } while (scanner.Accept(","));
  TW_RETURN_IF_ERROR(scanner.Expect("]"));
  layout = std::string(scanner.Word());
  return {};
}

/// Reads ",s1x2": a letter and numbers joined by x.
template <std::size_t kCount>
Status ReadNumbers(TextScanner& scanner, std::string_view letter,
                   std::array<std::int64_t, kCount>& numbers) {
  TW_RETURN_IF_ERROR(scanner.Expect(","));
  TW_RETURN_IF_ERROR(scanner.Expect(letter));
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i > 0) TW_RETURN_IF_ERROR(scanner.Expect("x"));
    TW_ASSIGN_OR_RETURN(numbers[i], scanner.Int());
  }
  return {};
}

Status ReadConvolution(TextScanner& scanner, Workload& w) {
  TW_RETURN_IF_ERROR(ReadNumbers(scanner, "s", w.strides));
  TW_RETURN_IF_ERROR(ReadNumbers(scanner, "p", w.padding));
  TW_RETURN_IF_ERROR(ReadNumbers(scanner, "d", w.dilation));
  std::array<std::int64_t, 1> groups{};
  TW_RETURN_IF_ERROR(ReadNumbers(scanner, "g", groups));
  w.groups = groups[0];
  if (w.op == OpKind::kConv2dTranspose) {
    TW_RETURN_IF_ERROR(ReadNumbers(scanner, "o", w.output_padding));
  }
  return {};
}

Status ReadPool(TextScanner& scanner, Workload& w) {
  TW_RETURN_IF_ERROR(ReadNumbers(scanner, "k", w.pool_size));
  TW_RETURN_IF_ERROR(ReadNumbers(scanner, "s", w.strides));
  return ReadNumbers(scanner, "p", w.padding);
}

Result<Workload> ParseExpressionKey(std::string_view key) {
  const std::string_view text =
      key.substr(kExpressionPrefix.size(), key.size() - kExpressionPrefix.size() - 1);
  TW_ASSIGN_OR_RETURN(auto expression, ParseExpression(text, "workload"));
  Workload w = Workload::FromExpression(expression);
  if (const auto type = w.OutputType(); !type.ok()) return type.status().WithContext("workload");
  if (w.Key() != key) {
    return InvalidArgument("workload '" + std::string(key) + "': expected the canonical text, " +
                           w.Key());
  }
  return w;
}

}  // namespace

std::string Workload::Key() const {
  if (IsOpen(*this)) return open;
  if (op == OpKind::kExpression) {
    return fmt::format("{}({})", OpName(op), CanonicalText(expression));
  }
  std::string attributes;
  if (op == OpKind::kConv2d || op == OpKind::kConv2dTranspose) {
    attributes = fmt::format(",s{},p{},d{},g{}", fmt::join(strides, "x"), fmt::join(padding, "x"),
                             fmt::join(dilation, "x"), groups);
  }
  if (op == OpKind::kConv2dTranspose) {
    attributes += fmt::format(",o{}", fmt::join(output_padding, "x"));
  }
  if (op == OpKind::kMaxPool2d) {
    attributes = fmt::format(",k{},s{},p{}", fmt::join(pool_size, "x"), fmt::join(strides, "x"),
                             fmt::join(padding, "x"));
  }
  if (reduced_range_weights) attributes += fmt::format(",w{}", kReducedRangeMagnitude);
  std::string tensors = data.ToString() + data_layout;
  if (has_weight()) tensors += "," + weight.ToString() + kernel_layout;
  return fmt::format("{}({}{})->{}", op_name(), tensors, attributes, DataTypeName(out_dtype));
}

Result<Workload> Workload::Parse(std::string_view key) {
  if (key.starts_with(kExpressionPrefix) && key.ends_with(")")) return ParseExpressionKey(key);
  if (IsOpenKey(key)) return ParseOpenWorkload(key);
  TextScanner scanner("workload", key);
  if (key.size() > kMaxKeyLength) return scanner.Error("at most 2000 characters");
  Workload w;
  const std::string_view name = scanner.Word();
  const auto kind = KindOf(name);
  if (!kind) return TextScanner("workload", key).Error("an operator such as conv2d");
  w.op = *kind;
  TW_RETURN_IF_ERROR(scanner.Expect("("));
  TW_RETURN_IF_ERROR(ReadTensor(scanner, w.data, w.data_layout));
  if (w.has_weight()) {
    TW_RETURN_IF_ERROR(scanner.Expect(","));
    TW_RETURN_IF_ERROR(ReadTensor(scanner, w.weight, w.kernel_layout));
  }
  if (w.op == OpKind::kMaxPool2d) TW_RETURN_IF_ERROR(ReadPool(scanner, w));
  if (w.op == OpKind::kConv2d || w.op == OpKind::kConv2dTranspose) {
    TW_RETURN_IF_ERROR(ReadConvolution(scanner, w));
  }
  w.reduced_range_weights = scanner.Accept(fmt::format(",w{}", kReducedRangeMagnitude));
  TW_RETURN_IF_ERROR(scanner.Expect(")->"));
  TW_ASSIGN_OR_RETURN(w.out_dtype, scanner.ElementType());
  if (!scanner.AtEnd()) return scanner.Error("the end");
  if (const auto type = w.OutputType(); !type.ok()) {
    const std::string what = IsAnchor(w.op) ? fmt::format(": {}", OpName(w.op)) : "";
    return type.status().WithContext(fmt::format("workload '{}'{}", key, what));
  }
  if (w.op_name() != name) {
    return InvalidArgument(
        fmt::format("workload '{}': named {}, expected {} for its groups", key, name, w.op_name()));
  }
  return w;
}

}  // namespace tilewright
