// Analysis of contractions: the stage, the axis of the vectors, the axes of a register tile, and
// the operands that are read across the vectors.

#include "src/templates/auto/contraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/ir/simplify.h"
#include "src/ir/visit.h"
#include "src/tensor/expression/collapse.h"

namespace tilewright {
namespace {

double WorkOfStage(const ComputeOp& op) {
  double work = 1;
  for (const Axis& axis : op.axes) work *= static_cast<double>(axis.extent);
  for (const Axis& axis : op.reduce_axes) work *= static_cast<double>(axis.extent);
  return work;
}

/// Returns the distance in elements between neighbours along an axis; nothing if it varies.
std::optional<std::int64_t> StrideAlong(const ExprNode& load, const ComputeOp& op, int axis) {
  const auto position = [&](std::int64_t value) -> std::optional<std::int64_t> {
    Substitution point;
    for (std::size_t i = 0; i < op.axes.size(); ++i) {
      point.emplace_back(op.axes[i].var.get(), Expr(static_cast<int>(i) == axis ? value : 0));
    }
    for (const Axis& reduced : op.reduce_axes) point.emplace_back(reduced.var.get(), Expr(0));
    std::int64_t place = 0;
    for (std::size_t d = 0; d < load.args.size(); ++d) {
      std::int64_t index = 0;
      if (!Simplify(Substitute(load.args[d], point), Ranges()).IsInt(&index)) return std::nullopt;
      place = place * load.buffer->shape[d] + index;
    }
    return place;
  };
  const auto first = position(0), second = position(1), third = position(2);
  if (!first || !second || !third || *third - *second != *second - *first) return std::nullopt;
  return *second - *first;
}

Contraction::Operand OperandOf(const Contraction& c, const ExprNode& load,
                               const Expression& expression) {
  const ComputeOp& op = c.op();
  Contraction::Operand operand;
  operand.buffer = load.buffer;
  for (const Axis& axis : op.axes) {
    operand.has_axis.push_back(std::ranges::any_of(
        load.args, [&](const Expr& index) { return Contains(index, axis.var); }));
  }
  const auto& inputs = c.compute.inputs;
  const auto input = std::ranges::find(inputs, load.buffer);
  if (input != inputs.end()) {
    operand.input = static_cast<int>(input - inputs.begin());
    operand.constant = expression.inputs[static_cast<std::size_t>(operand.input)].constant;
  }
  const auto plain = [&](int axis) {
    int found = -1;
    for (std::size_t d = 0; d < load.args.size(); ++d) {
      const Expr& var = op.axes[static_cast<std::size_t>(axis)].var;
      if (!Contains(load.args[d], var)) continue;
      found = load.args[d].Same(var) && found == -1 ? static_cast<int>(d) : -2;
    }
    return std::max(found, -1);
  };
  const auto stride = StrideAlong(load, op, c.vector_axis);
  const bool apart = !stride || (*stride != 0 && *stride != 1);
  if (stride && apart) operand.across = plain(c.vector_axis);
  operand.gathers = apart && operand.across < 0;
  for (int row : c.rows) {
    if (operand.row_axis >= 0) break;
    operand.row_dimension = plain(row);
    if (operand.row_dimension >= 0) operand.row_axis = row;
  }
  return operand;
}

/// Returns up to two axes other than that of the vectors, first those along which not all operands
/// are read.
std::vector<int> RowAxesOf(const Contraction& c, const std::vector<const ExprNode*>& loads) {
  std::vector<std::pair<int, int>> axes;  // rank, axis
  const ComputeOp& op = c.op();
  for (int i = static_cast<int>(op.axes.size()) - 1; i >= 0; --i) {
    if (i == c.vector_axis || c.extent(i) == 1) continue;
    const bool reused = std::ranges::any_of(loads, [&](const ExprNode* load) {
      return std::ranges::none_of(load->args, [&](const Expr& index) {
        return Contains(index, op.axes[static_cast<std::size_t>(i)].var);
      });
    });
    if (reused) axes.emplace_back(-i, i);
  }
  std::ranges::sort(axes);
  std::vector<int> rows;
  for (const auto& [rank, axis] : axes) {
    if (rows.size() < 2) rows.push_back(axis);
  }
  std::ranges::sort(rows);
  return rows;
}

/// Makes `axis` the innermost axis of the main stage, and adds a stage after it that writes its
/// result in the old order.
void TransposeResult(Contraction& c, int axis) {
  ComputeOp& main = c.compute.stages[c.main];
  const Buffer result = main.output;
  c.order.erase(c.order.begin() + axis);
  c.order.push_back(axis);
  ComputeOp copy;
  copy.name = main.name;
  copy.output = result;
  for (const Axis& own : main.axes) {
    copy.axes.push_back({MakeVar(own.var->name), own.extent, false});
  }
  std::vector<Axis> axes;
  std::vector<std::int64_t> shape;
  std::vector<Expr> index;
  for (int from : c.order) {
    axes.push_back(main.axes[static_cast<std::size_t>(from)]);
    shape.push_back(axes.back().extent);
    index.push_back(copy.axes[static_cast<std::size_t>(from)].var);
  }
  main.name += ".across";
  main.axes = std::move(axes);
  main.output = MakeBuffer(main.name, result->dtype, std::move(shape));
  copy.body = MakeLoad(main.output, std::move(index));
  c.compute.stages.insert(c.compute.stages.begin() + static_cast<std::ptrdiff_t>(c.main) + 1,
                          std::move(copy));
}

/// Returns the stage that does most of the work.
Result<Contraction> MainStageOf(const Expression& expression) {
  Contraction c;
  c.compute = DefineExpression(Collapsed(expression));
  double most = 0, all = 0;
  for (std::size_t i = 0; i < c.compute.stages.size(); ++i) {
    const double work = WorkOfStage(c.compute.stages[i]);
    all += work;
    if (work <= most || c.compute.stages[i].combiner == Combiner::kNone) continue;
    most = work;
    c.main = i;
  }
  if (2 * most < all) return Unsupported("no reduction does most of the work");
  c.vector_axis = static_cast<int>(c.op().axes.size()) - 1;
  while (c.vector_axis > 0 && c.extent(c.vector_axis) == 1) --c.vector_axis;
  if (c.vector_axis < 0 || c.extent(c.vector_axis) < 2)
    return Unsupported("its result is a number");
  for (int i = 0; i < static_cast<int>(c.op().axes.size()); ++i) c.order.push_back(i);
  c.result_axis = c.vector_axis;
  return c;
}

/// Checks whether vectors along another axis than the result's are worth while.
Status CheckTransposed(const Contraction& c) {
  if (std::ranges::find(c.rows, c.result_axis) == c.rows.end()) {
    return Unsupported("no steps along the result's rows are in registers");
  }
  for (const Contraction::Operand& operand : c.operands) {
    if (operand.gathers) return Unsupported("what the vectors read lies apart");
  }
  return Status();
}

}  // namespace

int Contraction::AxisOfResult(int axis) const {
  return static_cast<int>(std::ranges::find(order, axis) - order.begin());
}

Result<Contraction> FindContraction(const Expression& expression, int axis) {
  TW_ASSIGN_OR_RETURN(auto found, MainStageOf(expression));
  Contraction& c = found;
  const auto count = static_cast<int>(c.op().axes.size());
  if (axis >= count) return Unsupported(fmt::format("axis {} of {}", axis, count));
  if (axis >= 0 && axis != c.vector_axis) {
    constexpr std::int64_t kMinLanes = 4;
    if (c.extent(axis) < kMinLanes) return Unsupported("no vectors along so short an axis");
    const int result_axis = c.vector_axis;
    TransposeResult(c, axis);
    c.vector_axis = count - 1;
    c.result_axis = c.AxisOfResult(result_axis);
  }
  const ComputeOp& op = c.op();
  std::vector<const ExprNode*> loads;
  ForEachNode(op.body, [&](const Expr& node) {
    if (node->kind == ExprKind::kLoad) loads.push_back(node.get());
  });
  c.rows = RowAxesOf(c, loads);
  for (const ExprNode* load : loads) c.operands.push_back(OperandOf(c, *load, expression));
  const bool along = std::ranges::any_of(c.operands, [&](const Contraction::Operand& operand) {
    return !operand.has_axis[static_cast<std::size_t>(c.vector_axis)];
  });
  if (c.operands.size() < 2 || (c.rows.empty() && !along)) {
    return Unsupported("nothing is read again and again");
  }
  if (c.transposed()) TW_RETURN_IF_ERROR(CheckTransposed(c));
  return found;
}

Result<std::vector<Contraction>> FindContractions(const Expression& expression) {
  TW_ASSIGN_OR_RETURN(auto first, FindContraction(expression));
  std::vector<Contraction> found = {std::move(first)};
  const int axes = static_cast<int>(found[0].order.size());
  for (int axis = 0; axis < axes; ++axis) {
    if (axis == found[0].vector_axis) continue;
    auto other = FindContraction(expression, axis);
    if (other.ok()) found.push_back(*std::move(other));
  }
  return found;
}

}  // namespace tilewright
