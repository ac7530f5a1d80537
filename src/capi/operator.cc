// Operators described by a C caller, one attribute at a time. Attributes are checked as they are
// set, and the whole is converted to a workload.

#include "src/capi/operator.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "src/capi/boundary.h"

namespace tilewright::capi {
namespace {

// As in a workload's key.
constexpr std::size_t kMaxRank = 12;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

constexpr std::array kNames = {
    std::pair<std::string_view, OpKind>{"conv2d", OpKind::kConv2d},
    std::pair<std::string_view, OpKind>{"depthwise_conv2d", OpKind::kConv2d},
    std::pair<std::string_view, OpKind>{"group_conv2d", OpKind::kConv2d},
    std::pair<std::string_view, OpKind>{"conv2d_transpose", OpKind::kConv2dTranspose},
    std::pair<std::string_view, OpKind>{"dense", OpKind::kDense},
    std::pair<std::string_view, OpKind>{"batch_matmul", OpKind::kBatchMatmul},
};

/// Errors: kInvalidArgument if a required pointer is null.
Status NeedText(const char* text, std::string_view what) {
  if (text != nullptr) return {};
  return InvalidArgument("the " + std::string(what) + " is null");
}

Status Create(const char* name, tw_operator** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the operator is null");
  *out = nullptr;
  TW_RETURN_IF_ERROR(NeedText(name, "operator name"));
  for (const auto& [known, kind] : kNames) {
    if (known != name) continue;
    auto made = std::make_unique<tw_operator>();
    made->name = name;
    made->op.kind = kind;
    *out = made.release();
    return {};
  }
  return InvalidArgument("operator '" + std::string(name) +
                         "', expected conv2d, depthwise_conv2d, group_conv2d, conv2d_transpose,"
                         " dense or batch_matmul");
}

Status AddTensor(tw_operator* op, const char* dtype, std::span<const std::int64_t> shape) {
  if (op == nullptr) return InvalidArgument("the operator is null");
  TW_RETURN_IF_ERROR(NeedText(dtype, "element type"));
  if (op->tensors.size() == 2) return InvalidArgument("a third tensor, expected data and weight");
  TW_ASSIGN_OR_RETURN(auto type, ParseDataType(dtype));
  if (shape.size() > kMaxRank) {
    return InvalidArgument(std::to_string(shape.size()) + " dimensions, expected at most 12");
  }
  for (std::int64_t size : shape) {
    if (size < 1 || size > kMaxSize) {
      return InvalidArgument("size " + std::to_string(size) + ", expected 1 to 2147483648");
    }
  }
  op->tensors.push_back({{shape.begin(), shape.end()}, type});
  return {};
}

/// One value sets both.
Status SetPair(std::string_view name, std::span<const std::int64_t> values,
               std::array<std::int64_t, 2>& out) {
  if (values.empty() || values.size() > 2) {
    return InvalidArgument(std::string(name) + " of " + std::to_string(values.size()) +
                           " values, expected 1 or 2");
  }
  out = {values.front(), values.back()};
  return {};
}

Status SetPadding(std::span<const std::int64_t> values, std::array<std::int64_t, 4>& out) {
  switch (values.size()) {
    case 1:
      out.fill(values[0]);
      return {};
    case 2:
      out = {values[0], values[1], values[0], values[1]};
      return {};
    case 4:
      std::ranges::copy(values, out.begin());
      return {};
    default:
      return InvalidArgument("padding of " + std::to_string(values.size()) +
                             " values, expected 1, 2 or 4");
  }
}

Status SetIntegers(tw_operator* op, const char* name, std::span<const std::int64_t> values) {
  if (op == nullptr) return InvalidArgument("the operator is null");
  TW_RETURN_IF_ERROR(NeedText(name, "attribute name"));
  OpAttributes& attributes = op->op.attributes;
  const std::string_view wanted = name;
  if (wanted == "strides") return SetPair(wanted, values, attributes.strides);
  if (wanted == "dilation") return SetPair(wanted, values, attributes.dilation);
  if (wanted == "output_padding") return SetPair(wanted, values, attributes.output_padding);
  if (wanted == "padding") return SetPadding(values, attributes.padding);
  if (wanted == "groups") {
    if (values.size() != 1) return InvalidArgument("groups: expected one value");
    attributes.groups = values[0];
    return {};
  }
  if (wanted == "narrow_weights") {
    if (values.size() != 1 || values[0] < 0 || values[0] > 1) {
      return InvalidArgument("narrow_weights: expected one value, 0 or 1");
    }
    attributes.reduced_range_weights = values[0] == 1;
    return {};
  }
  return InvalidArgument(
      "attribute '" + std::string(wanted) +
      "', expected strides, padding, dilation, output_padding, groups or narrow_weights");
}

Status SetText(tw_operator* op, const char* name, const char* value) {
  if (op == nullptr) return InvalidArgument("the operator is null");
  TW_RETURN_IF_ERROR(NeedText(name, "attribute name"));
  TW_RETURN_IF_ERROR(NeedText(value, "attribute value"));
  OpAttributes& attributes = op->op.attributes;
  const std::string_view wanted = name;
  if (wanted == "data_layout") {
    attributes.data_layout = value;
  } else if (wanted == "kernel_layout") {
    attributes.kernel_layout = value;
  } else if (wanted == "out_dtype") {
    TW_ASSIGN_OR_RETURN(attributes.dtype, ParseDataType(value));
  } else {
    return InvalidArgument("attribute '" + std::string(wanted) +
                           "', expected data_layout, kernel_layout or out_dtype");
  }
  return {};
}

std::span<const std::int64_t> SpanOf(const std::int64_t* values, std::size_t count) {
  return values != nullptr ? std::span(values, count) : std::span<const std::int64_t>();
}

}  // namespace

Result<Workload> WorkloadOf(const tw_operator& op) {
  if (op.tensors.size() != 2) {
    return InvalidArgument(op.name + " with " + std::to_string(op.tensors.size()) +
                           " tensors, expected data and weight");
  }
  TW_ASSIGN_OR_RETURN(auto workload, Workload::FromOperator(op.op, op.tensors[0], op.tensors[1]));
  // The key of a queried workload must parse, so that the parser's checks apply to it too.
  TW_ASSIGN_OR_RETURN(auto checked, Workload::Parse(workload.Key()));
  if (op.name != "conv2d" && op.name != checked.op_name()) {
    return InvalidArgument("a " + checked.op_name() + " was created as " + op.name + ": " +
                           checked.Key());
  }
  return checked;
}

std::string FingerprintOf(const tw_operator& op) {
  const OpAttributes& a = op.op.attributes;
  std::string text;
  text.reserve(320);
  const auto add = [&](std::span<const std::int64_t> numbers) {
    text.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  };
  const auto add_type = [&](DataType type) {
    text.push_back(static_cast<char>(type.code));
    text.push_back(static_cast<char>(type.bits));
  };
  // The zero byte cannot occur in names and layouts, which are C strings.
  for (const std::string* part : {&op.name, &a.data_layout, &a.kernel_layout}) {
    text += *part;
    text.push_back('\0');
  }
  for (const TensorType& tensor : op.tensors) {
    add_type(tensor.dtype);
    text.push_back(static_cast<char>(tensor.shape.size()));
    add(tensor.shape);
  }
  add(a.strides);
  add(a.padding);
  add(a.dilation);
  add(a.output_padding);
  add(std::array{a.groups});
  text.push_back(a.reduced_range_weights ? 1 : 0);
  text.push_back(a.dtype.has_value() ? 1 : 0);
  if (a.dtype.has_value()) add_type(*a.dtype);
  return text;
}

}  // namespace tilewright::capi

