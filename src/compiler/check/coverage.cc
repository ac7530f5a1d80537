// Each write to a result is an index expression under loops of constant extent and conditions. For
// a plain sum of loop variables without conditions, the strides tell whether it covers an interval.
// All others are enumerated, position by position.

#include "src/compiler/check/coverage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "src/ir/fold.h"

namespace tilewright {
namespace {

struct Loop {
  const ExprNode* var;
  std::int64_t extent;
};

/// Statement that writes to the result.
struct WriteSite {
  std::vector<Loop> loops;       // around it, outermost first
  std::vector<Expr> conditions;  // all must hold
  Expr place;                    // row-major
  bool intrinsic = false;        // may write more than the region states
};

/// offset + sum of coefficient * variable.
struct Sum {
  std::int64_t offset = 0;
  std::map<const ExprNode*, std::int64_t> terms;
};

std::optional<Sum> SumOf(const Expr& expr) {
  switch (expr->kind) {
    case ExprKind::kInt:
      return Sum{expr->int_value, {}};
    case ExprKind::kVar:
      return Sum{0, {{expr.get(), 1}}};
    case ExprKind::kCast:
      return !expr->dtype.is_float() ? SumOf(expr->args[0]) : std::nullopt;
    case ExprKind::kAdd:
    case ExprKind::kSub: {
      auto left = SumOf(expr->args[0]), right = SumOf(expr->args[1]);
      if (!left || !right) return std::nullopt;
      const std::int64_t sign = expr->kind == ExprKind::kAdd ? 1 : -1;
      left->offset += sign * right->offset;
      for (const auto& [var, factor] : right->terms) left->terms[var] += sign * factor;
      return left;
    }
    case ExprKind::kMul: {
      auto left = SumOf(expr->args[0]), right = SumOf(expr->args[1]);
      if (!left || !right) return std::nullopt;
      if (!left->terms.empty()) std::swap(left, right);
      if (!left->terms.empty()) return std::nullopt;
      const std::int64_t factor = left->offset;
      right->offset *= factor;
      for (auto& term : right->terms) term.second *= factor;
      return right;
    }
    default:
      return std::nullopt;
  }
}

/// Returns true if the writer alone covers [0, count).
bool CoversAll(const WriteSite& writer, std::int64_t count) {
  if (!writer.conditions.empty()) return false;
  const auto sum = SumOf(writer.place);
  if (!sum) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // coefficient, extent
  std::int64_t first = sum->offset;
  for (const Loop& loop : writer.loops) {
    const auto term = sum->terms.find(loop.var);
    const std::int64_t factor = term == sum->terms.end() ? 0 : term->second;
    if (loop.extent < 1) return false;
    if (factor == 0 || loop.extent == 1) continue;
    if (factor < 0) first += factor * (loop.extent - 1);
    steps.emplace_back(factor < 0 ? -factor : factor, loop.extent);
  }
  std::ranges::sort(steps);
  std::int64_t reach = 1;  // [first, first + reach) is covered by the steps so far
  for (const auto& [factor, extent] : steps) {
    if (factor > reach) return false;
    reach += factor * (extent - 1);
  }
  return first <= 0 && first + reach >= count;
}

/// Collector of the statements that write to a buffer.
class WriterFinder {
 public:
  explicit WriterFinder(const Buffer& result) : result_(result.get()) {}

  void Walk(const Stmt& stmt) {
    if (!stmt) return;
    switch (stmt->kind) {
      case StmtKind::kFor:
        loops_.push_back({stmt->var.get(), stmt->extent});
        Walk(stmt->body[0]);
        loops_.pop_back();
        return;
      case StmtKind::kIf:
        conditions_.push_back(stmt->condition);
        Walk(stmt->body[0]);
        if (stmt->body.size() > 1) {
          conditions_.back() = MakeNot(stmt->condition);
          Walk(stmt->body[1]);
        }
        conditions_.pop_back();
        return;
      case StmtKind::kStore:
        if (stmt->buffer.get() == result_) Add(stmt->indices, {}, {});
        return;
      case StmtKind::kCopy:
      case StmtKind::kIntrinsic:
      case StmtKind::kLibraryCall: {
        if (stmt->regions.empty()) return;
        const Region& written = stmt->regions[0];
        if (written.buffer.get() != result_) return;
        Add(written.min, written.extent, stmt->condition);
        writers_.back().intrinsic = stmt->kind == StmtKind::kIntrinsic;
        return;
      }
      default:
        for (const Stmt& inner : stmt->body) Walk(inner);
    }
  }

  std::vector<WriteSite> Take() { return std::move(writers_); }

 private:
  /// extent: of a region; empty for one element.
  void Add(const std::vector<Expr>& first, const std::vector<std::int64_t>& extent,
           const Expr& condition) {
    WriteSite writer{loops_, conditions_, Expr(0), false};
    if (condition) writer.conditions.push_back(condition);
    for (std::size_t i = 0; i < first.size(); ++i) {
      Expr index = first[i];
      if (!extent.empty() && extent[i] != 1) {
        const Expr inside = MakeVar("inside");
        writer.loops.push_back({inside.get(), extent[i]});
        vars_.push_back(inside);
        index = index + inside;
      }
      writer.place = writer.place * Expr(result_->shape[i]) + index;
    }
    writers_.push_back(std::move(writer));
  }

  const BufferNode* result_;
  std::vector<Loop> loops_;
  std::vector<Expr> conditions_;
  std::vector<Expr> vars_;  // variables that writers use
  std::vector<WriteSite> writers_;
};

/// Index expressions under loops as operations on numbered slots. Each is computed at the loop of
/// its innermost variable, so that a step of the innermost loop computes little.
class IndexCode {
 public:
  using Value = std::optional<std::int64_t>;  ///< nothing for what index maths does not say

