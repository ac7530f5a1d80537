// Proof that reads stay inside of their tensors. The interval of an index follows from the ranges
// of its axes and from enclosing conditions: in select(c, a, b), c holds in a and not in b. A
// condition is kept as bounds of the linear form that it compares. Every part of an index with the
// same form, up to a constant and the sign, has these bounds, too. Padding, clamps and windows have
// this form; an index whose bounds follow otherwise needs a clamp.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/base/math.h"
#include "src/tensor/expression/internal.h"

namespace tilewright {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 62;

struct Bounds {
  std::int64_t min = -kFar, max = kFar;
};

// Sums and products that stop at kFar. (32-bit boards have no numbers of 128 bits.)
std::int64_t CappedPlus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? -kFar : kFar;
  return std::clamp(sum, -kFar, kFar);
}
std::int64_t CappedTimes(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) != (b < 0) ? -kFar : kFar;
  return std::clamp(product, -kFar, kFar);
}

/// Returns true for bounds without a number: the position is never reached.
bool IsEmpty(Bounds bounds) { return bounds.min > bounds.max; }

Bounds Plus(Bounds a, Bounds b) {
  if (IsEmpty(a) || IsEmpty(b)) return {kFar, -kFar};
  return {CappedPlus(a.min, b.min), CappedPlus(a.max, b.max)};
}

Bounds Times(Bounds a, Bounds b) {
  if (IsEmpty(a) || IsEmpty(b)) return {kFar, -kFar};
  const std::int64_t ends[] = {CappedTimes(a.min, b.min), CappedTimes(a.min, b.max),
                               CappedTimes(a.max, b.min), CappedTimes(a.max, b.max)};
  return {*std::ranges::min_element(ends), *std::ranges::max_element(ends)};
}

Bounds BoundsOfType(DataType dtype) {
  if (dtype.is_bool()) return {0, 1};
  if (!dtype.is_integer() || dtype.bits > 32) return {};
  const std::int64_t count = std::int64_t{1} << dtype.bits;
  if (dtype.code == TypeCode::kUInt) return {0, count - 1};
  return {-count / 2, count / 2 - 1};
}

/// The fact that form + a constant is not negative.
struct Fact {
  LinearIndex64 form;
};

bool SameTerms(const LinearIndex64& a, const LinearIndex64& b, std::int64_t sign) {
  return std::ranges::equal(a.terms, b.terms, [&](const auto& x, const auto& y) {
    return x.first == y.first && x.second.coefficient == sign * y.second.coefficient;
  });
}

class ReadChecker {
 public:
  ReadChecker(const Expression& expression, const ExpressionStage& stage)
      : expression_(expression), stage_(stage) {}

  std::optional<OutOfBoundsRead> Run() {
    Walk(static_cast<int>(stage_.nodes.size()) - 1);
    return found_;
  }

 private:
  const ExpressionNode& At(int i) const { return stage_.nodes[static_cast<std::size_t>(i)]; }

  void Walk(int i) {
    if (found_) return;
    const ExpressionNode& n = At(i);
    if (n.kind == ExprKind::kSelect) {
      Walk(n.args[0]);
      for (const bool holds : {true, false}) {
        const std::size_t known = facts_.size();
        AddFacts(n.args[0], holds);
        Walk(n.args[holds ? 1 : 2]);
        facts_.resize(known);
      }
      return;
    }
    for (int arg : n.args) Walk(arg);
    if (n.kind == ExprKind::kLoad && !found_) CheckLoad(i);
  }

  void CheckLoad(int i) {
    const ExpressionNode& n = At(i);
    const TensorType type = expression_.TypeOf(n.integer);
    for (std::size_t d = 0; d < n.args.size(); ++d) {
      const Bounds bounds = BoundsOf(n.args[d]);
      const std::int64_t last = type.shape[d] - 1;
      if (IsEmpty(bounds)) return;
      if (bounds.min >= 0 && bounds.max <= last) continue;
      const auto shown = [](std::int64_t v) {
        return v <= -kFar || v >= kFar ? std::string("any number") : fmt::format("{}", v);
      };
      const bool gathers = bounds.min == -kFar || bounds.max == kFar ||
                           (bounds.max - bounds.min > (std::int64_t{1} << 31) - 2);
      found_ = OutOfBoundsRead{
          i, static_cast<int>(d),
          fmt::format("index {} of {} is {} to {}, expected 0 to {}{}", d,
                      expression_.NameOf(n.integer), shown(bounds.min), shown(bounds.max), last,
                      gathers ? fmt::format(": write clamp(…, 0, {})", last) : std::string())};
      return;
    }
  }