extern "C" {

tw_code tw_operator_create(const char* name, tw_operator** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] { return tilewright::capi::Create(name, out); });
}

void tw_operator_free(tw_operator* op) noexcept { const std::unique_ptr<tw_operator> gone(op); }

tw_code tw_operator_add_tensor(tw_operator* op, const char* dtype, const int64_t* shape,
                               size_t rank, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    if (shape == nullptr && rank > 0) return tilewright::InvalidArgument("the shape is null");
    return tilewright::capi::AddTensor(op, dtype, tilewright::capi::SpanOf(shape, rank));
  });
}

tw_code tw_operator_set_integers(tw_operator* op, const char* name, const int64_t* values,
                                 size_t count, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    return tilewright::capi::SetIntegers(op, name, tilewright::capi::SpanOf(values, count));
  });
}

tw_code tw_operator_set_text(tw_operator* op, const char* name, const char* value,
                             tw_error* error) noexcept {
  return tilewright::capi::Guarded(error,
                                   [&] { return tilewright::capi::SetText(op, name, value); });
}

tw_code tw_operator_key(const tw_operator* op, char* buffer, size_t capacity, size_t* needed,
                        tw_error* error) noexcept {
  std::string key;
  const tw_code code = tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    if (op == nullptr) return tilewright::InvalidArgument("the operator is null");
    TW_ASSIGN_OR_RETURN(auto workload, tilewright::capi::WorkloadOf(*op));
    key = workload.Key();
    return {};
  });
  if (code != TW_OK) return code;
  return tilewright::capi::WriteText(key, buffer, capacity, needed, error);
}

}  // extern "C"
