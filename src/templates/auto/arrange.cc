// Rearrangement of a contraction's operands to the order in which its tiles read them.

#include <fmt/format.h>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/templates/auto/contraction.h"

namespace tilewright {

void TransposeOperand(Contraction& c, std::size_t number, int dimension) {
  const Contraction::Operand& operand = c.operands[number];
  const Buffer source = operand.buffer;
  const auto last = static_cast<std::size_t>(dimension < 0 ? operand.across : dimension);
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < source->shape.size(); ++d) {
    if (d != last) order.push_back(d);
  }
  order.push_back(last);
  ComputeOp transposed;
  transposed.name = source->name + ".turned";
  std::vector<std::int64_t> shape;
  std::vector<Expr> index(source->shape.size());
  for (std::size_t d : order) {
    shape.push_back(source->shape[d]);
    transposed.axes.push_back({MakeVar(fmt::format("d{}", d)), source->shape[d], false});
    index[d] = transposed.axes.back().var;
  }
  transposed.output = MakeBuffer(transposed.name, source->dtype, shape);
  transposed.body = MakeLoad(source, std::move(index));
  ComputeOp& main = c.compute.stages[c.main];
  main.body = Rewrite(main.body, [&](const Expr& node) -> Expr {
    if (node->kind != ExprKind::kLoad || node->buffer != source) return {};
    std::vector<Expr> args;
    for (std::size_t d : order) args.push_back(node->args[d]);
    return MakeLoad(transposed.output, std::move(args));
  });
  c.compute.stages.insert(c.compute.stages.begin() + static_cast<std::ptrdiff_t>(c.main),
                          std::move(transposed));
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
