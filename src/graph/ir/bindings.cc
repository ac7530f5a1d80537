// Parses sizes and values of a model's inputs: "NAME=1x3x320x320", "NAME=320", "NAME=16000".
// src/graph/onnx/bind_inputs.h matches the names with a file.

#include "src/graph/ir/bindings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/base/strings.h"
#include "src/graph/ir/graph.h"

namespace tilewright {
namespace {

constexpr std::size_t kMaxSets = 64;
constexpr std::size_t kMaxRank = 16;

template <typename T>
using Lists = Bindings::ByName<std::vector<T>>;

struct NameAndText {
  std::string name, text;
};

Result<NameAndText> SplitName(const std::string& text) {
  const std::size_t separator = text.rfind('=');
  if (separator == std::string::npos || separator == 0 || separator + 1 == text.size()) {
    return InvalidArgument("expected NAME=VALUE");
  }
  if (text.find('\0') != std::string::npos) return InvalidArgument("the name contains a zero byte");
  return NameAndText{text.substr(0, separator), text.substr(separator + 1)};
}

Result<std::int64_t> ParseSize(std::string_view text) {
  const auto size = ParseInt64(text);
  if (size.ok() && *size >= 1 && *size <= kMaxDimension) return size;
  if (text.find("..") != std::string_view::npos) {
    return InvalidArgument("'" + std::string(text) +
                           "' is a range, which only one --dim of compile, tune, query, tasks and "
                           "inspect takes, for a CPU; expected one size");
  }
  return InvalidArgument("size '" + std::string(text) + "', expected a number from 1 to " +
                         std::to_string(kMaxDimension));
}

Result<std::vector<std::int64_t>> ParseShape(std::string_view text) {
  std::vector<std::int64_t> shape;
  if (text == "scalar") return shape;
  const std::vector<std::string> sizes = Split(text, 'x');
  if (sizes.size() > kMaxRank) {
    return InvalidArgument(std::to_string(sizes.size()) + " dimensions, expected at most " +
                           std::to_string(kMaxRank));
  }
  for (const std::string& one : sizes) {
    TW_ASSIGN_OR_RETURN(const auto size, ParseSize(one));
    shape.push_back(size);
  }
  if (Status status = CheckTensorType({shape, kFloat32}); !status.ok()) return status;
  return shape;
}

// Parses "NAME=ONE" or "NAME=ONE,TWO" of one option.
template <typename T, typename Parse>
Status ParseLists(const std::vector<std::string>& texts, std::string_view option,
                  const Parse& parse, Lists<T>& lists) {
  for (const std::string& text : texts) {
    const std::string place = std::string(option) + " " + text;
    const auto parts = SplitName(text);
    if (!parts.ok()) return parts.status().WithContext(place);
    std::vector<T> list;
    for (const std::string& one : Split(parts->text, ',')) {
      auto value = parse(one);
      if (!value.ok()) return value.status().WithContext(place);
      list.push_back(*std::move(value));
    }
    if (!lists.emplace(parts->name, std::move(list)).second) {
      return InvalidArgument(place + ": '" + parts->name + "' is given twice");
    }
  }
  return Status();
}

// Errors: kInvalidArgument unless each name has one element or all have the same number.
template <typename T>
Status CountSets(const Lists<T>& lists, std::string_view option, std::size_t& sets) {
  for (const auto& [name, list] : lists) {
    if (list.size() == 1 || list.size() == sets) continue;
    if (sets != 1) {
      return InvalidArgument(std::string(option) + " " + name + ": " + std::to_string(list.size()) +
                             " shape variants, but " + std::to_string(sets) +
                             " of another name; expected one, or the same number for each");
    }
    sets = list.size();
  }
  if (sets <= kMaxSets) return Status();
  return InvalidArgument(std::to_string(sets) + " shape variants, expected at most " +
                         std::to_string(kMaxSets));
}

// Returns true if the element type can represent the number: exactly for an integer type, within
// the range for a float type.
bool Holds(DataType dtype, double number) {
  Tensor one(TensorType{{}, dtype});
  one.Set(0, number);
  return dtype.is_float() ? std::isfinite(one.At(0)) == std::isfinite(number) : one.At(0) == number;
}

Status SetElement(std::string_view text, std::int64_t index, Tensor& tensor) {
  const DataType dtype = tensor.dtype();
  const auto refused = [&] {
    return InvalidArgument("'" + std::string(text) + "' is not a valid " + DataTypeName(dtype));
  };
  if (dtype.is_bool() && (text == "true" || text == "false")) {
    tensor.Set(index, text == "true" ? 1 : 0);
    return Status();
  }
  if (dtype.is_float()) {
    const auto number = ParseDouble(text);
    if (!number.ok() || !Holds(dtype, *number)) return refused();
    tensor.Set(index, *number);
    return Status();
  }
  const auto place = static_cast<std::size_t>(index);
  if (dtype == DataType{TypeCode::kUInt, 64}) {  // exceeds int64
    std::uint64_t wide = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wide);
    if (error != std::errc() || end != text.data() + text.size()) return refused();
    tensor.As<std::uint64_t>()[place] = wide;
    return Status();
  }
  const auto number = ParseInt64(text);
  if (!number.ok()) return refused();
  if (dtype == kInt64) {  // exact beyond 2^53, unlike Set()
    tensor.As<std::int64_t>()[place] = *number;
    return Status();
  }
  if (!Holds(dtype, static_cast<double>(*number))) return refused();
  tensor.Set(index, static_cast<double>(*number));
  return Status();
}

}  // namespace

