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

/// Known intervals of variables and expressions.
class Ranges {
 public:
  void Set(const Expr& var, Interval interval) { intervals_[var.get()] = {var, interval}; }
  const Interval* Find(const ExprNode* var) const {
    const auto found = intervals_.find(var);
    return found == intervals_.end() ? nullptr : &found->second.second;
  }

  /// Adds a condition that holds around the current code, until PopFact. The latest fact about an
  /// expression counts.
  void PushFact(const Expr& expr, Interval interval) { facts_.emplace_back(expr, interval); }
  void PopFact() { facts_.pop_back(); }
  const Interval* FindFact(const Expr& expr) const;

 private:
  std::vector<std::pair<Expr, Interval>> facts_;
  // Keeps the expression alive so that no other variable can get its address.
  std::unordered_map<const ExprNode*, std::pair<Expr, Interval>> intervals_;
};

/// Linear form constant + sum of coefficient * atom: the canonical form of an index (kInt64). Atoms
/// are variables and nonlinear expressions (simplified themselves), each once, in order of
/// appearance.
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
  /// Returns the coefficient of an atom; 0 if it does not occur.
  std::int64_t CoefficientOf(const Expr& atom) const;
  Expr ToExpr() const;
};

/// Returns an interval that contains every value; nullopt if none is known.
std::optional<Interval> BoundsOf(const LinearForm& form, const Ranges& ranges);
std::optional<Interval> BoundsOf(const Expr& expr, const Ranges& ranges);

/// Returns an equal expression in canonical form: indices as linear forms; floor divisions and
/// comparisons resolved if the ranges of the variables decide them.
Expr Simplify(const Expr& expr, const Ranges& ranges);

}  // namespace tilewright
