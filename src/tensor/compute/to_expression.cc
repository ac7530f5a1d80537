#include "src/tensor/compute/to_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/tensor/compute/define_list.h"
#include "src/tensor/expression/internal.h"

namespace tilewright {
namespace {

Status NotInExpressions(std::string_view what) {
  return Unsupported(fmt::format("expressions have no {}", what));
}

Result<ExpressionReduction> ReductionOf(Combiner combiner) {
  switch (combiner) {
    case Combiner::kNone:
      return ExpressionReduction::kNone;
    case Combiner::kSum:
      return ExpressionReduction::kSum;
    case Combiner::kMax:
      return ExpressionReduction::kMax;
    case Combiner::kMin:
      return ExpressionReduction::kMin;
    case Combiner::kProduct:
      return ExpressionReduction::kProduct;
  }
  return NotInExpressions("such reduction");
}

/// Walk over the definitions of a computation.
class ComputeReader {
 public:
  explicit ComputeReader(const Compute& compute) : compute_(compute) {}

  Result<Expression> Run() {
    for (const Buffer& input : compute_.inputs) {
      tensors_[input.get()] = static_cast<std::int64_t>(expression_.inputs.size());
      expression_.inputs.push_back(
          {fmt::format("x{}", expression_.inputs.size()), {input->shape, input->dtype}, false});
    }
    if (expression_.inputs.empty()) return NotInExpressions("computation without inputs");
    if (expression_.inputs.size() > kMaxExpressionInputs ||
        compute_.stages.size() > kMaxExpressionStages) {
      return Unsupported("more inputs or stages than an expression may have");
    }
    for (const ComputeOp& stage : compute_.stages) TW_RETURN_IF_ERROR(Add(stage));
    if (const Status inside = CheckReadBounds(expression_); !inside.ok()) {
      return Unsupported(inside.message());
    }
    return std::move(expression_);
  }

 private:
  Status Add(const ComputeOp& op) {
    if (op.axes.size() > kMaxExpressionAxes || op.reduce_axes.size() > kMaxExpressionAxes) {
      return Unsupported("more axes than a stage may have");
    }
    ExpressionStage stage;
    stage.name = fmt::format("t{}", expression_.stages.size());
    axes_.clear();
    for (const Axis& axis : op.axes) {
      axes_[axis.var.get()] = static_cast<std::int64_t>(axes_.size());
      stage.axes.push_back({fmt::format("i{}", stage.axes.size()), axis.extent});
    }
    for (const Axis& axis : op.reduce_axes) {
      axes_[axis.var.get()] = static_cast<std::int64_t>(axes_.size());
      stage.reduce_axes.push_back({fmt::format("r{}", stage.reduce_axes.size()), axis.extent});
    }
    TW_ASSIGN_OR_RETURN(stage.reduction, ReductionOf(op.combiner));
    ExpressionBuilder builder(expression_, stage);
    TW_ASSIGN_OR_RETURN(auto body, Value(builder, stage, op.body));
    if (const Status finished = builder.Finish(body); !finished.ok()) {
      return Unsupported(finished.message());
    }
    if (stage.type() != TensorType{op.output->shape, op.output->dtype}) {
      return Unsupported("a stage of another type than its values");
    }
    tensors_[op.output.get()] =
        static_cast<std::int64_t>(expression_.inputs.size() + expression_.stages.size());
    expression_.stages.push_back(std::move(stage));
    return {};
  }

  Result<int> Value(ExpressionBuilder& builder, const ExpressionStage& stage, const Expr& expr) {
    if (stage.nodes.size() > kMaxExpressionNodes) {
      return Unsupported("a value of more parts than an expression may have");
    }
    const ExprNode& n = *expr;
    if (n.kind == ExprKind::kInt && !n.dtype.is_bool()) return builder.Int(n.int_value, n.dtype);
    if (n.kind == ExprKind::kFloat) return builder.Float(n.float_value, n.dtype);
    if (n.kind == ExprKind::kVar) {
      const auto axis = axes_.find(&n);
      if (axis == axes_.end()) return NotInExpressions("variables but axes");
      return builder.AxisVar(axis->second);
    }
    std::vector<int> args;
    for (const Expr& arg : n.args) {
      TW_ASSIGN_OR_RETURN(auto value, Value(builder, stage, arg));
      args.push_back(value);
    }
    auto made = Make(builder, n, std::move(args));
    if (!made.ok()) return Unsupported(made.status().message());
    if (builder.node(*made).dtype != n.dtype) return NotInExpressions("such conversion");
    return made;
  }

  Result<int> Make(ExpressionBuilder& builder, const ExprNode& n, std::vector<int> args) {
    switch (n.kind) {
      case ExprKind::kInt:
        return NotInExpressions("constant conditions");
      case ExprKind::kCast:
        return builder.Cast(n.dtype, args[0]);
      case ExprKind::kNot:
        return builder.Not(args[0]);
      case ExprKind::kSelect:
        return builder.Select(args[0], args[1], args[2]);
      case ExprKind::kLoad: {
        const auto tensor = tensors_.find(n.buffer.get());
        if (tensor == tensors_.end()) return NotInExpressions("reads of what is not a tensor");
        return builder.Load(tensor->second, std::move(args));
      }
      case ExprKind::kCall: {
        const auto functions = FunctionsOfExpressions();
        const auto known = std::ranges::find(functions, n.name, &ExpressionFunction::name);
        if (known == functions.end()) return NotInExpressions(n.name);
        return builder.Call(n.name, std::move(args));
      }
      case ExprKind::kDiv:
        if (n.dtype.is_integer()) return NotInExpressions("quotients rounded to zero");
        return builder.Binary(n.kind, args[0], args[1]);
      default:
        return builder.Binary(n.kind, args[0], args[1]);
    }
  }

  const Compute& compute_;
  Expression expression_;
  std::map<const BufferNode*, std::int64_t> tensors_;
  std::map<const ExprNode*, std::int64_t> axes_;
};

}  // namespace

Result<Expression> ExpressionOf(const Compute& compute) { return ComputeReader(compute).Run(); }

Result<Expression> ExpressionOf(const OperatorList& list) {
  if (!list.values().empty() && list.values().back().op &&
      list.values().back().op->kind == OpKind::kExpression) {
    // The operands of a single operator are the parameters, possibly in another order.
    const OperatorListValue& whole = list.values().back();
    if (whole.operands == list.parameters() && list.values().size() == whole.operands.size() + 1) {
      return whole.op->attributes.expression;
    }
  }
  TW_ASSIGN_OR_RETURN(auto compute, DefineUnsplitList(list));
  return ExpressionOf(compute);
}

}  // namespace tilewright
