// Arithmetic and comparisons as Python defines them: / gives a float, // and % round towards minus
// infinity, booleans count as 0 and 1. Integers have 64 bits; a result beyond fails.

#include "src/space/open/expression_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tilewright {
namespace {

using Values = std::vector<ExpressionValue>;
constexpr std::size_t kMaxItems = 65536;

std::optional<std::int64_t> IntegerOf(const ExpressionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.value)) return *integer;
  if (const auto* boolean = std::get_if<bool>(&value.value)) return *boolean ? 1 : 0;
  return std::nullopt;
}

ExpressionValue FromDouble(double number) {
  return std::isfinite(number) ? ExpressionValue{number} : FailedValue();
}

/// Converts a whole number to an integer.
ExpressionValue IntegerFrom(double number) {
  // 2^63 is the first double beyond the range.
  if (!(number >= -0x1p63 && number < 0x1p63)) return FailedValue();
  return {static_cast<std::int64_t>(number)};
}

ExpressionValue PowerOf(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return FailedValue();
    return FromDouble(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t result = 1;
  if (base == 0 || base == 1) return {exponent == 0 ? 1 : base};
  if (base == -1) return {exponent % 2 == 0 ? std::int64_t{1} : std::int64_t{-1}};
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return FailedValue();
  }
  return {result};
}

ExpressionValue FloorDivide(std::int64_t a, std::int64_t b) {
  if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return FailedValue();
  return {a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0)};
}

ExpressionValue Modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) return FailedValue();
  if (b == -1) return {std::int64_t{0}};
  const std::int64_t rest = a % b;
  return {rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest};
}

ExpressionValue Shift(std::int64_t a, std::int64_t by, bool left) {
  if (by < 0) return FailedValue();
  if (!left) return {by > 62 ? (a < 0 ? std::int64_t{-1} : std::int64_t{0}) : a >> by};
  if (a == 0) return {a};
  std::int64_t result = 0;
  if (by > 62 || __builtin_mul_overflow(a, std::int64_t{1} << by, &result)) return FailedValue();
  return {result};
}

ExpressionValue OfIntegers(ConditionOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case ConditionOp::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return FailedValue();
      return {result};
    case ConditionOp::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return FailedValue();
      return {result};
    case ConditionOp::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return FailedValue();
      return {result};
    case ConditionOp::kDivide:
      return b == 0 ? FailedValue() : FromDouble(static_cast<double>(a) / static_cast<double>(b));
    case ConditionOp::kFloorDivide:
      return FloorDivide(a, b);
    case ConditionOp::kModulo:
      return Modulo(a, b);
    case ConditionOp::kPower:
      return PowerOf(a, b);
    case ConditionOp::kShiftLeft:
    case ConditionOp::kShiftRight:
      return Shift(a, b, op == ConditionOp::kShiftLeft);
    case ConditionOp::kBitAnd:
      return {a & b};
    case ConditionOp::kBitOr:
      return {a | b};
    case ConditionOp::kBitXor:
      return {a ^ b};
    default:
      return FailedValue();
  }
}

