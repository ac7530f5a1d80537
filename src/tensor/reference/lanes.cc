// Arithmetic of the evaluator of expressions, for many positions at a time. Each value has the
// maximum error of a correct kernel: the operands' errors are passed on (for functions, by the ends
// of the interval), and the operation's own rounding is added.

#include "src/tensor/reference/lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "src/tensor/reference/internal.h"
#include "src/tensor/reference/periodic.h"

namespace tilewright::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Some machines flush smaller float32 numbers to zero.
constexpr double kTiny = 0x1p-126;
/// Maximum error of functions, in roundings.
constexpr double kUnitsOfFunctions = 8;

double ValueAt(const std::vector<double>& values, bool uniform, std::size_t i) {
  return values[uniform ? 0 : i];
}
std::int64_t IntegerAt(const Lanes& lanes, std::size_t i) {
  return lanes.integers[lanes.uniform ? 0 : i];
}
double NumberAt(const Lanes& lanes, std::size_t i) {
  return ValueAt(lanes.numbers, lanes.uniform, i);
}
double ErrorOfLane(const Lanes& lanes, std::size_t i) {
  return lanes.exact ? 0 : ValueAt(lanes.errors, lanes.uniform, i);
}

std::int64_t FloorDivided(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t IntegerOf(ExprKind kind, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (kind) {
    case ExprKind::kAdd:
      return static_cast<std::int64_t>(ua + ub);
    case ExprKind::kSub:
      return static_cast<std::int64_t>(ua - ub);
    case ExprKind::kMul:
      return static_cast<std::int64_t>(ua * ub);
    case ExprKind::kFloorDiv:
      return FloorDivided(a, b);
    case ExprKind::kFloorMod:
      return a - FloorDivided(a, b) * b;
    case ExprKind::kMin:
      return std::min(a, b);
    case ExprKind::kMax:
      return std::max(a, b);
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
      return static_cast<std::int64_t>(ua << b);
    case ExprKind::kShiftRight:
      return a >> b;
    default:
      return 0;
  }
}

bool Compares(ExprKind kind) {
  return kind == ExprKind::kEq || kind == ExprKind::kNe || kind == ExprKind::kLt ||
         kind == ExprKind::kLe;
}

double ErrorOfInteger(ExprKind kind, double a, double ea, double b, double eb) {
  switch (kind) {
    case ExprKind::kAdd:
    case ExprKind::kSub:
      return ea + eb;
    case ExprKind::kMul:
      return std::fabs(a) * eb + std::fabs(b) * ea + ea * eb;
    case ExprKind::kFloorDiv:
      return ea > 0 ? ea / b + 1 : 0;
    case ExprKind::kFloorMod:
      return ea > 0 ? b : 0;
    case ExprKind::kMin:
    case ExprKind::kMax:
      return std::max(ea, eb);
    case ExprKind::kShiftLeft:
      return std::ldexp(ea, static_cast<int>(b));
    case ExprKind::kShiftRight:
      return ea > 0 ? std::ldexp(ea, -static_cast<int>(b)) + 1 : 0;
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return ea + eb > 0 ? 1 : 0;
    default:
      return std::fabs(a - b) <= ea + eb && ea + eb > 0 ? 1 : 0;
  }
}

void IntegerLanes(const ExpressionNode& node, const Lanes& a, const Lanes& b, std::size_t count,
                  DataType operands, Lanes& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t x = IntegerAt(a, i), y = IntegerAt(b, i);
    out.integers[i] = Wrapped(node.dtype, IntegerOf(node.kind, x, y));
  }
  out.exact = a.exact && b.exact;
  if (out.exact) return;
  for (std::size_t i = 0; i < count; ++i) {
    out.errors[i] =
        ErrorOfInteger(node.kind, static_cast<double>(IntegerAt(a, i)), ErrorOfLane(a, i),
                       static_cast<double>(IntegerAt(b, i)), ErrorOfLane(b, i));
    const double reached = std::fabs(static_cast<double>(out.integers[i])) + out.errors[i];
    const bool wraps = operands.bits < 64 && reached > std::ldexp(1.0, operands.bits);
    if (wraps && out.errors[i] > 0 && !node.dtype.is_bool()) out.errors[i] = kInfinity;
  }
}

void ComparedFloats(const ExpressionNode& node, const Lanes& a, const Lanes& b, std::size_t count,
                    Lanes& out) {
  out.exact = a.exact && b.exact;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = NumberAt(a, i), y = NumberAt(b, i);
    bool holds = false;
    if (node.kind == ExprKind::kEq) holds = x == y;
    if (node.kind == ExprKind::kNe) holds = x != y;
    if (node.kind == ExprKind::kLt) holds = x < y;
    if (node.kind == ExprKind::kLe) holds = x <= y;
    out.integers[i] = holds ? 1 : 0;
    if (out.exact) continue;
    const double error = ErrorOfLane(a, i) + ErrorOfLane(b, i);
    out.errors[i] = error > 0 && !(std::fabs(x - y) > error) ? 1 : 0;
  }
}

