// Matrix products on tensor cores as statements: their place, and the data that each thread of the
// warp loads. Regions of such a statement: the sums (rows, then columns; one element each), then a
// run of consecutive factors for each row, then for each column.

#include "src/ir/visit.h"
#include "src/schedule/dot.h"
#include "src/schedule/lower/gpu_passes.h"
#include "src/schedule/lower/lowering.h"

namespace tilewright {
namespace {

/// Returns true if the expression contains the variable.
bool Has(const Expr& expr, const Expr& var) {
  return var && var->kind == ExprKind::kVar && Contains(expr, var);
}

bool Has(const Region& region, const Expr& var) {
  return std::ranges::any_of(region.min, [&](const Expr& min) { return Has(min, var); });
}

class FragmentDistributor {
 public:
  Stmt Visit(const Stmt& stmt) {
    if (stmt->kind == StmtKind::kIntrinsic) {
      const MmaIntrinsic* mma = FindMmaIntrinsic(stmt->name);
      return mma == nullptr ? stmt : Deal(stmt, *mma);
    }
    if (stmt->body.empty()) return stmt;
    if (stmt->kind == StmtKind::kFor && IsThreadLoop(stmt->loop)) {
      if (stmt->loop == LoopKind::kThreadX) x_ = {stmt->var, stmt->extent};
      if (stmt->loop == LoopKind::kThreadY) y_ = {stmt->var, stmt->extent};
      threads_.push_back(stmt->var);
    }
    const bool differs = stmt->condition && std::ranges::any_of(threads_, [&](const Expr& var) {
                           return Has(stmt->condition, var);
                         });
    divergent_ += differs ? 1 : 0;
    std::vector<Stmt> body;
    for (const Stmt& part : stmt->body) body.push_back(Visit(part));
    divergent_ -= differs ? 1 : 0;
    return WithBody(stmt, std::move(body));
  }
  const Status& status() const { return status_; }

 private:
  struct Index {
    Expr var;  // null: no loop is bound to it
    std::int64_t extent = 1;
  };

  Stmt Refuse(const Stmt& stmt, const std::string& reason) {
    if (status_.ok()) status_ = InvalidArgument(stmt->name + ": " + reason);
    return stmt;
  }

  Stmt Deal(const Stmt& stmt, const MmaIntrinsic& mma) {
    if (x_.extent != MmaIntrinsic::kThreadsX || y_.extent != MmaIntrinsic::kThreadsY) {
      return Refuse(stmt, "a block of " + std::to_string(x_.extent) + " x " +
                              std::to_string(y_.extent) + " threads, expected 4 x 8 x warps");
    }
    if (divergent_ > 0) return Refuse(stmt, "under a condition that differs between threads");
    const auto first_row = stmt->regions.begin() + mma.sums();
    const auto first_column = first_row + mma.rows();
    std::vector<Region> regions(stmt->regions.begin(), first_row);
    for (auto row = first_row; row != first_column; ++row) {
      if (Has(*row, x_.var)) return Refuse(stmt, "threads of a row do not share its factors");
      regions.push_back(Chunk(*row, mma));
    }
    const auto column = OwnColumn(first_column[0], first_column[1]);
    if (!column) return Refuse(stmt, "threads of a column do not share its factors");
    regions.push_back(Chunk(*column, mma));
    return MakeIntrinsic(stmt->name, std::move(regions));
  }

  /// Returns the part of a run that thread.x loads.
  Region Chunk(Region run, const MmaIntrinsic& mma) const {
    run.min.back() = run.min.back() + x_.var * Expr(mma.chunk());
    run.extent.back() = mma.chunk();
    return run;
  }

  /// Returns column thread.y of the warp's eight: column thread.y % 2 of thread.x = thread.y / 2.
  /// Returns nullopt if the columns depend on thread.y, or if their distance is not a constant.
  std::optional<Region> OwnColumn(const Region& first, const Region& second) const {
    if (Has(first, y_.var)) return std::nullopt;
    const Substitution owner = {{x_.var.get(), FloorDiv(y_.var, Expr(MmaIntrinsic::kColumns))}};
    const Expr which = FloorMod(y_.var, Expr(MmaIntrinsic::kColumns));
    Region own = first;
    for (std::size_t d = 0; d < own.min.size(); ++d) {
      std::int64_t distance = 0;
      const Ranges none;
      if (!Simplify(second.min[d] - first.min[d], none).IsInt(&distance)) return std::nullopt;
      own.min[d] = Substitute(own.min[d], owner) + which * Expr(distance);
    }
    return own;
  }

