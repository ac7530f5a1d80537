#include "tests/schedule/interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/math.h"
#include "src/ir/fold.h"
#include "src/schedule/intrinsics.h"

namespace tilewright {
namespace {

Memory MemoryOf(const Buffer& buffer) {
  const auto size = static_cast<std::size_t>(buffer->elements());
  return {std::vector<double>(size, -12345), std::vector<bool>(size, false)};
}

Memory Filled(const std::vector<double>& values) {
  return {values, std::vector<bool>(values.size(), true)};
}

/// Calls `visit` with every point of a box of these extents.
template <typename Visit>
void ForEachPoint(const std::vector<std::int64_t>& extents, const Visit& visit) {
  std::vector<double> point(extents.size(), 0);
  const std::int64_t count = Product(extents);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = extents.size(); d-- > 0;) {
      point[d] = static_cast<double>(rest % extents[d]);
      rest /= extents[d];
    }
    visit(point);
  }
}

}  // namespace

void Interpreter::Run(const Program& program, const std::vector<std::vector<double>>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    memory_[program.parameters[i].get()] = Filled(inputs[i]);
  }
  const Buffer& output = program.parameters.back();
  memory_[output.get()] = MemoryOf(output);
  Execute(program.body);
  const Memory& result = memory_[output.get()];
  output_ = result.values;
  if (std::find(result.written.begin(), result.written.end(), false) != result.written.end()) {
    Fail("part of the output was not written");
  }
}

void Interpreter::Evaluate(const Compute& compute, const std::vector<std::vector<double>>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    memory_[compute.inputs[i].get()] = Filled(inputs[i]);
  }
  for (const ComputeOp& op : compute.stages) EvaluateStage(op);
  output_ = memory_[compute.stages.back().output.get()].values;
}

void Interpreter::EvaluateStage(const ComputeOp& op) {
  memory_[op.output.get()] = MemoryOf(op.output);
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> reductions;
  for (const Axis& axis : op.axes) extents.push_back(axis.extent);
  for (const Axis& axis : op.reduce_axes) reductions.push_back(axis.extent);
  ForEachPoint(extents, [&](const std::vector<double>& point) {
    for (std::size_t d = 0; d < point.size(); ++d) vars_[op.axes[d].var.get()] = point[d];
    double sum = 0;
    bool first = true;
    ForEachPoint(reductions, [&](const std::vector<double>& inner) {
      for (std::size_t d = 0; d < inner.size(); ++d) vars_[op.reduce_axes[d].var.get()] = inner[d];
      const double value = Value(op.body);
      if (first)
        sum = value;
      else if (op.combiner == Combiner::kMax)
        sum = std::max(sum, value);
      else if (op.combiner == Combiner::kMin)
        sum = std::min(sum, value);
      else
        sum += value;
      first = false;
    });
    Store(op.output, point, sum);
  });
}

std::int64_t Interpreter::Position(const Buffer& buffer, const std::vector<double>& indices) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto index = static_cast<std::int64_t>(indices[d]);
    if (index < 0 || index >= buffer->shape[d]) {
      Fail("index " + std::to_string(index) + " of dimension " + std::to_string(d) + " of " +
           buffer->name + ", size " + std::to_string(buffer->shape[d]));
      return 0;
    }
    position = position * buffer->shape[d] + index;
  }
  return position;
}

double Interpreter::Load(const Buffer& buffer, const std::vector<double>& indices) {
  const auto found = memory_.find(buffer.get());
  if (found == memory_.end()) {
    Fail("load from " + buffer->name + ", which does not exist here");
    return 0;
  }
  const auto position = static_cast<std::size_t>(Position(buffer, indices));
  if (!found->second.written[position]) Fail("load from " + buffer->name + " before a store");
  return found->second.values[position];
}

void Interpreter::Store(const Buffer& buffer, const std::vector<double>& indices, double value) {
  const auto found = memory_.find(buffer.get());
  if (found == memory_.end()) return Fail("store to " + buffer->name + ", which is not here");
  const auto position = static_cast<std::size_t>(Position(buffer, indices));
  found->second.values[position] = value;
  found->second.written[position] = true;
  ++stores_;
}

