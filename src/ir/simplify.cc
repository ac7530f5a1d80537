// Index simplification. Indices are sums of coefficients and atoms; variables have intervals. A
// floor division is split into its divisible part and the rest. A comparison is decided if the
// intervals of its operands do not overlap.

#include "src/ir/simplify.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "src/base/math.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

// Larger bounds are treated as unknown; arithmetic on smaller ones cannot overflow.
constexpr std::int64_t kLargestBound = std::int64_t{1} << 50;

std::int64_t WrapMul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
std::int64_t WrapAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

bool InRange(std::int64_t value) { return value > -kLargestBound && value < kLargestBound; }

std::optional<Interval> Scaled(const Interval& interval, std::int64_t scale) {
  std::int64_t a = 0;
  std::int64_t b = 0;
  if (__builtin_mul_overflow(interval.min, scale, &a) ||
      __builtin_mul_overflow(interval.max, scale, &b) || !InRange(a) || !InRange(b)) {
    return std::nullopt;
  }
  return Interval{std::min(a, b), std::max(a, b)};
}

std::optional<Interval> AtomBounds(const Expr& atom, const Ranges& ranges) {
  if (const Interval* fact = ranges.FindFact(atom)) return *fact;
  switch (atom->kind) {
    case ExprKind::kInt:
      return Interval{atom->int_value, atom->int_value};
    case ExprKind::kVar: {
      const Interval* found = ranges.Find(atom.get());
      return found != nullptr ? std::optional(*found) : std::nullopt;
    }
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod: {
      std::int64_t divisor = 0;
      if (!atom->args[1].IsInt(&divisor) || divisor <= 0) return std::nullopt;
      const auto inner = BoundsOf(atom->args[0], ranges);
      if (atom->kind == ExprKind::kFloorMod) {
        if (inner && inner->min >= 0 && inner->max < divisor) return inner;
        // Multiples of g have remainders that are multiples of g.
        const LinearForm form = LinearForm::Of(atom->args[0], ranges);
        std::int64_t common = std::gcd(divisor, form.constant);
        for (const auto& term : form.terms) common = std::gcd(common, term.coefficient);
        return Interval{0, divisor - common};
      }
      if (!inner) return std::nullopt;
      return Interval{FloorDiv(inner->min, divisor), FloorDiv(inner->max, divisor)};
    }
    case ExprKind::kMin:
    case ExprKind::kMax: {
      const auto a = BoundsOf(atom->args[0], ranges);
      const auto b = BoundsOf(atom->args[1], ranges);
      if (!a || !b) return std::nullopt;
      if (atom->kind == ExprKind::kMin) {
        return Interval{std::min(a->min, b->min), std::min(a->max, b->max)};
      }
      return Interval{std::max(a->min, b->min), std::max(a->max, b->max)};
    }
    case ExprKind::kSelect: {
      const auto a = BoundsOf(atom->args[1], ranges);
      const auto b = BoundsOf(atom->args[2], ranges);
      if (!a || !b) return std::nullopt;
      return Interval{std::min(a->min, b->min), std::max(a->max, b->max)};
    }
    default:
      return std::nullopt;
  }
}

/// Splits `form` into divisor * quotient + rest. The rest has the terms whose coefficient the
/// divisor does not divide, and the constant modulo the divisor.
void SplitByDivisor(const LinearForm& form, std::int64_t divisor, LinearForm* quotient,
                    LinearForm* rest) {
  for (const auto& term : form.terms) {
    if (term.coefficient % divisor == 0) {
      quotient->terms.push_back({term.atom, term.coefficient / divisor});
    } else {
      rest->terms.push_back(term);
    }
  }
  quotient->constant = FloorDiv(form.constant, divisor);
  rest->constant = FloorMod(form.constant, divisor);
}

LinearForm FloorDivForm(const LinearForm& form, std::int64_t divisor, const Ranges& ranges) {
  LinearForm quotient;
  LinearForm rest;
  SplitByDivisor(form, divisor, &quotient, &rest);
  if (const auto bounds = BoundsOf(rest, ranges)) {
    const std::int64_t low = FloorDiv(bounds->min, divisor);
    if (low == FloorDiv(bounds->max, divisor)) {
      quotient.constant += low;
      return quotient;
    }
  }
  // Common factors of the rest and the divisor: floor((g*x + c) / (g*d)) = floor((x + c/g) / d).
  std::int64_t common = divisor;
  for (const auto& term : rest.terms) common = std::gcd(common, std::abs(term.coefficient));
  if (common > 1) {
    for (auto& term : rest.terms) term.coefficient /= common;
    rest.constant = FloorDiv(rest.constant, common);
    divisor /= common;
  }
  quotient.AddTerm(FloorDiv(rest.ToExpr(), Expr(divisor)), 1);
  return quotient;
}