ExpressionValue OfDoubles(ConditionOp op, double a, double b) {
  switch (op) {
    case ConditionOp::kAdd:
      return FromDouble(a + b);
    case ConditionOp::kSubtract:
      return FromDouble(a - b);
    case ConditionOp::kMultiply:
      return FromDouble(a * b);
    case ConditionOp::kDivide:
      return b == 0 ? FailedValue() : FromDouble(a / b);
    case ConditionOp::kFloorDivide:
      return b == 0 ? FailedValue() : FromDouble(std::floor(a / b));
    case ConditionOp::kModulo: {
      if (b == 0) return FailedValue();
      const double rest = std::fmod(a, b);
      return FromDouble(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    case ConditionOp::kPower:
      return FromDouble(std::pow(a, b));
    default:
      return FailedValue();
  }
}

ExpressionValue Arithmetic(ConditionOp op, const ExpressionValue& a, const ExpressionValue& b) {
  const auto integer_a = IntegerOf(a), integer_b = IntegerOf(b);
  if (integer_a && integer_b) return OfIntegers(op, *integer_a, *integer_b);
  if (a.is_number() && b.is_number()) return OfDoubles(op, a.number(), b.number());
  if (op != ConditionOp::kAdd || a.value.index() != b.value.index()) return FailedValue();
  if (const auto* text = std::get_if<std::string>(&a.value)) {
    const std::string& more = std::get<std::string>(b.value);
    if (text->size() + more.size() > kMaxItems) return FailedValue();
    return {*text + more};
  }
  if (const auto* list = std::get_if<Values>(&a.value)) {
    Values joined = *list;
    const Values& more = std::get<Values>(b.value);
    if (joined.size() + more.size() > kMaxItems) return FailedValue();
    joined.insert(joined.end(), more.begin(), more.end());
    return {std::move(joined)};
  }
  return FailedValue();
}

bool Equal(const ExpressionValue& a, const ExpressionValue& b) {
  const auto integer_a = IntegerOf(a), integer_b = IntegerOf(b);
  if (integer_a && integer_b) return *integer_a == *integer_b;
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  const auto* list_a = std::get_if<Values>(&a.value);
  const auto* list_b = std::get_if<Values>(&b.value);
  if (list_a != nullptr && list_b != nullptr) {
    return std::equal(list_a->begin(), list_a->end(), list_b->begin(), list_b->end(), Equal);
  }
  return a == b;
}

/// Returns -1, 0 or 1; nullopt if the values have no order.
std::optional<int> Compare(const ExpressionValue& a, const ExpressionValue& b) {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : x == y ? 0 : 1; };
  const auto integer_a = IntegerOf(a), integer_b = IntegerOf(b);
  if (integer_a && integer_b) return order(*integer_a, *integer_b);
  if (a.is_number() && b.is_number()) return order(a.number(), b.number());
  const auto* text_a = std::get_if<std::string>(&a.value);
  const auto* text_b = std::get_if<std::string>(&b.value);
  if (text_a != nullptr && text_b != nullptr) return order(*text_a, *text_b);
  return std::nullopt;
}

ExpressionValue Ordering(ConditionOp op, const ExpressionValue& a, const ExpressionValue& b) {
  const std::optional<int> order = Compare(a, b);
  if (!order) return FailedValue();
  switch (op) {
    case ConditionOp::kLess:
      return {*order < 0};
    case ConditionOp::kLessEqual:
      return {*order <= 0};
    case ConditionOp::kGreater:
      return {*order > 0};
    default:
      return {*order >= 0};
  }
}

ExpressionValue Contains(const ExpressionValue& all, const ExpressionValue& one, bool expected) {
  if (const auto* list = std::get_if<Values>(&all.value)) {
    const auto is_it = [&one](const ExpressionValue& item) { return Equal(item, one); };
    return {std::any_of(list->begin(), list->end(), is_it) == expected};
  }
  const auto* text = std::get_if<std::string>(&all.value);
  const auto* part = std::get_if<std::string>(&one.value);
  if (text == nullptr || part == nullptr) return FailedValue();
  return {(text->find(*part) != std::string::npos) == expected};
}

ExpressionValue Extreme(bool largest, const Values& operands) {
  const Values* all = &operands;
  if (operands.size() == 1) all = std::get_if<Values>(&operands[0].value);
  // As in Kernel Tuner's T1 files, the extreme of a number is the number.
  if (all == nullptr) return operands[0].is_number() ? operands[0] : FailedValue();
  if (all->empty()) return FailedValue();
  ExpressionValue best = (*all)[0];
  for (const ExpressionValue& one : *all) {
    const std::optional<int> order = Compare(one, best);
    if (!order) return FailedValue();
    if (largest ? *order > 0 : *order < 0) best = one;
  }
  return best;
}

ExpressionValue RoundTo(const Values& operands) {
  const ExpressionValue& value = operands[0];
  if (operands.size() == 1) {
    if (IntegerOf(value)) return {*IntegerOf(value)};
    return IntegerFrom(std::nearbyint(value.number()));  // half to even, as in Python
  }
  const auto digits = IntegerOf(operands[1]);
  if (!digits || *digits < -15 || *digits > 15) return FailedValue();
  const double scale = std::pow(10.0, static_cast<double>(*digits));
  const double rounded = std::nearbyint(value.number() * scale) / scale;
  return IntegerOf(value) ? IntegerFrom(rounded) : FromDouble(rounded);
}

ExpressionValue OfOneNumber(ConditionOp op, const ExpressionValue& operand) {
  if (!operand.is_number()) return FailedValue();
  const auto integer = IntegerOf(operand);
  const double number = operand.number();
  const bool least = integer && *integer == std::numeric_limits<std::int64_t>::min();
  switch (op) {
    case ConditionOp::kNegate:
      if (least) return FailedValue();
      return integer ? ExpressionValue{-*integer} : FromDouble(-number);
    case ConditionOp::kPlus:
      return integer ? ExpressionValue{*integer} : operand;
    case ConditionOp::kInvert:
      return integer ? ExpressionValue{~*integer} : FailedValue();
    case ConditionOp::kAbs:
      if (least) return FailedValue();
      return integer ? ExpressionValue{*integer < 0 ? -*integer : *integer}
                     : FromDouble(std::fabs(number));
    case ConditionOp::kToInteger:
      return integer ? ExpressionValue{*integer} : IntegerFrom(std::trunc(number));
    case ConditionOp::kCeil:
      return integer ? ExpressionValue{*integer} : IntegerFrom(std::ceil(number));
    case ConditionOp::kFloor:
      return integer ? ExpressionValue{*integer} : IntegerFrom(std::floor(number));
    case ConditionOp::kToFloat:
      return FromDouble(number);
    case ConditionOp::kSqrt:
      return number < 0 ? FailedValue() : FromDouble(std::sqrt(number));
    case ConditionOp::kLog2:
      return number <= 0 ? FailedValue() : FromDouble(std::log2(number));
    default:
      return FailedValue();
  }
}

ExpressionValue LengthOf(const ExpressionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) {
    return {static_cast<std::int64_t>(text->size())};
  }
  if (const auto* list = std::get_if<Values>(&value.value)) {
    return {static_cast<std::int64_t>(list->size())};
  }
  return FailedValue();
}

}  // namespace

