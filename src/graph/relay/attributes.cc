// Values of the attributes of Relay calls. An attribute that no reader requested is an error; the
// first invalid value is one, too.

#include "src/graph/relay/attributes.h"

#include <fmt/format.h>

#include <cmath>

#include "src/base/strings.h"

namespace tilewright::relay {
namespace {

// Larger numbers in attributes occur only in damaged texts; the limit keeps sums of them from
// overflowing.
constexpr std::int64_t kMaxAttribute = (std::int64_t{1} << 32) - 1;

bool InRange(std::int64_t number) { return -kMaxAttribute <= number && number <= kMaxAttribute; }

std::string_view WithoutFloatSuffix(std::string_view text) {
  return text.ends_with('f') ? text.substr(0, text.size() - 1) : text;
}

/// Digits and element type of a number in the text.
struct Suffix {
  std::string_view digits;
  DataType dtype;
};

Result<Suffix> CutSuffix(std::string_view text) {
  const std::size_t at = text.find_first_of("fiu");
  if (at == std::string_view::npos) {
    const bool real = text.find_first_of(".e") != std::string_view::npos;
    return Suffix{text, real ? kFloat32 : kInt32};
  }
  const std::string_view bits = text.substr(at + 1);
  const std::string_view kind = text[at] == 'f' ? "float" : text[at] == 'i' ? "int" : "uint";
  if (kind == "float" && bits.empty()) return Suffix{text.substr(0, at), kFloat32};
  TW_ASSIGN_OR_RETURN(auto dtype, ParseDataType(std::string(kind) + std::string(bits)));
  return Suffix{text.substr(0, at), dtype};
}

}  // namespace

const std::string* AttributeReader::Find(std::string_view name) {
  for (std::size_t i = 0; i < call_.attributes.size(); ++i) {
    if (call_.attributes[i].name != name) continue;
    read_[i] = true;
    return &call_.attributes[i].value;
  }
  return nullptr;
}

bool AttributeReader::Has(std::string_view name) const {
  for (const auto& attribute : call_.attributes) {
    if (attribute.name == name) return true;
  }
  return false;
}

void AttributeReader::Fail(std::string message) {
  if (status_.ok()) status_ = InvalidArgument(std::move(message));
}

double AttributeReader::Number(std::string_view name, double fallback) {
  const std::string* value = Find(name);
  if (value == nullptr) return fallback;
  auto number = ParseDouble(WithoutFloatSuffix(*value));
  if (number.ok() && std::isfinite(*number)) return *number;
  Fail(fmt::format("{}={}, expected a number", name, value->substr(0, 40)));
  return fallback;
}

std::int64_t AttributeReader::Integer(std::string_view name, std::int64_t fallback) {
  const std::string* value = Find(name);
  if (value == nullptr) return fallback;
  auto number = ParseInt64(*value);
  if (number.ok() && InRange(*number)) return *number;
  Fail(fmt::format("{}={}, expected an integer", name, value->substr(0, 40)));
  return fallback;
}

bool AttributeReader::Bool(std::string_view name, bool fallback) {
  const std::string* value = Find(name);
  if (value == nullptr) return fallback;
  if (*value == "True" || *value == "1") return true;
  if (*value == "False" || *value == "0") return false;
  Fail(fmt::format("{}={}, expected True or False", name, value->substr(0, 40)));
  return fallback;
}

std::string AttributeReader::String(std::string_view name, std::string fallback) {
  const std::string* value = Find(name);
  if (value == nullptr) return fallback;
  if (value->size() >= 2 && (value->front() == '"' || value->front() == '\'') &&
      value->back() == value->front()) {
    return value->substr(1, value->size() - 2);
  }
  Fail(fmt::format("{}={}, expected a string", name, value->substr(0, 40)));
  return fallback;
}

std::optional<DataType> AttributeReader::ElementType(std::string_view name) {
  const std::string text = String(name, {});
  if (text.empty()) return std::nullopt;
  auto dtype = ParseDataType(text);
  if (dtype.ok()) return *dtype;
  Fail(
      fmt::format("{}=\"{}\", expected an element type such as float32", name, text.substr(0, 40)));
  return std::nullopt;
}

namespace {

/// Splits a list at its brackets and commas.
std::vector<std::string_view> Words(std::string_view list) {
  constexpr std::string_view kBetween = "[](), \n";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = list.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return words;
    list.remove_prefix(begin);
    const std::size_t end = std::min(list.find_first_of(kBetween), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(end);
  }
}

}  // namespace

std::vector<std::int64_t> AttributeReader::Integers(std::string_view name,
                                                    std::vector<std::int64_t> fallback) {
  const std::string* value = Find(name);
  if (value == nullptr || *value == "None") return fallback;
  std::vector<std::int64_t> numbers;
  for (std::string_view word : Words(*value)) {
    auto number = ParseInt64(word);
    if (!number.ok() || !InRange(*number)) {
      Fail(fmt::format("{}={}, expected integers", name, value->substr(0, 40)));
      return fallback;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<double> AttributeReader::Numbers(std::string_view name) {
  const std::string* value = Find(name);
  if (value == nullptr) return {};
  std::vector<double> numbers;
  for (std::string_view word : Words(*value)) {
    auto number = ParseDouble(word);
    if (!number.ok() || !std::isfinite(*number)) {
      Fail(fmt::format("{}={}, expected numbers", name, value->substr(0, 40)));
      return {};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void AttributeReader::ExpectInteger(std::string_view name, std::int64_t expected) {
  if (!Has(name)) return;
  const std::int64_t value = Integer(name, expected);
  if (value != expected) Fail(fmt::format("{}={}, expected {}", name, value, expected));
}

void AttributeReader::ExpectString(std::string_view name, std::string_view expected) {
  const std::string value = String(name, std::string(expected));
  if (value != expected) Fail(fmt::format("{}=\"{}\", expected \"{}\"", name, value, expected));
}

Status AttributeReader::Finish() const {
  if (!status_.ok()) return status_;
  for (std::size_t i = 0; i < read_.size(); ++i) {
    if (!read_[i]) {
      return Unsupported(fmt::format("attribute {}={} is not supported", call_.attributes[i].name,
                                     call_.attributes[i].value.substr(0, 40)));
    }
  }
  return Status();
}

Result<Tensor> ParseLiteral(std::string_view spelling) {
  const auto bad = [&] {
    return InvalidArgument(
        fmt::format("'{}', expected a number such as 1, 2i64 or 0.5f", spelling.substr(0, 40)));
  };
  if (spelling == "True" || spelling == "False") {
    Tensor tensor(TensorType{{}, kBool});
    tensor.Set(0, spelling == "True" ? 1 : 0);
    return tensor;
  }
  auto cut = CutSuffix(spelling);
  if (!cut.ok()) return bad();
  Tensor tensor(TensorType{{}, cut->dtype});
  if (cut->dtype == kInt64) {  // all 64 bits are significant
    auto value = ParseInt64(cut->digits);
    if (!value.ok()) return bad();
    tensor.As<std::int64_t>()[0] = *value;
    return tensor;
  }
  auto value = ParseDouble(cut->digits);
  if (!value.ok() || !std::isfinite(*value)) return bad();
  tensor.Set(0, *value);
  if (!cut->dtype.is_float() && tensor.At(0) != *value) return bad();
  return tensor;
}

}  // namespace tilewright::relay