std::string ShapeToString(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

std::vector<std::string> Bindings::Options() const {
  std::vector<std::string> options;
  for (const auto& [name, size] : dims) {
    options.push_back("--dim " + name + "=" + std::to_string(size));
  }
  for (const auto& [name, shape] : shapes) {
    options.push_back("--shape " + name + "=" + ShapeToString(shape));
  }
  for (const auto& [name, value] : values) options.push_back("--value " + name + "=" + value.text);
  return options;
}

Bindings Bindings::Clone() const {
  Bindings clone{shapes, dims, {}};
  for (const auto& [name, value] : values) {
    Value& copy = clone.values[name];
    copy.text = value.text;
    if (value.contents) copy.contents = value.contents->Clone();
  }
  return clone;
}

Result<std::vector<Bindings>> ParseBindings(const BindingTexts& texts) {
  Lists<std::vector<std::int64_t>> shapes;
  Lists<std::int64_t> dims;
  TW_RETURN_IF_ERROR(ParseLists(texts.shapes, "--shape", ParseShape, shapes));
  TW_RETURN_IF_ERROR(ParseLists(texts.dims, "--dim", ParseSize, dims));
  std::size_t sets = 1;
  TW_RETURN_IF_ERROR(CountSets(shapes, "--shape", sets));
  TW_RETURN_IF_ERROR(CountSets(dims, "--dim", sets));
  Bindings common;
  for (const std::string& text : texts.values) {
    auto parts = SplitName(text);
    if (!parts.ok()) return parts.status().WithContext("--value " + text);
    if (!common.values.emplace(parts->name, Bindings::Value{parts->text, {}}).second) {
      return InvalidArgument("--value " + text + ": '" + parts->name + "' is given twice");
    }
  }
  std::vector<Bindings> all;
  for (std::size_t i = 0; i < sets; ++i) {
    Bindings& set = all.emplace_back(common.Clone());
    const auto at = [i](const auto& list) { return list[list.size() == 1 ? 0 : i]; };
    for (const auto& [name, list] : shapes) set.shapes.emplace(name, at(list));
    for (const auto& [name, list] : dims) set.dims.emplace(name, at(list));
  }
  return all;
}

Result<Tensor> TensorOfText(std::string_view text, const TensorType& type) {
  const std::vector<std::string> elements = Split(text, ',');
  if (std::ssize(elements) != type.elements()) {
    return InvalidArgument(std::to_string(elements.size()) +
                           (elements.size() == 1 ? " element" : " elements") + ", expected " +
                           std::to_string(type.elements()) + " of " + type.ToString());
  }
  Tensor tensor(type);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    TW_RETURN_IF_ERROR(SetElement(Trim(elements[i]), static_cast<std::int64_t>(i), tensor));
  }
  return tensor;
}

}  // namespace tilewright
