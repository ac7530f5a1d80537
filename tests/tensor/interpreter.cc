#include "tests/tensor/interpreter.h"

#include <cmath>
#include <map>

#include "src/base/random.h"
#include "src/ir/fold.h"
#include "src/tensor/half.h"

namespace tilewright {
namespace {

struct Value {
  std::int64_t i = 0;
  double f = 0;
};

class Interpreter {
 public:
  std::map<const BufferNode*, Tensor> tensors;
  std::map<const ExprNode*, std::int64_t> vars;

  Value Eval(const Expr& e) {
    switch (e->kind) {
      case ExprKind::kInt:
        return {e->int_value, 0};
      case ExprKind::kFloat:
        return {0, e->float_value};
      case ExprKind::kVar:
        return {vars.at(e.get()), 0};
      case ExprKind::kSelect:
        return Eval(e->args[0]).i != 0 ? Eval(e->args[1]) : Eval(e->args[2]);
      case ExprKind::kNot:
        return {Eval(e->args[0]).i == 0 ? 1 : 0, 0};
      case ExprKind::kLoad:
        return Load(e);
      case ExprKind::kCast:
        return Cast(e->args[0].dtype(), e->dtype, Eval(e->args[0]));
      case ExprKind::kCall:
        return {0, Round(e->dtype, Call(e))};
      default:
        return Binary(e);
    }
  }

  std::int64_t PositionOf(const Buffer& buffer, const std::vector<Expr>& indices) {
    TW_CHECK(indices.size() == buffer->shape.size(), "number of indices of " + buffer->name);
    std::int64_t position = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t index = Eval(indices[i]).i;
      TW_CHECK(index >= 0 && index < buffer->shape[i], "index out of bounds: " + buffer->name);
      position = position * buffer->shape[i] + index;
    }
    return position;
  }

  void Store(const Buffer& buffer, std::int64_t position, Value value) {
    Tensor& tensor = tensors.at(buffer.get());
    if (buffer->dtype.is_float()) {
      tensor.Set(position, value.f);
    } else if (buffer->dtype == kInt64) {
      tensor.As<std::int64_t>()[static_cast<std::size_t>(position)] = value.i;
    } else {
      tensor.Set(position, static_cast<double>(value.i));
    }
  }

  static double Round(DataType dtype, double value) {
    if (dtype == kFloat16) return HalfToFloat(FloatToHalf(static_cast<float>(value)));
    return dtype.bits == 32 ? static_cast<double>(static_cast<float>(value)) : value;
  }

  static Value Cast(DataType from, DataType to, Value value) {
    if (to.is_float()) {
      return {0, Round(to, from.is_float() ? value.f : static_cast<double>(value.i))};
    }
    if (!from.is_float()) return {WrapToType(to, value.i), 0};
    return {WrapToType(to, static_cast<std::int64_t>(std::trunc(value.f))), 0};
  }

 private:
  Value Load(const Expr& e) {
    const Tensor& tensor = tensors.at(e->buffer.get());
    const std::int64_t position = PositionOf(e->buffer, e->args);
    if (e->dtype.is_float()) return {0, tensor.At(position)};
    if (e->dtype == kInt64) {
      return {tensor.As<std::int64_t>()[static_cast<std::size_t>(position)], 0};
    }
    return {static_cast<std::int64_t>(tensor.At(position)), 0};
  }

  double Call(const Expr& e) {
    const double a = Eval(e->args[0]).f;
    const double b = e->args.size() > 1 ? Eval(e->args[1]).f : 0;
    const std::string& name = e->name;
    if (name == "exp") return std::exp(a);
    if (name == "log") return std::log(a);
    if (name == "sqrt") return std::sqrt(a);
    if (name == "tanh") return std::tanh(a);
    if (name == "erf") return std::erf(a);
    if (name == "pow") return std::pow(a, b);
    if (name == "floor") return std::floor(a);
    if (name == "ceil") return std::ceil(a);
    if (name == "round") return std::round(a);
    if (name == "rint") return std::nearbyint(a);
    if (name == "abs") return std::fabs(a);
    TW_CHECK(false, "unknown call " + name);
  }

