// What a rule for contractions must know: which stage, which axes make a register tile, which
// operands lie across the vectors, and what a tile costs.

#include "src/templates/auto/contraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "src/base/math.h"
#include "src/ir/simplify.h"
#include "src/ir/visit.h"
#include "src/templates/space_values.h"
#include "src/tensor/expression/collapse.h"

namespace tilewright {
namespace {

bool MentionsVar(const Expr& expr, const Expr& var) {
  bool mentions = false;
  ForEachNode(expr, [&](const Expr& node) { mentions = mentions || node.Same(var); });
  return mentions;
}

double WorkOfStage(const ComputeOp& op) {
  double work = 1;
  for (const Axis& axis : op.axes) work *= static_cast<double>(axis.extent);
  for (const Axis& axis : op.reduce_axes) work *= static_cast<double>(axis.extent);
  return work;
}

/// Elements between neighbours along an axis; none if that is not the same everywhere.
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
        load.args, [&](const Expr& index) { return MentionsVar(index, axis.var); }));
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
      if (!MentionsVar(load.args[d], var)) continue;
      found = load.args[d].Same(var) && found == -1 ? static_cast<int>(d) : -2;
    }
    return std::max(found, -1);
  };
  const auto stride = StrideAlong(load, op, c.vector_axis);
  if (stride && *stride != 0 && *stride != 1) operand.across = plain(c.vector_axis);
  for (int row : c.rows) {
    if (operand.row_axis >= 0) break;
    operand.row_dimension = plain(row);
    if (operand.row_dimension >= 0) operand.row_axis = row;
  }
  return operand;
}

