#include "src/ir/fold.h"

#include <cmath>
#include <limits>

#include "src/base/math.h"

namespace tilewright {
namespace {

std::optional<std::int64_t> FoldDivision(ExprKind kind, DataType dtype, std::int64_t a,
                                         std::int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
  if (kind == ExprKind::kFloorMod) return FloorMod(a, b);
  // The minimum of a type divided by -1 wraps, as the reference does.
  return WrapToType(dtype, kind == ExprKind::kDiv ? a / b : FloorDiv(a, b));
}

std::optional<std::int64_t> FoldShift(ExprKind kind, DataType dtype, std::int64_t a,
                                      std::int64_t b) {
  if (b < 0 || b >= dtype.bits) return std::nullopt;
  if (kind == ExprKind::kShiftLeft) {
    return WrapToType(dtype, static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b));
  }
  if (dtype.code == TypeCode::kUInt) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) >> b);
  }
  return a >> b;
}

}  // namespace

std::int64_t WrapToType(DataType dtype, std::int64_t value) {
  if (dtype.is_bool()) return value != 0 ? 1 : 0;
  if (dtype.bits >= 64) return value;
  const int unused = 64 - dtype.bits;
  const auto shifted = static_cast<std::uint64_t>(value) << unused;
  if (dtype.code == TypeCode::kUInt) return static_cast<std::int64_t>(shifted >> unused);
  return static_cast<std::int64_t>(shifted) >> unused;
}

std::optional<std::int64_t> FoldInt(ExprKind kind, DataType dtype, std::int64_t a, std::int64_t b) {
  // Constants are sign- or zero-extended to 64 bits, so only uint64 needs its own order.
  const bool wide = dtype.code == TypeCode::kUInt && dtype.bits == 64;
  if (wide && (a < 0 || b < 0)) return std::nullopt;
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  const auto wrap = [&](std::uint64_t v) {
    return WrapToType(dtype, static_cast<std::int64_t>(v));
  };
  switch (kind) {
    case ExprKind::kAdd:
      return wrap(ua + ub);
    case ExprKind::kSub:
      return wrap(ua - ub);
    case ExprKind::kMul:
      return wrap(ua * ub);
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
      return FoldDivision(kind, dtype, a, b);
    case ExprKind::kMin:
      return a < b ? a : b;
    case ExprKind::kMax:
      return a < b ? b : a;
    case ExprKind::kEq:
      return a == b;
    case ExprKind::kNe:
      return a != b;
    case ExprKind::kLt:
      return a < b;
    case ExprKind::kLe:
      return a <= b;
    case ExprKind::kAnd:
      return a != 0 && b != 0;
    case ExprKind::kOr:
      return a != 0 || b != 0;
    case ExprKind::kShiftLeft:
    case ExprKind::kShiftRight:
      return FoldShift(kind, dtype, a, b);
    default:
      return std::nullopt;
  }
}

std::optional<double> FoldFloat(ExprKind kind, DataType dtype, double a, double b) {
  if (std::isnan(a) || std::isnan(b) || dtype.bits < 32) return std::nullopt;
  double value = 0;
  switch (kind) {
    case ExprKind::kAdd:
      value = a + b;
      break;
    case ExprKind::kSub:
      value = a - b;
      break;
    case ExprKind::kMul:
      value = a * b;
      break;
    case ExprKind::kDiv:
      value = a / b;
      break;
    case ExprKind::kMin:
      value = a < b ? a : b;
      break;
    case ExprKind::kMax:
      value = a < b ? b : a;
      break;
    default:
      return std::nullopt;
  }
  if (std::isnan(value)) return std::nullopt;
  // Rounding a double result of two floats to float gives the correctly rounded float.
  return dtype.bits == 32 ? static_cast<double>(static_cast<float>(value)) : value;
}

std::optional<bool> FoldFloatComparison(ExprKind kind, double a, double b) {
  switch (kind) {
    case ExprKind::kEq:
      return a == b;
    case ExprKind::kNe:
      return a != b;
    case ExprKind::kLt:
      return a < b;
    case ExprKind::kLe:
      return a <= b;
    default:
      return std::nullopt;
  }
}

}  // namespace tilewright
