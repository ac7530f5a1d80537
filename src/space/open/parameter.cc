#include "src/space/open/parameter.h"

#include <array>

#include "src/base/strings.h"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 4> kTypeNames = {"int", "float", "bool", "string"};

}  // namespace

std::int64_t Parameter::Find(const ParameterValue& value) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (SameValue(values[i], value)) return static_cast<std::int64_t>(i);
  }
  return -1;
}

std::string_view ParameterTypeName(ParameterType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

Result<ParameterType> ParseParameterType(std::string_view name) {
  for (std::size_t i = 0; i < kTypeNames.size(); ++i) {
    if (name == kTypeNames[i]) return static_cast<ParameterType>(i);
  }
  if (name == "uint" || name == "integer") return ParameterType::kInteger;
  if (name == "real" || name == "double") return ParameterType::kFloat;
  if (name == "boolean") return ParameterType::kBoolean;
  if (name == "text" || name == "str") return ParameterType::kText;
  return InvalidArgument("type \"" + std::string(name) + "\", expected int, float, bool or string");
}

std::string ToText(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return ShortestDouble(*number);
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  return std::get<std::string>(value);
}

std::optional<double> NumberOf(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? 1 : 0;
  return std::nullopt;
}

bool SameValue(const ParameterValue& a, const ParameterValue& b) {
  if (a.index() == b.index()) return a == b;
  const auto is_number = [](const ParameterValue& value) { return value.index() < 2; };
  return is_number(a) && is_number(b) && *NumberOf(a) == *NumberOf(b);
}

}  // namespace tilewright