/// The four most frequent operations, in vectorizable loops.
void FloatLanes(const ExpressionNode& node, const Lanes& a, const Lanes& b, std::size_t count,
                Lanes& out) {
  const double unit = RoundingOf(node.dtype);
  out.exact = false;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = NumberAt(a, i), y = NumberAt(b, i);
    const double ex = ErrorOfLane(a, i), ey = ErrorOfLane(b, i);
    double value = 0, error = 0;
    switch (node.kind) {
      case ExprKind::kAdd:
        value = x + y;
        error = ex + ey + unit * std::fabs(value);
        break;
      case ExprKind::kSub:
        value = x - y;
        error = ex + ey + unit * std::fabs(value);
        break;
      case ExprKind::kMul:
        value = x * y;
        error = std::fabs(x) * ey + std::fabs(y) * ex + ex * ey + unit * std::fabs(value);
        break;
      case ExprKind::kDiv: {
        value = x / y;
        const double least = std::fabs(y) - ey;
        error = least > 0 ? (ex + std::fabs(value) * ey) / least + 2 * unit * std::fabs(value)
                          : (ey > 0 ? kInfinity : 0);
        break;
      }
      case ExprKind::kMin:
        value = Smaller(x, y);
        error = std::max(ex, ey);
        break;
      default:
        value = Larger(x, y);
        error = std::max(ex, ey);
        break;
    }
    out.numbers[i] = value;
    out.errors[i] = error;
  }
}

/// The most frequent operation, without an inner switch.
void MultipliedLanes(const Lanes& a, const Lanes& b, std::size_t count, double unit, Lanes& out) {
  out.exact = false;
  const bool both = !a.uniform && !b.uniform;
  const Lanes& vector = a.uniform ? b : a;
  const Lanes& other = a.uniform ? a : b;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = vector.numbers[i] * (both ? other.numbers[i] : other.numbers[0]);
    out.numbers[i] = value;
    out.errors[i] = unit * std::fabs(value);
  }
}

void SelectedLanes(const ExpressionNode& node, const Lanes& c, const Lanes& a, const Lanes& b,
                   std::size_t count, Lanes& out) {
  const bool floats = node.dtype.is_float();
  out.exact = c.exact && a.exact && b.exact;
  for (std::size_t i = 0; i < count; ++i) {
    const bool first = IntegerAt(c, i) != 0;
    const Lanes& chosen = first ? a : b;
    if (floats) {
      out.numbers[i] = NumberAt(chosen, i);
    } else {
      out.integers[i] = IntegerAt(chosen, i);
    }
    if (out.exact) continue;
    out.errors[i] = ErrorOfLane(chosen, i);
    if (ErrorOfLane(c, i) == 0) continue;
    const Lanes& other = first ? b : a;
    const double apart = floats ? std::fabs(NumberAt(a, i) - NumberAt(b, i))
                                : std::fabs(static_cast<double>(IntegerAt(a, i)) -
                                            static_cast<double>(IntegerAt(b, i)));
    out.errors[i] = std::max(out.errors[i], apart + ErrorOfLane(other, i));
  }
}

struct FunctionOfOne {
  std::string_view name;
  double (*compute)(double);
};
constexpr FunctionOfOne kFunctionsOfOne[] = {
    {"exp", std::exp},
    {"log", std::log},
    {"sqrt", std::sqrt},
    {"tanh", std::tanh},
    {"erf", std::erf},
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"asin", std::asin},
    {"acos", std::acos},
    {"atan", std::atan},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"asinh", std::asinh},
    {"acosh", std::acosh},
    {"atanh", std::atanh},
    {"expm1", std::expm1},
    {"log1p", std::log1p},
    {"floor", std::floor},
    {"ceil", std::ceil},
    {"round", std::round},
    {"rint", std::nearbyint},
    {"abs", std::fabs},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"softplus",
     [](double x) { return x < 0 ? std::log1p(std::exp(x)) : x + std::log1p(std::exp(-x)); }}};

double FunctionOf(const std::string& name, double x, double y) {
  if (name == "pow") return std::pow(x, y);
  return std::ranges::find(kFunctionsOfOne, name, &FunctionOfOne::name)->compute(x);
}

void CalledLanes(const ExpressionNode& node, const Lanes& a, const Lanes* b, std::size_t count,
                 Lanes& out) {
  const bool rounds = node.function == "floor" || node.function == "ceil" ||
                      node.function == "round" || node.function == "rint" || node.function == "abs";
  const bool periodic = node.function == "sin" || node.function == "cos" || node.function == "tan";
  const double unit = rounds ? 0 : kUnitsOfFunctions * RoundingOf(node.dtype);
  out.exact = rounds && a.exact;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = NumberAt(a, i), y = b != nullptr ? NumberAt(*b, i) : 0;
    const double value = FunctionOf(node.function, x, y);
    out.numbers[i] = value;
    if (out.exact) continue;
    const double ex = ErrorOfLane(a, i), ey = b != nullptr ? ErrorOfLane(*b, i) : 0;
    double error = unit * std::fabs(value) + (rounds ? 0 : kTiny);
    if (periodic) {
      out.errors[i] = error + ErrorOfPeriodic(node.function, x, ex);
      continue;
    }
    for (const double dx : {-ex, ex}) {
      for (const double dy : {-ey, ey}) {
        if (dx == 0 && dy == 0) continue;
        const double end = FunctionOf(node.function, x + dx, y + dy);
        const double apart = std::fabs(end - value) + unit * std::fabs(end);
        error = std::max(error, std::isnan(end) ? kInfinity : apart);
      }
    }
    out.errors[i] = std::isnan(error) ? kInfinity : error;
  }
}

