// Every place where a result is written is an index expression under loops of constant extent and
// conditions. A plain sum of loop variables without conditions covers an interval or does not,
// which its strides say; all others are counted through, place by place.

#include "src/compiler/check/coverage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/ir/fold.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

struct Loop {
  const ExprNode* var;
  std::int64_t extent;
};

/// One statement that writes to the result.
struct WriteSite {
  std::vector<Loop> loops;       // around it, outermost first
  std::vector<Expr> conditions;  // all must hold
  Expr place;                    // row-major
  bool intrinsic = false;        // may write more than the region says
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

/// Whether the writer alone covers [0, count).
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

/// Finds the statements that write to a buffer.
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
  std::vector<Expr> vars_;  // that writers name
  std::vector<WriteSite> writers_;
};

/// Goes through the places of writers one by one.
class PlaceCounter {
 public:
  PlaceCounter(std::int64_t count, std::int64_t most)
      : written_(static_cast<std::size_t>(count), false), left_(most) {}

  /// False if it cannot be said where the writer writes.
  bool Count(const WriteSite& writer) {
    writer_ = &writer;
    used_.clear();
    const auto collect = [&](const Expr& expr) {
      ForEachNode(expr, [&](const Expr& node) {
        if (node->kind == ExprKind::kVar) used_[node.get()] = 0;
      });
    };
    collect(writer.place);
    for (const Expr& condition : writer.conditions) collect(condition);
    return Loops(0);
  }
  bool all() const { return std::ranges::find(written_, false) == written_.end(); }

 private:
  bool Loops(std::size_t depth) {
    if (depth == writer_->loops.size()) return Place();
    const Loop& loop = writer_->loops[depth];
    const auto var = used_.find(loop.var);
    const std::int64_t extent = var == used_.end() ? std::min<std::int64_t>(loop.extent, 1)
                                                   : loop.extent;
    for (std::int64_t i = 0; i < extent; ++i) {
      if (var != used_.end()) var->second = i;
      if (!Loops(depth + 1)) return false;
    }
    return true;
  }

  bool Place() {
    if (--left_ < 0) return false;
    for (const Expr& condition : writer_->conditions) {
      const auto holds = Value(condition);
      if (!holds) return false;
      if (*holds == 0) return true;
    }
    const auto place = Value(writer_->place);
    if (!place || *place < 0 || *place >= static_cast<std::int64_t>(written_.size())) return false;
    written_[static_cast<std::size_t>(*place)] = true;
    return true;
  }

  /// Nothing for what data says, and for what index maths does not use.
  std::optional<std::int64_t> Value(const Expr& expr) const {
    switch (expr->kind) {
      case ExprKind::kInt:
        return expr->int_value;
      case ExprKind::kVar: {
        const auto var = used_.find(expr.get());
        return var == used_.end() ? std::nullopt : std::optional(var->second);
      }
      case ExprKind::kCast:
        return !expr->dtype.is_float() ? Value(expr->args[0]) : std::nullopt;
      case ExprKind::kNot: {
        const auto value = Value(expr->args[0]);
        return value ? std::optional<std::int64_t>(*value == 0) : std::nullopt;
      }
      default:
        return Binary(expr);
    }
  }

  std::optional<std::int64_t> Binary(const Expr& expr) const {
    if (expr->args.size() != 2 || expr->args[0].dtype().is_float()) return std::nullopt;
    const auto left = Value(expr->args[0]), right = Value(expr->args[1]);
    if (!left || !right) return std::nullopt;
    return FoldInt(expr->kind, expr->args[0].dtype(), *left, *right);
  }

  std::vector<bool> written_;
  std::int64_t left_;
  const WriteSite* writer_ = nullptr;
  std::map<const ExprNode*, std::int64_t> used_;  // variables that say where
};

}  // namespace

Coverage CoverageOf(const Program& program, std::int64_t most_places) {
  const Buffer& result = program.parameters.back();
  const std::int64_t count = result->elements();
  WriterFinder finder(result);
  finder.Walk(program.body);
  const std::vector<WriteSite> writers = finder.Take();
  for (const WriteSite& writer : writers) {
    if (CoversAll(writer, count)) return Coverage::kAll;
  }
  if (count > most_places) return Coverage::kUnknown;
  PlaceCounter counter(count, most_places);
  for (const WriteSite& writer : writers) {
    if (!counter.Count(writer)) return Coverage::kUnknown;
  }
  if (counter.all()) return Coverage::kAll;
  const bool known = std::ranges::none_of(writers, &WriteSite::intrinsic);
  return known ? Coverage::kPart : Coverage::kUnknown;
}

}  // namespace tilewright