  /// Adds the facts that follow from a condition that holds or does not.
  void AddFacts(int condition, bool holds) {
    const ExpressionNode& n = At(condition);
    if (n.kind == ExprKind::kNot) return AddFacts(n.args[0], !holds);
    if (n.kind == (holds ? ExprKind::kAnd : ExprKind::kOr)) {
      AddFacts(n.args[0], holds);
      AddFacts(n.args[1], holds);
      return;
    }
    const bool equal = n.kind == (holds ? ExprKind::kEq : ExprKind::kNe);
    const bool ordered = n.kind == ExprKind::kLt || n.kind == ExprKind::kLe;
    if ((!equal && !ordered) || !At(n.args[0]).dtype.is_integer()) return;
    const LinearIndex64 a = LinearOf(stage_, n.args[0]), b = LinearOf(stage_, n.args[1]);
    const auto at_least = [&](const LinearIndex64& large, const LinearIndex64& small,
                              std::int64_t less) {
      Fact fact{large};
      fact.form.Add(small, -1);
      fact.form.constant -= less;
      if (fact.form.exact && !fact.form.terms.empty()) facts_.push_back(std::move(fact));
    };
    if (equal) {
      at_least(a, b, 0);
      at_least(b, a, 0);
    } else if (holds) {
      at_least(b, a, n.kind == ExprKind::kLt ? 1 : 0);
    } else {
      at_least(a, b, n.kind == ExprKind::kLt ? 0 : 1);
    }
  }

  Bounds BoundsOf(int i) {
    const LinearIndex64 form = LinearOf(stage_, i);
    if (!form.exact) return {};
    Bounds bounds{form.constant, form.constant};
    const auto atom = form.terms.size() == 1 ? form.terms.begin() : form.terms.end();
    const bool itself = atom != form.terms.end() && atom->second.node == i;
    for (const auto& [text, term] : form.terms) {
      const Bounds of = itself ? BoundsOfAtom(i) : BoundsOf(term.node);
      bounds = Plus(bounds, Times(of, {term.coefficient, term.coefficient}));
    }
    // fact: f + c >= 0. With the same terms, form = f + (form.constant - f.constant), so it is at
    // least form.constant - c; with the opposite ones at most form.constant + c.
    for (const Fact& fact : facts_) {
      if (SameTerms(form, fact.form, 1)) {
        bounds.min = std::max(bounds.min, form.constant - fact.form.constant);
      } else if (SameTerms(form, fact.form, -1)) {
        bounds.max = std::min(bounds.max, form.constant + fact.form.constant);
      }
    }
    return bounds;
  }

  Bounds BoundsOfAtom(int i) {
    const ExpressionNode& n = At(i);
    switch (n.kind) {
      case ExprKind::kVar:
        return {0, stage_.axis(n.integer).extent - 1};
      case ExprKind::kInt:
        return {n.integer, n.integer};
      case ExprKind::kCast:
        if (!At(n.args[0]).dtype.is_integer()) return BoundsOfType(n.dtype);
        return n.dtype == kInt64 ? BoundsOf(n.args[0]) : BoundsOfType(n.dtype);
      case ExprKind::kMin:
      case ExprKind::kMax: {
        const Bounds a = BoundsOf(n.args[0]), b = BoundsOf(n.args[1]);
        if (n.kind == ExprKind::kMin) return {std::min(a.min, b.min), std::min(a.max, b.max)};
        return {std::max(a.min, b.min), std::max(a.max, b.max)};
      }
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
        return Divided(n);
      case ExprKind::kMul:
        if (n.dtype != kInt64) return BoundsOfType(n.dtype);
        return Times(BoundsOf(n.args[0]), BoundsOf(n.args[1]));
      case ExprKind::kSelect: {
        Bounds both{kFar, -kFar};
        for (const bool holds : {true, false}) {
          const std::size_t known = facts_.size();
          AddFacts(n.args[0], holds);
          const Bounds arm = BoundsOf(n.args[holds ? 1 : 2]);
          both = {std::min(both.min, arm.min), std::max(both.max, arm.max)};
          facts_.resize(known);
        }
        return both;
      }
      default:
        return BoundsOfType(n.dtype);
    }
  }

  Bounds Divided(const ExpressionNode& n) {
    const std::int64_t divisor = At(n.args[1]).integer;
    const Bounds a = BoundsOf(n.args[0]);
    if (IsEmpty(a)) return a;
    if (a.min == -kFar || a.max == kFar) {
      return n.kind == ExprKind::kFloorMod ? Bounds{0, divisor - 1} : Bounds{};
    }
    const Bounds quotient{FloorDiv(a.min, divisor), FloorDiv(a.max, divisor)};
    if (n.kind == ExprKind::kFloorDiv) return quotient;
    if (quotient.min != quotient.max) return {0, divisor - 1};
    return {FloorMod(a.min, divisor), FloorMod(a.max, divisor)};
  }

  const Expression& expression_;
  const ExpressionStage& stage_;
  std::vector<Fact> facts_;
  std::optional<OutOfBoundsRead> found_;
};

}  // namespace

std::optional<OutOfBoundsRead> FindOutOfBoundsRead(const Expression& expression,
                                                   const ExpressionStage& stage) {
  return ReadChecker(expression, stage).Run();
}

Status CheckReadBounds(const Expression& expression) {
  for (const ExpressionStage& stage : expression.stages) {
    if (const auto outside = FindOutOfBoundsRead(expression, stage)) {
      return InvalidArgument("stage " + stage.name + ": " + outside->reason);
    }
  }
  return {};
}

}  // namespace tilewright