/// Up to two axes beside that of the vectors, first those that not all operands are read along.
std::vector<int> RowAxesOf(const Contraction& c, const std::vector<const ExprNode*>& loads) {
  std::vector<std::pair<int, int>> axes;  // rank, axis
  const ComputeOp& op = c.op();
  for (int i = static_cast<int>(op.axes.size()) - 1; i >= 0; --i) {
    if (i == c.vector_axis || c.extent(i) == 1) continue;
    const bool reused = std::ranges::any_of(loads, [&](const ExprNode* load) {
      return std::ranges::none_of(load->args, [&](const Expr& index) {
        return MentionsVar(index, op.axes[static_cast<std::size_t>(i)].var);
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

std::int64_t StepsOf(const Contraction& c, const RegisterTile& tile, int axis) {
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    if (c.rows[i] == axis) return tile[i];
  }
  return axis == c.vector_axis ? tile.back() : 1;
}

/// Vectors and broadcast numbers that a step of the reduction loads.
std::int64_t LoadsOf(const Contraction& c, const RegisterTile& tile) {
  std::int64_t loads = 0;
  for (const Contraction::Operand& operand : c.operands) {
    std::int64_t own = 1;
    for (std::size_t axis = 0; axis < operand.has_axis.size(); ++axis) {
      if (operand.has_axis[axis]) own *= StepsOf(c, tile, static_cast<int>(axis));
    }
    loads += own;
  }
  return loads;
}

/// Vectors of operands that are kept over a step: those read along the vectors.
std::int64_t VectorsKept(const Contraction& c, const RegisterTile& tile) {
  std::int64_t least = 1;
  for (const Contraction::Operand& operand : c.operands) {
    const bool vectors = operand.has_axis[static_cast<std::size_t>(c.vector_axis)];
    if (vectors) least = std::max(least, std::min<std::int64_t>(tile.back(), 4));
  }
  return least;
}

}  // namespace

Result<Contraction> FindContraction(const Expression& expression) {
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
  const ComputeOp& op = c.op();
  c.vector_axis = static_cast<int>(op.axes.size()) - 1;
  while (c.vector_axis > 0 && c.extent(c.vector_axis) == 1) --c.vector_axis;
  if (c.vector_axis < 0 || c.extent(c.vector_axis) < 2)
    return Unsupported("its result is a number");
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
  return c;
}

std::vector<RegisterTile> RegisterTiles(const Contraction& c, const CpuFeatures& features,
                                        std::int64_t lanes) {
  constexpr std::int64_t kMostRows = 14, kMostVectors = 8;
  const std::int64_t registers = features.vector_registers();
  const auto values = [&](std::size_t row) {
    return row < c.rows.size() ? ThriftyTiles(c.extent(c.rows[row]), kMostRows)
                               : std::vector<std::int64_t>{1};
  };
  std::vector<RegisterTile> tiles;
  const std::int64_t vectors = CeilDiv(c.extent(c.vector_axis), lanes);
  for (std::int64_t first : values(0)) {
    for (std::int64_t second : values(1)) {
      for (std::int64_t vector : ThriftyTiles(vectors, kMostVectors)) {
        RegisterTile tile;
        if (!c.rows.empty()) tile.push_back(first);
        if (c.rows.size() > 1) tile.push_back(second);
        tile.push_back(vector);
        if (Product(tile) + VectorsKept(c, tile) + 1 <= registers) tiles.push_back(std::move(tile));
      }
    }
  }
  return tiles;
}

RegisterTile BestRegisterTile(const Contraction& c, const CpuFeatures& features,
                              std::int64_t lanes) {
  constexpr double kInFlight = 8;  // two multiply-adds a cycle, of four cycles each
  RegisterTile best;
  double best_score = 0;
  for (const RegisterTile& tile : RegisterTiles(c, features, lanes)) {
    double filled = static_cast<double>(c.extent(c.vector_axis)) /
                    static_cast<double>(RoundUp(c.extent(c.vector_axis), lanes));
    for (std::size_t i = 0; i < tile.size(); ++i) {
      const std::int64_t extent =
          i < c.rows.size() ? c.extent(c.rows[i]) : CeilDiv(c.extent(c.vector_axis), lanes);
      filled *= static_cast<double>(extent) / static_cast<double>(RoundUp(extent, tile[i]));
    }
    const auto sums = static_cast<double>(Product(tile));
    const auto loads = static_cast<double>(LoadsOf(c, tile));
    // Of tiles that keep the arithmetic busy those with fewer loads are less in one's way.
    const double score = filled * sums / (std::max({sums, loads, kInFlight}) + 0.2 * loads);
    if (score <= best_score) continue;
    best_score = score;
    best = tile;
  }
  return best;
}

void TurnOperand(Contraction& c, std::size_t number) {
  const Contraction::Operand& operand = c.operands[number];
  const Buffer source = operand.buffer;
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < source->shape.size(); ++d) {
    if (static_cast<int>(d) != operand.across) order.push_back(d);
  }
  order.push_back(static_cast<std::size_t>(operand.across));
  ComputeOp turned;
  turned.name = source->name + ".turned";
  std::vector<std::int64_t> shape;
  std::vector<Expr> index(source->shape.size());
  for (std::size_t d : order) {
    shape.push_back(source->shape[d]);
    turned.axes.push_back({MakeVar(fmt::format("d{}", d)), source->shape[d], false});
    index[d] = turned.axes.back().var;
  }
  turned.output = MakeBuffer(turned.name, source->dtype, shape);
  turned.body = MakeLoad(source, std::move(index));
  ComputeOp& main = c.compute.stages[c.main];
  main.body = Rewrite(main.body, [&](const Expr& node) -> Expr {
    if (node->kind != ExprKind::kLoad || node->buffer != source) return {};
    std::vector<Expr> args;
    for (std::size_t d : order) args.push_back(node->args[d]);
    return MakeLoad(turned.output, std::move(args));
  });
  c.compute.stages.insert(c.compute.stages.begin() + static_cast<std::ptrdiff_t>(c.main),
                          std::move(turned));
  ++c.main;
}

std::string PackOperand(Contraction& c, std::size_t number, int dimension, std::int64_t block) {
  const Contraction::Operand& operand = c.operands[number];
  const Buffer source = operand.buffer;
  const auto packed = static_cast<std::size_t>(dimension);
  std::vector<std::size_t> order = {packed};
  for (std::size_t d = 0; d < source->shape.size(); ++d) {
    if (d != packed) order.push_back(d);
  }
  std::vector<std::int64_t> shape;
  std::string layout = fmt::format("{}:", operand.input);
  for (std::size_t d : order) {
    shape.push_back(d == packed ? CeilDiv(source->shape[d], block) : source->shape[d]);
    layout += static_cast<char>('A' + d);
  }
  shape.push_back(block);
  layout += fmt::format("{}{}", block, static_cast<char>('a' + packed));
  const Buffer parameter = MakeBuffer(source->name, source->dtype, shape);
  c.compute.inputs[static_cast<std::size_t>(operand.input)] = parameter;
  for (ComputeOp& stage : c.compute.stages) {
    stage.body = Rewrite(stage.body, [&](const Expr& node) -> Expr {
      if (node->kind != ExprKind::kLoad || node->buffer != source) return {};
      std::vector<Expr> args;
      for (std::size_t d : order) {
        args.push_back(d == packed ? FloorDiv(node->args[d], Expr(block)) : node->args[d]);
      }
      args.push_back(FloorMod(node->args[packed], Expr(block)));
      return MakeLoad(parameter, std::move(args));
    });
  }
  return layout;
}

}  // namespace tilewright