void CastLanes(const ExpressionNode& node, const Lanes& a, bool from_float, std::size_t count,
               Lanes& out) {
  const DataType to = node.dtype;
  const double unit = to.is_float() ? RoundingOf(to) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double error = ErrorOfLane(a, i);
    double after = error;
    if (from_float && to.is_float()) {
      out.numbers[i] = NumberAt(a, i);
      after += unit * std::fabs(out.numbers[i]);
    } else if (from_float) {
      const double value = NumberAt(a, i);
      constexpr double kFits = 9.2e18;
      const double whole = std::trunc(value);
      out.integers[i] =
          std::fabs(value) < kFits ? Wrapped(to, static_cast<std::int64_t>(whole)) : 0;
      const double low = std::trunc(value - error), high = std::trunc(value + error);
      after = std::max(std::fabs(low - whole), std::fabs(high - whole));
      // A number beyond the integer type gives an arbitrary result.
      const double limit = to.code == TypeCode::kUInt ? 0 : std::ldexp(1.0, to.bits - 1);
      const double most = std::ldexp(1.0, to.code == TypeCode::kUInt ? to.bits : to.bits - 1);
      if (!(value - error > -limit - 1 && value + error < most)) after = kInfinity;
    } else if (to.is_float()) {
      out.numbers[i] = static_cast<double>(IntegerAt(a, i));
      const bool whole = std::fabs(out.numbers[i]) * unit < 0.25;
      after += whole ? 0 : 2 * unit * std::fabs(out.numbers[i]);
    } else {
      out.integers[i] = Wrapped(to, IntegerAt(a, i));
    }
    out.errors[i] = after;
  }
  out.exact =
      std::all_of(out.errors.begin(), out.errors.begin() + static_cast<std::ptrdiff_t>(count),
                  [](double error) { return error == 0; });
}

}  // namespace

double RoundingOf(DataType dtype) { return StepOf(dtype) / 2; }

std::int64_t Wrapped(DataType dtype, std::int64_t value) {
  if (dtype.is_bool()) return value != 0 ? 1 : 0;
  switch (dtype.bits) {
    case 8:
      return dtype.code == TypeCode::kUInt ? static_cast<std::uint8_t>(value)
                                           : static_cast<std::int8_t>(value);
    case 16:
      return dtype.code == TypeCode::kUInt ? static_cast<std::uint16_t>(value)
                                           : static_cast<std::int16_t>(value);
    case 32:
      if (dtype.code == TypeCode::kUInt) return static_cast<std::uint32_t>(value);
      return static_cast<std::int32_t>(value);
    default:
      return value;
  }
}

void ComputeLanes(const ExpressionNode& node, const std::vector<const Lanes*>& args,
                  std::int64_t count, Lanes& out) {
  out.uniform = std::ranges::all_of(args, [](const Lanes* lanes) { return lanes->uniform; });
  const auto lanes = static_cast<std::size_t>(out.uniform ? 1 : count);
  if (node.kind == ExprKind::kInt || node.kind == ExprKind::kFloat) {
    out.exact = true;
    if (node.kind == ExprKind::kFloat) {
      out.numbers[0] = node.number;
    } else {
      out.integers[0] = node.integer;
    }
    return;
  }
  const Lanes& a = *args[0];
  const bool floats = node.function.empty() ? !a.numbers.empty() : true;
  switch (node.kind) {
    case ExprKind::kCast:
      return CastLanes(node, a, floats, lanes, out);
    case ExprKind::kCall:
      return CalledLanes(node, a, args.size() > 1 ? args[1] : nullptr, lanes, out);
    case ExprKind::kSelect:
      return SelectedLanes(node, a, *args[1], *args[2], lanes, out);
    case ExprKind::kNot:
      out.exact = a.exact;
      for (std::size_t i = 0; i < lanes; ++i) {
        out.integers[i] = IntegerAt(a, i) == 0 ? 1 : 0;
        if (!out.exact) out.errors[i] = ErrorOfLane(a, i);
      }
      return;
    default:
      break;
  }
  const Lanes& b = *args[1];
  if (!floats) {
    const bool bools = node.dtype.is_bool();
    return IntegerLanes(node, a, b, lanes, bools ? kInt64 : node.dtype, out);
  }
  if (Compares(node.kind)) return ComparedFloats(node, a, b, lanes, out);
  if (node.kind == ExprKind::kMul && a.exact && b.exact && !out.uniform) {
    return MultipliedLanes(a, b, lanes, RoundingOf(node.dtype), out);
  }
  FloatLanes(node, a, b, lanes, out);
}

}  // namespace tilewright::reference