  Index x_, y_;
  std::vector<Expr> threads_;
  int divergent_ = 0;
  Status status_;
};

}  // namespace

Result<Stmt> DistributeFragments(const Stmt& stmt) {
  FragmentDistributor dealer;
  Stmt dealt = dealer.Visit(stmt);
  TW_RETURN_IF_ERROR(dealer.status());
  return dealt;
}

/// Returns `extent` elements from the load's first one along loop `along`, other loops fixed.
/// Returns nullopt unless they are consecutive in memory.
std::optional<Region> Lowering::RunOf(const Expr& load, const Expr& along, std::int64_t extent) {
  const Substitution first = {{along.get(), Expr(0)}};
  Region region{load->buffer, {}, std::vector<std::int64_t>(load->args.size(), 1)};
  for (std::size_t d = 0; d < load->args.size(); ++d) {
    const Expr begin = Simplify(Substitute(load->args[d], first), ranges_);
    const Expr rest = Simplify(load->args[d] - begin, ranges_);
    const bool moves = d + 1 == load->args.size() && extent > 1;
    std::int64_t zero = 1;
    if (!(moves ? rest.Same(along) : rest.IsInt(&zero) && zero == 0)) return std::nullopt;
    region.min.push_back(begin);
  }
  region.extent.back() = extent;
  return region;
}

Stmt Lowering::EmitMma(const Nest& nest, std::size_t p) {
  const MmaIntrinsic& mma = *FindMmaIntrinsic(nest.info->intrinsic);
  const auto fail = [&](const std::string& reason) {
    return FailStage(nest, std::string(mma.name) + ": " + reason);
  };
  for (std::size_t i = 0; i < nest.guards.size(); ++i) {
    if (!nest.emitted[i] && Active(nest, nest.guards[i])) {
      return fail("its loops would need the condition " + ToString(nest.guards[i].condition));
    }
  }
  const std::int64_t extents[] = {mma.rows(), MmaIntrinsic::kColumns, mma.k};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t extent = nest.loops.extent(nest.info->leaves[p + i]);
    if (extent == extents[i]) continue;
    return fail("a tail of " + std::to_string(extent) + ", expected " + std::to_string(extents[i]));
  }
  std::vector<Expr> conditions;
  StripZeroTaps(nest.body, &conditions);
  if (!conditions.empty()) return fail("the product has zero padding inside");
  const auto operands = MatchProducts(nest.info->op, *TypesOfIntrinsic(mma.name));
  if (!operands.ok()) return fail(operands.status().message());
  const Realized& realized = realized_[static_cast<std::size_t>(nest.stage.index)];
  const Expr &row = nest.leaf[p], &column = nest.leaf[p + 1], &products = nest.leaf[p + 2];
  Expr a = RewriteBody(operands->a, nest), b = RewriteBody(operands->b, nest);
  if (Has(a, column)) std::swap(a, b);
  if (Has(a, column) || Has(b, row)) return fail("no factor follows the rows alone");
  std::vector<Region> regions;
  bool runs = true;
  const auto add = [&](const Expr& load, const Expr& var, std::int64_t at) {
    auto run = RunOf(Substitute(load, {{var.get(), Expr(at)}}), products, mma.k);
    runs = runs && run.has_value();
    if (run) regions.push_back(*std::move(run));
  };
  const Expr sum = MakeLoad(realized.buffer, IndicesOf(realized, nest.local));
  for (std::int64_t i = 0; i < mma.rows(); ++i) {
    for (std::int64_t j = 0; j < MmaIntrinsic::kColumns; ++j) {
      const Expr place = Substitute(sum, {{row.get(), Expr(i)}, {column.get(), Expr(j)}});
      regions.push_back(
          {place->buffer, place->args, std::vector<std::int64_t>(place->args.size(), 1)});
    }
  }
  for (std::int64_t i = 0; i < mma.rows(); ++i) add(a, row, i);
  for (std::int64_t j = 0; j < MmaIntrinsic::kColumns; ++j) add(b, column, j);
  if (!runs) return fail("the factors of a row or column are not consecutive in memory");
  return MakeIntrinsic(std::string(mma.name), std::move(regions));
}

}  // namespace tilewright