  explicit IndexCode(const std::vector<Loop>& loops) : at_depth_(loops.size() + 1) {
    for (std::size_t i = 0; i < loops.size(); ++i) slots_[loops[i].var] = NewSlot(i + 1);
  }

  /// Returns the slot of the expression's value.
  std::size_t Add(const Expr& expr) {
    const auto known = slots_.find(expr.get());
    if (known != slots_.end()) {
      if (known->second + 1 < at_depth_.size()) used_.insert(known->second);
      return known->second;
    }
    const std::size_t slot = Made(expr);
    slots_.emplace(expr.get(), slot);
    return slot;
  }

  /// Returns true if an expression uses the variable of a loop.
  bool Uses(std::size_t loop) const { return used_.contains(loop); }
  /// Sets the variable of a loop.
  void Set(std::size_t loop, std::int64_t value) { values_[loop] = value; }
  /// Computes the slots that depend on the variables of this many outermost loops only.
  void Compute(std::size_t depth) {
    for (const Operation& op : at_depth_[depth]) {
      const Value &left = values_[op.left], &right = values_[op.right];
      values_[op.result] = left && right ? FoldInt(op.kind, op.dtype, *left, *right) : std::nullopt;
    }
  }
  const Value& value(std::size_t slot) const { return values_[slot]; }

 private:
  struct Operation {
    ExprKind kind;
    DataType dtype;
    std::size_t left, right, result;
  };

  std::size_t NewSlot(std::size_t depth, Value value = std::nullopt) {
    values_.push_back(value);
    depths_.push_back(depth);
    return values_.size() - 1;
  }

  std::size_t Made(const Expr& expr) {
    const bool real = expr.dtype().is_float();
    if (expr->kind == ExprKind::kInt) return NewSlot(0, expr->int_value);
    if (expr->kind == ExprKind::kCast && !real) return Add(expr->args[0]);
    if (expr->kind == ExprKind::kNot) {  // x == 0
      return Computed(ExprKind::kEq, expr->args[0].dtype(), Add(expr->args[0]), NewSlot(0, 0));
    }
    if (expr->args.size() != 2 || expr->args[0].dtype().is_float()) return NewSlot(0);
    return Computed(expr->kind, expr->args[0].dtype(), Add(expr->args[0]), Add(expr->args[1]));
  }

  std::size_t Computed(ExprKind kind, DataType dtype, std::size_t left, std::size_t right) {
    const std::size_t depth = std::max(depths_[left], depths_[right]);
    const std::size_t slot = NewSlot(depth);
    at_depth_[depth].push_back({kind, dtype, left, right, slot});
    return slot;
  }

  std::map<const ExprNode*, std::size_t> slots_;  // the first ones are those of the loops
  std::vector<Value> values_;                     // by slot, as the depths
  std::vector<std::size_t> depths_;
  std::vector<std::vector<Operation>> at_depth_;
  std::set<std::size_t> used_;  // loops
};

/// Enumeration of the positions of writers.
class PlaceCounter {
 public:
  PlaceCounter(std::int64_t count, std::int64_t most)
      : written_(static_cast<std::size_t>(count), false), left_(most) {}

  /// Returns false if the writer's positions cannot be determined.
  bool Count(const WriteSite& writer) {
    IndexCode code(writer.loops);
    Site site{writer.loops, code, {}, 0};
    for (const Expr& condition : writer.conditions) site.conditions.push_back(code.Add(condition));
    site.place = code.Add(writer.place);
    code.Compute(0);
    return Loops(site, 0);
  }
  bool all() const { return std::ranges::find(written_, false) == written_.end(); }

 private:
  struct Site {
    const std::vector<Loop>& loops;
    IndexCode& code;
    std::vector<std::size_t> conditions;  // slots
    std::size_t place;
  };

  bool Loops(Site& site, std::size_t depth) {
    if (depth == site.loops.size()) return Place(site);
    const std::int64_t most = site.loops[depth].extent;
    const std::int64_t extent = site.code.Uses(depth) ? most : std::min<std::int64_t>(most, 1);
    for (std::int64_t i = 0; i < extent; ++i) {
      site.code.Set(depth, i);
      site.code.Compute(depth + 1);
      if (!Loops(site, depth + 1)) return false;
    }
    return true;
  }

  bool Place(const Site& site) {
    if (--left_ < 0) return false;
    for (const std::size_t condition : site.conditions) {
      const IndexCode::Value& holds = site.code.value(condition);
      if (!holds) return false;
      if (*holds == 0) return true;
    }
    const IndexCode::Value& place = site.code.value(site.place);
    if (!place || *place < 0 || *place >= std::ssize(written_)) return false;
    written_[static_cast<std::size_t>(*place)] = true;
    return true;
  }

  std::vector<bool> written_;
  std::int64_t left_;
};

}  // namespace

Coverage CoverageOf(const Program& program, std::int64_t max_places) {
  const Buffer& result = program.parameters.back();
  const std::int64_t count = result->elements();
  WriterFinder finder(result);
  finder.Walk(program.body);
  const std::vector<WriteSite> writers = finder.Take();
  for (const WriteSite& writer : writers) {
    if (CoversAll(writer, count)) return Coverage::kAll;
  }
  if (count > max_places) return Coverage::kUnknown;
  PlaceCounter counter(count, max_places);
  for (const WriteSite& writer : writers) {
    if (!counter.Count(writer)) return Coverage::kUnknown;
  }
  if (counter.all()) return Coverage::kAll;
  const bool known = std::ranges::none_of(writers, &WriteSite::intrinsic);
  return known ? Coverage::kPart : Coverage::kUnknown;
}

}  // namespace tilewright