  Value Binary(const Expr& e) {
    const Value a = Eval(e->args[0]);
    // The second operand of a logical operator may only be defined where the first decides nothing.
    if (e->kind == ExprKind::kAnd && a.i == 0) return {0, 0};
    if (e->kind == ExprKind::kOr && a.i != 0) return {1, 0};
    const Value b = Eval(e->args[1]);
    const DataType dtype = e->args[0].dtype();
    TW_CHECK(dtype == e->args[1].dtype(), "operands of different types");
    if (!dtype.is_float()) {
      const auto folded = FoldInt(e->kind, dtype, a.i, b.i);
      TW_CHECK(folded.has_value(), "undefined integer operation");
      return {*folded, 0};
    }
    switch (e->kind) {
      case ExprKind::kAdd:
        return {0, Round(dtype, a.f + b.f)};
      case ExprKind::kSub:
        return {0, Round(dtype, a.f - b.f)};
      case ExprKind::kMul:
        return {0, Round(dtype, a.f * b.f)};
      case ExprKind::kDiv:
        return {0, Round(dtype, a.f / b.f)};
      case ExprKind::kMin:
        return {0, std::fmin(a.f, b.f)};
      case ExprKind::kMax:
        return {0, std::fmax(a.f, b.f)};
      case ExprKind::kEq:
        return {a.f == b.f, 0};
      case ExprKind::kNe:
        return {a.f != b.f, 0};
      case ExprKind::kLt:
        return {a.f < b.f, 0};
      case ExprKind::kLe:
        return {a.f <= b.f, 0};
      default:
        TW_CHECK(false, "float operation");
    }
  }
};

/// Advances the axes' variables; false after the last position.
bool Next(Interpreter& in, const std::vector<Axis>& axes) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    std::int64_t& value = in.vars.at(axes[i].var.get());
    if (++value < axes[i].extent) return true;
    value = 0;
  }
  return false;
}

void Start(Interpreter& in, const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) in.vars[axis.var.get()] = 0;
}

Value Combine(Combiner combiner, DataType dtype, Value a, Value b) {
  const bool real = dtype.is_float();
  switch (combiner) {
    case Combiner::kSum:
      if (real) return {0, Interpreter::Round(dtype, a.f + b.f)};
      return {WrapToType(dtype, a.i + b.i), 0};
    case Combiner::kMax:
      return real ? Value{0, std::fmax(a.f, b.f)} : Value{std::max(a.i, b.i), 0};
    case Combiner::kMin:
      return real ? Value{0, std::fmin(a.f, b.f)} : Value{std::min(a.i, b.i), 0};
    case Combiner::kNone:
      break;
  }
  return b;
}

void RunStage(Interpreter& in, const ComputeOp& stage) {
  TW_CHECK(stage.body.dtype() == stage.output->dtype, "type of stage " + stage.name);
  TW_CHECK(stage.axes.size() == stage.output->shape.size(), "axes of stage " + stage.name);
  std::int64_t position = 0;
  Start(in, stage.axes);
  do {
    Value result;
    bool first = true;
    Start(in, stage.reduce_axes);
    do {
      const Value value = in.Eval(stage.body);
      result = first ? value : Combine(stage.combiner, stage.output->dtype, result, value);
      first = false;
    } while (Next(in, stage.reduce_axes));
    in.Store(stage.output, position++, result);
  } while (Next(in, stage.axes));
}

}  // namespace

Tensor Interpret(const Compute& compute, std::span<const Tensor* const> inputs) {
  Interpreter in;
  TW_CHECK(inputs.size() == compute.inputs.size(), "number of inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Buffer& buffer = compute.inputs[i];
    TW_CHECK(inputs[i]->type() == (TensorType{buffer->shape, buffer->dtype}),
             buffer->name + " is " + inputs[i]->type().ToString());
    in.tensors[buffer.get()] = inputs[i]->Clone();
  }
  for (const ComputeOp& stage : compute.stages) {
    in.tensors[stage.output.get()] = Tensor(TensorType{stage.output->shape, stage.output->dtype});
    RunStage(in, stage);
  }
  return in.tensors.at(compute.stages.back().output.get()).Clone();
}

Tensor RandomTensor(TensorType type, std::uint64_t seed, std::int64_t limit) {
  Tensor tensor(std::move(type));
  Random random(seed);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (tensor.dtype().is_float()) {
      tensor.Set(i, 2 * random.Uniform() - 1);
      continue;
    }
    const bool has_sign = tensor.dtype().code == TypeCode::kInt;
    const auto range = static_cast<std::uint64_t>(has_sign ? 2 * limit + 1 : limit + 1);
    const auto drawn = static_cast<std::int64_t>(random.Below(range));
    tensor.Set(i, static_cast<double>(has_sign ? drawn - limit : drawn));
  }
  return tensor;
}

}  // namespace tilewright