LinearForm FloorModForm(const LinearForm& form, std::int64_t divisor, const Ranges& ranges) {
  LinearForm quotient;
  LinearForm rest;
  SplitByDivisor(form, divisor, &quotient, &rest);
  if (const auto bounds = BoundsOf(rest, ranges)) {
    const std::int64_t low = FloorDiv(bounds->min, divisor);
    if (low == FloorDiv(bounds->max, divisor)) {
      rest.constant -= low * divisor;
      return rest;
    }
  }
  LinearForm result;
  result.AddTerm(FloorMod(rest.ToExpr(), Expr(divisor)), 1);
  return result;
}

/// Replaces k * (x floormod c) + k*c * (x floordiv c) by k * x.
void JoinQuotientAndRemainder(LinearForm* form, const Ranges& ranges) {
  for (std::size_t i = 0; i < form->terms.size(); ++i) {
    const LinearForm::Term mod = form->terms[i];
    if (mod.atom->kind != ExprKind::kFloorMod) continue;
    const std::int64_t divisor = mod.atom->args[1]->int_value;
    for (std::size_t j = 0; j < form->terms.size(); ++j) {
      const LinearForm::Term div = form->terms[j];
      if (div.atom->kind != ExprKind::kFloorDiv ||
          div.coefficient != WrapMul(mod.coefficient, divisor) ||
          div.atom->args[1]->int_value != divisor ||
          !SameExpr(div.atom->args[0], mod.atom->args[0])) {
        continue;
      }
      const LinearForm whole = LinearForm::Of(mod.atom->args[0], ranges);
      form->terms.erase(form->terms.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
      form->terms.erase(form->terms.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
      form->Add(whole, mod.coefficient);
      JoinQuotientAndRemainder(form, ranges);
      return;
    }
  }
}

Expr SimplifyMinMax(const Expr& expr, const Ranges& ranges) {
  const Expr a = Simplify(expr->args[0], ranges);
  const Expr b = Simplify(expr->args[1], ranges);
  LinearForm difference = LinearForm::Of(a, ranges);
  difference.Add(LinearForm::Of(b, ranges), -1);
  if (const auto bounds = BoundsOf(difference, ranges)) {
    const bool min = expr->kind == ExprKind::kMin;
    if (bounds->max <= 0) return min ? a : b;
    if (bounds->min >= 0) return min ? b : a;
  }
  return MakeBinary(expr->kind, a, b);
}

Expr SimplifyComparison(const Expr& expr, const Ranges& ranges) {
  const Expr a = Simplify(expr->args[0], ranges);
  const Expr b = Simplify(expr->args[1], ranges);
  LinearForm difference = LinearForm::Of(a, ranges);
  difference.Add(LinearForm::Of(b, ranges), -1);
  const auto bounds = BoundsOf(difference, ranges);
  const auto decide = [&](bool truth) { return MakeInt(kBool, truth ? 1 : 0); };
  if (bounds) {
    const bool never_equal = bounds->min > 0 || bounds->max < 0;
    const bool always_equal = bounds->min == 0 && bounds->max == 0;
    switch (expr->kind) {
      case ExprKind::kLt:
        if (bounds->max < 0) return decide(true);
        if (bounds->min >= 0) return decide(false);
        break;
      case ExprKind::kLe:
        if (bounds->max <= 0) return decide(true);
        if (bounds->min > 0) return decide(false);
        break;
      case ExprKind::kEq:
        if (never_equal || always_equal) return decide(always_equal);
        break;
      default:
        if (never_equal || always_equal) return decide(never_equal);
        break;
    }
  }
  return MakeBinary(expr->kind, a, b);
}

Expr SimplifyOperands(const Expr& expr, const Ranges& ranges) {
  return MapArgs(expr, [&](const Expr& arg) { return Simplify(arg, ranges); });
}

}  // namespace

const Interval* Ranges::FindFact(const Expr& expr) const {
  for (auto fact = facts_.rbegin(); fact != facts_.rend(); ++fact) {
    if (SameExpr(fact->first, expr)) return &fact->second;
  }
  return nullptr;
}

void LinearForm::AddTerm(const Expr& atom, std::int64_t coefficient) {
  std::int64_t value = 0;
  if (atom.IsInt(&value)) {
    constant = WrapAdd(constant, WrapMul(value, coefficient));
    return;
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!SameExpr(terms[i].atom, atom)) continue;
    terms[i].coefficient = WrapAdd(terms[i].coefficient, coefficient);
    if (terms[i].coefficient == 0) terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  if (coefficient != 0) terms.push_back({atom, coefficient});
}

std::int64_t LinearForm::CoefficientOf(const Expr& atom) const {
  const auto found =
      std::ranges::find_if(terms, [&](const Term& term) { return term.atom.Same(atom); });
  return found == terms.end() ? 0 : found->coefficient;
}

void LinearForm::Add(const LinearForm& other, std::int64_t scale) {
  constant = WrapAdd(constant, WrapMul(other.constant, scale));
  for (const Term& term : other.terms) AddTerm(term.atom, WrapMul(term.coefficient, scale));
}

LinearForm LinearForm::Of(const Expr& expr, const Ranges& ranges) {
  LinearForm form;
  switch (expr->kind) {
    case ExprKind::kInt:
      form.constant = expr->int_value;
      return form;
    case ExprKind::kVar:
      form.terms.push_back({expr, 1});
      return form;
    case ExprKind::kAdd:
    case ExprKind::kSub:
      form = Of(expr->args[0], ranges);
      form.Add(Of(expr->args[1], ranges), expr->kind == ExprKind::kAdd ? 1 : -1);
      JoinQuotientAndRemainder(&form, ranges);
      return form;
    case ExprKind::kMul: {
      const LinearForm a = Of(expr->args[0], ranges);
      const LinearForm b = Of(expr->args[1], ranges);
      if (a.IsConstant() || b.IsConstant()) {
        form.Add(a.IsConstant() ? b : a, a.IsConstant() ? a.constant : b.constant);
      } else {
        form.AddTerm(a.ToExpr() * b.ToExpr(), 1);
      }
      return form;
    }
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod: {
      std::int64_t divisor = 0;
      if (!expr->args[1].IsInt(&divisor) || divisor <= 0) break;
      const LinearForm inner = Of(expr->args[0], ranges);
      return expr->kind == ExprKind::kFloorDiv ? FloorDivForm(inner, divisor, ranges)
                                               : FloorModForm(inner, divisor, ranges);
    }
    case ExprKind::kMin:
    case ExprKind::kMax: {
      const Expr simpler = SimplifyMinMax(expr, ranges);
      if (simpler->kind == expr->kind) {
        form.AddTerm(simpler, 1);
        return form;
      }
      return Of(simpler, ranges);
    }
    default:
      break;
  }
  form.AddTerm(SimplifyOperands(expr, ranges), 1);
  return form;
}

Expr LinearForm::ToExpr() const {
  Expr sum;
  // Positive terms come first: "a - b" is more readable than "b*-1 + a".
  for (const bool positive : {true, false}) {
    for (const Term& term : terms) {
      if ((term.coefficient > 0) != positive) continue;
      if (!sum) {
        sum = term.atom * Expr(term.coefficient);
      } else if (positive) {
        sum = sum + term.atom * Expr(term.coefficient);
      } else {
        sum = sum - term.atom * Expr(WrapMul(term.coefficient, -1));
      }
    }
  }
  if (!sum) return Expr(constant);
  return sum + Expr(constant);
}

std::optional<Interval> BoundsOf(const LinearForm& form, const Ranges& ranges) {
  if (!InRange(form.constant)) return std::nullopt;
  Interval sum{form.constant, form.constant};
  for (const auto& term : form.terms) {
    const auto atom = AtomBounds(term.atom, ranges);
    if (!atom) return std::nullopt;
    const auto scaled = Scaled(*atom, term.coefficient);
    if (!scaled) return std::nullopt;
    sum.min += scaled->min;
    sum.max += scaled->max;
    if (!InRange(sum.min) || !InRange(sum.max)) return std::nullopt;
  }
  return sum;
}

std::optional<Interval> BoundsOf(const Expr& expr, const Ranges& ranges) {
  return BoundsOf(LinearForm::Of(expr, ranges), ranges);
}

Expr Simplify(const Expr& expr, const Ranges& ranges) {
  switch (expr->kind) {
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe:
      if (expr->args[0].dtype() == kInt64) return SimplifyComparison(expr, ranges);
      return SimplifyOperands(expr, ranges);
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kMin:
    case ExprKind::kMax:
      if (expr.dtype() == kInt64) return LinearForm::Of(expr, ranges).ToExpr();
      return SimplifyOperands(expr, ranges);
    default:
      return SimplifyOperands(expr, ranges);
  }
}

}  // namespace tilewright
