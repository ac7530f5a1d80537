#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Value of a parameter of an open space.
using ParameterValue = std::variant<std::int64_t, double, bool, std::string>;

enum class ParameterType : std::uint8_t { kInteger, kFloat, kBoolean, kText };

/// Named parameter of a program that is tuned, with all its values.
struct Parameter {
  std::string name;  ///< a letter or underscore, then letters, digits and underscores
  ParameterType type = ParameterType::kInteger;
  std::vector<ParameterValue> values;  ///< at least one, each once
  /// Whether the order of the values has a meaning, so that neighbours in it are alike. True for
  /// numbers, false for texts, unless the space states otherwise.
  bool ordered = true;
  std::optional<ParameterValue> default_value;

  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  /// Returns the position of a value, or -1. Numbers of different types are equal if their values
  /// are.
  std::int64_t Find(const ParameterValue& value) const;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

/// Returns "int", "float", "bool" or "string", as in T1 files.
std::string_view ParameterTypeName(ParameterType type);
/// Parses such a name. "uint" and "real" are accepted, too. Errors: kInvalidArgument.
Result<ParameterType> ParseParameterType(std::string_view name);

/// Formats a value for a command line: 16, 0.5, true, text without quotes.
std::string ToText(const ParameterValue& value);
/// Returns the value as a number: booleans are 0 and 1, texts have none.
std::optional<double> NumberOf(const ParameterValue& value);
/// Whether two values are equal, numbers by their value (1 equals 1.0, but no boolean).
bool SameValue(const ParameterValue& a, const ParameterValue& b);

}  // namespace tilewright