double ExpressionValue::number() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? 1 : 0;
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number : 0;
}

bool ExpressionValue::truth() const {
  if (is_number()) return number() != 0;
  if (const auto* text = std::get_if<std::string>(&value)) return !text->empty();
  if (const auto* list = std::get_if<Values>(&value)) return !list->empty();
  return false;
}

ExpressionValue FromParameterValue(const ParameterValue& value) {
  return std::visit([](const auto& one) { return ExpressionValue{one}; }, value);
}

bool TakesTwo(ConditionOp op) {
  switch (op) {
    case ConditionOp::kAdd:
    case ConditionOp::kSubtract:
    case ConditionOp::kMultiply:
    case ConditionOp::kDivide:
    case ConditionOp::kFloorDivide:
    case ConditionOp::kModulo:
    case ConditionOp::kPower:
    case ConditionOp::kShiftLeft:
    case ConditionOp::kShiftRight:
    case ConditionOp::kBitAnd:
    case ConditionOp::kBitOr:
    case ConditionOp::kBitXor:
    case ConditionOp::kEqual:
    case ConditionOp::kNotEqual:
    case ConditionOp::kLess:
    case ConditionOp::kLessEqual:
    case ConditionOp::kGreater:
    case ConditionOp::kGreaterEqual:
    case ConditionOp::kIn:
    case ConditionOp::kNotIn:
      return true;
    default:
      return false;
  }
}

ExpressionValue ApplyToTwo(ConditionOp op, const ExpressionValue& a, const ExpressionValue& b) {
  if (a.failed() || b.failed()) return FailedValue();
  switch (op) {
    case ConditionOp::kEqual:
      return {Equal(a, b)};
    case ConditionOp::kNotEqual:
      return {!Equal(a, b)};
    case ConditionOp::kLess:
    case ConditionOp::kLessEqual:
    case ConditionOp::kGreater:
    case ConditionOp::kGreaterEqual:
      return Ordering(op, a, b);
    case ConditionOp::kIn:
    case ConditionOp::kNotIn:
      return Contains(b, a, op == ConditionOp::kIn);
    default:
      return Arithmetic(op, a, b);
  }
}

ExpressionValue ApplyOperator(ConditionOp op, const Values& operands) {
  if (TakesTwo(op)) return ApplyToTwo(op, operands[0], operands[1]);
  for (const ExpressionValue& operand : operands) {
    if (operand.failed()) return FailedValue();
  }
  switch (op) {
    case ConditionOp::kList:
      return {operands};
    case ConditionOp::kNot:
      return {!operands[0].truth()};
    case ConditionOp::kToBoolean:
      return {operands[0].truth()};
    case ConditionOp::kMin:
    case ConditionOp::kMax:
      return Extreme(op == ConditionOp::kMax, operands);
    case ConditionOp::kRound:
      return operands[0].is_number() ? RoundTo(operands) : FailedValue();
    case ConditionOp::kLen:
      return LengthOf(operands[0]);
    default:
      return OfOneNumber(op, operands[0]);
  }
}

}  // namespace tilewright
