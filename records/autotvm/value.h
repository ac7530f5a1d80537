#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::records {

/// Maximum depth of nested lists in an argument; those of tasks have 4 levels.
inline constexpr int kMaxListDepth = 16;

/// Argument of an AutoTVM task: a tree of numbers, texts and lists. Two values are equal if the
/// trees are equal item by item. Numbers compare by value (1, 1.0 and true are equal); lists and
/// tuples compare alike.
struct AutotvmValue {
  enum class Kind : std::uint8_t { kNone, kInt, kReal, kText, kList } kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<AutotvmValue> items;

  static AutotvmValue Int(std::int64_t value);
  /// Stores an integer if `value` is one.
  static AutotvmValue Real(double value);
  static AutotvmValue Text(std::string value);
  static AutotvmValue List(std::vector<AutotvmValue> items);

  bool is(Kind k) const { return kind == k; }
  /// Returns true for a list of integers only.
  bool IsInts() const;
  /// Returns the integers of such a list.
  std::vector<std::int64_t> Ints() const;
  /// Returns true for ["TENSOR", [sizes], "dtype"].
  bool IsTensor() const;
  friend bool operator==(const AutotvmValue&, const AutotvmValue&) = default;
};

/// Returns Python notation as in AutoTVM's messages: `('TENSOR', (1, 3), 'float32')`, None,
/// one-item tuples with a comma. Equal values have equal texts, so the text serves as a key.
std::string PythonText(const AutotvmValue& value);
/// Returns the notation of a tuple whose first item is the text `name`.
std::string PythonTuple(std::string_view name, const std::vector<AutotvmValue>& args);
/// Returns JSON notation as AutoTVM writes it: `["TENSOR", [1, 3], "float32"]`.
std::string JsonText(const AutotvmValue& value);

/// Parses Python or JSON notation (both kinds of quotes, None or null, True or true, tuples,
/// lists).
/// Errors: kInvalidArgument with the position, from 0.
Result<AutotvmValue> ParseAutotvmValue(std::string_view text);

}  // namespace tilewright::records