void Interpreter::Execute(const Stmt& stmt) {
  if (!error_.empty()) return;
  const StmtNode& node = *stmt;
  const auto values = [&](const std::vector<Expr>& list) {
    std::vector<double> out;
    for (const Expr& e : list) out.push_back(Value(e));
    return out;
  };
  switch (node.kind) {
    case StmtKind::kBlock:
      for (const Stmt& part : node.body) Execute(part);
      break;
    case StmtKind::kFor:
      for (std::int64_t i = 0; i < node.extent; ++i) {
        // Parallel iterations may run in any order: here, backwards.
        const std::int64_t at = node.loop == LoopKind::kParallel ? node.extent - 1 - i : i;
        vars_[node.var.get()] = static_cast<double>(at);
        Execute(node.body[0]);
      }
      vars_.erase(node.var.get());
      break;
    case StmtKind::kStore:
      Store(node.buffer, values(node.indices), Value(node.value));
      break;
    case StmtKind::kIf:
      if (Value(node.condition) != 0)
        Execute(node.body[0]);
      else if (node.body.size() > 1)
        Execute(node.body[1]);
      break;
    case StmtKind::kAllocate:
      memory_[node.buffer.get()] = MemoryOf(node.buffer);
      Execute(node.body[0]);
      memory_.erase(node.buffer.get());
      break;
    case StmtKind::kIntrinsic:
      ExecuteDot(node);
      break;
    case StmtKind::kPrefetch:
      break;
    default:
      Fail("statement the interpreter does not know");
  }
}

std::vector<double> Interpreter::RegionElements(const Region& region,
                                                std::vector<std::vector<double>>* where) {
  std::vector<double> elements;
  ForEachPoint(region.extent, [&](std::vector<double> point) {
    for (std::size_t d = 0; d < point.size(); ++d) point[d] += Value(region.min[d]);
    elements.push_back(Load(region.buffer, point));
    if (where != nullptr) where->push_back(std::move(point));
  });
  return elements;
}

void Interpreter::ExecuteDot(const StmtNode& node) {
  const DotIntrinsic* dot = FindDotIntrinsic(node.name);
  if (dot == nullptr) return Fail("no intrinsic " + node.name);
  std::vector<std::vector<double>> where;
  std::vector<double> acc = RegionElements(node.regions[0], &where);
  const std::vector<double> a = RegionElements(node.regions[1], nullptr);
  const std::vector<double> b = RegionElements(node.regions[2], nullptr);
  const auto depth = static_cast<std::size_t>(dot->depth);
  if (a.size() != depth || b.size() != depth * acc.size()) return Fail("operands of " + node.name);
  for (std::size_t lane = 0; lane < acc.size(); ++lane) {
    for (std::size_t j = 0; j < depth; ++j) acc[lane] += a[j] * b[lane * depth + j];
    Store(node.regions[0].buffer, where[lane], acc[lane]);
  }
}

double Interpreter::Binary(const Expr& expr) {
  const double a = Value(expr->args[0]);
  // The right of a decided "and" / "or" may not be valid.
  if (expr->kind == ExprKind::kAnd) return a != 0 && Value(expr->args[1]) != 0;
  if (expr->kind == ExprKind::kOr) return a != 0 || Value(expr->args[1]) != 0;
  const double b = Value(expr->args[1]);
  const DataType dtype = expr->args[0].dtype();
  if (!dtype.is_float()) {
    const auto value =
        FoldInt(expr->kind, dtype, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
    if (!value) Fail("integer operation without a value");
    return static_cast<double>(value.value_or(0));
  }
  if (const auto truth = FoldFloatComparison(expr->kind, a, b)) return *truth ? 1 : 0;
  switch (expr->kind) {
    case ExprKind::kAdd:
      return a + b;
    case ExprKind::kSub:
      return a - b;
    case ExprKind::kMul:
      return a * b;
    case ExprKind::kDiv:
      return a / b;
    case ExprKind::kMin:
      return std::min(a, b);
    case ExprKind::kMax:
      return std::max(a, b);
    default:
      Fail("operator the interpreter does not know");
      return 0;
  }
}

double Interpreter::Value(const Expr& expr) {
  switch (expr->kind) {
    case ExprKind::kInt:
      return static_cast<double>(expr->int_value);
    case ExprKind::kFloat:
      return expr->float_value;
    case ExprKind::kVar: {
      const auto found = vars_.find(expr.get());
      if (found == vars_.end()) Fail("variable " + expr->name + " outside its loop");
      return found == vars_.end() ? 0 : found->second;
    }
    case ExprKind::kCast: {
      const double value = Value(expr->args[0]);
      if (expr->dtype.is_float()) return value;
      return static_cast<double>(WrapToType(expr->dtype, static_cast<std::int64_t>(value)));
    }
    case ExprKind::kNot:
      return Value(expr->args[0]) == 0;
    case ExprKind::kSelect:
      return Value(expr->args[Value(expr->args[0]) != 0 ? 1 : 2]);
    case ExprKind::kLoad: {
      std::vector<double> indices;
      for (const Expr& index : expr->args) indices.push_back(Value(index));
      return Load(expr->buffer, indices);
    }
    case ExprKind::kCall:
      if (expr->name == "exp") return std::exp(Value(expr->args[0]));
      Fail("call of " + expr->name);
      return 0;
    default:
      return Binary(expr);
  }
}

}  // namespace tilewright
