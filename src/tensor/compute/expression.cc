// Expressions as stages, node by node. An argmin or argmax consists of the extremes themselves and
// the least position that has one.

#include <algorithm>

#include "src/ir/visit.h"
#include "src/tensor/compute/internal.h"
#include "src/tensor/expression/expression.h"

namespace tilewright {
namespace {

Combiner CombinerOf(ExpressionReduction reduction) {
  switch (reduction) {
    case ExpressionReduction::kSum:
      return Combiner::kSum;
    case ExpressionReduction::kMax:
    case ExpressionReduction::kArgMax:
      return Combiner::kMax;
    case ExpressionReduction::kMin:
    case ExpressionReduction::kArgMin:
      return Combiner::kMin;
    case ExpressionReduction::kProduct:
      return Combiner::kProduct;
    case ExpressionReduction::kNone:
      break;
  }
  return Combiner::kNone;
}

class ExpressionDefiner {
 public:
  explicit ExpressionDefiner(const Expression& expression) : expression_(expression) {}

  Compute Run() {
    for (const ExpressionInput& input : expression_.inputs) {
      compute_.inputs.push_back(MakeBuffer(input.name, input.type.dtype, input.type.shape));
      tensors_.push_back(compute_.inputs.back());
    }
    for (const ExpressionStage& stage : expression_.stages) Define(stage);
    return std::move(compute_);
  }

 private:
  void Define(const ExpressionStage& stage) {
    std::vector<Axis> axes = NewAxes(stage.axes, false);
    std::vector<Axis> reduce_axes = NewAxes(stage.reduce_axes, true);
    Expr body = BodyOf(stage, axes, reduce_axes);
    if (stage.reduction == ExpressionReduction::kArgMax ||
        stage.reduction == ExpressionReduction::kArgMin) {
      return DefinePosition(stage, std::move(axes), std::move(reduce_axes), std::move(body));
    }
    if (stage.reduction == ExpressionReduction::kNone) {
      return Append(PlainStage(stage.name, body.dtype(), std::move(axes), body));
    }
    Append(ReductionStage(stage.name, std::move(axes), std::move(reduce_axes),
                          CombinerOf(stage.reduction), std::move(body)));
  }

  void Append(ComputeOp stage) {
    tensors_.push_back(stage.output);
    compute_.stages.push_back(std::move(stage));
  }

  static std::vector<Axis> NewAxes(const std::vector<ExpressionAxis>& axes, bool reduction) {
    std::vector<Axis> made;
    for (const ExpressionAxis& axis : axes) {
      made.push_back({MakeVar(axis.name), axis.extent, reduction});
    }
    return made;
  }

  static std::vector<Expr> Vars(const std::vector<Axis>& axes, const std::vector<Axis>& more = {}) {
    std::vector<Expr> vars;
    for (const Axis& axis : axes) vars.push_back(axis.var);
    for (const Axis& axis : more) vars.push_back(axis.var);
    return vars;
  }

  Expr BodyOf(const ExpressionStage& stage, const std::vector<Axis>& axes,
              const std::vector<Axis>& reduce_axes) const {
    const std::vector<Expr> vars = Vars(axes, reduce_axes);
    std::vector<Expr> made;
    for (const ExpressionNode& n : stage.nodes) {
      std::vector<Expr> args;
      for (int arg : n.args) args.push_back(made[static_cast<std::size_t>(arg)]);
      made.push_back(ValueOf(n, vars, std::move(args)));
    }
    return made.back();
  }

  Expr ValueOf(const ExpressionNode& n, const std::vector<Expr>& vars,
               std::vector<Expr> args) const {
    switch (n.kind) {
      case ExprKind::kInt:
        return MakeInt(n.dtype, n.integer);
      case ExprKind::kFloat:
        return MakeFloat(n.dtype, n.number);
      case ExprKind::kVar:
        return vars[static_cast<std::size_t>(n.integer)];
      case ExprKind::kLoad:
        return MakeLoad(tensors_[static_cast<std::size_t>(n.integer)], std::move(args));
      case ExprKind::kCast:
        return MakeCast(n.dtype, args[0]);
      case ExprKind::kNot:
        return MakeNot(args[0]);
      case ExprKind::kSelect:
        return MakeSelect(args[0], args[1], args[2]);
      case ExprKind::kCall:
        return MakeCall(n.dtype, n.function, std::move(args));
      default:
        return MakeBinary(n.kind, args[0], args[1]);
    }
  }

  /// Compared values are stored in memory: computed twice, they might be rounded differently.
  void DefinePosition(const ExpressionStage& stage, std::vector<Axis> axes,
                      std::vector<Axis> reduce_axes, Expr body) {
    std::int64_t count = 1;
    for (const Axis& axis : reduce_axes) count *= axis.extent;
    if (body->kind != ExprKind::kLoad) {
      std::vector<Axis> all = axes;
      for (Axis axis : reduce_axes) {
        axis.reduction = false;
        all.push_back(axis);
      }
      ComputeOp values = PlainStage(stage.name + ".value", body.dtype(), std::move(all), body);
      axes = NewAxes(stage.axes, false);
      reduce_axes = NewAxes(stage.reduce_axes, true);
      body = MakeLoad(values.output, Vars(axes, reduce_axes));
      compute_.stages.push_back(std::move(values));
    }
    const std::vector<Axis> again = NewAxes(stage.axes, false);
    const std::vector<Axis> again_reduced = NewAxes(stage.reduce_axes, true);
    Substitution renamed;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      renamed.emplace_back(axes[i].var.get(), again[i].var);
    }
    Expr position = 0;
    for (std::size_t i = 0; i < reduce_axes.size(); ++i) {
      renamed.emplace_back(reduce_axes[i].var.get(), again_reduced[i].var);
      position = position * Expr(reduce_axes[i].extent) + again_reduced[i].var;
    }
    ComputeOp best = ReductionStage(stage.name + ".best", std::move(axes), std::move(reduce_axes),
                                    CombinerOf(stage.reduction), body);
    const Expr found = Eq(Substitute(body, renamed), MakeLoad(best.output, Vars(again)));
    Expr chosen = MakeSelect(found, position, Expr(count - 1));
    compute_.stages.push_back(std::move(best));
    Append(ReductionStage(stage.name, again, again_reduced, Combiner::kMin, std::move(chosen)));
  }

  const Expression& expression_;
  Compute compute_;
  std::vector<Buffer> tensors_;
};

}  // namespace

Compute DefineExpression(const Expression& expression) {
  return ExpressionDefiner(expression).Run();
}

}  // namespace tilewright
