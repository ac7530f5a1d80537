// The innermost statements: stores, dot products, prefetches.

#include <algorithm>
#include <numeric>

#include "src/ir/visit.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/dot.h"
#include "src/schedule/lower/lowering.h"

namespace tilewright {
namespace {

Expr Combine(Combiner combiner, const Expr& accumulator, const Expr& value) {
  switch (combiner) {
    case Combiner::kMax:
      return Max(accumulator, value);
    case Combiner::kMin:
      return Min(accumulator, value);
    case Combiner::kProduct:
      return accumulator * value;
    default:
      return accumulator + value;
  }
}

}  // namespace

Expr Lowering::RewriteBody(const Expr& expr, const Nest& nest) {
  if (expr->kind == ExprKind::kVar) {
    const ComputeOp& op = nest.info->op;
    for (std::size_t a = 0; a < nest.axis.size(); ++a) {
      const Axis& axis = a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
      if (axis.var.Same(expr)) return nest.axis[a];
    }
    return expr;
  }
  // A load from a scalar has no indices.
  if (expr->args.empty() && expr->kind != ExprKind::kLoad) return expr;
  std::vector<Expr> args;
  args.reserve(expr->args.size());
  for (const Expr& arg : expr->args) args.push_back(RewriteBody(arg, nest));
  if (expr->kind != ExprKind::kLoad) {
    const bool comparison = expr->dtype.is_bool() && expr->args[0].dtype() == kInt64;
    const Expr rebuilt = WithArgs(expr, std::move(args));
    return comparison ? Simplify(rebuilt, ranges_) : rebuilt;
  }
  Buffer buffer = expr->buffer;
  const StageId producer = schedule_.ProducerOf(buffer);
  const Realized* realized =
      producer.index < 0 ? nullptr : &realized_[static_cast<std::size_t>(producer.index)];
  for (std::size_t d = 0; d < args.size(); ++d) {
    if (realized != nullptr) args[d] = args[d] - realized->origin[d];
    args[d] = Simplify(args[d], ranges_);
  }
  if (realized == nullptr) return MakeLoad(buffer, std::move(args));
  return MakeLoad(realized->buffer, IndicesOf(*realized, std::move(args)));
}

/// Returns buffer indices for a position in the part that the buffer holds.
std::vector<Expr> Lowering::IndicesOf(const Realized& realized, std::vector<Expr> local) {
  const bool padded = realized.info != nullptr && realized.info->row_padding > 0;
  if (!padded && realized.buffer->shape.size() == realized.shape.size()) return local;
  LinearForm position = FlatPosition(local, realized.shape, ranges_);
  if (padded) {
    local.pop_back();
    const Expr row = FlatPosition(local, realized.shape, ranges_).ToExpr();
    const Expr run = Simplify(FloorDiv(row, Expr(realized.info->padded_rows)), ranges_);
    position.Add(LinearForm::Of(run, ranges_), realized.info->row_padding);
  }
  return {Simplify(position.ToExpr(), ranges_)};
}

/// Returns a number of bytes that divides the address of every possible first element of the
/// region.
std::int64_t Lowering::AlignmentOf(const Region& region) {
  const BufferNode& buffer = *region.buffer;
  const std::int64_t bytes = buffer.dtype.bytes();
  const LinearForm position = FlatPosition(region.min, buffer.shape, ranges_);
  std::int64_t alignment = std::gcd(kSharedAlignment, position.constant * bytes);
  for (const auto& term : position.terms) alignment = std::gcd(alignment, term.coefficient * bytes);
  return alignment;
}

/// Emits the elements of leaf `p` (without a loop: one element) as an asynchronous copy.
Stmt Lowering::EmitAsyncCopy(const Nest& nest, std::size_t p) {
  constexpr std::int64_t kMin = 4, kMax = kSharedAlignment;  // bytes of one instruction
  const bool loop = p < nest.leaf.size();
  const Expr along = loop ? nest.leaf[p] : Expr(0);
  const std::int64_t extent = loop ? nest.loops.extent(nest.info->leaves[p]) : 1;
  const auto fail = [&](const std::string& reason) {
    return FailStage(nest, "asynchronous copies: " + reason);
  };
  Expr value = RewriteBody(nest.body, nest), inside;
  while (value->kind == ExprKind::kSelect &&
         SameExpr(value->args[2], MakeConst(value.dtype(), 0))) {
    inside = inside ? And(inside, value->args[0]) : value->args[0];
    value = value->args[1];
  }
  if (inside && Mentions(inside, {{along.get(), Box()}})) {
    return fail("padding inside of one access");
  }
  if (value->kind != ExprKind::kLoad || value->buffer->scope != Scope::kGlobal) {
    return fail("only of global memory, padded with zeros");
  }
  const Realized& realized = realized_[static_cast<std::size_t>(nest.stage.index)];
  const auto to = RunOf(MakeLoad(realized.buffer, IndicesOf(realized, nest.local)), along, extent);
  const auto from = RunOf(value, along, extent);
  if (!to || !from) return fail("the elements of one access are not neighbours in memory");
  const std::int64_t bytes = extent * value.dtype().bytes();
  if (bytes % kMin != 0 || bytes > kMax) {
    return fail("accesses of " + std::to_string(bytes) +
                " bytes, expected a multiple of 4 up to 16");
  }
  const std::int64_t alignment = std::min(AlignmentOf(*to), AlignmentOf(*from));
  if (alignment < kMin) {
    return fail("accesses at multiples of " + std::to_string(alignment) +
                " bytes, expected at least 4");
  }
  return MakeAsyncCopy(*to, *from, inside);
}

Stmt Lowering::EmitBody(const Nest& nest) {
  if (nest.info->pipeline > 0) return EmitAsyncCopy(nest, nest.leaf.size());
  const ComputeOp& op = nest.info->op;
  const Realized& realized = realized_[static_cast<std::size_t>(nest.stage.index)];
  const Buffer& buffer = realized.buffer;
  std::vector<Expr> local = nest.local;
  for (std::size_t d = 0; nest.info->keep && d < local.size(); ++d) {
    local[d] = Simplify(nest.axis[d] - realized.origin[d], ranges_);
  }
  std::vector<Expr> indices = IndicesOf(realized, std::move(local));
  if (nest.part == Nest::Part::kInit) {
    return MakeStore(buffer, std::move(indices), IdentityElementOf(op.combiner, buffer->dtype));
  }
  Expr value = RewriteBody(nest.body, nest);
  if (nest.part == Nest::Part::kUpdate) {
    value = Combine(op.combiner, MakeLoad(buffer, indices), value);
  }
  return MakeStore(buffer, std::move(indices), std::move(value));
}

/// Returns true if the condition only states that an index of the load that contains `along` is
/// within its dimension.
bool Lowering::IsBoundOf(const Expr& load, const Expr& along, const Expr& condition) {
  const bool less = condition->kind == ExprKind::kLt;
  if ((!less && condition->kind != ExprKind::kLe) || condition->args[0].dtype() != kInt64) {
    return false;
  }
  LinearForm holds = LinearForm::Of(condition->args[1], ranges_);  // where it is not negative
  holds.Add(LinearForm::Of(condition->args[0], ranges_), -1);
  holds.constant -= less ? 1 : 0;
  for (std::size_t d = 0; d < load->args.size(); ++d) {
    if (!Mentions(load->args[d], {{along.get(), Box()}})) continue;
    LinearForm above = holds, below = holds;
    above.Add(LinearForm::Of(load->args[d], ranges_), -1);
    below.Add(LinearForm::Of(load->args[d], ranges_), 1);
    const bool first = above.IsConstant() && above.constant == 0;
    if (first || (below.IsConstant() && below.constant == load->buffer->shape[d] - 1)) return true;
  }
  return false;
}

/// Returns the elements of one operand that the intrinsic reads: all lanes, the whole depth.
/// Returns nullopt unless their memory layout is the one that the intrinsic needs.
std::optional<Region> Lowering::DotRegion(const Expr& load, const Nest& nest, std::size_t p,
                                          std::int64_t lane_stride, std::int64_t depth_stride) {
  const Expr& lane = nest.leaf[p];
  const Expr& depth = nest.leaf[p + 1];
  BoxMap loops;
  loops.emplace_back(lane.get(), Box{Expr(0), nest.loops.extent(nest.info->leaves[p])});
  loops.emplace_back(depth.get(), Box{Expr(0), nest.loops.extent(nest.info->leaves[p + 1])});
  const LinearForm position = FlatPosition(load->args, load->buffer->shape, ranges_);
  if (!lane.IsInt() && position.CoefficientOf(lane) != lane_stride) return std::nullopt;
  if (!depth.IsInt() && position.CoefficientOf(depth) != depth_stride) return std::nullopt;
  Region region{load->buffer, {}, {}};
  std::int64_t elements = 1;
  for (const Expr& index : load->args) {
    const auto box = BoxOf(index, loops, ranges_);
    if (!box) return std::nullopt;
    region.min.push_back(box->min);
    region.extent.push_back(box->extent);
    elements *= box->extent;
  }
  const std::int64_t lanes = lane_stride == 0 ? 1 : loops[0].second.extent;
  const std::int64_t depths = depth_stride == 0 ? 1 : loops[1].second.extent;
  if (elements != lanes * depths) return std::nullopt;
  return region;
}

Stmt Lowering::EmitDot(const Nest& nest, std::size_t p) {
  const DotIntrinsic* dot = FindDotIntrinsic(nest.info->intrinsic);
  const auto fail = [&](const std::string& reason) {
    return FailStage(nest, nest.info->intrinsic + ": " + reason);
  };
  const auto operands = MatchProducts(nest.info->op, *TypesOfIntrinsic(dot->name));
  if (!operands.ok()) return fail(operands.status().message());
  const Expr factor = RewriteBody(operands->a, nest);
  for (std::size_t i = 0; i < nest.guards.size(); ++i) {
    if (nest.emitted[i] || !Active(nest, nest.guards[i])) continue;
    // Taps outside of the buffer are zero by definition.
    if (dot->taps && IsBoundOf(factor, nest.leaf[p + 1], nest.guards[i].condition)) continue;
    return fail("its loops would need the condition " + ToString(nest.guards[i].condition));
  }
  if (nest.loops.extent(nest.info->leaves[p + 1]) != dot->depth) {
    return fail("a tail of " + std::to_string(nest.loops.extent(nest.info->leaves[p + 1])) +
                " products, expected " + std::to_string(dot->depth));
  }
  std::vector<Expr> conditions;
  StripZeroTaps(nest.body, &conditions);
  if (!conditions.empty()) {
    return fail(
        "the product has zero padding inside; use skip_zero_taps, or keep the padding a "
        "stage of its own");
  }
  const Realized& realized = realized_[static_cast<std::size_t>(nest.stage.index)];
  const Expr sum = MakeLoad(realized.buffer, IndicesOf(realized, nest.local));
  const auto acc = DotRegion(sum, nest, p, 1, 0);
  const std::int64_t lanes = nest.loops.extent(nest.info->leaves[p]);
  const auto a = DotRegion(factor, nest, p, dot->taps ? 1 : 0, dot->taps ? lanes : 1);
  const auto b = DotRegion(RewriteBody(operands->b, nest), nest, p, dot->depth, 1);
  if (!acc) return fail("the lanes of the sum are not consecutive in memory");
  if (!a)
    return fail("the first factor is not " + std::to_string(dot->depth) +
                (dot->taps ? " x lanes consecutive elements"
                           : " consecutive elements, the same for all lanes"));
  if (!b)
    return fail("the second factor is not lanes x " + std::to_string(dot->depth) +
                " consecutive elements");
  return MakeIntrinsic(std::string(dot->name), {*acc, *a, *b});
}

void Lowering::AppendPrefetches(const Nest& nest, std::size_t p, std::vector<Stmt>* out) {
  // Prefetching every line of a large tile costs more than it saves.
  constexpr std::int64_t kMaxLines = 16;
  constexpr std::int64_t kLineBytes = 64;
  for (const auto& prefetch : nest.info->prefetches) {
    const Expr& var = nest.leaf[p - 1];
    if (prefetch.loop != nest.info->leaves[p - 1] || var.IsInt()) continue;
    BoxMap inner;
    for (std::size_t q = p; q < nest.leaf.size(); ++q) {
      inner.emplace_back(nest.leaf[q].get(), Box{Expr(0), nest.loops.extent(nest.info->leaves[q])});
    }
    const Substitution ahead{{var.get(), var + Expr(prefetch.distance)}};
    ForEachNode(nest.body, [&](const Expr& node) {
      if (node->kind != ExprKind::kLoad || node->buffer->name != prefetch.buffer) return;
      const Expr load = RewriteBody(node, nest);
      std::vector<std::vector<Expr>> lines(1);
      for (std::size_t d = 0; d < load->args.size(); ++d) {
        const auto box = BoxOf(Substitute(load->args[d], ahead), inner, ranges_);
        if (!box) return;
        const bool last = d + 1 == load->args.size();
        const std::int64_t step =
            last ? std::max<std::int64_t>(1, kLineBytes / load->buffer->dtype.bytes()) : 1;
        std::vector<std::vector<Expr>> next;
        for (const auto& line : lines) {
          for (std::int64_t i = 0; i < box->extent; i += step) {
            if (static_cast<std::int64_t>(next.size()) == kMaxLines) break;
            next.push_back(line);
            next.back().push_back(Simplify(box->min + Expr(i), ranges_));
          }
        }
        lines = std::move(next);
      }
      for (auto& line : lines) {
        out->push_back(MakePrefetch(load->buffer, std::move(line), prefetch.locality));
      }
    });
  }
}

}  // namespace tilewright
