// Inference of the part of a stage that is needed at its attach point, and the code that computes
// it there.
//
// The loops outside the attach point are fixed; those inside range over all their iterations. From
// the consumer inwards, every index that reads a stage becomes a box: a first integer in terms of
// the fixed loops, and a constant extent. Boxes of several loads are united.

#include <algorithm>

#include "src/ir/visit.h"
#include "src/schedule/check.h"
#include "src/schedule/lower/lowering.h"

namespace tilewright {
namespace {

bool HasDivision(const Expr& expr) {
  return HasKind(expr, ExprKind::kFloorDiv) || HasKind(expr, ExprKind::kFloorMod);
}

}  // namespace

/// Returns the tightest known box of an index. The boxes of the axes are independent, so two axes
/// that were fused and split again seem to cover all of one and some of the other. If axes are
/// divisions of loops, the index over the loops gives a tighter box.
std::optional<Box> Lowering::BoxOfIndex(const Expr& index, const AxisBoxes& boxes) const {
  std::optional<Box> box = BoxOf(index, boxes.axes, ranges_);
  if (boxes.values.empty() || !Mentions(index, boxes.axes)) return box;
  const auto exact =
      BoxOf(Simplify(Substitute(index, boxes.values), ranges_), boxes.loops, ranges_);
  return exact && (!box || exact->extent < box->extent) ? exact : box;
}

/// Extends a part by the elements that a load reads.
/// shared: for the data that all threads of a block read together. They are computed before boxes
///         are united, because the union of a thread's own row with all rows is all rows.
void Lowering::GrowPart(const Expr& load, const AxisBoxes& boxes, bool shared,
                        std::optional<Part>* part) {
  const auto& shape = load->buffer->shape;
  Part needed;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::optional<Box> box = BoxOfIndex(load->args[d], boxes);
    if (box && shared) {
      const std::int64_t extent = box->extent;
      box = BoxOf(box->min, threads_, ranges_);
      if (box) box->extent += extent - 1;
    }
    if (box && part->has_value()) {
      box = Unite(Box{(*part)->min[d], (*part)->extent[d]}, *box, ranges_);
    }
    if (!box || box->extent >= shape[d]) box = Box{Expr(0), shape[d]};
    needed.min.push_back(std::move(box->min));
    needed.extent.push_back(box->extent);
  }
  *part = std::move(needed);
}

std::vector<std::optional<Lowering::Part>> Lowering::NeededParts(const Nest& nest, std::size_t p) {
  std::vector<std::optional<Part>> parts(schedule_.stages().size());
  AxisBoxes boxes;
  const auto visit_loads = [&](const ComputeOp& op) {
    ForEachNode(op.body, [&](const Expr& node) {
      if (node->kind != ExprKind::kLoad) return;
      const StageId producer = schedule_.ProducerOf(node->buffer);
      if (producer.index < 0) return;
      const bool shared = schedule_.stage(producer).scope == Scope::kShared;
      GrowPart(node, boxes, shared, &parts[static_cast<std::size_t>(producer.index)]);
    });
  };
  const auto axis_of = [](const ComputeOp& op, std::size_t a) -> const Axis& {
    return a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
  };

  for (std::size_t q = p; q < nest.leaf.size(); ++q) {
    boxes.loops.emplace_back(nest.leaf[q].get(),
                             Box{Expr(0), nest.loops.extent(nest.info->leaves[q])});
  }
  bool divided = false;  // an axis is a quotient or a remainder of loops
  for (std::size_t a = 0; a < nest.axis.size(); ++a) {
    const Axis& axis = axis_of(nest.info->op, a);
    auto box = BoxOf(nest.axis[a], boxes.loops, ranges_);
    // Tails of loops still to be opened reach beyond the axis; nothing is computed there.
    std::int64_t first = 0;
    if (box && box->min.IsInt(&first) && first >= 0 && first < axis.extent) {
      box->extent = std::min(box->extent, axis.extent - first);
    }
    boxes.axes.emplace_back(axis.var.get(), box ? *box : Box{Expr(0), axis.extent});
    boxes.values.emplace_back(axis.var.get(), nest.axis[a]);
    divided = divided || HasDivision(nest.axis[a]);
  }
  if (!divided) boxes.values.clear();
  visit_loads(nest.info->op);
  boxes.values.clear();

  const auto& order = schedule_.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    auto& part = parts[static_cast<std::size_t>(id->index)];
    if (!part || !ComputedInside(schedule_, *id, nest.stage, p - 1)) continue;
    const ComputeOp& op = schedule_.stage(*id).op;
    boxes.axes.clear();
    for (std::size_t d = 0; d < op.axes.size(); ++d) {
      boxes.axes.emplace_back(op.axes[d].var.get(), Box{part->min[d], part->extent[d]});
    }
    for (const Axis& axis : op.reduce_axes) {
      boxes.axes.emplace_back(axis.var.get(), Box{Expr(0), axis.extent});
    }
    visit_loads(op);
  }
  return parts;
}

