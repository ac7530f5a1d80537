#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "src/space/open/parameter.h"

namespace tilewright {

/// Operator of a condition, with the meaning that Python gives it.
enum class ConditionOp : std::uint8_t {
  kConstant,
  kParameter,
  kList,
  kNegate,
  kPlus,
  kInvert,
  kNot,
  kAnd,
  kOr,
  kIfElse,  ///< condition, value if true, value if false
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kShiftLeft,
  kShiftRight,
  kBitAnd,
  kBitOr,
  kBitXor,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
  kMin,
  kMax,
  kAbs,
  kToInteger,
  kToFloat,
  kToBoolean,
  kRound,
  kCeil,
  kFloor,
  kSqrt,
  kLog2,
  kLen,
};

/// Value of an expression: a number, a boolean, a text, a list, or the failure of its evaluation
/// (division by zero, a text compared with a number, an integer beyond 64 bits).
struct ExpressionValue {
  struct Failure {
    friend bool operator==(Failure, Failure) = default;
  };
  std::variant<std::int64_t, double, bool, std::string, std::vector<ExpressionValue>, Failure>
      value;

  bool failed() const { return std::holds_alternative<Failure>(value); }
  bool is_number() const { return value.index() < 3; }
  double number() const;  ///< requires is_number()
  /// Returns Python's truth of the value; false for a failure.
  bool truth() const;
  friend bool operator==(const ExpressionValue&, const ExpressionValue&) = default;
};

ExpressionValue FromParameterValue(const ParameterValue& value);
inline ExpressionValue FailedValue() { return {ExpressionValue::Failure()}; }

/// Applies an operator to values. Not for kConstant, kParameter, kAnd, kOr and kIfElse, which do
/// not evaluate all their operands.
ExpressionValue ApplyOperator(ConditionOp op, const std::vector<ExpressionValue>& operands);

/// Whether an operator always has two operands, which are both evaluated.
bool TakesTwo(ConditionOp op);
/// Applies such an operator.
ExpressionValue ApplyToTwo(ConditionOp op, const ExpressionValue& a, const ExpressionValue& b);

}  // namespace tilewright
