#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/ir/expr.h"

namespace tilewright {

/// All integers from min to max.
struct Interval {
  std::int64_t min = 0;
  std::int64_t max = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// What is known of the values of variables.
class Ranges {
 public:
  void Set(const Expr& var, Interval interval) { intervals_[var.get()] = {var, interval}; }
  const Interval* Find(const ExprNode* var) const {
    const auto found = intervals_.find(var);
    return found == intervals_.end() ? nullptr : &found->second.second;
  }

  /// What a condition around the code at hand says of an expression, until PopFact. The latest
  /// fact about an expression counts.
  void PushFact(const Expr& expr, Interval interval) { facts_.emplace_back(expr, interval); }
  void PopFact() { facts_.pop_back(); }
  const Interval* FindFact(const Expr& expr) const;

 private:
  std::vector<std::pair<Expr, Interval>> facts_;
  // The expression is kept so that no other variable can take its address.
  std::unordered_map<const ExprNode*, std::pair<Expr, Interval>> intervals_;
};

/// constant + sum of coefficient * atom: the canonical form of an index (kInt64). Atoms are
/// variables and what is not linear (simplified itself), each once, in order of appearance.
struct LinearForm {
  struct Term {
    Expr atom;
    std::int64_t coefficient = 0;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms;

  /// Requires expr.dtype() == kInt64.
  static LinearForm Of(const Expr& expr, const Ranges& ranges);
  /// Adds scale * other.
  void Add(const LinearForm& other, std::int64_t scale);
  void AddTerm(const Expr& atom, std::int64_t coefficient);
  bool IsConstant() const { return terms.empty(); }
  Expr ToExpr() const;
};

/// Smallest interval that is sure to hold every value; none if nothing is known.
std::optional<Interval> BoundsOf(const LinearForm& form, const Ranges& ranges);
std::optional<Interval> BoundsOf(const Expr& expr, const Ranges& ranges);

/// The same value in canonical form: indices as linear forms, floor divisions and comparisons
/// resolved where the ranges of the variables decide them.
Expr Simplify(const Expr& expr, const Ranges& ranges);

}  // namespace tilewright