/// Returns true if the parts of all iterations of the loops outside of leaf `p` are the whole, and
/// no two of them overlap.
bool Lowering::CoversKept(const Nest& nest, std::size_t p, const Part& part,
                          const Realized& whole) {
  if (!nest.fixed.empty() || !nest.offsets.empty()) return false;  // one of several pieces
  std::vector<std::size_t> used;
  for (std::size_t d = 0; d < part.min.size(); ++d) {
    LinearForm first = LinearForm::Of(part.min[d], ranges_);
    first.Add(LinearForm::Of(whole.origin[d], ranges_), -1);
    if (first.constant != 0 || first.terms.size() > 1) return false;
    if (first.IsConstant()) {
      if (part.extent[d] < whole.shape[d]) return false;
      continue;
    }
    const auto& [loop, step] = first.terms[0];
    std::size_t q = 0;
    while (q < p && !nest.leaf[q].Same(loop)) ++q;
    if (q == p || std::ranges::find(used, q) != used.end()) return false;
    used.push_back(q);
    const std::int64_t count = nest.loops.extent(nest.info->leaves[q]);
    if (step != part.extent[d] || step * count < whole.shape[d]) return false;
  }
  return true;
}

Stmt Lowering::EmitAttached(Nest* nest, std::size_t p) {
  std::vector<StageId> attached;
  const auto here = [&](const Schedule::StageInfo& info) {
    return info.attach == Schedule::Attach::kAt && info.consumer == nest->stage &&
           info.at == nest->info->leaves[p - 1];
  };
  const auto only_held = [&](const Schedule::StageInfo& info) {
    return info.keep && here(schedule_.stage(info.consumer));
  };
  for (StageId id : schedule_.order()) {
    const auto& info = schedule_.stage(id);
    if (here(info) || only_held(info)) attached.push_back(id);
  }
  std::vector<Stmt> code;
  AppendPrefetches(*nest, p, &code);
  if (attached.empty()) {
    if (code.empty()) return EmitLoop(nest, p);
    code.push_back(EmitLoop(nest, p));
    return MakeBlock(std::move(code));
  }
  const auto parts = NeededParts(*nest, p);
  const std::int64_t local_before = local_bytes_;
  std::vector<Buffer> buffers;
  for (StageId id : attached) {
    const auto& info = schedule_.stage(id);
    const auto& part = parts[static_cast<std::size_t>(id.index)];
    if (!part) continue;  // not read
    if (info.keep && here(info)) {
      if (!CoversKept(*nest, p, *part, realized_[static_cast<std::size_t>(id.index)])) {
        return FailStage(*nest,
                         "its loops do not compute all of '" + info.op.name + "', which is kept");
      }
      code.push_back(EmitStage(id, *part));
      continue;
    }
    // Shared memory is flat: the threads that copy to it only enumerate its elements.
    std::vector<std::int64_t> shape = part->extent;
    if (info.scope == Scope::kShared) shape = {info.HeldElements(part->extent)};
    const Buffer buffer =
        MakeBuffer(info.op.output->name, info.op.output->dtype, std::move(shape), info.scope);
    local_bytes_ += info.scope == Scope::kLocal ? buffer->bytes() : 0;
    workspace_bytes_ += info.scope == Scope::kGlobal ? buffer->bytes() : 0;
    if (local_bytes_ > limits_.max_local_bytes) {
      return FailStage(*nest, "local buffers of " + std::to_string(local_bytes_) + " bytes with '" +
                                  buffer->name + "', expected at most " +
                                  std::to_string(limits_.max_local_bytes));
    }
    realized_[static_cast<std::size_t>(id.index)] = {buffer, part->min, part->extent, &info};
    buffers.push_back(buffer);
    if (only_held(info)) continue;
    if (info.double_buffer) doubled_.push_back(buffer);
    if (info.pipeline > 0) pipelined_.push_back({buffer, info.pipeline});
    code.push_back(EmitStage(id, *part));
  }
  const auto inner = [&](StageId id) {
    return parts[static_cast<std::size_t>(id.index)] &&
           ComputedInside(schedule_, id, nest->stage, p - 1);
  };
  for (StageId id : schedule_.order()) {
    const auto i = static_cast<std::size_t>(id.index);
    if (inner(id)) allowed_[i].push_back(*parts[i]);
  }
  code.push_back(EmitLoop(nest, p));
  for (StageId id : schedule_.order()) {
    if (inner(id)) allowed_[static_cast<std::size_t>(id.index)].pop_back();
  }
  local_bytes_ = local_before;
  Stmt body = MakeBlock(std::move(code));
  for (auto buffer = buffers.rbegin(); buffer != buffers.rend(); ++buffer) {
    body = MakeAllocate(*buffer, std::move(body));
  }
  return body;
}

}  // namespace tilewright
